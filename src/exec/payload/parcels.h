/* parcels.h - messages between nodes that several ranks fill, and empty, where
 * sizes come with the blocks.
 *
 * In such a message all blocks are shared (schedule.h), and it is not handed
 * over. It consists of parcels, in any order. A parcel is what one rank has put
 * in at once: which blocks of the message they are, a cell for each, and the
 * blocks end to end. A rank takes room for its parcel by adding to a counter,
 * so that it need not know how much others put in. When a message has come, its
 * receiver notes in a slot for each block where that lies; others of the node
 * look there.
 *
 * Each message has an area of scratch: a head, a slot for each block, and the
 * parcels. x->blocks.offset of a shared block is that of its slot. Blocks are
 * bounded, and an area has room for the largest.
 */
#ifndef ROTA_PARCELS_H
#define ROTA_PARCELS_H

#include "exec/payload/sized.h"

#include <stdatomic.h>

typedef struct rota_slot {
    uint64_t at;   /* of a block to be sent: its number in the message; of one
                      that has come: bytes from the slot to the block */
    uint64_t cell; /* of one that has come: its size, as in sized.h */
} rota_slot;

typedef struct rota_area {
    _Atomic uint64_t used; /* bytes of values and parcels */
    uint64_t n;            /* blocks */
    uint64_t room;         /* for values and parcels, bytes */
    uint64_t values;       /* bytes of values in front (carried.h) */
    uint64_t pad[4];
    rota_slot slot[]; /* [n], and then the values and the parcels */
} rota_area;

/* Do messages of shared blocks travel so? */
static inline bool rota_has_parcels(const rota_exec *x)
{
    return x->sizing && x->sizing->parcels;
}

/* Does message m? */
bool rota_msg_is_parcels(const rota_exec *x, rota_dir dir, uint32_t m);

/* Find where slots lie in scratch, and write it to x->blocks.offset of shared blocks.
 * *bytes: of all areas. x has s, sizing, max_block and offset. Then, when there is
 * memory at x->blocks.base[ROTA_TMP], make the areas. */
int rota_parcels_place(rota_exec *x, size_t *bytes);
void rota_parcels_make(const rota_exec *x);

rota_area *rota_parcels_area(const rota_exec *x, rota_dir dir, uint32_t m);
static inline char *rota_area_data(rota_area *a)
{
    return (char *)&a->slot[a->n];
}

/* Put n blocks of this rank's into messages, where slots say. */
int rota_parcels_put(const rota_exec *x, char *const slot[],
                     const rota_block item[], uint32_t n);

/* Into this rank's own messages: the first of the n copies, and those behind it
 * that go to the same message. Returns how many. */
int rota_parcels_copy(const rota_exec *x, const rota_copy copy[], uint32_t n,
                      uint32_t *copied);

/* As the shared blocks item[]: of these sizes, packed end to end at data. */
void rota_parcels_forward(const rota_exec *x, const rota_block item[],
                          const size_t cell[], uint32_t n, const char *data);

/* All that was put in has been sent: the next run begins anew. */
void rota_parcels_empty(const rota_exec *x);

/* The message has come: find its blocks. */
void rota_parcels_open(rota_exec *x, uint32_t m);

/* What a slot says of a block that has come. */
static inline char *rota_slot_block(rota_slot *slot)
{
    return (char *)slot + slot->at;
}

static inline rota_slot *rota_slot_of(const rota_exec *x, rota_block b)
{
    return (rota_slot *)(void *)(x->blocks.base[ROTA_TMP] +
                                 x->blocks.offset[b]);
}

#endif /* ROTA_PARCELS_H */
