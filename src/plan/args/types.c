/* types.c - checks datatypes, and recognises those that are plain bytes. */
#include "plan/args/types.h"
#include "base/err.h"
#include "device/device.h"
#include "plan/args/pieces.h"
#include "plan/inside.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Otherwise uthash would end the program if memory runs out. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

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

/* Is an element one row of so many bytes, in the order in which it is packed? */
static bool is_row(const rota_layout *l, MPI_Count bytes)
{
    return l && l->n == 1 && l->nest->depth == 0 &&
           l->nest->width == (size_t)bytes;
}

int rota_type_is_plain(MPI_Datatype type, bool *plain)
{
    rota_layout l = {0};
    MPI_Count size;
    MPI_Aint lb, extent;

    ROTA_TRY(rota_type_size(type, &size));
    ROTA_TRY(MPI_Type_get_extent(type, &lb, &extent));
    ROTA_TRY(rota_layout_find(type, MPI_COMM_SELF, &l));
    *plain = !l.unknown && lb == 0 && size == extent && is_row(&l, size);
    rota_layout_free(&l);
    return MPI_SUCCESS;
}

/* Make a type that begins where its data do, for MPI to pack: MPI refuses to
 * pack at NULL, which MPI_BOTTOM may be. */
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

/* Newton's method; each step doubles the number of right bits, from 3. */
static void find_inverse(rota_unit *u)
{
    size_t odd = u->element;

    for (u->shift = 0; odd > 0 && odd % 2 == 0; u->shift++)
        odd /= 2;
    u->inverse = odd;
    for (int bits = 3; bits < 64; bits *= 2)
        u->inverse *= 2 - odd * u->inverse;
}

/* *unit: how blocks that are given in elements of the type become bytes. */
static int from_mpi(MPI_Datatype mpi, const char *name, MPI_Comm comm,
                    rota_type *type, rota_unit *unit)
{
    const rota_layout *layout = NULL;
    MPI_Count size;
    MPI_Aint lb, extent, true_lb, true_extent;

    *type = rota_type_bytes;
    if (!usable(mpi, comm))
        return rota_fail(MPI_ERR_TYPE, "%s is null or not committed", name);
    ROTA_TRY(rota_type_size(mpi, &size));
    ROTA_TRY(MPI_Type_get_extent(mpi, &lb, &extent));
    ROTA_TRY(MPI_Type_get_true_extent(mpi, &true_lb, &true_extent));
    ROTA_TRY(find_layout(mpi, comm, &layout));
    const bool plain = size == 0 || (size == extent && is_row(layout, size));
    *unit = (rota_unit){.element = (size_t)size,
                        .spacing = extent,
                        .displ = extent,
                        .true_lb = plain || !layout ? true_lb : 0,
                        .null_ok = true_lb != 0,
                        .small = size <= INT_MAX && extent >= 0 &&
                                 extent <= INT_MAX && true_lb >= -INT_MAX &&
                                 true_lb <= INT_MAX};
    find_inverse(unit);
    if (plain) {
        free_layout(layout);
        return MPI_SUCCESS;
    }
    if (!layout && size > INT_MAX)
        return rota_fail(MPI_ERR_TYPE,
                         "%s: elements of %lld bytes that are not contiguous "
                         "are beyond MPI_Pack",
                         name, (long long)size);
    const ptrdiff_t first = layout ? true_lb : 0;
    *type = (rota_type){.size = (size_t)size,
                        .extent = extent,
                        .lb = first,
                        .ub = first + true_extent,
                        .layout = layout};
    const int err = layout ? MPI_Type_dup(mpi, &type->mpi)
                           : begin_at_data(mpi, true_lb, extent, &type->mpi);
    if (err != MPI_SUCCESS)
        free_layout(layout);
    return err;
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
    set->type = type ? type : set->type;
    rota_unit *const unit = realloc(set->unit, room * sizeof *unit);
    set->unit = unit ? unit : set->unit;
    uint32_t *const place = realloc(set->place, room * sizeof *place);
    set->place = place ? place : set->place;
    if (!type || !unit || !place)
        return rota_fail_mem("datatypes of blocks");
    set->room = room;
    return MPI_SUCCESS;
}

/* Where the next type goes: all that are plain bytes are one. */
static uint32_t find_place(const rota_type_set *set)
{
    uint32_t i = 0;

    if (!rota_type_is_bytes(&set->type[set->n_types]))
        return set->n_types;
    while (i < set->n_types && !rota_type_is_bytes(&set->type[i]))
        i++;
    return i;
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
    ROTA_TRY(from_mpi(mpi, name, comm, &set->type[set->n_types],
                      &set->unit[set->n]));
    const int err = remember(set, mpi);
    if (err != MPI_SUCCESS) {
        free_type(&set->type[set->n_types]);
        return err;
    }
    set->place[set->n] = find_place(set);
    set->n_types += set->place[set->n++] == set->n_types;
    return MPI_SUCCESS;
}

int rota_type_set_give(rota_type_set *set, const uint32_t of[], size_t n,
                       rota_types *types)
{
    uint32_t *index = NULL;

    ROTA_TRY(make_room(set));
    if (set->n_types > 1)
        index = malloc(n * sizeof *index);
    if (!index && set->n_types > 1)
        return rota_fail_mem("datatypes of blocks");
    if (set->n_types == 0)
        set->type[set->n_types++] = rota_type_bytes;
    for (size_t q = 0; index && q < n; q++)
        index[q] = set->place[of[q]];
    *types = (rota_types){set->type, index, set->n_types};
    set->type = NULL;
    set->n_types = 0;
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
    for (uint32_t i = 0; i < set->n_types; i++)
        free_type(&set->type[i]);
    free(set->type);
    free(set->unit);
    free(set->place);
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

static int copy_layout(const rota_layout *layout, const rota_layout **copy)
{
    rota_layout *const l = calloc(1, sizeof *l);

    if (l)
        l->nest = malloc((layout->n + 1) * sizeof *l->nest);
    if (!l || !l->nest) {
        free(l);
        return rota_fail_mem("the layout of a datatype");
    }
    l->n = l->room = layout->n;
    memcpy(l->nest, layout->nest, layout->n * sizeof *l->nest);
    *copy = l;
    return MPI_SUCCESS;
}

/* After a failure there is nothing to free. */
static int copy_type(const rota_type *type, rota_type *copy)
{
    const rota_layout *layout = NULL;

    if (type->layout)
        ROTA_TRY(copy_layout(type->layout, &layout));
    *copy = *type;
    copy->layout = layout;
    const int err = rota_type_is_bytes(type)
                        ? MPI_SUCCESS
                        : MPI_Type_dup(type->mpi, &copy->mpi);
    if (err != MPI_SUCCESS)
        free_layout(layout);
    return err;
}

int rota_types_copy(const rota_types *types, size_t n, rota_types *copy)
{
    rota_type *const type = malloc((types->n + 1) * sizeof *type);
    uint32_t *const of = types->of ? malloc((n + 1) * sizeof *of) : NULL;

    *copy = (rota_types){.type = type, .of = of};
    if (!type || (types->of && !of))
        return rota_fail_mem("datatypes of blocks");
    if (of)
        memcpy(of, types->of, n * sizeof *of);
    for (; copy->n < types->n; copy->n++)
        ROTA_TRY(copy_type(&types->type[copy->n], &type[copy->n]));
    return MPI_SUCCESS;
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
