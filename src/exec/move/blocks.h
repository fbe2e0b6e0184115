/* blocks.h - where the blocks of a schedule lie, and moving them within a rank.
 *
 * This knows no messages on their way and no run: a message here is a list of
 * blocks.
 */
#ifndef ROTA_BLOCKS_H
#define ROTA_BLOCKS_H

#include "base/problem.h"
#include "exec/move/copy.h"
#include "schedule/schedule.h"

#include <stdint.h>
#include <string.h>

/* A schedule, and memory for its blocks. The owner sets all but place and
 * stage before binding. */
typedef struct rota_blocks {
    const rota_sched *s;
    char *base[ROTA_N_REGIONS];
    rota_types types[ROTA_N_REGIONS]; /* types of blocks, by slot; borrowed */
    bool own_types;                   /* as in rota_problem */
    size_t *bytes;     /* [n_blocks] cells; scratch's may change in a run */
    ptrdiff_t *offset; /* [n_blocks] bytes from the base */
    char **place;  /* [n_blocks] where a block is that came in a message with
                          sizes, else NULL; or NULL: there are none */
    char *stage;   /* memory for copies between two datatypes: */
    size_t step;   /* bytes of it that such a copy uses at a time */
    MPI_Comm comm; /* tells MPI_Pack the data representation */
} rota_blocks;

/* Set in the cell of a block that the sender left out, because it is above the
 * plan's bound. The other bits are the block's size. */
#define ROTA_LEFT_OUT ((size_t)1 << (sizeof(size_t) * 8 - 1))

/* Bytes that travel of a block with this cell. */
static inline size_t rota_cell_bytes(size_t cell)
{
    return cell & ROTA_LEFT_OUT ? 0 : cell;
}

/* The first byte of a block's data or, where its region has a datatype, the
 * origin that MPI expects. */
static inline char *rota_block_at(const rota_blocks *b, rota_block i)
{
    if (b->place && b->place[i])
        return b->place[i];
    return b->base[rota_block_region(b->s, i)] + b->offset[i];
}

static inline const rota_type *rota_block_type(const rota_blocks *b,
                                               rota_block i)
{
    const rota_types *const t = &b->types[rota_block_region(b->s, i)];

    return t->of ? &t->type[t->of[rota_block_slot(b->s, i)]] : t->type;
}

/* Copy any number of bytes between data of a datatype and plain bytes. comm
 * only tells MPI the data representation. */
int rota_type_pack(const rota_type *t, const char *data, size_t bytes,
                   char *packed, MPI_Comm comm);
int rota_type_unpack(const rota_type *t, const char *packed, size_t bytes,
                     char *data, MPI_Comm comm);

/* Copy a block to bytes, bytes to a block, a block to a block. */
int rota_block_pack(const rota_blocks *b, rota_block i, char *packed);
int rota_block_unpack(const rota_blocks *b, const char *packed, rota_block i);
int rota_block_copy(const rota_blocks *b, const rota_copy *copy);

/* The blocks of a message: count their bytes, copy them to bytes, or from
 * bytes. */
size_t rota_message_bytes(const rota_blocks *b, rota_dir dir, uint32_t m);
int rota_message_pack(const rota_blocks *b, uint32_t m, char *packed);
int rota_message_unpack(const rota_blocks *b, uint32_t m, const char *packed);

/* Pack or unpack bytes begin to end of a message whose layouts are known.
 * streams: write past the caches. */
void rota_message_pack_part(const rota_blocks *b, uint32_t m, size_t begin,
                            size_t end, bool streams, char *packed);
void rota_message_unpack_part(const rota_blocks *b, uint32_t m, size_t begin,
                              size_t end, bool streams, const char *packed);

/* Make room for bytes in memory that is kept from run to run. pointer: the address
 * of the pointer to it, of whatever type. It grows by at
 * least half, so that a run like an earlier one allocates nothing. Contents are
 * kept. what: named in the error. */
int rota_grow(void *pointer, size_t *room, size_t bytes, const char *what);

/* Bytes of staging memory that a copy between two datatypes needs: a whole
 * number of elements of both. */
size_t rota_copy_step(const rota_type *a, const rota_type *b);

#endif /* ROTA_BLOCKS_H */
