/* accumulate.c - see accumulate.h. */
#include "exec/move/accumulate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Blocks in the landing are aligned for elements of any type. */
enum { ALIGNMENT = 16 };

int rota_accumulation_make(int n, rota_accumulation **made)
{
    rota_accumulation *const a = calloc(1, sizeof *a);
    const size_t room = (size_t)n + 1;

    if (a) {
        a->offset = calloc(room, sizeof *a->offset);
        a->once = calloc(room, sizeof *a->once);
        a->from = calloc(room, sizeof *a->from);
        a->direct = calloc(room, sizeof *a->direct);
    }
    if (!a || !a->offset || !a->once || !a->from || !a->direct) {
        rota_accumulation_free(a);
        return rota_fail_mem("blocks that are combined");
    }
    *made = a;
    return MPI_SUCCESS;
}

void rota_accumulation_free(rota_accumulation *a)
{
    if (!a)
        return;
    free(a->offset);
    free(a->once);
    free(a->from);
    free(a->direct);
    free(a->landing);
    free(a->packed);
    free(a);
}

int rota_accumulation_land(rota_accumulation *a, int n, const size_t bytes[],
                           ptrdiff_t offset[])
{
    size_t end = 0, most = 0;

    for (int i = 0; i < n; i++) {
        offset[i] = (ptrdiff_t)end;
        end += (bytes[i] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (bytes[i] > most &&
            !rota_type_is_bytes(rota_types_at(a->types, (size_t)i)))
            most = bytes[i];
    }
    ROTA_TRY(rota_grow(&a->landing, &a->landing_bytes, end,
                       "blocks that are combined"));
    return rota_grow(&a->packed, &a->packed_bytes, most,
                     "blocks that are combined");
}

/* ---- blocks of a type that is not plain bytes ---------------------------- */

/* Does each row of an element have a whole number of the operator's elements? */
static bool has_whole_rows(const rota_type *type, size_t size)
{
    const rota_layout *const l = type->layout;

    for (size_t i = 0; l && i < l->n; i++)
        if (l->nest[i].width % size != 0)
            return false;
    return l != NULL;
}

/* Combine what is at *from, and move that on, with the rows of a nest from its
 * dimension d on; the innermost one is a loop of the operator. */
static int combine_nest(const rota_operator *o, const rota_nest *nest, int d,
                        const char **from, char *into)
{
    const bool inner = d + 1 >= nest->depth;
    const size_t n = nest->depth > 0 ? nest->dim[d].n : 1;
    const ptrdiff_t step = nest->depth > 0 ? nest->dim[d].step : 0;

    if (inner) {
        ROTA_TRY(o->combine(o, *from, into, nest->width, n, step));
        *from += n * nest->width;
        return MPI_SUCCESS;
    }
    for (size_t i = 0; i < n; i++)
        ROTA_TRY(
            combine_nest(o, nest, d + 1, from, into + (ptrdiff_t)i * step));
    return MPI_SUCCESS;
}

/* Row by row, in the order in which they are packed. So a block may have the same
 * bytes more than once. */
static int combine_rows(const rota_operator *o, const rota_type *type,
                        const char *from, char *into, size_t bytes)
{
    const rota_layout *const l = type->layout;

    for (size_t n = bytes / type->size; n > 0; n--, into += type->extent)
        for (size_t i = 0; i < l->n; i++)
            ROTA_TRY(
                combine_nest(o, &l->nest[i], 0, &from, into + l->nest[i].at));
    return MPI_SUCCESS;
}

static int combine_packed(const rota_accumulation *a, const rota_blocks *b,
                          const rota_type *type, const char *from, char *into,
                          size_t bytes)
{
    ROTA_TRY(rota_type_pack(type, into, bytes, a->packed, b->comm));
    ROTA_TRY(a->what.combine(&a->what, from, a->packed, bytes, 1, 0));
    return rota_type_unpack(type, a->packed, bytes, into, b->comm);
}

static int combine_block(const rota_accumulation *a, const rota_blocks *b,
                         const rota_type *type, const char *from, char *into,
                         size_t bytes)
{
    if (rota_type_is_bytes(type))
        return a->what.combine(&a->what, from, into, bytes, 1, 0);
    return has_whole_rows(type, a->what.size)
               ? combine_rows(&a->what, type, from, into, bytes)
               : combine_packed(a, b, type, from, into, bytes);
}

/* ---- blocks that are not copied ------------------------------------------ */

/* The number of a receive block; -1: it is another. */
static int number_of(const rota_sched *s, rota_block b)
{
    return rota_block_region(s, b) == ROTA_DST ? (int)rota_block_slot(s, b)
                                               : -1;
}

/* Is it there in more than one way? From a message it may not have come before. */
static void note_write(rota_accumulation *a, bool written[], int i)
{
    if (i < 0)
        return;
    a->once[i] = !written[i];
    written[i] = true;
}

static void note_read(bool read[], int i)
{
    if (i >= 0)
        read[i] = true;
}

static void look_at_copy(rota_accumulation *a, const rota_blocks *b,
                         const rota_copy *k)
{
    const int i = number_of(b->s, k->to);

    if (i >= 0 && rota_block_region(b->s, k->from) == ROTA_SRC &&
        rota_type_is_bytes(rota_block_type(b, k->from)))
        a->from[i] = k->from;
}

void rota_accumulation_look(rota_accumulation *a, const rota_blocks *b)
{
    const rota_sched *const s = b->s;
    const rota_msgs *const in = &s->msgs[ROTA_RECV], *const out =
                                                         &s->msgs[ROTA_SEND];
    bool *const written = a->direct; /* not yet in use */

    for (int i = 0; i < s->n_recv; i++)
        a->from[i] = ROTA_NOT_COPIED;
    for (uint32_t k = 0; k < in->msg[in->n].first; k++)
        note_write(a, written, number_of(s, in->item[k]));
    for (uint32_t c = 0; c < s->n_copies; c++) {
        note_write(a, written, number_of(s, s->copy[c].to));
        look_at_copy(a, b, &s->copy[c]);
    }
    memset(a->direct, 0, (size_t)s->n_recv * sizeof *a->direct);
    bool *const read = a->direct;
    for (uint32_t k = 0; k < out->msg[out->n].first; k++)
        note_read(read, number_of(s, out->item[k]));
    for (uint32_t c = 0; c < s->n_copies; c++)
        note_read(read, number_of(s, s->copy[c].from));
    for (int i = 0; i < s->n_recv; i++) {
        a->once[i] = a->once[i] && !read[i];
        a->direct[i] = false;
        if (!a->once[i] || !a->straight)
            a->from[i] = ROTA_NOT_COPIED;
    }
}

bool rota_accumulation_spares(const rota_accumulation *a, const rota_sched *s,
                              const rota_copy *k)
{
    const int i = number_of(s, k->to);

    return i >= 0 && a->from[i] != ROTA_NOT_COPIED;
}

/* Are parts of a block, which begin at multiples of ALIGNMENT, whole elements? */
static bool are_whole(const rota_accumulation *a)
{
    return ALIGNMENT % a->what.size == 0;
}

/* Where to combine from: MPI may want elements aligned, as they are in the landing.
 */
static const char *aligned(const rota_accumulation *a, const char *from,
                           char *landing, size_t bytes)
{
    if (from == landing || !rota_operator_needs_mpi(&a->what) ||
        (uintptr_t)from % ALIGNMENT == 0)
        return from;
    return memcpy(landing, from, bytes);
}

int rota_accumulate_part(const rota_accumulation *a, const rota_blocks *b,
                         int i, size_t begin, size_t end, const char *from)
{
    char *const landing =
        a->landing + b->offset[rota_dst(b->s, i)] + (ptrdiff_t)begin;
    const size_t bytes = end - begin;

    if (!are_whole(a)) {
        memcpy(landing, from, bytes);
        return MPI_SUCCESS;
    }
    return a->what.combine(&a->what, aligned(a, from, landing, bytes),
                           a->into + a->offset[i] + (ptrdiff_t)begin, bytes, 1,
                           0);
}

/* ---- all blocks ---------------------------------------------------------- */

int rota_accumulate(const rota_accumulation *a, const rota_blocks *b)
{
    for (int i = 0; i < b->s->n_recv; i++) {
        const rota_block k = rota_dst(b->s, i);
        char *const landing = a->landing + b->offset[k];
        const char *from = landing;
        if (b->bytes[k] == 0 || (a->direct[i] && are_whole(a)))
            continue;
        if (a->from[i] != ROTA_NOT_COPIED)
            from =
                aligned(a, rota_block_at(b, a->from[i]), landing, b->bytes[k]);
        ROTA_TRY(combine_block(a, b, rota_types_at(a->types, (size_t)i), from,
                               a->into + a->offset[i], b->bytes[k]));
    }
    return MPI_SUCCESS;
}

size_t rota_accumulation_straight(const rota_accumulation *a,
                                  const rota_blocks *b)
{
    size_t bytes = 0;

    for (int i = 0; i < b->s->n_recv; i++)
        if (a->from[i] != ROTA_NOT_COPIED || (a->direct[i] && are_whole(a)))
            bytes += b->bytes[rota_dst(b->s, i)];
    return bytes;
}
