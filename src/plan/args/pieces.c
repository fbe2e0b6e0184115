/* pieces.c - finds where the bytes of a datatype lie, from the way the type was
 * constructed. The cost depends on the rows of data, not on the gaps between
 * them.
 */
#include "plan/args/pieces.h"
#include "plan/inside.h"

#include <stdlib.h>

/* A type that cannot be taken apart is packed once, up to this true extent. */
enum { PROBE_LIMIT = 1 << 20 };

int rota_type_size(MPI_Datatype type, MPI_Count *size)
{
#if MPI_VERSION >= 4
    return MPI_Type_size_c(type, size);
#else
    return MPI_Type_size_x(type, size);
#endif
}

/* ---- by packing ---------------------------------------------------------- */

/* Find the place of every byte of an element's data, in packing order. For each
 * byte of the number of a place, pack an element whose bytes hold that byte of
 * their own places. place: [size], from the true lower bound. */
static int find_places(MPI_Datatype type, size_t size, MPI_Comm comm,
                       MPI_Aint true_lb, size_t true_extent, size_t place[])
{
    unsigned char *const image = malloc(true_extent + size);
    unsigned char *const packed = image + true_extent;
    int err = image ? MPI_SUCCESS : rota_fail_mem("looking at a datatype");

    for (size_t i = 0; i < size; i++)
        place[i] = 0;
    for (int shift = 0;
         err == MPI_SUCCESS && shift < 64 && (true_extent - 1) >> shift > 0;
         shift += 8) {
        int position = 0;
        for (size_t i = 0; i < true_extent; i++)
            image[i] = (unsigned char)(i >> shift & 0xff);
        err = MPI_Pack(image - true_lb, 1, type, packed, (int)size, &position,
                       comm);
        for (size_t i = 0; i < size; i++)
            place[i] |= (size_t)packed[i] << shift;
    }
    free(image);
    return err;
}

/* The number of bytes that lie end to end from place[0] on. */
static size_t run_of(const size_t place[], size_t n)
{
    size_t run = 1;

    while (run < n && place[run] == place[0] + run)
        run++;
    return run;
}

