/* shapes.c - see shapes.h. */
#include "common/shapes.h"
#include "common/pattern.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

const char *const shape_name[N_SHAPES] = {
    "one_node", "nodes_of_one", "even",     "odd_end",
    "uneven",   "round_robin",  "scattered"};

static int near_root(int P)
{
    int r = 1;

    while (r * r < P)
        r++;
    return r;
}

static int divisor(int P)
{
    int d = near_root(P);

    while (P % d > 0)
        d--;
    return d;
}

/* A number for the node of a rank; those below it have been given theirs. */
static int node_of(shape s, int P, int rank, int before)
{
    const int root = near_root(P);

    switch (s) {
    case NODES_OF_ONE:
        return rank;
    case EVEN:
        return rank / divisor(P);
    case ODD_END:
        return rank / root;
    case UNEVEN: /* node n begins at rank n(n+1)/2 */
        return rank == (before + 1) * (before + 2) / 2 ? before + 1 : before;
    case ROUND_ROBIN:
        return rank % root;
    case SCATTERED:
        return (int)(test_hash((uint64_t)rank * 31 + (uint64_t)P) %
                     (uint64_t)(root + 1));
    default:
        return 0;
    }
}

rota_topo shape_topo(shape s, int P)
{
    int *const lowest = malloc((size_t)P * sizeof *lowest);
    int *const node = malloc((size_t)P * sizeof *node);
    rota_topo t;

    if (!lowest || !node || rota_topo_alloc(&t, P) != MPI_SUCCESS)
        abort();
    for (int q = 0; q < P; q++) {
        node[q] = node_of(s, P, q, q > 0 ? node[q - 1] : 0);
        lowest[q] = q;
        for (int before = q - 1; before >= 0; before--)
            if (node[before] == node[q])
                lowest[q] = before;
    }
    rota_topo_arrange(&t, lowest);
    rota_topo_spread(&t, 2);
    free(lowest);
    free(node);
    return t;
}
