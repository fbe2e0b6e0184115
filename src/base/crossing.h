/* crossing.h - the edges between the ranks of one node and those of others.
 *
 * What is known of them to every rank of the node, so that its ranks can send for
 * each other. Edges stand in one order on both nodes: by the node at the other
 * end, and those of two nodes by source, destination and nth.
 */
#ifndef ROTA_CROSSING_H
#define ROTA_CROSSING_H

#include "base/neighbors.h"
#include "base/problem.h"
#include "base/topo.h"

typedef struct rota_cross {
    int there; /* the node at the other end */
    int src, dst, nth;
    int block;    /* of the rank of this node */
    int alike;    /* how far ahead the first edge stands that takes the same
                     memory to the same node; 0: there is none */
    size_t bytes; /* of the block; 0 where counts vary */
} rota_cross;

/* Those in one direction. */
typedef struct rota_crosses {
    rota_cross *edge; /* [n] */
    int *by_own;      /* [n] places in edge, by the rank of this node and, for
                         each, in order */
    int *own;         /* [Q+1] where those of each rank of the node begin in
                         by_own */
    int n;
} rota_crosses;

struct rota_crossing {
    rota_crosses out, in;
    int *alike; /* [n_send] of this rank: the first of the send blocks that have
                   the same memory and go to the same other node; NULL: on no
                   rank are there any, or counts vary */
};

/* This rank's edges to other nodes, or from them, in order. edge: [n_sent] or
 * [n_received]; bytes: of the blocks, or NULL. Returns how many. */
int rota_cross_list(const rota_neighbors *n, const rota_topo *t, int me,
                    bool sent, const size_t bytes[], rota_cross edge[]);

/* Which of n edges from rota_cross_list take the same memory; alike: [n_send] as
 * in rota_crossing. Returns how many have one ahead, or -1 for want of
 * memory. */
int rota_cross_find_alike(const rota_side *send, rota_cross edge[], int n,
                          int alike[]);

void rota_cross_sort(rota_cross edge[], int n);

/* c->edge and c->n are there, of all ranks of the node: put them in order. */
int rota_crosses_close(rota_crosses *c, const rota_topo *t, int node,
                       bool sent);
/* Bytes of the edge whose number is a slot of neighbor_node: those that are sent
 * come first. */
static inline size_t rota_crossing_bytes(const rota_crossing *c, uint32_t slot)
{
    const uint32_t n = (uint32_t)c->out.n;

    return slot < n ? c->out.edge[slot].bytes : c->in.edge[slot - n].bytes;
}

void rota_crossing_free(rota_crossing *c); /* c may be zero */

#endif /* ROTA_CROSSING_H */
