/* accumulate.h - blocks that arrive are combined with what is there.
 *
 * They arrive in memory of the plan, the landing. When all have come, they are
 * combined into the caller's blocks in the order of their numbers, whatever the
 * order in which they came: so results have the same bytes in every run, and
 * the caller's blocks may overlap.
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
    char *landing;           /* base[ROTA_DST] of the blocks that arrive */
    size_t landing_bytes;
    char *packed; /* the largest block whose elements are not plain bytes */
    size_t packed_bytes;
} rota_accumulation;

/* Make what combines n blocks. */
int rota_accumulation_make(int n, rota_accumulation **a);
void rota_accumulation_free(rota_accumulation *a); /* may be NULL */

/* Lay out the landing of blocks with these sizes, [n], and make room: offset[i] is
 * set to the place of block i in it. */
int rota_accumulation_land(rota_accumulation *a, int n, const size_t bytes[],
                           ptrdiff_t offset[]);

/* All blocks have come: combine them. */
int rota_accumulate(const rota_accumulation *a, const rota_blocks *b);

#endif /* ROTA_ACCUMULATE_H */
