/* types.c - datatypes: checked, and recognised where they are plain bytes. */
#include "plan/plan.h"

#include <limits.h>
#include <stdlib.h>

/* Elements up to this many bytes are looked at; no contiguous type of this
 * size is worth the time. */
enum { PROBE_LIMIT = 1 << 20 };

/* MPI has no query for whether a type is committed, but refuses to pack with
 * one that is not. */
static bool usable(MPI_Datatype type, MPI_Comm comm)
{
    char nothing[1] = {0};
    int position = 0;

    return type != MPI_DATATYPE_NULL &&
           MPI_Pack(nothing, 0, type, nothing, 1, &position, comm) ==
               MPI_SUCCESS;
}

/* Packing an element of size bytes must give its bytes in their order: tried
 * with the three bytes of every byte's index. */
static int probe_order(MPI_Datatype type, size_t size, MPI_Aint true_lb,
                       MPI_Comm comm, bool *in_order)
{
    unsigned char *const data = malloc(2 * size);
    int err = data ? MPI_SUCCESS : rota_fail_mem("looking at a datatype");

    *in_order = true;
    for (int shift = 0; shift < 24 && err == MPI_SUCCESS && *in_order;
         shift += 8) {
        unsigned char *const packed = data + size;
        int position = 0;
        for (size_t i = 0; i < size; i++)
            data[i] = (unsigned char)(i >> shift & 0xff);
        err = MPI_Pack(data - true_lb, 1, type, packed, (int)size, &position,
                       comm);
        for (size_t i = 0; i < size && err == MPI_SUCCESS; i++)
            *in_order = *in_order && packed[i] == data[i];
    }
    free(data);
    return err;
}

static int contents_are_plain(MPI_Datatype type, int n_ints, int n_addresses,
                              bool *plain);

/* Is an element nothing but its bytes in their order, as far as its making
 * tells? known is cleared where that would take a closer look. */
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

/* Of a type made of one other: a contiguous, resized or duplicated one. */
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

/* Are consecutive elements nothing but bytes end to end? */
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

int rota_type_from_mpi(MPI_Datatype mpi, const char *name, MPI_Comm comm,
                       rota_type *type, rota_unit *unit)
{
    MPI_Count size;
    MPI_Aint lb, extent, true_lb, true_extent;
    bool plain = true;

    *type = (rota_type){.mpi = MPI_BYTE, .size = 1, .extent = 1};
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
                        .true_lb = plain ? true_lb : 0,
                        .null_ok = true_lb != 0};
    if (plain)
        return MPI_SUCCESS;
    if (size > INT_MAX)
        return rota_fail(MPI_ERR_TYPE,
                         "%s: elements of %lld bytes that are not contiguous "
                         "are beyond MPI_Pack",
                         name, (long long)size);
    MPI_Datatype copy;
    ROTA_TRY(MPI_Type_dup(mpi, &copy));
    *type = (rota_type){.mpi = copy, .size = (size_t)size, .extent = extent};
    return MPI_SUCCESS;
}

void rota_type_free(rota_type *type)
{
    /* size 0: never set. */
    if (type->size > 0 && !rota_type_is_bytes(type))
        MPI_Type_free(&type->mpi);
    *type = (rota_type){.mpi = MPI_BYTE, .size = 1, .extent = 1};
}
