/* strided.c - see strided.h. */
#include "exec/move/strided.h"
#include "exec/move/copy.h"

#include <stdint.h>
#include <string.h>
#if defined __x86_64__ && defined __GNUC__
#include <immintrin.h>
#endif

/* ---- from two layouts to one copy ---------------------------------------- */

/* A block as one nest, whose innermost dimension is bytes. */
typedef struct grid {
    ptrdiff_t at;
    int n;
    rota_dim dim[ROTA_NEST_DEPTH + 2]; /* [n] the innermost first */
} grid;

static bool make_grid(const rota_type *type, size_t bytes, grid *g)
{
    const rota_layout *const l = type->layout;

    *g = (grid){.n = 1, .dim = {{bytes, 1}}};
    if (rota_type_is_bytes(type))
        return true;
    if (!l || l->n != 1)
        return false;
    const rota_nest *const nest = &l->nest[0];
    g->at = nest->at;
    g->dim[0].n = nest->width;
    for (int d = nest->depth - 1; d >= 0; d--)
        g->dim[g->n++] = nest->dim[d];
    if (bytes > type->size)
        g->dim[g->n++] = (rota_dim){bytes / type->size, type->extent};
    return true;
}

/* Add a loop around the others. If it continues the last one, that is made
 * longer. */
static void add_loop(rota_strided *c, size_t n, ptrdiff_t to, ptrdiff_t from)
{
    rota_loop *const last = c->depth > 0 ? &c->loop[c->depth - 1] : NULL;

    if (n == 1)
        return;
    if (!last && c->width == 0 && to == 1 && from == 1)
        c->width = n;
    else if (!last && to == (ptrdiff_t)c->width && from == to && c->width > 0)
        c->width *= n;
    else if (last && to == (ptrdiff_t)last->n * last->to &&
             from == (ptrdiff_t)last->n * last->from)
        last->n *= n;
    else
        c->loop[c->depth++] = (rota_loop){n, to, from};
}

bool rota_strided_match(const rota_type *to, const rota_type *from,
                        size_t bytes, rota_strided *c)
{
    grid a, b;
    int ia = 0, ib = 0;

    if (!make_grid(to, bytes, &a) || !make_grid(from, bytes, &b))
        return false;
    *c = (rota_strided){.to = a.at, .from = b.at};
    while (ia < a.n && ib < b.n) {
        rota_dim *const x = &a.dim[ia], *const y = &b.dim[ib];
        const size_t n = x->n < y->n ? x->n : y->n;
        if (x->n % n != 0 || y->n % n != 0)
            return false;
        add_loop(c, n, x->step, y->step);
        x->step *= (ptrdiff_t)n;
        y->step *= (ptrdiff_t)n;
        x->n /= n;
        y->n /= n;
        ia += x->n == 1;
        ib += y->n == 1;
    }
    c->width = c->width ? c->width : 1;
    return true;
}

/* ---- rows ---------------------------------------------------------------- */

/* From this length on, memcpy may use instructions that are slow between some
 * pairs of addresses (move.h). */
enum { LONG_ROW = 1024 };

static inline void copy_short_row(char *to, const char *from, size_t width)
{
    if (width >= 16) { /* up to 32 */
        memcpy(to, from, 16);
        memcpy(to + width - 16, from + width - 16, 16);
    } else if (width >= 8) {
        memcpy(to, from, 8);
        memcpy(to + width - 8, from + width - 8, 8);
    } else if (width >= 4) {
        memcpy(to, from, 4);
        memcpy(to + width - 4, from + width - 4, 4);
    } else {
        for (size_t i = 0; i < width; i++)
            to[i] = from[i];
    }
}

static inline void copy_row(char *to, const char *from, size_t width,
                            bool streams)
{
    if (width <= 32)
        copy_short_row(to, from, width);
    else if (width < LONG_ROW)
        memcpy(to, from, width);
    else
        rota_copy_bulk(to, from, width, streams);
}

#if defined __x86_64__ && defined __GNUC__
#define HAS_WIDE 1

#define AVX2 __attribute__((target("avx2")))

/* Bytes to fetch ahead where rows are apart: of what is read upwards, of what is
 * read downwards, and of what is written. */
