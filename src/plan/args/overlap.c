/* overlap.c - finds blocks that share bytes and must not.
 *
 * It first compares spans, from the first to the last byte of each block. Only
 * if some of these overlap, or a type may overlap itself, it lists the rows of
 * types and compares those. Spans or rows are sorted by where they begin. One
 * that begins before the furthest end so far shares bytes with an earlier one.
 */
#include "plan/args/overlap.h"

#include <stdint.h>
#include <stdlib.h>

/* Most rows of all blocks of types: sorting them takes milliseconds. */
enum { MOST = 1 << 16 };

typedef struct row {
    ptrdiff_t begin, end; /* addresses */
    int block;            /* q < n_recv: receive block q; n_recv + q: send
                             block q */
} row;

typedef struct search {
    int n_recv;
    bool listed;    /* blocks are of neighbours, which may have several */
    bool received;  /* check that no byte is received twice */
    row *row;       /* [n] */
    size_t n, room; /* room: for so many more rows of types */
} search;

/* ---- rows ---------------------------------------------------------------- */

/* From the first to the last byte of a block that has some. */
static row span_of(const rota_side *side, int q, int block)
{
    const rota_type *const type = rota_types_at(&side->types, (size_t)q);
    const ptrdiff_t last =
        (ptrdiff_t)(side->bytes[q] / type->size - 1) * type->extent;
    const ptrdiff_t at = (ptrdiff_t)(intptr_t)side->base + side->offset[q];

    return (row){at + (last < 0 ? last : 0) + type->lb,
                 at + (last < 0 ? 0 : last) + type->ub, block};
}

static row bounds(const rota_side *side)
{
    row all = {PTRDIFF_MAX, PTRDIFF_MIN, 0};

    for (int q = 0; q < side->n; q++) {
        if (side->bytes[q] == 0)
            continue;
        const row span = span_of(side, q, 0);
        all.begin = span.begin < all.begin ? span.begin : all.begin;
        all.end = span.end > all.end ? span.end : all.end;
    }
    return all;
}

/* Could a send and a receive block overlap? Mostly their bounds say no. */
static bool sides_meet(const rota_side *send, const rota_side *recv)
{
    const row sent = bounds(send), received = bounds(recv);

    return sent.begin < received.end && received.begin < sent.end;
}

/* More than MOST: too many. */
static size_t count_rows(const rota_layout *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n && n <= MOST; i++) {
        const rota_nest *const nest = &l->nest[i];
        size_t more = 1;
        for (int d = 0; d < nest->depth; d++)
            more =
                nest->dim[d].n > MOST / more ? MOST + 1 : more * nest->dim[d].n;
        n += more;
    }
    return n;
}

static void add_nest(search *s, const rota_nest *nest, int d, ptrdiff_t at,
                     int block)
{
    if (d == ROTA_NEST_DEPTH || d == nest->depth)
        s->row[s->n++] = (row){at, at + (ptrdiff_t)nest->width, block};
    else
        for (size_t i = 0; i < nest->dim[d].n; i++)
            add_nest(s, nest, d + 1, at + (ptrdiff_t)i * nest->dim[d].step,
                     block);
}

/* Of a type whose layout is unknown, or of too many rows, nothing is added. */
static void add_rows(search *s, const rota_side *side, int q, int block)
{
    const rota_type *const type = rota_types_at(&side->types, (size_t)q);
    const rota_layout *const l = type->layout;
    const size_t elements = side->bytes[q] / type->size;
    const size_t rows = l && !l->unknown ? count_rows(l) : MOST + 1;
    const ptrdiff_t at = (ptrdiff_t)(intptr_t)side->base + side->offset[q];

    if (rows > s->room / elements)
        return;
    s->room -= rows * elements;
    for (size_t e = 0; e < elements; e++)
        for (size_t i = 0; i < l->n; i++)
            add_nest(s, &l->nest[i], 0,
                     at + l->nest[i].at + (ptrdiff_t)e * type->extent, block);
}

/* Add the spans of all blocks; if exact, the rows of those of types. */
static void add_side(search *s, const rota_side *side, int first, bool exact)
{
    for (int q = 0; q < side->n; q++)
        if (side->bytes[q] > 0) {
            if (exact &&
                !rota_type_is_bytes(rota_types_at(&side->types, (size_t)q)))
                add_rows(s, side, q, first + q);
            else
                s->row[s->n++] = span_of(side, q, first + q);
        }
}

