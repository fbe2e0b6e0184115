/* accumulate.h - blocks that arrive are combined with what is there.
 *
 * They arrive in memory of the plan, the landing. When all have come, they are
 * combined into the caller's blocks in the order of their numbers, whatever the
 * order in which they came: so results have the same bytes in every run, and
 * the caller's blocks may overlap.
 *
 * If these share no bytes, the order does not matter. Then a block that comes by
 * itself within the node is combined as it comes (payload/combined.c), from where the
 * sender has it if the message is read there. A rank's own block is combined from the
 * send buffer. Neither is copied to the landing.
 */
#ifndef ROTA_ACCUMULATE_H
#define ROTA_ACCUMULATE_H

#include "exec/move/blocks.h"
#include "exec/move/reduction.h"

typedef struct rota_accumulation {
    rota_operator what;
    char *into;              /* the caller's buffer */
    ptrdiff_t *offset;       /* [n_recv] bytes from there to each block */
    const rota_types *types; /* of these blocks; borrowed */
    bool straight;           /* what is sent and received is in host memory */
    bool apart;              /* and the caller's blocks share no bytes */
    /* Of the schedule, by rota_accumulation_look: is the block written once and never
     * read, [n_recv]; and from which send block it is copied, ROTA_NOT_COPIED if it
     * comes in a message. */
    bool *once;
    rota_block *from;
    bool *direct;  /* [n_recv] set where its message is combined as it comes */
    char *landing; /* base[ROTA_DST] of the blocks that arrive */
    size_t landing_bytes;
    char *packed; /* the largest block whose elements are not plain bytes */
    size_t packed_bytes;
} rota_accumulation;

#define ROTA_NOT_COPIED UINT32_MAX

/* Make what combines n blocks. */
int rota_accumulation_make(int n, rota_accumulation **a);
void rota_accumulation_free(rota_accumulation *a); /* may be NULL */

/* Lay out the landing of blocks with these sizes, [n], and make room: offset[i] is
 * set to the place of block i in it. */
int rota_accumulation_land(rota_accumulation *a, int n, const size_t bytes[],
                           ptrdiff_t offset[]);

/* b->s is known: find out how blocks come. */
void rota_accumulation_look(rota_accumulation *a, const rota_blocks *b);

/* Is the copy not to be made, since its block is combined from where it is? */
bool rota_accumulation_spares(const rota_accumulation *a, const rota_sched *s,
                              const rota_copy *k);

/* Bytes begin to end of block i have come, in order, and lie at from: combine them,
 * or put them in the landing if elements may be cut. */
int rota_accumulate_part(const rota_accumulation *a, const rota_blocks *b,
                         int i, size_t begin, size_t end, const char *from);

/* All blocks have come: combine those that are left. */
int rota_accumulate(const rota_accumulation *a, const rota_blocks *b);

/* Bytes of the blocks that are combined without a copy. */
size_t rota_accumulation_straight(const rota_accumulation *a,
                                  const rota_blocks *b);

#endif /* ROTA_ACCUMULATE_H */