enum {
    LINE = 64,
    PAIR = 2 * LINE,
    AHEAD = 1 << 12,
    BELOW = 1 << 11,
    CLAIMED = 1 << 11
};

/* Rows of up to this length are copied downwards: upwards, processors would
 * fetch much of the gaps between them, too, and rows of 256 bytes would take a
 * tenth longer. Longer ones are not, since downwards processors fetch nothing by
 * themselves. */
enum { DOWN = 2 * PAIR };

AVX2 static inline void copy_line(char *to, const char *from)
{
    const __m256i *const f = (const void *)from;
    const __m256i a = _mm256_loadu_si256(f), b = _mm256_loadu_si256(f + 1);

    _mm256_storeu_si256((void *)to, a);
    _mm256_storeu_si256((void *)(to + LINE / 2), b);
}

AVX2 static inline void copy_pair(char *to, const char *from)
{
    const __m256i *const f = (const void *)from;
    __m256i *const t = (void *)to;
    const __m256i d = _mm256_loadu_si256(f + 3), c = _mm256_loadu_si256(f + 2);
    const __m256i b = _mm256_loadu_si256(f + 1), a = _mm256_loadu_si256(f);

    _mm256_storeu_si256(t + 3, d);
    _mm256_storeu_si256(t + 2, c);
    _mm256_storeu_si256(t + 1, b);
    _mm256_storeu_si256(t, a);
}

static inline void fetch_pair(const char *line)
{
    _mm_prefetch(line + LINE, _MM_HINT_T0);
    _mm_prefetch(line, _MM_HINT_T0);
}

static inline void claim_pair(char *line)
{
    __asm__ volatile("prefetchw %0" : : "m"(line[0]));
    __asm__ volatile("prefetchw %0" : : "m"(line[LINE]));
}

/* What to prefetch while row i is read: the same place some rows on or, if
 * rows is 0, a place further on in this row. After these rows, others are read
 * from next on. */
static inline const char *ahead_of(const rota_loop *l, size_t i, size_t rows,
                                   const char *row, const char *next)
{
    if (rows == 0)
        return row + AHEAD;
    return i + rows < l->n ? row + (ptrdiff_t)rows * l->from
                           : next + (ptrdiff_t)(i + rows - l->n) * l->from;
}

/* Copy rows of at least one line downwards. */
AVX2 static void copy_down(const rota_loop *l, size_t width, char *to,
                           const char *from, const char *next)
{
    const size_t rows = BELOW / width;
    const bool gaps = l->from != (ptrdiff_t)width;

    for (size_t i = 0; i < l->n; i++, to += l->to, from += l->from) {
        const char *const ahead =
            gaps ? ahead_of(l, i, rows, from, next) : from;
        size_t at = width;
        for (; at >= PAIR; at -= PAIR) {
            fetch_pair(ahead + at - PAIR);
            copy_pair(to + at - PAIR, from + at - PAIR);
        }
        if (at > LINE)
            copy_line(to + at - LINE, from + at - LINE);
        if (at > 0)
            copy_line(to, from);
    }
}

/* Copy rows of at least one line upwards. */
AVX2 static void copy_up(const rota_loop *l, size_t width, char *to,
                         const char *from, const char *next)
{
    const size_t rows = AHEAD / width;
    const ptrdiff_t claimed = (ptrdiff_t)(CLAIMED / width) * l->to;
    const bool claims = l->to != (ptrdiff_t)width;

    for (size_t i = 0; i < l->n; i++, to += l->to, from += l->from) {
        const char *const ahead = ahead_of(l, i, rows, from, next);
        size_t at = 0;
        for (; at + PAIR <= width; at += PAIR) {
            fetch_pair(ahead + at);
            if (claims)
                claim_pair(to + claimed + at);
            copy_pair(to + at, from + at);
        }
        if (at + LINE < width)
            copy_line(to + at, from + at);
        if (at < width)
            copy_line(to + width - LINE, from + width - LINE);
    }
}

AVX2 static inline void stream_line(char *to, const char *from)
{
    const __m256i *const f = (const void *)from;
    const __m256i a = _mm256_loadu_si256(f), b = _mm256_loadu_si256(f + 1);

    _mm256_stream_si256((void *)to, a);
    _mm256_stream_si256((void *)(to + LINE / 2), b);
}

