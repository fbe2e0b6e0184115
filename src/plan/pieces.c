/* pieces.c - where the bytes of a datatype lie, by the way it was made: rows of
 * equal width, equally far apart. The matrix that a column is in costs nothing.
 */
#include "plan/plan.h"

#include <stdlib.h>

/* More strips than any type needs that somebody wrote down; a type that lists
 * more is not looked at. */
enum { MOST_STRIPS = 1 << 16 };

/* What is not taken apart here is packed once, up to this true extent. */
enum { PROBE_LIMIT = 1 << 20 };

/* ---- lists of strips --------------------------------------------------------- */

void rota_pieces_free(rota_pieces *l)
{
    free(l->strip);
    *l = (rota_pieces){0};
}

static int add(rota_pieces *l, rota_strip s)
{
    rota_strip *const last = l->n > 0 ? &l->strip[l->n - 1] : NULL;

    if (s.width == 0 || l->unknown)
        return MPI_SUCCESS;
    if (last && last->n == 1 && s.n == 1 &&
        last->at + (ptrdiff_t)last->width == s.at) {
        last->width += s.width;
        return MPI_SUCCESS;
    }
    if (l->n == MOST_STRIPS) {
        l->unknown = true;
        return MPI_SUCCESS;
    }
    if (l->n == l->room) {
        const size_t room = l->room ? 2 * l->room : 4;
        rota_strip *const strip = realloc(l->strip, room * sizeof *strip);
        if (!strip)
            return rota_fail_mem("pieces of a datatype");
        l->strip = strip;
        l->room = room;
    }
    l->strip[l->n++] = s;
    return MPI_SUCCESS;
}

/* n of a strip, step apart, as one strip; false if that is none. */
static bool widen(rota_strip *s, size_t n, ptrdiff_t step, bool *overlaps)
{
    const ptrdiff_t far = (ptrdiff_t)(n - 1) * step;
    const ptrdiff_t at = s->at + (step < 0 ? far : 0);
    const size_t gap = (size_t)(step < 0 ? -step : step);
    const size_t width = (n - 1) * gap + s->width;

    if (s->n == 1 && gap > s->width) {
        *s = (rota_strip){at, (ptrdiff_t)gap, s->width, n};
        return true;
    }
    if (s->n == 1 || (gap <= s->width && width <= (size_t)s->pitch)) {
        *overlaps = *overlaps || gap < s->width;
        *s = (rota_strip){at, s->pitch, width, s->n};
        return true;
    }
    if (gap != s->n * (size_t)s->pitch)
        return false;
    *s = (rota_strip){at, s->pitch, s->width, s->n * n};
    return true;
}

int rota_pieces_repeat(rota_pieces *l, size_t n, ptrdiff_t step)
{
    const size_t before = n > 0 ? l->n : 0;

    l->n = before;
    for (size_t i = 0; i < before && n > 1; i++) {
        if (widen(&l->strip[i], n, step, &l->overlaps))
            continue;
        for (size_t k = 1; k < n && !l->unknown; k++) {
            rota_strip s = l->strip[i];
            s.at += (ptrdiff_t)k * step;
            ROTA_TRY(add(l, s));
        }
    }
    return MPI_SUCCESS;
}

int rota_pieces_add(rota_pieces *l, const rota_pieces *more, ptrdiff_t shift)
{
    l->unknown = l->unknown || more->unknown;
    l->overlaps = l->overlaps || more->overlaps;
    for (size_t i = 0; i < more->n; i++) {
        rota_strip s = more->strip[i];
        s.at += shift;
        ROTA_TRY(add(l, s));
    }
    return MPI_SUCCESS;
}

/* ---- how a type was made ------------------------------------------------------ */

typedef struct contents {
    int combiner, n_ints, n_addresses, n_types;
    bool large; /* counts beyond int */
    int *ints;
    MPI_Aint *addresses;
    MPI_Datatype *types;
} contents;

