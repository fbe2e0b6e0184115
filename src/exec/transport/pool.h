/* pool.h - memory of this process through which messages pass.
 *
 * A process has one pool for all its plans. A sender copies bytes into a piece
 * of it and tells the receiver where; the piece is the sender's again when the
 * receiver has taken the entry that names it. A piece stays with the pair of
 * ranks that had it last, so that it is found in the caches where it is used
 * again. When no piece is left, the pool takes one back from a pair whose
 * receiver has read it.
 *
 * The pool grows when plans are made, by what they may need, up to a bound that
 * depends on how many processes the node has. A pair that gets no piece sends through its own lines (line.h):
 * pieces that nobody reads cannot stop another plan.
 */
#ifndef ROTA_POOL_H
#define ROTA_POOL_H

#include "exec/transport/arena.h"

enum { ROTA_PIECE = 1 << 16 }; /* bytes of the longest piece */

/* Who has a piece. */
typedef struct rota_piece {
    char *memory; /* NULL: none */
    rota_place at;
    size_t bytes;
    uint64_t entry; /* that names it last; 0: none does */
    bool (*is_taken)(void *owner, uint64_t entry);
    void *owner;
} rota_piece;

/* The node has so many processes: from now on the pool may grow as they let it,
 * unless it already may. Local. */
void rota_pool_allow(int processes);

/* See that there are so many bytes, up to the bound. When plans are made: peers
 * map what is new only then. Local. */
void rota_pool_reserve(size_t bytes);

/* Let piece, which has none, be one of at least bytes or, where there is none as
 * long, of fewer. False: there is none at all. A peer that has not mapped a
 * segment gets no piece of it. */
bool rota_pool_take(rota_piece *piece, size_t bytes, const rota_peer *peer);
void rota_pool_put(rota_piece *piece);

/* Bytes of the pool, and the most it may have. */
size_t rota_pool_bytes(size_t *most);

#endif /* ROTA_POOL_H */
