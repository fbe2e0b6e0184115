/* overlap.c - do blocks share bytes that must not?
 *
 * Where the bounds of blocks overlap their pieces are compared. All addresses
 * are written as row and column of a matrix whose rows are as long as most
 * strips are apart, so that a strip is one rectangle or two, whatever it has of
 * rows. Going down the rows, the columns that are taken are counted.
 */
#include "plan/plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Strips, and rectangles, of all blocks: up to 30 MB while it is looked. */
enum { MOST = 1 << 18 };

typedef struct part {
    rota_strip strip; /* at: an address */
    int block;        /* q: from rank q; P + q: to rank q */
} part;

typedef struct tile {
    size_t row, row_end, from, to;
    int block;
} tile;

typedef struct search {
    int P;
    bool received; /* no byte may be received twice */
    int only;      /* block that is looked at; -1: all */
    part *part;
    tile *tile;           /* in order of their first rows */
    tile *by_end;         /* the same, in order of their ends */
    size_t *column;       /* sorted: where tiles begin and end */
    int64_t *taken[2][2]; /* of receive and of send blocks: two trees each */
    size_t n_parts, n_tiles, n_columns, room;
    ptrdiff_t origin, pitch;
    bool unknown;
} search;

/* ---- bounds ------------------------------------------------------------------- */

typedef struct span {
    ptrdiff_t begin, end;
} span;

