/* pool.h - memory of this process through which messages pass.
 *
 * A process has one pool for all its plans. A sender copies bytes into a piece
 * of it and tells the receiver where. When the receiver has taken the entry
 * that names the piece, the piece is the sender's again. It stays with the pair
 * of ranks that used it last, whose caches still hold it. If no piece is free,
 * the pool takes one back from a pair whose receiver has read it.
 *
 * The pool grows when plans are made, as they need it, up to a bound that
 * depends on the number of processes on the node. A pair that gets no piece
 * sends through its own lines (line.h). So pieces that nobody reads cannot stop
 * another plan.
 */
#ifndef ROTA_POOL_H
#define ROTA_POOL_H

#include "exec/memory/arena.h"

enum { ROTA_PIECE = 1 << 16 }; /* bytes of the longest piece */

/* The holder of a piece. */
typedef struct rota_piece {
    char *memory; /* NULL: holds none */
    rota_place at;
    size_t bytes;
    uint64_t entry; /* entry that named it last; 0: none */
    bool (*is_taken)(void *owner, uint64_t entry);
    void *owner;
} rota_piece;

/* Set the number of processes on the node, which bounds the pool; the largest
 * number counts. Local. */
void rota_pool_allow(int processes);

/* Grow the pool to this many bytes, up to its bound. Only when a plan is made:
 * peers map new segments only then. Local. */
void rota_pool_reserve(size_t bytes);

/* Get a piece of at least `bytes` or, if there is none, a shorter one. piece
 * must hold none. Returns false if there is none at all. No piece lies in a
 * segment that the peer has not mapped. */
bool rota_pool_take(rota_piece *piece, size_t bytes, const rota_peer *peer);
void rota_pool_put(rota_piece *piece);

/* Bytes of the pool, and its bound. */
size_t rota_pool_bytes(size_t *most);

#endif /* ROTA_POOL_H */
