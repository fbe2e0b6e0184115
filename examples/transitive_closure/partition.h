/* partition.h - what one rank holds of a graph. */
#ifndef PARTITION_H
#define PARTITION_H

#include "graph.h"

#include <mpi.h>

/* Where owner depends on both vertices of a pair. */
#define OWNER_SPLIT (-1)

/* Pairs (x, y) lie with one rank for each y, by its hash, and so do the edges
 * (y, z) that they are joined with. A vertex y that very many pairs end in is
 * split: its pairs lie with all ranks, by the hash of the pair, and all ranks
 * have its edges. */
typedef struct {
    uint64_t n_vertices, n_edges; /* of the whole graph */
    int P, me;
    u64_vec edges; /* to join with, sorted */
    size_t *first; /* [n_vertices+1] those of y: first[y] .. first[y+1]-1 */
    int *owner;    /* [as edges] of pairs that end in z, or OWNER_SPLIT */
    unsigned char
        *split; /* [n_vertices] 1 if the vertex is; alike on all ranks */
    uint64_t n_split;
    u64_vec start; /* edges as the relation that the closure begins with */
} partition;

/* Deal out g, which is only looked at on rank 0. Collective; blocks. */
void partition_make(partition *p, const graph *g, MPI_Comm comm);
void partition_free(partition *p);

/* After changes of edges and split: work out first and owner anew. */
void partition_index(partition *p);

static inline int split_owner(uint64_t pair, int n_ranks)
{
    /* The upper half, as the lower bits choose the slot in a pair_set. */
    return (int)((mix64(pair) >> 32) % (uint64_t)n_ranks);
}

/* The rank that a pair lies with. */
static inline int pair_owner(const partition *p, uint64_t pair)
{
    return p->split[pair_second(pair)] ? split_owner(pair, p->P)
                                       : vertex_owner(pair_second(pair), p->P);
}

#endif