static int read_envelope(MPI_Datatype type, contents *c)
{
#if MPI_VERSION >= 4
    MPI_Count ints, addresses, large, types;

    ROTA_TRY(MPI_Type_get_envelope_c(type, &ints, &addresses, &large, &types,
                                     &c->combiner));
    c->n_ints = (int)ints;
    c->n_addresses = (int)addresses;
    c->n_types = (int)types;
    c->large = large > 0;
    return MPI_SUCCESS;
#else
    return MPI_Type_get_envelope(type, &c->n_ints, &c->n_addresses, &c->n_types,
                                 &c->combiner);
#endif
}

static int read_contents(MPI_Datatype type, contents *c)
{
    c->ints = malloc(((size_t)c->n_ints + 1) * sizeof *c->ints);
    c->addresses = malloc(((size_t)c->n_addresses + 1) * sizeof *c->addresses);
    c->types = malloc(((size_t)c->n_types + 1) * sizeof(MPI_Datatype));
    if (!c->ints || !c->addresses || !c->types) {
        c->n_types = 0; /* none to be freed */
        return rota_fail_mem("contents of a datatype");
    }
    return MPI_Type_get_contents(type, c->n_ints, c->n_addresses, c->n_types,
                                 c->ints, c->addresses, c->types);
}

static void free_contents(contents *c)
{
    for (int i = 0; i < c->n_types; i++) {
        contents inner = {0};
        if (read_envelope(c->types[i], &inner) == MPI_SUCCESS &&
            inner.combiner != MPI_COMBINER_NAMED)
            MPI_Type_free(&c->types[i]);
    }
    free(c->ints);
    free(c->addresses);
    free(c->types);
}

/* ---- from one type to its pieces ---------------------------------------------- */

/* n elements of an inner type, end to end, at a place. */
static int add_run(rota_pieces *l, MPI_Datatype type, MPI_Comm comm, int n,
                   ptrdiff_t at)
{
    rota_pieces inner = {0};
    MPI_Aint lb, extent;

    int err = MPI_Type_get_extent(type, &lb, &extent);
    if (err == MPI_SUCCESS)
        err = rota_pieces_of(type, comm, &inner);
    if (err == MPI_SUCCESS)
        err = rota_pieces_repeat(&inner, (size_t)n, extent);
    if (err == MPI_SUCCESS)
        err = rota_pieces_add(l, &inner, at);
    rota_pieces_free(&inner);
    return err;
}

static int inner_extent(const contents *c, ptrdiff_t *extent)
{
    MPI_Aint lb, bytes;

    ROTA_TRY(MPI_Type_get_extent(c->types[0], &lb, &bytes));
    *extent = bytes;
    return MPI_SUCCESS;
}

static int add_vector(rota_pieces *l, const contents *c, MPI_Comm comm)
{
    const bool in_bytes = c->combiner == MPI_COMBINER_HVECTOR;
    ptrdiff_t extent;

    ROTA_TRY(inner_extent(c, &extent));
    ROTA_TRY(add_run(l, c->types[0], comm, c->ints[1], 0));
    return rota_pieces_repeat(l, (size_t)c->ints[0],
                              in_bytes ? (ptrdiff_t)c->addresses[0]
                                       : c->ints[2] * extent);
}

/* Blocks of elements: lengths, or one for all, and places in extents or bytes. */
static int add_indexed(rota_pieces *l, const contents *c, MPI_Comm comm)
{
    const int n = c->ints[0];
    const bool one_length = c->combiner == MPI_COMBINER_INDEXED_BLOCK ||
                            c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    const int *const lengths = c->ints + 1;
    const int *const places = lengths + (one_length ? 1 : n);
    const bool in_bytes = c->n_addresses > 0;
    ptrdiff_t extent;

    ROTA_TRY(inner_extent(c, &extent));
    for (int i = 0; i < n && !l->unknown; i++)
        ROTA_TRY(add_run(l, c->types[0], comm, lengths[one_length ? 0 : i],
                         in_bytes ? (ptrdiff_t)c->addresses[i]
                                  : places[i] * extent));
    return MPI_SUCCESS;
}

static int add_struct(rota_pieces *l, const contents *c, MPI_Comm comm)
{
    for (int i = 0; i < c->ints[0] && !l->unknown; i++)
        ROTA_TRY(
            add_run(l, c->types[i], comm, c->ints[1 + i], c->addresses[i]));
    return MPI_SUCCESS;
}

