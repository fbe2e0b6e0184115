/* partition.c - deal a graph out from rank 0; see partition.h. */
#include "partition.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

/* Edges in one broadcast: 8 MiB. */
#define CHUNK_EDGES ((size_t)1 << 20)

/* Keep what this rank owns of edges, which come sorted by source over all
 * calls; first[y+1] counts the targets of y for now. */
static void keep_own(partition *p, u64_vec *own, const uint64_t *edges,
                     size_t n, MPI_Comm comm)
{
    int me, P;

    MUST(MPI_Comm_rank(comm, &me));
    MUST(MPI_Comm_size(comm, &P));
    for (size_t i = 0; i < n; i++) {
        const uint32_t source = pair_first(edges[i]);

        if (vertex_owner(pair_second(edges[i]), P) == me)
            u64_vec_push(&p->start, edges[i]);
        if (vertex_owner(source, P) == me) {
            u64_vec_push(own, edges[i]);
            p->first[source + 1]++;
        }
    }
}

/* Broadcast all edges, a chunk at a time. */
static void deal(partition *p, u64_vec *own, const graph *g, MPI_Comm comm)
{
    uint64_t *chunk = must_realloc(NULL, CHUNK_EDGES, sizeof chunk[0]);
    int me;

    MUST(MPI_Comm_rank(comm, &me));
    for (size_t done = 0; done < p->n_edges; done += CHUNK_EDGES) {
        const size_t left = (size_t)p->n_edges - done;
        const size_t n = left < CHUNK_EDGES ? left : CHUNK_EDGES;

        if (me == 0)
            memcpy(chunk, g->edges.at + done, n * sizeof chunk[0]);
        MUST(MPI_Bcast(chunk, (int)n, MPI_UINT64_T, 0, comm));
        keep_own(p, own, chunk, n, comm);
    }
    free(chunk);
}

static void index_own(partition *p, const u64_vec *own, MPI_Comm comm)
{
    int P;

    MUST(MPI_Comm_size(comm, &P));
    p->target = must_realloc(NULL, own->n, sizeof p->target[0]);
    p->owner = must_realloc(NULL, own->n, sizeof p->owner[0]);
    for (size_t y = 0; y < p->n_vertices; y++)
        p->first[y + 1] += p->first[y];
    for (size_t i = 0; i < own->n; i++) {
        p->target[i] = pair_second(own->at[i]);
        p->owner[i] = vertex_owner(p->target[i], P);
    }
}

void partition_make(partition *p, const graph *g, MPI_Comm comm)
{
    u64_vec own = {0};
    uint64_t size[2] = {0, 0};
    int me;

    MUST(MPI_Comm_rank(comm, &me));
    if (me == 0) {
        size[0] = g->n_vertices;
        size[1] = g->edges.n;
    }
    MUST(MPI_Bcast(size, 2, MPI_UINT64_T, 0, comm));
    *p = (partition){.n_vertices = size[0], .n_edges = size[1]};
    p->first = must_realloc(NULL, (size_t)size[0] + 1, sizeof p->first[0]);
    memset(p->first, 0, ((size_t)size[0] + 1) * sizeof p->first[0]);
    deal(p, &own, g, comm);
    index_own(p, &own, comm);
    u64_vec_free(&own);
}

void partition_free(partition *p)
{
    free(p->first);
    free(p->target);
    free(p->owner);
    u64_vec_free(&p->start);
    *p = (partition){0};
}