/* Copy rows past the caches, except for lines that a row only partly covers. */
AVX2 static void stream_wide(const rota_loop *l, size_t width, char *to,
                             const char *from, const char *next)
{
    const size_t rows = AHEAD / width;

    for (size_t i = 0; i < l->n; i++, to += l->to, from += l->from) {
        const char *const ahead = ahead_of(l, i, rows, from, next);
        size_t at = -(uintptr_t)to % LINE;
        memcpy(to, from, at);
        for (; at + LINE <= width; at += LINE) {
            _mm_prefetch(ahead + at, _MM_HINT_T0);
            stream_line(to + at, from + at);
        }
        memcpy(to + at, from + at, width - at);
    }
    _mm_sfence();
}

static bool has_wide(void)
{
    return __builtin_cpu_supports("avx2");
}

/* Partial lines cost more than is gained if there are few whole ones. */
static bool may_stream(const rota_loop *l, size_t width, const char *to)
{
    return width >= 8 * LINE || (width % LINE == 0 && l->to % LINE == 0 &&
                                 (uintptr_t)to % LINE == 0);
}
#else
#define HAS_WIDE 0
#endif

/* Copy rows that take more than a few moves. Other rows are read from next on
 * afterwards. */
static void copy_long(const rota_loop *l, size_t width, bool streams, char *to,
                      const char *from, const char *next)
{
#if HAS_WIDE
    if (width >= LINE && has_wide() && streams && may_stream(l, width, to)) {
        stream_wide(l, width, to, from, next);
        return;
    }
    if (width >= LINE && width < 2 * LONG_ROW && has_wide()) {
        (width <= DOWN ? copy_down : copy_up)(l, width, to, from, next);
        return;
    }
#else
    (void)next;
#endif
    for (size_t i = 0; i < l->n; i++, to += l->to, from += l->from)
        copy_row(to, from, width, streams);
}

/* If the width is a constant, a row is a few moves. */
#define ROWS(bytes)                                                            \
    case bytes:                                                                \
        for (size_t i = 0; i < l->n; i++, to += l->to, from += l->from)        \
            memcpy(to, from, bytes);                                           \
        break

static void copy_rows(const rota_loop *l, size_t width, bool streams, char *to,
                      const char *from, const char *next)
{
    switch (width) {
        ROWS(1);
        ROWS(2);
        ROWS(4);
        ROWS(8);
        ROWS(16);
        ROWS(32);
    default:
        copy_long(l, width, streams, to, from, next);
    }
}

/* ---- transposes ---------------------------------------------------------- */

/* Elements that are adjacent in the destination are rows apart in the source, and
 * the other way round. A tile is a cache line of either side. PAGES elements of
 * all source rows are copied before the next ones, so that at most that many
 * pages are written at a time. */
enum { TILE = 8, PAGES = 128 };

typedef struct transpose {
    rota_loop across; /* end to end in the destination */
    rota_loop down;   /* end to end in the source */
} transpose;

#define TRANSPOSE(name, bytes)                                                 \
    static void name(const transpose *t, size_t a, size_t n_a, size_t d,       \
                     size_t n_d, char *to, const char *from)                   \
    {                                                                          \
        to += (ptrdiff_t)a * bytes + (ptrdiff_t)d * t->down.to;                \
        from += (ptrdiff_t)a * t->across.from + (ptrdiff_t)d * bytes;          \
        for (size_t i = 0; i < n_d; i++)                                       \
            for (size_t k = 0; k < n_a; k++)                                   \
                memcpy(to + (ptrdiff_t)i * t->down.to + k * bytes,             \
                       from + (ptrdiff_t)k * t->across.from + i * bytes,       \
                       bytes);                                                 \
    }
TRANSPOSE(tile_4, 4)
TRANSPOSE(tile_8, 8)
TRANSPOSE(tile_16, 16)

typedef void tile_fn(const transpose *t, size_t a, size_t n_a, size_t d,
                     size_t n_d, char *to, const char *from);

static void copy_tiles(const transpose *t, tile_fn *tile, char *to,
                       const char *from)
{
    for (size_t first = 0; first < t->down.n; first += PAGES) {
        const size_t end = rota_smaller(first + PAGES, t->down.n);
        for (size_t a = 0; a < t->across.n; a += TILE)
            for (size_t d = first; d < end; d += TILE)
                tile(t, a, rota_smaller(TILE, t->across.n - a), d,
                     rota_smaller(TILE, end - d), to, from);
    }
}

