/* overlap.c - finds blocks that share bytes and must not.
 *
 * If the bounds of blocks overlap, their pieces are compared. Every address
 * becomes a row and a column of a matrix, whose row length is the distance
 * between most rows of data. So a strip, which is a series of equally distant
 * rows, is one rectangle or two, however many rows it has. A sweep down the
 * rows counts the columns that are taken.
 */
#include "plan/args/overlap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Most strips, and most rectangles, of all blocks: up to 30 MB during the
 * search. */
enum { MOST = 1 << 18 };

/* Rows at equal distances, upwards. */
typedef struct rows {
    ptrdiff_t at, pitch; /* pitch: distance between rows, if several */
    size_t width, n;
} rows;

typedef struct part {
    rows strip; /* at: an address */
    int block;  /* q < n_recv: receive block q; n_recv + q: send block q */
} part;

typedef struct tile {
    size_t row, row_end, from, to;
    int block;
} tile;

typedef struct search {
    int n_recv;
    bool listed;   /* blocks are of neighbours, which may have several */
    bool received; /* check that no byte is received twice */
    bool alone;    /* look only at one block of each type */
    part *part;
    tile *tile;           /* sorted by first row */
    tile *by_end;         /* the same tiles, sorted by end */
    size_t *column;       /* sorted columns where tiles begin and end */
    int64_t *taken[2][2]; /* for receive and send blocks, two trees each */
    size_t n_parts, n_tiles, n_columns, room;
    ptrdiff_t origin, pitch;
    bool unknown;
} search;

/* ---- bounds -------------------------------------------------------------- */

typedef struct span {
    ptrdiff_t begin, end;
} span;