/* Does each row of the layout begin after the end of the one before? */
static bool ascends(const rota_layout *l)
{
    ptrdiff_t end = PTRDIFF_MIN;

    for (size_t i = 0; i < l->n; i++) {
        const rota_nest *const nest = &l->nest[i];
        ptrdiff_t length = (ptrdiff_t)nest->width;
        if (nest->at < end)
            return false;
        for (int d = nest->depth - 1; d >= 0; d--) {
            if (nest->dim[d].step < length)
                return false;
            length += (ptrdiff_t)(nest->dim[d].n - 1) * nest->dim[d].step;
        }
        end = nest->at + length;
    }
    return true;
}

/* Might a block of one of these types overlap itself? */
static bool may_fold(const rota_types *types)
{
    for (size_t i = 0; i < types->n; i++) {
        const rota_type *const t = &types->type[i];
        const ptrdiff_t length = t->ub - t->lb;
        if (t->layout && ((t->extent < length && -t->extent < length) ||
                          !ascends(t->layout)))
            return true;
    }
    return false;
}

/* ---- errors -------------------------------------------------------------- */

/* Blocks of neighbours have numbers of their own, others those of ranks. */
static int tell(const search *s, int a, int b)
{
    const int low = a < b ? a : b, high = a < b ? b : a;

    if (high >= s->n_recv)
        return rota_fail(MPI_ERR_BUFFER,
                         s->listed
                             ? "send block %d and receive block %d overlap"
                             : "the block to rank %d and the block from rank "
                               "%d overlap (MPI_IN_PLACE is for one buffer)",
                         high - s->n_recv, low);
    if (low == high)
        return rota_fail(MPI_ERR_ARG,
                         s->listed
                             ? "receive block %d overlaps itself"
                             : "the receive block from rank %d overlaps itself",
                         low);
    return rota_fail(MPI_ERR_ARG,
                     s->listed ? "receive blocks %d and %d overlap"
                               : "receive blocks from ranks %d and %d overlap",
                     low, high);
}

/* ---- all of it ----------------------------------------------------------- */

static int compare_begins(const void *a, const void *b)
{
    const row *const x = a, *const y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Compare what was added. Returns whether two rows share bytes and must not;
 * then also whose they are. */
static bool find_clash(search *s, int clash[2])
{
    row far[2] = {{.end = PTRDIFF_MIN}, {.end = PTRDIFF_MIN}};

    qsort(s->row, s->n, sizeof *s->row, compare_begins);
    for (size_t i = 0; i < s->n; i++) {
        const row *const r = &s->row[i];
        const bool sent = r->block >= s->n_recv;
        for (int with = 0; with < 2; with++)
            if (r->begin < far[with].end &&
                (sent ? with == 0 : with == 1 || s->received)) {
                clash[0] = far[with].block;
                clash[1] = r->block;
                return true;
            }
        if (r->end > far[sent].end)
            far[sent] = *r;
    }
    return false;
}

static bool compare(search *s, const rota_side *send, const rota_side *recv,
                    bool exact, int clash[2])
{
    s->n = 0;
    add_side(s, recv, 0, exact);
    if (send)
        add_side(s, send, s->n_recv, exact);
    return find_clash(s, clash);
}

int rota_overlap_check(const rota_problem *problem, bool received)
{
    const rota_side *const recv = &problem->recv;
    const rota_side *const send =
        !problem->in_place && sides_meet(&problem->send, recv) ? &problem->send
                                                               : NULL;
    search s = {.n_recv = recv->n,
                .listed = problem->neighbors != NULL,
                .received = received,
                .room = MOST};
    const bool typed = !rota_types_are_bytes(&recv->types) ||
                       (send && !rota_types_are_bytes(&send->types));
    int clash[2];

    if (!send && !received)
        return MPI_SUCCESS;
    s.row = malloc(
        ((size_t)recv->n + (send ? (size_t)send->n : 0) + (typed ? MOST : 1)) *
        sizeof *s.row);
    if (!s.row)
        return rota_fail_mem("looking for overlaps");
    bool found = compare(&s, send, recv, false, clash);
    if (typed && (found || (received && may_fold(&recv->types))))
        found = compare(&s, send, recv, true, clash);
    free(s.row);
    return found ? tell(&s, clash[0], clash[1]) : MPI_SUCCESS;
}