static int add_subarray(rota_pieces *l, const contents *c, MPI_Comm comm)
{
    const int n = c->ints[0];
    const int *const sizes = c->ints + 1, *const subsizes = sizes + n;
    const int *const starts = subsizes + n;
    const bool rows = c->ints[1 + 3 * n] == MPI_ORDER_C;
    rota_pieces inner = {0};
    ptrdiff_t step, at = 0;

    ROTA_TRY(inner_extent(c, &step));
    int err = rota_pieces_of(c->types[0], comm, &inner);
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        const int d = rows ? n - 1 - i : i;
        err = rota_pieces_repeat(&inner, (size_t)subsizes[d], step);
        at += starts[d] * step;
        step *= sizes[d];
    }
    if (err == MPI_SUCCESS)
        err = rota_pieces_add(l, &inner, at);
    rota_pieces_free(&inner);
    return err;
}

/* As packing found them: in any order, bytes may come twice. */
static int add_rows(rota_pieces *l, const rota_strip *rows)
{
    rota_pieces one = {0};

    int err = add(&one, (rota_strip){rows->at, 0, rows->width, 1});
    if (err == MPI_SUCCESS)
        err = rota_pieces_repeat(&one, rows->n, rows->pitch);
    if (err == MPI_SUCCESS)
        err = rota_pieces_add(l, &one, 0);
    rota_pieces_free(&one);
    return err;
}

/* By packing one element. What a type is made of need not be committed. */
static int pack_one(MPI_Datatype type, const rota_type *whole, MPI_Comm comm,
                    rota_pieces *l)
{
    rota_type copy = *whole;
    rota_layout layout = {0};

    ROTA_TRY(MPI_Type_dup(type, &copy.mpi));
    int err = MPI_Type_commit(&copy.mpi);
    if (err == MPI_SUCCESS)
        err = rota_layout_make(&copy, comm, &layout);
    for (size_t i = 0; i < layout.n_strips && err == MPI_SUCCESS; i++)
        err = add_rows(l, &layout.strip[i]);
    rota_layout_free(&layout);
    MPI_Type_free(&copy.mpi);
    return err;
}

/* A type that is not taken apart. */
static int add_whole(MPI_Datatype type, MPI_Comm comm, rota_pieces *l)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    MPI_Count size;

    ROTA_TRY(MPI_Type_size_x(type, &size));
    ROTA_TRY(MPI_Type_get_extent(type, &lb, &extent));
    ROTA_TRY(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
    if (size == true_extent)
        return add(l, (rota_strip){true_lb, 0, (size_t)size, 1});
    l->unknown = l->unknown || true_extent > PROBE_LIMIT;
    const rota_type whole = {type, (size_t)size, extent};
    return l->unknown ? MPI_SUCCESS : pack_one(type, &whole, comm, l);
}

static int take_apart(const contents *c, MPI_Datatype type, MPI_Comm comm,
                      rota_pieces *l)
{
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return add_run(l, c->types[0], comm, 1, 0);
    case MPI_COMBINER_CONTIGUOUS:
        return add_run(l, c->types[0], comm, c->ints[0], 0);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return add_vector(l, c, comm);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return add_indexed(l, c, comm);
    case MPI_COMBINER_STRUCT:
        return add_struct(l, c, comm);
    case MPI_COMBINER_SUBARRAY:
        return add_subarray(l, c, comm);
    default:
        return add_whole(type, comm, l);
    }
}

int rota_pieces_of(MPI_Datatype type, MPI_Comm comm, rota_pieces *l)
{
    contents c = {0};

    ROTA_TRY(read_envelope(type, &c));
    if (c.combiner == MPI_COMBINER_NAMED || c.large)
        return add_whole(type, comm, l);
    int err = read_contents(type, &c);
    if (err == MPI_SUCCESS)
        err = take_apart(&c, type, comm, l);
    free_contents(&c);
#ifdef OPEN_MPI
    /* Some types of Open MPI 4.1 overlap themselves by what it says they were made
     * of, and do not by what it packs: none is refused for that. */
    l->overlaps = false;
#endif
    return err;
}
