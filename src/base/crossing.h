/* crossing.h - the edges between the ranks of one node and those of other
 * nodes.
 *
 * Every rank of a node knows them, so that ranks can send for each other. Both
 * nodes keep edges in the same order: by the node at the other end, then by
 * source, destination and nth.
 */
#ifndef ROTA_CROSSING_H
#define ROTA_CROSSING_H

#include "base/neighbors.h"
#include "base/problem.h"
#include "base/topo.h"

typedef struct rota_cross {
    int there; /* the node at the other end */
    int src, dst, nth;
    int block;    /* number of the block at the rank of this node */
    int repeats;  /* how many edges back the first edge stands that takes the
                     same memory to the same node; 0: this is the first */
    size_t bytes; /* bytes of the block; 0 where counts vary */
} rota_cross;

/* The edges of one direction. */
typedef struct rota_crosses {
    rota_cross *edge; /* [n] */
    int *by_own;      /* [n] indices in edge, sorted by the rank of this node */
    int *own;         /* [Q+1] where each rank of the node begins in by_own */
    int n;
} rota_crosses;

struct rota_crossing {
    rota_crosses out, in;
    /* [n_send] for each send block of this rank, the first one that takes the
     * same memory to the same other node; NULL: no rank of the node has two
     * such blocks, or counts vary. */
    int *same_as;
};

/* List this rank's edges to other nodes (sent), or from them, in order. edge:
 * [n_sent] or [n_received]; bytes: of each block, or NULL. Returns their
 * number. */
int rota_cross_list(const rota_neighbors *n, const rota_topo *t, int me,
                    bool sent, const size_t bytes[], rota_cross edge[]);

/* Find which of n edges from rota_cross_list take the same memory. same_as:
 * [n_send] as in rota_crossing. Returns how many edges repeat an earlier one,
 * or -1 if there is no memory. */
int rota_cross_find_same(const rota_side *send, rota_cross edge[], int n,
                         int same_as[]);

void rota_cross_sort(rota_cross edge[], int n);

/* Sort c->edge, which holds c->n edges of all ranks of the node, and fill in
 * the rest of c. */
int rota_crosses_close(rota_crosses *c, const rota_topo *t, int node,
                       bool sent);
/* Bytes of the edge that has a slot number in neighbor_node.c: sent edges
 * first, then received ones. */
static inline size_t rota_crossing_bytes(const rota_crossing *c, uint32_t slot)
{
    const uint32_t n = (uint32_t)c->out.n;

    return slot < n ? c->out.edge[slot].bytes : c->in.edge[slot - n].bytes;
}

void rota_crossing_free(rota_crossing *c); /* c may be zero */

#endif /* ROTA_CROSSING_H */
