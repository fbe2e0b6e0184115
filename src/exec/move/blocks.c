/* blocks.c - see blocks.h. */
#include "exec/move/blocks.h"
#include "exec/move/packer.h"
#include "exec/move/strided.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* How many elements to give to one MPI_Pack, whose position is an int. */
static size_t pack_chunk(const rota_type *t)
{
    const size_t chunk = ((size_t)1 << 30) / t->size;

    return chunk > 0 ? chunk : 1;
}

/* Copy bytes begin to end of a block of plain bytes, or of elements with a known
 * layout. Here and below, one function serves both directions: what is only read
 * is not written. */
static void copy_part(const rota_type *t, bool unpacks, char *data,
                      size_t begin, size_t end, bool streams, char *packed)
{
    if (!rota_type_is_bytes(t) && unpacks)
        rota_strided_unpack(t, packed, begin, end, streams, data);
    else if (!rota_type_is_bytes(t))
        rota_strided_pack(t, data, begin, end, streams, packed);
    else if (unpacks)
        rota_copy_bulk(data + begin, packed, end - begin, streams);
    else
        rota_copy_bulk(packed, data + begin, end - begin, streams);
}

static int copy_type(const rota_type *t, bool unpacks, char *data, size_t bytes,
                     char *packed, MPI_Comm comm)
{
    if (rota_type_is_bytes(t) || t->layout) {
        copy_part(t, unpacks, data, 0, bytes, false, packed);
        return MPI_SUCCESS;
    }
    const size_t chunk = pack_chunk(t);
    for (size_t left = bytes / t->size; left > 0;) {
        const int n = (int)(left < chunk ? left : chunk);
        int position = 0;
        ROTA_TRY(unpacks ? MPI_Unpack(packed, (int)((size_t)n * t->size),
                                      &position, data, n, t->mpi, comm)
                         : MPI_Pack(data, n, t->mpi, packed, INT_MAX, &position,
                                    comm));
        data += (ptrdiff_t)n * t->extent;
        packed += (size_t)n * t->size;
        left -= (size_t)n;
    }
    return MPI_SUCCESS;
}

int rota_type_pack(const rota_type *t, const char *data, size_t bytes,
                   char *packed, MPI_Comm comm)
{
    return copy_type(t, false, (char *)data, bytes, packed, comm);
}

int rota_type_unpack(const rota_type *t, const char *packed, size_t bytes,
                     char *data, MPI_Comm comm)
{
    return copy_type(t, true, data, bytes, (char *)packed, comm);
}

/* By the program's functions. */
static void call_packer(const rota_blocks *b, rota_block i, bool unpacks,
                        size_t begin, size_t end, char *packed)
{
    const rota_packer *const p = rota_block_type(b, i)->packer;
    const int n = (int)rota_block_slot(b->s, i);

    if (unpacks)
        rota_packer_unpack(p, n, begin, end, packed);
    else
        rota_packer_pack(p, n, begin, end, packed);
}

/* Copy bytes begin to end of what packing a block gives: whole elements. */
static int copy_elements(const rota_blocks *b, rota_block i, bool unpacks,
                         size_t begin, size_t end, char *packed)
{
    const rota_type *const t = rota_block_type(b, i);

    if (t->packer) {
        call_packer(b, i, unpacks, begin, end, packed);
        return MPI_SUCCESS;
    }
    return copy_type(t, unpacks,
                     rota_block_at(b, i) +
                         (ptrdiff_t)(begin / t->size) * t->extent,
                     end - begin, packed, b->comm);
}

int rota_block_pack(const rota_blocks *b, rota_block i, char *packed)
{
    return copy_elements(b, i, false, 0, b->bytes[i], packed);
}

int rota_block_unpack(const rota_blocks *b, const char *packed, rota_block i)
{
    return copy_elements(b, i, true, 0, b->bytes[i], (char *)packed);
}

size_t rota_message_bytes(const rota_blocks *b, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &b->s->msgs[dir];
    size_t bytes = 0;

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        bytes += rota_cell_bytes(b->bytes[l->item[i]]);
    return bytes;
}

