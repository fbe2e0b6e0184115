/* types.c - checks datatypes, and recognises those that are plain bytes. */
#include "plan/args/types.h"
#include "base/err.h"
#include "device/device.h"
#include "plan/args/pieces.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

/* Otherwise uthash would end the program if memory runs out. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Elements up to this many bytes are probed; a larger type is hardly
 * contiguous. */
enum { PROBE_LIMIT = 1 << 20 };

/* Is the type committed? MPI has no query for it, but refuses to pack with one
 * that is not. */
static bool usable(MPI_Datatype type, MPI_Comm comm)
{
    char nothing[1] = {0};
    int position = 0;

    return type != MPI_DATATYPE_NULL &&
           MPI_Pack(nothing, 0, type, nothing, 1, &position, comm) ==
               MPI_SUCCESS;
}

/* Does packing an element of size bytes give its bytes in order? Tried with the
 * three bytes of every byte's index. */
static int probe_order(MPI_Datatype type, size_t size, MPI_Aint true_lb,
                       MPI_Comm comm, bool *in_order)
{
    unsigned char *const data = malloc(2 * size);
    /* Of a type with addresses in it that is far from data. */
    void *const origin = (void *)((uintptr_t)data - (uintptr_t)true_lb);
    int err = data ? MPI_SUCCESS : rota_fail_mem("looking at a datatype");

    *in_order = true;
    for (int shift = 0; shift < 24 && err == MPI_SUCCESS && *in_order;
         shift += 8) {
        unsigned char *const packed = data + size;
        int position = 0;
        for (size_t i = 0; i < size; i++)
            data[i] = (unsigned char)(i >> shift & 0xff);
        err = MPI_Pack(origin, 1, type, packed, (int)size, &position, comm);
        for (size_t i = 0; i < size && err == MPI_SUCCESS; i++)
            *in_order = *in_order && packed[i] == data[i];
    }
    free(data);
    return err;
}

static int contents_are_plain(MPI_Datatype type, int n_ints, int n_addresses,
                              bool *plain);

/* Is an element just its bytes in order, judging by how the type was made?
 * Clears *known if that takes a closer look. */
static int made_plain(MPI_Datatype type, bool *plain, bool *known)
{
    int n_ints, n_addresses, n_types, combiner;
    MPI_Count size;
    MPI_Aint lb, extent;

    ROTA_TRY(MPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types,
                                   &combiner));
    ROTA_TRY(MPI_Type_size_x(type, &size));
    ROTA_TRY(MPI_Type_get_true_extent(type, &lb, &extent));
    *known = combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_DUP ||
             combiner == MPI_COMBINER_CONTIGUOUS ||
             combiner == MPI_COMBINER_RESIZED;
    *plain = size == extent;
    if (!*known || !*plain || combiner == MPI_COMBINER_NAMED)
        return MPI_SUCCESS;
    return contents_are_plain(type, n_ints, n_addresses, plain);
}

/* The same for a type made of one other: contiguous, resized or duplicated. */
static int contents_are_plain(MPI_Datatype type, int n_ints, int n_addresses,
                              bool *plain)
{
    int ints[2], a, b, c, combiner;
    MPI_Aint addresses[2];
    MPI_Datatype inner;
    bool known = false;

    ROTA_TRY(MPI_Type_get_contents(type, n_ints, n_addresses, 1, ints,
                                   addresses, &inner));
    ROTA_TRY(made_plain(inner, plain, &known));
    *plain = *plain && known;
    ROTA_TRY(MPI_Type_get_envelope(inner, &a, &b, &c, &combiner));
    return combiner == MPI_COMBINER_NAMED ? MPI_SUCCESS : MPI_Type_free(&inner);
}

/* Are consecutive elements just bytes, end to end? */
static int is_plain(MPI_Datatype type, size_t size, MPI_Aint extent,
                    MPI_Aint true_lb, MPI_Aint true_extent, MPI_Comm comm,
                    bool *plain)
{
    bool known = false;

    *plain = (MPI_Aint)size == extent && extent == true_extent;
    if (!*plain)
        return MPI_SUCCESS;
    ROTA_TRY(made_plain(type, plain, &known));
    if (known && *plain)
        return MPI_SUCCESS;
    *plain = size <= PROBE_LIMIT;
    return *plain ? probe_order(type, size, true_lb, comm, plain) : MPI_SUCCESS;
}

static void free_layout(const rota_layout *layout)
{
    rota_layout *const l = (rota_layout *)layout; /* ours, to be freed */

    if (l)
        rota_layout_free(l);
    free(l);
}