int rota_layout_probe(MPI_Datatype type, MPI_Comm comm, rota_layout *l)
{
    MPI_Aint true_lb, true_extent;
    MPI_Count size;

    ROTA_TRY(rota_type_size(type, &size));
    ROTA_TRY(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
    const size_t n = (size_t)size;
    size_t *const place = malloc((n + 1) * sizeof *place);
    int err =
        place ? find_places(type, n, comm, true_lb, (size_t)true_extent, place)
              : rota_fail_mem("looking at a datatype");
    for (size_t i = 0, run; i < n && err == MPI_SUCCESS; i += run) {
        run = run_of(place + i, n - i);
        err = rota_layout_add_row(l, true_lb + (ptrdiff_t)place[i], run);
    }
    free(place);
    return err;
}

/* ---- how a type was made ------------------------------------------------- */

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
        c->n_types = 0; /* so that none is freed */
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

/* ---- combiners ----------------------------------------------------------- */

/* Add n elements of an inner type, end to end, at a place. */
static int add_run(rota_layout *l, MPI_Datatype type, MPI_Comm comm, int n,
                   ptrdiff_t at)
{
    rota_layout inner = {0};
    MPI_Aint lb, extent;

    int err = MPI_Type_get_extent(type, &lb, &extent);
    if (err == MPI_SUCCESS)
        err = rota_layout_find(type, comm, &inner);
    if (err == MPI_SUCCESS)
        err = rota_layout_repeat(&inner, (size_t)n, extent);
    if (err == MPI_SUCCESS)
        err = rota_layout_add(l, &inner, at);
    rota_layout_free(&inner);
    return err;
}

static int inner_extent(const contents *c, ptrdiff_t *extent)
{
    MPI_Aint lb, bytes;

    ROTA_TRY(MPI_Type_get_extent(c->types[0], &lb, &bytes));
    *extent = bytes;
    return MPI_SUCCESS;
}

static int add_vector(rota_layout *l, const contents *c, MPI_Comm comm)
{
    const bool in_bytes = c->combiner == MPI_COMBINER_HVECTOR;
    ptrdiff_t extent;

    ROTA_TRY(inner_extent(c, &extent));
    ROTA_TRY(add_run(l, c->types[0], comm, c->ints[1], 0));
    const ptrdiff_t step =
        in_bytes ? (ptrdiff_t)c->addresses[0] : c->ints[2] * extent;
#ifdef OPEN_MPI
    /* Open MPI 4.1 packs vectors with a stride of -1 byte as if they were
     * contiguous. */
    l->unknown = l->unknown || step == -1;
#endif
    return rota_layout_repeat(l, (size_t)c->ints[0], step);
}

/* Add blocks of elements, also those of a struct. There is one length for all, or
 * one for each, and likewise one type; places are in extents or in bytes. */
static int add_indexed(rota_layout *l, const contents *c, MPI_Comm comm)
{
    const int n = c->ints[0];
    const bool one_length = c->combiner == MPI_COMBINER_INDEXED_BLOCK ||
                            c->combiner == MPI_COMBINER_HINDEXED_BLOCK;
    const bool one_type = c->combiner != MPI_COMBINER_STRUCT;
    const int *const lengths = c->ints + 1;
    const int *const places = lengths + (one_length ? 1 : n);
    const bool in_bytes = c->n_addresses > 0;
    ptrdiff_t extent = 0;

    if (!in_bytes)
        ROTA_TRY(inner_extent(c, &extent));
    for (int i = 0; i < n && !l->unknown; i++)
        ROTA_TRY(add_run(
            l, c->types[one_type ? 0 : i], comm, lengths[one_length ? 0 : i],
            in_bytes ? (ptrdiff_t)c->addresses[i] : places[i] * extent));
    return MPI_SUCCESS;
}

static int add_subarray(rota_layout *l, const contents *c, MPI_Comm comm)
{
    const int n = c->ints[0];
    const int *const sizes = c->ints + 1, *const subsizes = sizes + n;
    const int *const starts = subsizes + n;
    const bool rows = c->ints[1 + 3 * n] == MPI_ORDER_C;
    rota_layout inner = {0};
    ptrdiff_t step, at = 0;

    ROTA_TRY(inner_extent(c, &step));
    int err = rota_layout_find(c->types[0], comm, &inner);
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        const int d = rows ? n - 1 - i : i;
        err = rota_layout_repeat(&inner, (size_t)subsizes[d], step);
        at += starts[d] * step;
        step *= sizes[d];
    }
    if (err == MPI_SUCCESS)
        err = rota_layout_add(l, &inner, at);
    rota_layout_free(&inner);
    return err;
}

/* Add n elements at distance step, this `times` times at distance `apart`,
 * beginning at shift. */
static int add_part(rota_layout *l, const rota_layout *one, size_t n,
                    ptrdiff_t step, size_t times, ptrdiff_t apart,
                    ptrdiff_t shift)
{
    rota_layout part = {0};
    int err = rota_layout_add(&part, one, 0);

    if (err == MPI_SUCCESS)
        err = rota_layout_repeat(&part, n, step);
    if (err == MPI_SUCCESS)
        err = rota_layout_repeat(&part, times, apart);
    if (err == MPI_SUCCESS)
        err = rota_layout_add(l, &part, shift);
    rota_layout_free(&part);
    return err;
}

/* A dimension of an array whose blocks are dealt to processes in turn. */
typedef struct dealt {
    int n, processes, block;
    int mine; /* the process whose part is laid out */
} dealt;

/* Repeat one, step bytes apart, for the indices of a dimension that one process
 * has. */