/* ---- copies -------------------------------------------------------------- */

typedef struct plan {
    size_t width;
    int depth;
    rota_loop loop[ROTA_LOOPS]; /* [depth] the outermost first */
    bool streams;               /* write past the caches */
    tile_fn *tile;              /* for the two loops of transpose; NULL: none */
    transpose transpose;
} plan;

static size_t reach(const rota_loop *l)
{
    return (size_t)(l->to < 0 ? -l->to : l->to) +
           (size_t)(l->from < 0 ? -l->from : l->from);
}

/* Remove the loop whose rows are adjacent on one side. Returns false if there
 * is none. */
static bool take_adjacent(plan *p, bool in_from, rota_loop *found)
{
    for (int i = 0; i < p->depth; i++) {
        const ptrdiff_t step = in_from ? p->loop[i].from : p->loop[i].to;
        if (step != (ptrdiff_t)p->width)
            continue;
        *found = p->loop[i];
        memmove(&p->loop[i], &p->loop[i + 1],
                (size_t)(--p->depth - i) * sizeof p->loop[0]);
        return true;
    }
    return false;
}

static void find_transpose(plan *p)
{
    static tile_fn *const tile[] = {[4] = tile_4, [8] = tile_8, [16] = tile_16};
    plan found = *p;

    found.tile =
        p->width < sizeof tile / sizeof tile[0] ? tile[p->width] : NULL;
    if (found.tile && take_adjacent(&found, false, &found.transpose.across) &&
        take_adjacent(&found, true, &found.transpose.down))
        *p = found;
}

/* Order the loops: those with longer strides go outside. */
static void order(const rota_strided *c, plan *p)
{
    size_t bytes = c->width;

    *p = (plan){.width = c->width};
    for (int k = 0; k < c->depth; k++) {
        int i = p->depth++;
        for (; i > 0 && reach(&p->loop[i - 1]) < reach(&c->loop[k]); i--)
            p->loop[i] = p->loop[i - 1];
        p->loop[i] = c->loop[k];
        bytes *= c->loop[k].n;
    }
    find_transpose(p);
    p->streams = c->streams || bytes >= ROTA_STREAMED;
}

/* Bytes from where a copy begins to read to where the next one like it would. */
static ptrdiff_t after(const plan *p)
{
    return p->depth > 0 ? (ptrdiff_t)p->loop[0].n * p->loop[0].from
                        : (ptrdiff_t)p->width;
}

/* Run loop d and those within. next: where reading continues afterwards. */
static void run(const plan *p, int d, char *to, const char *from,
                const char *next)
{
    if (d == p->depth && p->tile) {
        copy_tiles(&p->transpose, p->tile, to, from);
        return;
    }
    if (d == p->depth) {
        copy_long(&(rota_loop){.n = 1}, p->width, p->streams, to, from, next);
        return;
    }
    const rota_loop *const l = &p->loop[d];
    if (d + 1 == p->depth && !p->tile) {
        copy_rows(l, p->width, p->streams, to, from, next);
        return;
    }
    for (size_t i = 0; i < l->n; i++, to += l->to, from += l->from)
        run(p, d + 1, to, from, i + 1 < l->n ? from + l->from : next);
}

void rota_strided_copy(const rota_strided *c, char *to, const char *from)
{
    plan p;

    order(c, &p);
    from += c->from;
    run(&p, 0, to + c->to, from, from + after(&p));
}

/* ---- packing ------------------------------------------------------------- */

/* A nest, with a loop over elements around it. */
typedef struct packing {
    bool unpacks, streams;
    size_t width;
    int depth;
    rota_dim dim[ROTA_NEST_DEPTH + 1]; /* [depth] the outermost first */
    size_t bytes[ROTA_NEST_DEPTH + 1]; /* [depth] in one of each */
} packing;