/* *layout is NULL if it is unknown, which devices cannot handle. */
static int find_layout(MPI_Datatype mpi, MPI_Comm comm,
                       const rota_layout **layout)
{
    rota_layout *const l = calloc(1, sizeof *l);

    if (!l)
        return rota_fail_mem("the layout of a datatype");
    int err = rota_layout_find(mpi, comm, l);
    if (err == MPI_SUCCESS && l->unknown && rota_device_in_use()) {
        rota_layout_free(l);
        err = rota_layout_probe(mpi, comm, l);
    }
    *layout = NULL;
    if (err != MPI_SUCCESS || l->unknown) {
        free_layout(l);
        return err;
    }
    rota_layout_seal(l);
    *layout = l;
    return MPI_SUCCESS;
}

/* A type that MPI packs, so that it begins where its data do: MPI does not take
 * NULL, which MPI_BOTTOM may be, for a place where data are packed. */
static int begin_at_data(MPI_Datatype mpi, MPI_Aint true_lb, MPI_Aint extent,
                         MPI_Datatype *made)
{
    const MPI_Aint back = -true_lb;
    MPI_Datatype moved;

    ROTA_TRY(MPI_Type_create_hindexed_block(1, 1, &back, mpi, &moved));
    int err = MPI_Type_create_resized(moved, 0, extent, made);
    MPI_Type_free(&moved);
    if (err != MPI_SUCCESS)
        return err;
    err = MPI_Type_commit(made);
    if (err != MPI_SUCCESS)
        MPI_Type_free(made);
    return err;
}

/* One that is not plain bytes. */
static int make_typed(MPI_Datatype mpi, const char *name, MPI_Comm comm,
                      rota_type *type)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    MPI_Count size;
    rota_type made = {0};

    ROTA_TRY(MPI_Type_size_x(mpi, &size));
    ROTA_TRY(MPI_Type_get_extent(mpi, &lb, &extent));
    ROTA_TRY(MPI_Type_get_true_extent(mpi, &true_lb, &true_extent));
    ROTA_TRY(find_layout(mpi, comm, &made.layout));
    if (!made.layout && size > INT_MAX)
        return rota_fail(MPI_ERR_TYPE,
                         "%s: elements of %lld bytes that are not contiguous "
                         "are beyond MPI_Pack",
                         name, (long long)size);
    const int err = made.layout
                        ? MPI_Type_dup(mpi, &made.mpi)
                        : begin_at_data(mpi, true_lb, extent, &made.mpi);
    made.size = (size_t)size;
    made.extent = extent;
    made.lb = made.layout ? true_lb : 0;
    made.ub = made.lb + true_extent;
    if (err == MPI_SUCCESS)
        *type = made;
    else
        free_layout(made.layout);
    return err;
}

/* *unit: how blocks that are given in elements of the type become bytes. */
static int from_mpi(MPI_Datatype mpi, const char *name, MPI_Comm comm,
                    rota_type *type, rota_unit *unit)
{
    MPI_Count size;
    MPI_Aint lb, extent, true_lb, true_extent;
    bool plain = true;

    *type = rota_type_bytes;
    if (!usable(mpi, comm))
        return rota_fail(MPI_ERR_TYPE, "%s is null or not committed", name);
    ROTA_TRY(MPI_Type_size_x(mpi, &size));
    ROTA_TRY(MPI_Type_get_extent(mpi, &lb, &extent));
    ROTA_TRY(MPI_Type_get_true_extent(mpi, &true_lb, &true_extent));
    if (size > 0)
        ROTA_TRY(is_plain(mpi, (size_t)size, extent, true_lb, true_extent, comm,
                          &plain));
    *unit = (rota_unit){.element = (size_t)size,
                        .spacing = extent,
                        .displ = extent,
                        .true_lb = plain ? true_lb : 0,
                        .null_ok = true_lb != 0,
                        .small = size <= INT_MAX && extent >= 0 &&
                                 extent <= INT_MAX && true_lb >= -INT_MAX &&
                                 true_lb <= INT_MAX};
    if (plain)
        return MPI_SUCCESS;
    ROTA_TRY(make_typed(mpi, name, comm, type));
    if (!type->layout)
        unit->true_lb = true_lb;
    return MPI_SUCCESS;
}

static void free_type(rota_type *type)
{
    if (rota_type_is_bytes(type))
        return;
    MPI_Type_free(&type->mpi);
    free_layout(type->layout);
}

/* ---- sets of types ------------------------------------------------------- */