static int deal(rota_layout *one, const dealt *d, ptrdiff_t step)
{
    const ptrdiff_t turn = (ptrdiff_t)d->processes * d->block;
    const ptrdiff_t first = (ptrdiff_t)d->mine * d->block;
    const ptrdiff_t whole =
        d->n >= first + d->block ? (d->n - first - d->block) / turn + 1 : 0;
    const ptrdiff_t at = first + whole * turn;
    rota_layout all = {0};
    int err = MPI_SUCCESS;

    if (whole > 0)
        err = add_part(&all, one, (size_t)d->block, step, (size_t)whole,
                       turn * step, first * step);
    if (err == MPI_SUCCESS && at < d->n)
        err = add_part(&all, one, (size_t)(d->n - at), step, 1, 0, at * step);
    rota_layout_free(one);
    *one = all;
    return err;
}

static dealt dealt_dim(int n, int how, int block, int processes, int mine)
{
    if (how == MPI_DISTRIBUTE_NONE)
        block = n;
    else if (block == MPI_DISTRIBUTE_DFLT_DARG)
        block =
            how == MPI_DISTRIBUTE_BLOCK ? (n + processes - 1) / processes : 1;
    return (dealt){n, processes, block, mine};
}

/* The order of the array does not affect the numbering of processes, which is
 * that of C. */
static int add_darray(rota_layout *l, const contents *c, MPI_Comm comm)
{
    const int n = c->ints[2];
    const int *const sizes = c->ints + 3, *const how = sizes + n;
    const int *const blocks = how + n, *const grid = blocks + n;
    const bool rows = grid[n] == MPI_ORDER_C;
    rota_layout inner = {0};
    ptrdiff_t step;

    ROTA_TRY(inner_extent(c, &step));
    int err = rota_layout_find(c->types[0], comm, &inner);
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        const int d = rows ? n - 1 - i : i;
        int after = 1;
        for (int k = d + 1; k < n; k++)
            after *= grid[k];
        const dealt dim = dealt_dim(sizes[d], how[d], blocks[d], grid[d],
                                    c->ints[1] / after % grid[d]);
        err = deal(&inner, &dim, step);
        step *= sizes[d];
    }
    if (err == MPI_SUCCESS)
        err = rota_layout_add(l, &inner, 0);
    rota_layout_free(&inner);
    return err;
}

/* Inner types may be uncommitted, so pack a committed copy. */
static int pack_one(MPI_Datatype type, MPI_Comm comm, rota_layout *l)
{
    MPI_Datatype copy;

    ROTA_TRY(MPI_Type_dup(type, &copy));
    int err = MPI_Type_commit(&copy);
    if (err == MPI_SUCCESS)
        err = rota_layout_probe(copy, comm, l);
    MPI_Type_free(&copy);
    return err;
}

/* Add a type that cannot be taken apart. */
static int add_whole(MPI_Datatype type, int combiner, MPI_Comm comm,
                     rota_layout *l)
{
    MPI_Aint true_lb, true_extent;
    MPI_Count size;

    ROTA_TRY(rota_type_size(type, &size));
    ROTA_TRY(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
    if (size == true_extent && combiner == MPI_COMBINER_NAMED)
        return rota_layout_add_row(l, true_lb, (size_t)size);
    l->unknown = l->unknown || true_extent > PROBE_LIMIT;
    return l->unknown ? MPI_SUCCESS : pack_one(type, comm, l);
}

static int take_apart(const contents *c, MPI_Datatype type, MPI_Comm comm,
                      rota_layout *l)
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
    case MPI_COMBINER_STRUCT:
        return add_indexed(l, c, comm);
    case MPI_COMBINER_SUBARRAY:
        return add_subarray(l, c, comm);
    case MPI_COMBINER_DARRAY:
        return add_darray(l, c, comm);
    default:
        return add_whole(type, c->combiner, comm, l);
    }
}

int rota_layout_find(MPI_Datatype type, MPI_Comm comm, rota_layout *l)
{
    contents c = {0};

    ROTA_TRY(read_envelope(type, &c));
    if (c.combiner == MPI_COMBINER_NAMED || c.large)
        return add_whole(type, c.combiner, comm, l);
    int err = read_contents(type, &c);
    if (err == MPI_SUCCESS)
        err = take_apart(&c, type, comm, l);
    free_contents(&c);
    return err;
}