static void make_packing(packing *p, const rota_nest *nest, size_t n,
                         ptrdiff_t extent)
{
    size_t bytes = nest->width;

    p->width = nest->width;
    p->depth = 0;
    if (n > 1)
        p->dim[p->depth++] = (rota_dim){n, extent};
    for (int d = 0; d < nest->depth; d++)
        p->dim[p->depth++] = nest->dim[d];
    for (int d = p->depth - 1; d >= 0; d--) {
        p->bytes[d] = bytes;
        bytes *= p->dim[d].n;
    }
}

/* Pack or unpack n whole entries of dimension d. */
static void pack_whole(const packing *p, int d, size_t n, char *block,
                       char *packed)
{
    rota_strided c = {.width = p->width, .streams = p->streams};

    for (int i = p->depth - 1; i >= d; i--) {
        const ptrdiff_t step = p->dim[i].step, near = (ptrdiff_t)p->bytes[i];
        add_loop(&c, i == d ? n : p->dim[i].n, p->unpacks ? step : near,
                 p->unpacks ? near : step);
    }
    rota_strided_copy(&c, p->unpacks ? block : packed,
                      p->unpacks ? packed : block);
}

/* Pack or unpack bytes begin to end of dimension d; byte begin goes to or comes
 * from packed. */
static void pack_range(const packing *p, int d, size_t begin, size_t end,
                       char *block, char *packed)
{
    if (d == p->depth) {
        block += begin;
        copy_row(p->unpacks ? block : packed, p->unpacks ? packed : block,
                 end - begin, p->streams);
        return;
    }
    const size_t one = p->bytes[d];
    block += (ptrdiff_t)(begin / one) * p->dim[d].step;
    if (begin % one > 0) {
        const size_t first = begin / one * one;
        const size_t stop = rota_smaller(end, first + one);
        pack_range(p, d + 1, begin - first, stop - first, block, packed);
        packed += stop - begin;
        block += p->dim[d].step;
        begin = stop;
    }
    const size_t n = (end - begin) / one;
    if (n > 0)
        pack_whole(p, d, n, block, packed);
    if (begin + n * one < end)
        pack_range(p, d + 1, 0, end - begin - n * one,
                   block + (ptrdiff_t)n * p->dim[d].step, packed + n * one);
}

/* The nest that contains byte `at` of an element. */
static size_t find_nest(const rota_layout *l, size_t at)
{
    size_t begin = 0, end = l->n;

    while (end - begin > 1) {
        const size_t middle = begin + (end - begin) / 2;
        if (l->nest[middle].before <= at)
            begin = middle;
        else
            end = middle;
    }
    return begin;
}

/* Pack or unpack bytes begin to end of one element, nest by nest. */
static void pack_element(packing *p, const rota_type *type, size_t begin,
                         size_t end, char *block, char *packed)
{
    const rota_layout *const l = type->layout;

    for (size_t i = find_nest(l, begin); begin < end; i++) {
        const rota_nest *const nest = &l->nest[i];
        const size_t after = nest->before + rota_nest_bytes(nest);
        const size_t stop = rota_smaller(end, after);
        make_packing(p, nest, 1, 0);
        pack_range(p, 0, begin - nest->before, stop - nest->before,
                   block + nest->at, packed);
        packed += stop - begin;
        begin = stop;
    }
}

/* Both directions; only the destination is written. */
static void pack(packing *p, const rota_type *type, char *block, size_t begin,
                 size_t end, char *packed)
{
    const rota_layout *const l = type->layout;

    if (l->n == 1) {
        make_packing(p, &l->nest[0], end / type->size + 1, type->extent);
        pack_range(p, 0, begin, end, block + l->nest[0].at, packed);
        return;
    }
    while (begin < end) {
        const size_t e = begin / type->size, first = e * type->size;
        const size_t stop = rota_smaller(end, first + type->size);
        pack_element(p, type, begin - first, stop - first,
                     block + (ptrdiff_t)e * type->extent, packed);
        packed += stop - begin;
        begin = stop;
    }
}

void rota_strided_pack(const rota_type *type, const char *block, size_t begin,
                       size_t end, bool streams, char *packed)
{
    packing p = {.streams = streams};

    pack(&p, type, (char *)block, begin, end, packed);
}

void rota_strided_unpack(const rota_type *type, const char *packed,
                         size_t begin, size_t end, bool streams, char *block)
{
    packing p = {.unpacks = true, .streams = streams};

    pack(&p, type, block, begin, end, (char *)packed);
}
