/* partition.c - see partition.h. */
#include "partition.h"

#include "deal.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

static void keep_own(void *to, const uint64_t *edges, size_t n)
{
    partition *p = to;

    for (size_t i = 0; i < n; i++) {
        if (vertex_owner(pair_second(edges[i]), p->P) == p->me)
            u64_vec_push(&p->start, edges[i]);
        if (vertex_owner(pair_first(edges[i]), p->P) == p->me)
            u64_vec_push(&p->edges, edges[i]);
    }
}

void partition_index(partition *p)
{
    size_t e = 0;

    u64_vec_sort(&p->edges);
    p->owner = must_realloc(p->owner, p->edges.n, sizeof p->owner[0]);
    for (size_t y = 0; y < p->n_vertices; y++) {
        p->first[y] = e;
        while (e < p->edges.n && pair_first(p->edges.at[e]) == y)
            e++;
    }
    p->first[p->n_vertices] = e;
    for (size_t i = 0; i < p->edges.n; i++) {
        const uint32_t z = pair_second(p->edges.at[i]);

        p->owner[i] = p->split[z] ? OWNER_SPLIT : vertex_owner(z, p->P);
    }
}

void partition_make(partition *p, const graph *g, MPI_Comm comm)
{
    uint64_t size[2];

    *p = (partition){0};
    MUST(MPI_Comm_rank(comm, &p->me));
    MUST(MPI_Comm_size(comm, &p->P));
    deal_sizes(g, comm, size);
    p->n_vertices = size[0];
    p->n_edges = size[1];
    p->first = must_realloc(NULL, (size_t)size[0] + 1, sizeof p->first[0]);
    p->split = must_realloc(NULL, (size_t)size[0], 1);
    memset(p->split, 0, (size_t)size[0]);
    deal_edges(g, comm, keep_own, p);
    partition_index(p);
}

void partition_free(partition *p)
{
    free(p->first);
    free(p->owner);
    free(p->split);
    u64_vec_free(&p->edges);
    u64_vec_free(&p->start);
    *p = (partition){0};
}
