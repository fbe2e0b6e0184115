/* neighbors.h - whom a rank sends to and receives from, block by block.
 *
 * As in MPI's process topologies, send block i goes to to[i], receive block i
 * comes from from[i], and a rank may be listed any number of times. If several
 * blocks go from one rank to another, the first one sent is the first one
 * received. In Cartesian topologies, what is sent as block 2d (down dimension
 * d) is received as block 2d + 1 (from above), and the other way round.
 */
#ifndef ROTA_NEIGHBORS_H
#define ROTA_NEIGHBORS_H

#include <stdbool.h>
#include <stddef.h>

enum { ROTA_NOBODY = -1 }; /* beyond the border of a Cartesian topology */

/* A block that goes from one rank to another, as one of them sees it. */
typedef struct rota_edge {
    int peer;
    int nth;   /* its turn among the blocks between the two, in the order
                  sent */
    int block; /* its number among the send blocks, or the receive blocks */
} rota_edge;

/* A block that a rank sends to itself. */
typedef struct rota_own {
    int send, recv; /* its numbers as a send block and a receive block */
} rota_own;

typedef struct rota_neighbors {
    int n_send, n_recv;
    int *to;      /* [n_send] rank, or ROTA_NOBODY */
    int *from;    /* [n_recv] rank, or ROTA_NOBODY */
    bool crossed; /* the topology is Cartesian */

    /* The same as edges, sorted by peer and then nth, without ROTA_NOBODY. */
    rota_edge *sent, *received; /* [n_sent], [n_received] */
    int n_sent, n_received;
    rota_own *own; /* [n_own] */
    int n_own;
} rota_neighbors;

typedef struct rota_crossing rota_crossing; /* see crossing.h */

/* The i-th receive block in an order that lists the blocks of each pair as they
 * are sent. */
static inline int rota_neighbors_turn(const rota_neighbors *n, int i)
{
    return n->crossed ? i ^ 1 : i;
}

/* Allocate to and from, which the caller fills in; rota_neighbors_close then
 * derives the rest on rank me. After a failure call rota_neighbors_free,
 * too. */
int rota_neighbors_alloc(rota_neighbors *n, int n_send, int n_recv);
int rota_neighbors_close(rota_neighbors *n, int me);
void rota_neighbors_free(rota_neighbors *n); /* n may be zero */

/* Set to 0 the bytes of blocks whose peer is ROTA_NOBODY. peer, bytes: [n]. */
void rota_neighbors_drop(int n, const int peer[], size_t bytes[]);

/* The block of the nth edge with peer, among n sorted edges; -1: none. */
int rota_edge_find(const rota_edge edge[], int n, int peer, int nth);

#endif /* ROTA_NEIGHBORS_H */
