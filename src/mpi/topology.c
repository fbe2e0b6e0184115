/* topology.c - process topologies: the neighbours of a rank, which block from a
 * neighbour is which, and communicators that have the same.
 *
 * If a rank sends several blocks to another, Rota delivers them as the standard
 * says: the first in the list of destinations is the first in the list of
 * sources, and in a grid what goes down arrives from above. MPICH 4.0 reverses
 * them in MPI_Neighbor_alltoall, and in the other functions takes the first as
 * the first even in grids. A program gets what its MPI does, which a test finds
 * out once.
 */
#include "mpi/topology.h"
#include "mpi/args.h"

#include <stdlib.h>
#include <string.h>

void rota_mpi_topology_free(rota_mpi_topology *t)
{
    if (!t)
        return;
    free(t->to);
    free(t->slot[0]);
    free(t->slot[1]);
    free(t);
}

static rota_mpi_topology *make(bool grid, int n_to, int n_from)
{
    rota_mpi_topology *const t = rota_mpi_alloc(1, sizeof *t);

    *t = (rota_mpi_topology){.grid = grid, .n_to = n_to, .n_from = n_from};
    t->to = rota_mpi_alloc((size_t)n_to + (size_t)n_from, sizeof *t->to);
    t->from = t->to + n_to;
    return t;
}

static size_t bytes_of_ranks(const rota_mpi_topology *t)
{
    return ((size_t)t->n_to + (size_t)t->n_from) * sizeof *t->to;
}

rota_mpi_topology *rota_mpi_topology_copy(const rota_mpi_topology *t)
{
    rota_mpi_topology *const made = make(t->grid, t->n_to, t->n_from);

    memcpy(made->to, t->to, bytes_of_ranks(t));
    return made;
}

bool rota_mpi_topology_same(const rota_mpi_topology *a,
                            const rota_mpi_topology *b)
{
    return a->grid == b->grid && a->n_to == b->n_to && a->n_from == b->n_from &&
           !memcmp(a->to, b->to, bytes_of_ranks(a));
}

/* ---- which block is which ------------------------------------------------ */

/* The order in which blocks from one rank match its receives. */
typedef enum order { IN_ORDER, REVERSED, CROSSED } order;

/* Find the order of MPI, with blocks that a process sends itself: two in a graph,
 * four in a grid of two dimensions. */
static order find_order(bool grid, bool equal)
{
    static const int one[4] = {1, 1, 1, 1}, self[2] = {0, 0};
    const int n = grid ? 4 : 2, sent[4] = {0, 1, 2, 3};
    int got[4] = {0};
    MPI_Comm comm = MPI_COMM_NULL;

    if (grid)
        PMPI_Cart_create(MPI_COMM_SELF, 2, one, one, 0, &comm);
    else
        PMPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 2, self, MPI_UNWEIGHTED,
                                        2, self, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                        0, &comm);
    if (equal)
        PMPI_Neighbor_alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, comm);
    else
        PMPI_Neighbor_alltoallv(sent, one, sent, MPI_INT, got, one, sent,
                                MPI_INT, comm);
    PMPI_Comm_free(&comm);
    return got[0] == 0 ? IN_ORDER : got[0] == n - 1 ? REVERSED : CROSSED;
}

/* equal: for MPI_Neighbor_alltoall. */
static order order_of_mpi(bool grid, bool equal)
{
    static _Atomic int known[2][2]; /* 0: not yet */

    if (known[grid][equal] == 0)
        known[grid][equal] = 1 + (int)find_order(grid, equal);
    return (order)(known[grid][equal] - 1);
}

/* A receive block, and its turn among those from its peer. */
typedef struct turn {
    int peer, turn, block;
} turn;

static int by_turn(const void *a, const void *b)
{
    const turn *const x = a, *const y = b;

    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

static void sort_turns(const rota_mpi_topology *t, order o, turn turns[])
{
    for (int i = 0; i < t->n_from; i++)
        turns[i] = (turn){t->from[i],
                          o == CROSSED    ? i ^ 1
                          : o == REVERSED ? -i
                                          : i,
                          i};
    qsort(turns, (size_t)t->n_from, sizeof *turns, by_turn);
}

/* Where each receive block goes: MPI's n-th from a peer is Rota's n-th. */
static int *find_slots(const rota_mpi_topology *t, bool equal)
{
    const size_t n = (size_t)t->n_from;
    turn *const mpis = rota_mpi_alloc(n, sizeof *mpis);
    turn *const rotas = rota_mpi_alloc(n, sizeof *rotas);
    int *slot = rota_mpi_alloc(n, sizeof *slot);
    bool same = true;

    sort_turns(t, order_of_mpi(t->grid, equal), mpis);
    sort_turns(t, t->grid ? CROSSED : IN_ORDER, rotas);
    for (int i = 0; i < t->n_from; i++) {
        slot[mpis[i].block] = rotas[i].block;
        same = same && mpis[i].block == rotas[i].block;
    }
    free(mpis);
    free(rotas);
    if (!same)
        return slot;
    free(slot);
    return NULL;
}

/* ---- of a communicator --------------------------------------------------- */

static rota_mpi_topology *from_grid(MPI_Comm comm)
{
    int n = 0;

    PMPI_Cartdim_get(comm, &n);
    rota_mpi_topology *const t = make(true, 2 * n, 2 * n);
    for (int d = 0; d < n; d++)
        PMPI_Cart_shift(comm, d, 1, &t->to[2 * d], &t->to[2 * d + 1]);
    memcpy(t->from, t->to, bytes_of_ranks(t) / 2);
    return t;
}

static rota_mpi_topology *from_graph(MPI_Comm comm)
{
    int me = 0, n = 0;

    PMPI_Comm_rank(comm, &me);
    PMPI_Graph_neighbors_count(comm, me, &n);
    rota_mpi_topology *const t = make(false, n, n);
    PMPI_Graph_neighbors(comm, me, n, t->to);
    memcpy(t->from, t->to, bytes_of_ranks(t) / 2);
    return t;
}

/* MPI needs room for weights, too. */
static rota_mpi_topology *from_dist_graph(MPI_Comm comm)
{
    int n_from = 0, n_to = 0, weighted;

    PMPI_Dist_graph_neighbors_count(comm, &n_from, &n_to, &weighted);
    rota_mpi_topology *const t = make(false, n_to, n_from);
    rota_mpi_topology *const weights = make(false, n_to, n_from);
    PMPI_Dist_graph_neighbors(comm, n_from, t->from, weights->from, n_to, t->to,
                              weights->to);
    rota_mpi_topology_free(weights);
    return t;
}

rota_mpi_topology *rota_mpi_topology_get(MPI_Comm comm)
{
    int kind = MPI_UNDEFINED;

    PMPI_Topo_test(comm, &kind);
    rota_mpi_topology *const t = kind == MPI_CART    ? from_grid(comm)
                                 : kind == MPI_GRAPH ? from_graph(comm)
                                 : kind == MPI_DIST_GRAPH
                                     ? from_dist_graph(comm)
                                     : NULL;
    for (int equal = 0; equal < 2 && t; equal++)
        t->slot[equal] = find_slots(t, equal);
    return t;
}