typedef struct rota_known {
    MPI_Datatype mpi; /* the caller's handle */
    uint32_t index;
    UT_hash_handle hh;
} rota_known;

static int make_room(rota_type_set *set)
{
    const uint32_t room = set->room ? 2 * set->room : 1;

    if (set->n < set->room)
        return MPI_SUCCESS;
    rota_type *const type = realloc(set->type, room * sizeof *type);
    if (type)
        set->type = type;
    rota_unit *const unit = realloc(set->unit, room * sizeof *unit);
    if (unit)
        set->unit = unit;
    if (!type || !unit)
        return rota_fail_mem("datatypes of blocks");
    set->room = room;
    return MPI_SUCCESS;
}

static int remember(rota_type_set *set, MPI_Datatype mpi)
{
    rota_known *const known = calloc(1, sizeof *known);

    if (!known)
        return rota_fail_mem("datatypes of blocks");
    known->mpi = mpi;
    known->index = set->n;
    HASH_ADD(hh, set->known, mpi, sizeof known->mpi, known);
    if (known->hh.tbl)
        return MPI_SUCCESS;
    free(known);
    return rota_fail_mem("datatypes of blocks");
}

int rota_type_set_add(rota_type_set *set, MPI_Datatype mpi, const char *name,
                      MPI_Comm comm, uint32_t *index)
{
    rota_known *known;

    HASH_FIND(hh, set->known, &mpi, sizeof mpi, known);
    *index = known ? known->index : set->n;
    if (known)
        return MPI_SUCCESS;
    ROTA_TRY(make_room(set));
    ROTA_TRY(from_mpi(mpi, name, comm, &set->type[set->n], &set->unit[set->n]));
    const int err = remember(set, mpi);
    if (err != MPI_SUCCESS)
        free_type(&set->type[set->n]);
    else
        set->n++;
    return err;
}

/* Merge all types that are plain bytes. place: [n] where each goes in types. */
static void merge(rota_type_set *set, rota_type type[], uint32_t place[],
                  size_t *n)
{
    size_t bytes = SIZE_MAX;

    *n = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        const bool plain = rota_type_is_bytes(&set->type[i]);
        if (plain && bytes != SIZE_MAX) {
            place[i] = (uint32_t)bytes;
            continue;
        }
        bytes = plain ? *n : bytes;
        place[i] = (uint32_t)*n;
        type[(*n)++] = set->type[i];
    }
    if (*n == 0)
        type[(*n)++] = rota_type_bytes;
    set->n = 0;
}

int rota_type_set_give(rota_type_set *set, const uint32_t of[], size_t n,
                       rota_types *types)
{
    uint32_t *const place = malloc(((size_t)set->n + 1) * sizeof *place);
    rota_type *const type = malloc(((size_t)set->n + 1) * sizeof *type);
    uint32_t *index = malloc((n + 1) * sizeof *index);
    const bool good = place && type && index;

    if (good) {
        place[0] = 0;
        merge(set, type, place, &types->n);
        for (size_t q = 0; q < n; q++)
            index[q] = place[of[q]];
    }
    if (!good || types->n == 1) {
        free(index);
        index = NULL;
    }
    free(place);
    if (!good) {
        free(type);
        return rota_fail_mem("datatypes of blocks");
    }
    types->type = type;
    types->of = index;
    return MPI_SUCCESS;
}

void rota_type_set_free(rota_type_set *set)
{
    rota_known *known, *next;

    HASH_ITER(hh, set->known, known, next)
    {
        HASH_DEL(set->known, known);
        free(known);
    }
    for (uint32_t i = 0; i < set->n; i++)
        free_type(&set->type[i]);
    free(set->type);
    free(set->unit);
    *set = (rota_type_set){0};
}

/* ---- types of blocks ----------------------------------------------------- */

int rota_types_make(MPI_Datatype mpi, const char *name, MPI_Comm comm,
                    rota_types *types, rota_unit *unit)
{
    rota_type *const type = malloc(sizeof *type);

    if (!type)
        return rota_fail_mem("the datatype of blocks");
    const int err = from_mpi(mpi, name, comm, type, unit);
    if (err == MPI_SUCCESS)
        *types = (rota_types){.type = type, .n = 1};
    else
        free(type);
    return err;
}

void rota_types_free(rota_types *types)
{
    rota_type *const type = (rota_type *)types->type; /* ours, to be freed */

    for (size_t i = 0; i < types->n; i++)
        free_type(&type[i]);
    free(type);
    free((uint32_t *)types->of);
    *types = (rota_types){0};
}
