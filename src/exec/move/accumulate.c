/* accumulate.c - see accumulate.h. */
#include "exec/move/accumulate.h"

#include <stdlib.h>

/* Blocks in the landing are aligned for elements of any type. */
enum { ALIGNMENT = 16 };

int rota_accumulation_make(int n, rota_accumulation **made)
{
    rota_accumulation *const a = calloc(1, sizeof *a);

    if (a)
        a->offset = calloc((size_t)n + 1, sizeof *a->offset);
    if (!a || !a->offset) {
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

int rota_accumulate(const rota_accumulation *a, const rota_blocks *b)
{
    for (int i = 0; i < b->s->n_recv; i++) {
        const rota_block k = rota_dst(b->s, i);
        if (b->bytes[k] > 0)
            ROTA_TRY(combine_block(a, b, rota_types_at(a->types, (size_t)i),
                                   a->landing + b->offset[k],
                                   a->into + a->offset[i], b->bytes[k]));
    }
    return MPI_SUCCESS;
}
