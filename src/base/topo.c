/* topo.c - see topo.h. */
#include "base/topo.h"
#include "base/err.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int rota_topo_alloc(rota_topo *t, int P)
{
    const size_t n = (size_t)P;
    int *const all = calloc(5 * n + 1, sizeof *all);

    *t = (rota_topo){.P = P};
    if (!all)
        return rota_fail_mem("the topology");
    t->node = all;
    t->local = all + n;
    t->domain = all + 2 * n;
    t->ranks = all + 3 * n;
    t->first = all + 4 * n;
    return MPI_SUCCESS;
}

void rota_topo_free(rota_topo *t)
{
    free(t->node);
    *t = (rota_topo){0};
}

void rota_topo_arrange(rota_topo *t, const int lowest[])
{
    t->n_nodes = 0;
    t->n_domains = 1;
    memset(t->first, 0, ((size_t)t->P + 1) * sizeof *t->first);
    for (int q = 0; q < t->P; q++) {
        t->node[q] = lowest[q] == q ? t->n_nodes++ : t->node[lowest[q]];
        t->local[q] = t->first[t->node[q]]++;
        t->domain[q] = 0;
    }
    for (int n = 0, begin = 0; n <= t->n_nodes; n++) {
        const int size = t->first[n];
        t->first[n] = begin;
        begin += size;
    }
    for (int q = 0; q < t->P; q++)
        t->ranks[t->first[t->node[q]] + t->local[q]] = q;
}

void rota_topo_spread(rota_topo *t, int n)
{
    t->n_domains = n;
    for (int q = 0; q < t->P; q++) {
        const int64_t size = rota_topo_node_size(t, t->node[q]);
        t->domain[q] = (int)(t->local[q] * (int64_t)n / size);
    }
}

int rota_topo_make(rota_topo *t, int P, int node_size, int n_domains)
{
    ROTA_TRY(rota_topo_alloc(t, P));
    int *const lowest = t->ranks; /* free until the ranks are sorted */
    for (int q = 0; q < P; q++)
        lowest[q] = q - q % node_size;
    rota_topo_arrange(t, lowest);
    rota_topo_spread(t, n_domains);
    return MPI_SUCCESS;
}

int rota_topo_largest_node(const rota_topo *t)
{
    int most = 0;

    for (int n = 0; n < t->n_nodes; n++)
        if (rota_topo_node_size(t, n) > most)
            most = rota_topo_node_size(t, n);
    return most;
}

bool rota_topo_even(const rota_topo *t)
{
    return rota_topo_largest_node(t) * t->n_nodes == t->P;
}