static int compare_spans(const void *a, const void *b)
{
    const span *const x = a, *const y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Find the bounds of all blocks with bytes; returns their number. */
static int measure_spans(const rota_side *side, span spans[])
{
    int n = 0;

    for (int q = 0; q < side->n; q++) {
        const rota_type *const type = rota_types_at(&side->types, (size_t)q);
        if (side->bytes[q] == 0)
            continue;
        const ptrdiff_t last =
            (ptrdiff_t)(side->bytes[q] / type->size - 1) * type->extent;
        const ptrdiff_t at = (ptrdiff_t)(intptr_t)side->base + side->offset[q];
        spans[n++] = (span){at + (last < 0 ? last : 0) + type->lb,
                            at + (last < 0 ? 0 : last) + type->ub};
    }
    return n;
}

static span bounds(const span spans[], int n)
{
    span all = {PTRDIFF_MAX, PTRDIFF_MIN};

    for (int i = 0; i < n; i++) {
        all.begin = spans[i].begin < all.begin ? spans[i].begin : all.begin;
        all.end = spans[i].end > all.end ? spans[i].end : all.end;
    }
    return all;
}

/* Could a send and a receive block overlap? Mostly their bounds say no. */
static bool sides_meet(const rota_side *send, const rota_side *recv,
                       span spans[])
{
    const span sent = bounds(spans, measure_spans(send, spans));
    const span received = bounds(spans, measure_spans(recv, spans));

    return sent.begin < received.end && received.begin < sent.end;
}

static bool blocks_meet(const rota_side *side, span spans[])
{
    const int n = measure_spans(side, spans);

    qsort(spans, (size_t)n, sizeof *spans, compare_spans);
    for (int i = 1; i < n; i++)
        if (spans[i].begin < spans[i - 1].end)
            return true;
    return false;
}

/* ---- errors -------------------------------------------------------------- */

/* Name blocks by their own numbers, as a list of neighbours has them. */
static int tell_listed(const search *s, int a, int b)
{
    const int low = a < b ? a : b, high = a < b ? b : a;

    if (high >= s->n_recv)
        return rota_fail(MPI_ERR_BUFFER,
                         "send block %d and receive block %d overlap",
                         high - s->n_recv, low);
    if (a == b)
        return rota_fail(MPI_ERR_ARG, "receive block %d overlaps itself", a);
    return rota_fail(MPI_ERR_ARG, "receive blocks %d and %d overlap", low,
                     high);
}

static int tell(const search *s, int a, int b)
{
    const int P = s->n_recv;

    if (s->listed)
        return tell_listed(s, a, b);
    if (a >= P || b >= P)
        return rota_fail(MPI_ERR_BUFFER,
                         "the block to rank %d and the block from rank %d "
                         "overlap (MPI_IN_PLACE is for one buffer)",
                         (a > b ? a : b) - P, a > b ? b : a);
    if (a == b)
        return rota_fail(MPI_ERR_ARG,
                         "the receive block from rank %d overlaps itself", a);
    return rota_fail(MPI_ERR_ARG, "receive blocks from ranks %d and %d overlap",
                     a < b ? a : b, a < b ? b : a);
}

/* ---- blocks to strips ---------------------------------------------------- */

/* Dimensions of a nest plus that of a block's elements; the smallest step
 * first. */
enum { MOST_DIMS = ROTA_NEST_DEPTH + 1 };

typedef struct grid {
    ptrdiff_t at;
    size_t width;
    int n;
    rota_dim dim[MOST_DIMS];
} grid;

static void add_dim(grid *g, size_t n, ptrdiff_t step)
{
    int i = g->n;

    if (n <= 1)
        return;
    if (step < 0) { /* the same bytes, from the other end */
        g->at += (ptrdiff_t)(n - 1) * step;
        step = -step;
    }
    for (; i > 0 && g->dim[i - 1].step > step; i--)
        g->dim[i] = g->dim[i - 1];
    g->dim[i] = (rota_dim){n, step};
    g->n++;
}

/* Join rows that lie end to end, or overlap. Returns whether some overlap. */
static bool join_rows(grid *g)
{
    bool overlap = false;
    int from = 0;

    for (; from < g->n && g->dim[from].step <= (ptrdiff_t)g->width; from++) {
        const rota_dim *const d = &g->dim[from];
        overlap = overlap || d->step < (ptrdiff_t)g->width;
        g->width += (d->n - 1) * (size_t)d->step;
    }
    g->n -= from;
    memmove(g->dim, g->dim + from, (size_t)g->n * sizeof g->dim[0]);
    return overlap;
}

/* Make strips as few as possible: join equal steps, and put the longest
 * dimension first. */
static void order(grid *g)
{
    int most = 0, n = 0;

    for (int d = 1; d < g->n; d++)
        if (g->dim[d].step == (ptrdiff_t)g->dim[n].n * g->dim[n].step)
            g->dim[n].n *= g->dim[d].n;
        else
            g->dim[++n] = g->dim[d];
    g->n = g->n > 0 ? n + 1 : 0;
    for (int d = 1; d < g->n; d++)
        most = g->dim[d].n > g->dim[most].n ? d : most;
    const rota_dim first = g->dim[0];
    g->dim[0] = g->dim[most];
    g->dim[most] = first;
}

/* Add strips of the first dimension, one for each position in the others. */
static void add_strips(search *s, const grid *g, int d, ptrdiff_t at, int block)
{
    if (d > 0) {
        for (size_t i = 0; i < g->dim[d].n && !s->unknown; i++)
            add_strips(s, g, d - 1, at + (ptrdiff_t)i * g->dim[d].step, block);
        return;
    }
    s->unknown = s->unknown || s->n_parts == MOST;
    if (s->unknown)
        return;
    const rota_dim first = g->n > 0 ? g->dim[0] : (rota_dim){1, 0};
    s->part[s->n_parts++] = (part){{at, first.step, g->width, first.n}, block};
}

/* Returns whether some bytes are known to occur twice. */
static bool add_nest(search *s, const rota_nest *nest, ptrdiff_t at, size_t n,
                     ptrdiff_t extent, int block)
{
    grid g = {.at = at + nest->at, .width = nest->width};

    for (int d = 0; d < nest->depth; d++)
        add_dim(&g, nest->dim[d].n, nest->dim[d].step);
    add_dim(&g, n, extent);
    const bool overlap = join_rows(&g);
    order(&g);
    add_strips(s, &g, g.n - 1, g.at, block);
    return overlap;
}

static int add_block(search *s, const rota_side *side, int q, int block,
                     const rota_layout *element)
{
    const rota_type *const type = rota_types_at(&side->types, (size_t)q);
    const size_t n = side->bytes[q] / type->size;
    const ptrdiff_t at = (ptrdiff_t)(intptr_t)side->base + side->offset[q];
    bool overlaps = element->overlaps;

    s->unknown = s->unknown || element->unknown;
    for (size_t i = 0; i < element->n && !s->unknown; i++)
        if (add_nest(s, &element->nest[i], at, n, type->extent, block))
            overlaps = true;
    return overlaps && block < s->n_recv && s->received ? tell(s, block, block)
                                                        : MPI_SUCCESS;
}

/* For each type, find a block with the most elements. most: [n types] */
static void find_largest(const rota_side *side, int most[])
{
    for (size_t i = 0; i < side->types.n; i++)
        most[i] = -1;
    for (int q = 0; q < side->n; q++) {
        int *const m = &most[side->types.of ? side->types.of[q] : 0];
        if (*m < 0 || side->bytes[q] > side->bytes[*m])
            *m = q;
    }
}

/* The layout of one element. */
static const rota_layout *layout_of(const rota_type *type)
{
    static rota_nest byte = {.width = 1};
    static const rota_layout bytes = {.nest = &byte, .n = 1},
                             unknown = {.unknown = true};

    if (rota_type_is_bytes(type))
        return &bytes;
    return type->layout ? type->layout : &unknown;
}

static int add_side(search *s, const rota_side *side, int first)
{
    int *const most = malloc(side->types.n * sizeof *most);
    int err = most ? MPI_SUCCESS : rota_fail_mem("looking for overlaps");

    if (most)
        find_largest(side, most);
    for (int q = 0; q < side->n && err == MPI_SUCCESS && !s->unknown; q++) {
        const size_t t = side->types.of ? side->types.of[q] : 0;
        if (side->bytes[q] > 0 && (!s->alone || most[t] == q))
            err = add_block(s, side, q, first + q,
                            layout_of(&side->types.type[t]));
    }
    free(most);
    return err;
}

/* ---- strips to rectangles ------------------------------------------------ */

static void add_tile(search *s, size_t row, size_t n, size_t from, size_t to,
                     int block)
{
    s->unknown = s->unknown || s->n_tiles == MOST;
    if (!s->unknown && n > 0 && from < to)
        s->tile[s->n_tiles++] = (tile){row, row + n, from, to, block};
}

/* Add a run of bytes: the end of a row, whole rows, the beginning of a row. */
static void add_run(search *s, ptrdiff_t at, size_t width, int block)
{
    const size_t place = (size_t)(at - s->origin), pitch = (size_t)s->pitch;
    const size_t row = place / pitch, from = place % pitch;

    if (from + width <= pitch) {
        add_tile(s, row, 1, from, from + width, block);
        return;
    }
    const size_t rest = width - (pitch - from);
    add_tile(s, row, 1, from, pitch, block);
    add_tile(s, row + 1, rest / pitch, 0, pitch, block);
    add_tile(s, row + 1 + rest / pitch, 1, 0, rest % pitch, block);
}

static void add_strip(search *s, const part *p)
{
    const rows *const strip = &p->strip;
    const size_t place = (size_t)(strip->at - s->origin);
    const size_t pitch = (size_t)s->pitch, row = place / pitch;
    const size_t from = place % pitch, to = from + strip->width;

    if (strip->n > 1 && strip->pitch == s->pitch) {
        add_tile(s, row, strip->n, from, to < pitch ? to : pitch, p->block);
        if (to > pitch)
            add_tile(s, row + 1, strip->n, 0, to - pitch, p->block);
        return;
    }
    for (size_t i = 0; i < strip->n && !s->unknown; i++)
        add_run(s, strip->at + (ptrdiff_t)i * strip->pitch, strip->width,
                p->block);
}

static void add_tiles(search *s)
{
    size_t most = 1;

    s->origin = PTRDIFF_MAX;
    s->pitch = PTRDIFF_MAX;
    for (size_t i = 0; i < s->n_parts; i++) {
        const rows *const strip = &s->part[i].strip;
        s->origin = strip->at < s->origin ? strip->at : s->origin;
        if (strip->n > most) {
            most = strip->n;
            s->pitch = strip->pitch;
        }
    }
    for (size_t i = 0; i < s->n_parts && !s->unknown; i++)
        add_strip(s, &s->part[i]);
}

/* ---- sweeping down the rows ---------------------------------------------- */

static int compare_begins(const void *a, const void *b)
{
    const tile *const x = a, *const y = b;

    return (x->row > y->row) - (x->row < y->row);
}

static int compare_ends(const void *a, const void *b)
{
    const tile *const x = a, *const y = b;

    return (x->row_end > y->row_end) - (x->row_end < y->row_end);
}

static int compare_columns(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static size_t find_column(const search *s, size_t column)
{
    const size_t *const found = bsearch(&column, s->column, s->n_columns,
                                        sizeof column, compare_columns);

    return (size_t)(found - s->column);
}

/* Two binary indexed trees: add to a range of columns, and sum any other
 * range. */
static void add_from(search *s, int which, size_t i, int64_t n)
{
    for (size_t at = i + 1; at <= s->n_columns; at += at & -at) {
        s->taken[which][0][at] += n;
        s->taken[which][1][at] += n * (int64_t)i;
    }
}

static int64_t sum_before(const search *s, int which, size_t i)
{
    int64_t slope = 0, rest = 0;

    for (size_t at = i; at > 0; at -= at & -at) {
        slope += s->taken[which][0][at];
        rest += s->taken[which][1][at];
    }
    return slope * (int64_t)i - rest;
}

static void take(search *s, const tile *t, int64_t n)
{
    const int which = t->block >= s->n_recv;

    add_from(s, which, find_column(s, t->from), n);
    add_from(s, which, find_column(s, t->to), -n);
}

static bool has(const search *s, int which, size_t from, size_t to)
{
    return sum_before(s, which, to) > sum_before(s, which, from);
}

/* Is the tile taken by something that must not share bytes with it? */
static bool is_taken(const search *s, const tile *t)
{
    const size_t from = find_column(s, t->from), to = find_column(s, t->to);
    const bool sent = t->block >= s->n_recv;

    return ((sent || s->received) && has(s, 0, from, to)) ||
           (!sent && has(s, 1, from, to));
}

/* The first tile that meets an earlier one, or NULL. */
static const tile *sweep(search *s)
{
    size_t ended = 0;

    for (size_t i = 0; i < s->n_tiles; i++) {
        const tile *const t = &s->tile[i];
        for (; s->by_end[ended].row_end <= t->row; ended++)
            take(s, &s->by_end[ended], -1);
        if (is_taken(s, t))
            return t;
        take(s, t, 1);
    }
    return NULL;
}

static int prepare(search *s)
{
    const size_t n = s->n_tiles;

    s->by_end = malloc((n + 1) * sizeof *s->by_end);
    s->column = malloc((2 * n + 1) * sizeof *s->column);
    for (int i = 0; i < 4; i++)
        s->taken[i / 2][i % 2] = calloc(2 * n + 2, sizeof(int64_t));
    if (!s->by_end || !s->column || !s->taken[0][0] || !s->taken[0][1] ||
        !s->taken[1][0] || !s->taken[1][1])
        return rota_fail_mem("looking for overlaps");
    qsort(s->tile, n, sizeof *s->tile, compare_begins);
    memcpy(s->by_end, s->tile, n * sizeof *s->tile);
    qsort(s->by_end, n, sizeof *s->by_end, compare_ends);
    for (size_t i = 0; i < n; i++) {
        s->column[2 * i] = s->tile[i].from;
        s->column[2 * i + 1] = s->tile[i].to;
    }
    qsort(s->column, 2 * n, sizeof *s->column, compare_columns);
    for (size_t i = 0; i < 2 * n; i++)
        if (i == 0 || s->column[i] != s->column[i - 1])
            s->column[s->n_columns++] = s->column[i];
    return MPI_SUCCESS;
}

/* ---- all of it ----------------------------------------------------------- */

static bool clashes(const search *s, const tile *a, const tile *b)
{
    const bool sent = a->block >= s->n_recv;
    const bool alike = sent == (b->block >= s->n_recv);

    return a->row_end > b->row && a->from < b->to && b->from < a->to &&
           (!alike || (!sent && s->received));
}

static int name_clash(const search *s, const tile *t)
{
    const tile *other = s->tile;

    while (other < t && !clashes(s, other, t))
        other++;
    return tell(s, other->block, t->block);
}

static int compare_pieces(search *s, const rota_side *send,
                          const rota_side *recv)
{
    s->part = malloc(MOST * sizeof *s->part);
    s->tile = malloc(MOST * sizeof *s->tile);
    if (!s->part || !s->tile)
        return rota_fail_mem("looking for overlaps");
    ROTA_TRY(add_side(s, recv, 0));
    if (send)
        ROTA_TRY(add_side(s, send, s->n_recv));
    if (!s->unknown)
        add_tiles(s);
    if (s->unknown)
        return MPI_SUCCESS; /* too many to check, as rota.h says */
    ROTA_TRY(prepare(s));
    const tile *const clash = sweep(s);
    return clash ? name_clash(s, clash) : MPI_SUCCESS;
}

static void free_search(search *s)
{
    free(s->part);
    free(s->tile);
    free(s->by_end);
    free(s->column);
    for (int i = 0; i < 4; i++)
        free(s->taken[i / 2][i % 2]);
}

int rota_check_overlap(const rota_problem *problem, bool received)
{
    const rota_side *const send = problem->in_place ? NULL : &problem->send;
    const rota_side *const recv = &problem->recv;
    const int n = send && send->n > recv->n ? send->n : recv->n;
    span *const spans = malloc(((size_t)n + 1) * sizeof *spans);
    search s = {.n_recv = recv->n,
                .listed = problem->neighbors != NULL,
                .received = received};
    bool meet = false;
    int err = spans ? MPI_SUCCESS : rota_fail_mem("looking for overlaps");

    if (spans && send)
        meet = sides_meet(send, recv, spans);
    if (spans && received && !meet)
        meet = blocks_meet(recv, spans);
    free(spans);
    /* Blocks are apart from each other, but each may overlap itself. */
    s.alone = !meet && received && !rota_types_are_bytes(&recv->types);
    if (err == MPI_SUCCESS && (meet || s.alone))
        err = compare_pieces(&s, s.alone ? NULL : send, recv);
    free_search(&s);
    return err;
}