static int compare_spans(const void *a, const void *b)
{
    const span *const x = a, *const y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Bounds of the blocks that have bytes; returns how many those are. */
static int measure_spans(const rota_side *side, int P, span spans[], int *n)
{
    MPI_Aint true_lb, true_extent;

    ROTA_TRY(MPI_Type_get_true_extent(side->type.mpi, &true_lb, &true_extent));
    *n = 0;
    for (int q = 0; q < P; q++) {
        if (side->bytes[q] == 0)
            continue;
        const ptrdiff_t last =
            (ptrdiff_t)(side->bytes[q] / side->type.size - 1) *
            side->type.extent;
        const ptrdiff_t at =
            (ptrdiff_t)(intptr_t)side->base + side->offset[q] + true_lb;
        spans[(*n)++] = (span){at + (last < 0 ? last : 0),
                               at + (last < 0 ? 0 : last) + true_extent};
    }
    return MPI_SUCCESS;
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

/* Could a send and a receive block overlap? Most often bounds say that none
 * can. */
static int sides_meet(int P, const rota_side *send, const rota_side *recv,
                      span spans[], bool *meet)
{
    int n;

    ROTA_TRY(measure_spans(send, P, spans, &n));
    const span sent = bounds(spans, n);
    ROTA_TRY(measure_spans(recv, P, spans, &n));
    const span received = bounds(spans, n);
    *meet = sent.begin < received.end && received.begin < sent.end;
    return MPI_SUCCESS;
}

static int blocks_meet(int P, const rota_side *side, span spans[], bool *meet)
{
    int n;

    ROTA_TRY(measure_spans(side, P, spans, &n));
    qsort(spans, (size_t)n, sizeof *spans, compare_spans);
    *meet = false;
    for (int i = 1; i < n && !*meet; i++)
        *meet = spans[i].begin < spans[i - 1].end;
    return MPI_SUCCESS;
}

static int largest(const rota_side *side, int P)
{
    int most = 0;

    for (int q = 1; q < P; q++)
        most = side->bytes[q] > side->bytes[most] ? q : most;
    return most;
}

/* ---- errors ------------------------------------------------------------------ */

static int tell(int P, int a, int b)
{
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

/* ---- blocks to strips ---------------------------------------------------------- */

static void add_parts(search *s, const rota_pieces *pieces, int block)
{
    s->unknown = s->unknown || pieces->unknown || MOST - s->n_parts < pieces->n;
    for (size_t i = 0; i < pieces->n && !s->unknown; i++)
        s->part[s->n_parts++] = (part){pieces->strip[i], block};
}

static int add_block(search *s, const rota_side *side, int q, int block,
                     const rota_pieces *element)
{
    const size_t n = side->bytes[q] / side->type.size;
    rota_pieces pieces = {0};

    int err = rota_pieces_add(
        &pieces, element, (ptrdiff_t)(intptr_t)side->base + side->offset[q]);
    if (err == MPI_SUCCESS)
        err = rota_pieces_repeat(&pieces, n, side->type.extent);
    if (err == MPI_SUCCESS && pieces.overlaps && block < s->P && s->received)
        err = tell(s->P, block, block);
    if (err == MPI_SUCCESS)
        add_parts(s, &pieces, block);
    rota_pieces_free(&pieces);
    return err;
}

static int add_side(search *s, const rota_side *side, int first, MPI_Comm comm)
{
    rota_pieces element = {0};

    int err = rota_pieces_of(side->type.mpi, comm, &element);
    for (int q = 0; q < s->P && err == MPI_SUCCESS && !s->unknown; q++)
        if (side->bytes[q] > 0 && (s->only < 0 || s->only == q))
            err = add_block(s, side, q, first + q, &element);
    rota_pieces_free(&element);
    return err;
}

/* ---- strips to rectangles ------------------------------------------------------ */

static void add_tile(search *s, size_t row, size_t n, size_t from, size_t to,
                     int block)
{
    s->unknown = s->unknown || s->n_tiles == MOST;
    if (!s->unknown && n > 0 && from < to)
        s->tile[s->n_tiles++] = (tile){row, row + n, from, to, block};
}

/* One run of bytes: the end of a row, whole rows, the begin of one. */
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
    const rota_strip *const strip = &p->strip;
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
    size_t rows = 1;

    s->origin = PTRDIFF_MAX;
    s->pitch = PTRDIFF_MAX;
    for (size_t i = 0; i < s->n_parts; i++) {
        const rota_strip *const strip = &s->part[i].strip;
        s->origin = strip->at < s->origin ? strip->at : s->origin;
        if (strip->n > rows) {
            rows = strip->n;
            s->pitch = strip->pitch;
        }
    }
    for (size_t i = 0; i < s->n_parts && !s->unknown; i++)
        add_strip(s, &s->part[i]);
}

/* ---- down the rows -------------------------------------------------------------- */

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

/* Two binary indexed trees: what is added to a range of columns is found in the
 * sum of any other. */
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
    const int which = t->block >= s->P;

    add_from(s, which, find_column(s, t->from), n);
    add_from(s, which, find_column(s, t->to), -n);
}

static bool has(const search *s, int which, size_t from, size_t to)
{
    return sum_before(s, which, to) > sum_before(s, which, from);
}

/* By what must not share bytes with it. */
static bool is_taken(const search *s, const tile *t)
{
    const size_t from = find_column(s, t->from), to = find_column(s, t->to);
    const bool sent = t->block >= s->P;

    return ((sent || s->received) && has(s, 0, from, to)) ||
           (!sent && has(s, 1, from, to));
}

/* The first tile that meets one before it, or NULL. */
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

/* ---- all of it ------------------------------------------------------------------ */

static bool clashes(const search *s, const tile *a, const tile *b)
{
    const bool sent = a->block >= s->P;
    const bool alike = sent == (b->block >= s->P);

    return a->row_end > b->row && a->from < b->to && b->from < a->to &&
           (!alike || (!sent && s->received));
}

static int name_clash(const search *s, const tile *t)
{
    const tile *other = s->tile;

    while (other < t && !clashes(s, other, t))
        other++;
    return tell(s->P, other->block, t->block);
}

static int compare_pieces(search *s, const rota_side *send,
                          const rota_side *recv, MPI_Comm comm)
{
    s->part = malloc(MOST * sizeof *s->part);
    s->tile = malloc(MOST * sizeof *s->tile);
    if (!s->part || !s->tile)
        return rota_fail_mem("looking for overlaps");
    ROTA_TRY(add_side(s, recv, 0, comm));
    if (send)
        ROTA_TRY(add_side(s, send, s->P, comm));
    if (!s->unknown)
        add_tiles(s);
    if (s->unknown)
        return MPI_SUCCESS; /* too many: rota.h says so */
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

int rota_check_overlap(int P, const rota_side *send, const rota_side *recv,
                       bool received, MPI_Comm comm)
{
    span *const spans = malloc((size_t)P * sizeof *spans);
    search s = {.P = P, .received = received, .only = -1};
    bool meet = false;
    int err = spans ? MPI_SUCCESS : rota_fail_mem("looking for overlaps");

    if (err == MPI_SUCCESS && send)
        err = sides_meet(P, send, recv, spans, &meet);
    if (err == MPI_SUCCESS && received && !meet)
        err = blocks_meet(P, recv, spans, &meet);
    free(spans);
    /* Apart from each other, blocks may still overlap themselves. */
    if (!meet && received && !rota_type_is_bytes(&recv->type))
        s.only = largest(recv, P);
    if (err == MPI_SUCCESS && (meet || s.only >= 0))
        err = compare_pieces(&s, s.only < 0 ? send : NULL, recv, comm);
    free_search(&s);
    return err;
}