static int copy_message(const rota_blocks *b, rota_dir dir, uint32_t m,
                        char *packed)
{
    const rota_msgs *const l = &b->s->msgs[dir];

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
        const rota_block block = l->item[i];
        const size_t bytes = rota_cell_bytes(b->bytes[block]);
        if (bytes > 0)
            ROTA_TRY(
                copy_elements(b, block, dir == ROTA_RECV, 0, bytes, packed));
        packed += bytes;
    }
    return MPI_SUCCESS;
}

int rota_message_pack(const rota_blocks *b, uint32_t m, char *packed)
{
    return copy_message(b, ROTA_SEND, m, packed);
}

int rota_message_unpack(const rota_blocks *b, uint32_t m, const char *packed)
{
    return copy_message(b, ROTA_RECV, m, (char *)packed);
}

static void copy_message_part(const rota_blocks *b, rota_dir dir, uint32_t m,
                              size_t begin, size_t end, bool streams,
                              char *packed)
{
    const rota_msgs *const l = &b->s->msgs[dir];
    size_t at = 0;

    for (const rota_block *i = l->item + l->msg[m].first; begin < end; i++) {
        const size_t stop = rota_smaller(end, at + b->bytes[*i]);
        if (begin < stop) {
            copy_part(rota_block_type(b, *i), dir == ROTA_RECV,
                      rota_block_at(b, *i), begin - at, stop - at, streams,
                      packed);
            packed += stop - begin;
            begin = stop;
        }
        at += b->bytes[*i];
    }
}

void rota_message_pack_part(const rota_blocks *b, uint32_t m, size_t begin,
                            size_t end, bool streams, char *packed)
{
    copy_message_part(b, ROTA_SEND, m, begin, end, streams, packed);
}

void rota_message_unpack_part(const rota_blocks *b, uint32_t m, size_t begin,
                              size_t end, bool streams, const char *packed)
{
    copy_message_part(b, ROTA_RECV, m, begin, end, streams, (char *)packed);
}

int rota_grow(void *pointer, size_t *room, size_t bytes, const char *what)
{
    const size_t half = *room + *room / 2;
    const size_t more = bytes > half ? bytes : half;
    void *memory;

    if (bytes <= *room)
        return MPI_SUCCESS;
    memcpy(&memory, pointer, sizeof memory);
    memory = realloc(memory, more);
    if (!memory)
        return rota_fail_mem(what);
    memcpy(pointer, &memory, sizeof memory);
    *room = more;
    return MPI_SUCCESS;
}

size_t rota_copy_step(const rota_type *a, const rota_type *b)
{
    enum { COMFORTABLE = 1 << 16 }; /* fits a second-level cache */
    size_t x = a->size, y = b->size;

    while (y > 0) {
        const size_t rest = x % y;
        x = y;
        y = rest;
    }
    const size_t both = a->size / x * b->size;
    return both < COMFORTABLE ? COMFORTABLE / both * both : both;
}

/* Copy between two datatypes: directly, or piece by piece through the staging
 * memory. */
static int copy_typed(const rota_blocks *b, rota_block from, rota_block to,
                      size_t bytes)
{
    const rota_type *const here = rota_block_type(b, from);
    const rota_type *const there = rota_block_type(b, to);
    rota_strided straight;

    if (rota_strided_match(there, here, bytes, &straight)) {
        rota_strided_copy(&straight, rota_block_at(b, to),
                          rota_block_at(b, from));
        return MPI_SUCCESS;
    }
    for (size_t at = 0, end; at < bytes; at = end) {
        end = rota_smaller(bytes, at + b->step);
        ROTA_TRY(copy_elements(b, from, false, at, end, b->stage));
        ROTA_TRY(copy_elements(b, to, true, at, end, b->stage));
    }
    return MPI_SUCCESS;
}

int rota_block_copy(const rota_blocks *b, const rota_copy *k)
{
    const size_t bytes = rota_copy_bytes(b->s, k, b->bytes);

    if (bytes == 0)
        return MPI_SUCCESS;
    if (rota_type_is_bytes(rota_block_type(b, k->to)))
        return copy_elements(b, k->from, false, 0, bytes,
                             rota_block_at(b, k->to));
    if (rota_type_is_bytes(rota_block_type(b, k->from)))
        return copy_elements(b, k->to, true, 0, bytes,
                             rota_block_at(b, k->from));
    return copy_typed(b, k->from, k->to, bytes);
}
