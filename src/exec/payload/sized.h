/* sized.h - messages that tell their receivers the sizes of their blocks.
 *
 * Such a message is a header, with one cell for each block, followed by the
 * blocks, end to end. Where counts are known, a receiver knows the sizes of
 * blocks that it keeps: if a message has several of these, they share one cell,
 * which holds their sum, and come last. The plan's rota_metadata says how
 * headers and blocks travel.
 *
 * Received blocks stay in the message's buffer until the run is over. Those
 * that go on are packed from there, those that have arrived are unpacked from
 * there: no copy is made on the way. A block of an exchange is received right
 * into its place if it travels apart from its header and the offsets before it
 * are known.
 */
#ifndef ROTA_SIZED_H
#define ROTA_SIZED_H

#include "exec/exec.h"

/* How sizes travel, where messages tell them. */
typedef struct rota_sizing {
    /* The owner sets these before rota_exec_bind. */
    rota_metadata metadata; /* not ROTA_META_ONCE */
    bool parcels;           /* shared blocks travel in parcels (parcels.h) */
    /* [n_items] the receive block whose size the item has, if its receiver
     * knows it; else 0 (rota_sizes_landing). NULL: all 0. */
    rota_block *landing[ROTA_N_DIRS];
} rota_sizing;

/* Make and free what x keeps of blocks that came so. Does nothing in plans
 * whose messages tell nothing. */
int rota_sized_begin(rota_exec *x);
void rota_sized_end(rota_exec *x);

/* Bytes that tell sizes in all that a run sends. */
size_t rota_sized_told(const rota_exec *x);

/* Block b has arrived at its destination, at data, with the size in its cell:
 * unpack it, or note where it is to be collected from. */
int rota_sized_arrive(rota_exec *x, rota_block b, size_t cell, char *data);

#endif /* ROTA_SIZED_H */
