/* neighbors.h - whom a rank sends to and receives from, block by block.
 *
 * As MPI's process topologies have it: send block i goes to to[i], receive block
 * i comes from from[i], and a rank may be listed any number of times. Of several
 * blocks from one rank to another the first that is sent is the first that is
 * received; in Cartesian topologies what is sent as 2d, down dimension d, is
 * received as 2d + 1, from above, and the other way round.
 */
#ifndef ROTA_NEIGHBORS_H
#define ROTA_NEIGHBORS_H

#include <stdbool.h>
#include <stddef.h>

enum { ROTA_NOBODY = -1 }; /* beyond the border of a Cartesian topology */

/* A block that goes from one rank to another, as one of them sees it. */
typedef struct rota_edge {
    int peer;
    int nth;   /* of those between the two, in the order in which they go */
    int block; /* its number among those sent, or received */
} rota_edge;

/* A block that a rank sends itself. */
typedef struct rota_own {
    int send, recv; /* its numbers */
} rota_own;

typedef struct rota_neighbors {
    int n_send, n_recv;
    int *to;      /* [n_send] rank, or ROTA_NOBODY */
    int *from;    /* [n_recv] likewise */
    bool crossed; /* the topology is Cartesian */

    /* The same by peer and then by nth, without ROTA_NOBODY. */
    rota_edge *sent, *received; /* [n_sent], [n_received] */
    int n_sent, n_received;
    rota_own *own; /* [n_own] */
    int n_own;
} rota_neighbors;

typedef struct rota_crossing rota_crossing; /* crossing.h */

/* The receive block that is the i-th when those of each pair are in the order in
 * which they are sent. */
static inline int rota_neighbors_turn(const rota_neighbors *n, int i)
{
    return n->crossed ? i ^ 1 : i;
}

/* Lists of so many, to be filled, and then to be closed on the rank whose they
 * are. What failed is to be freed, too. */
int rota_neighbors_alloc(rota_neighbors *n, int n_send, int n_recv);
int rota_neighbors_close(rota_neighbors *n, int me);
void rota_neighbors_free(rota_neighbors *n); /* n may be zero */

/* What goes beyond a border goes nowhere: clear the bytes of such blocks. peer,
 * bytes: [n]. */
void rota_neighbors_drop(int n, const int peer[], size_t bytes[]);

/* The block of the nth edge with a peer, of [n] sorted ones, or -1. */
int rota_edge_find(const rota_edge edge[], int n, int peer, int nth);

#endif /* ROTA_NEIGHBORS_H */
