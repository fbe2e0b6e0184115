/* args.c - see args.h. */
#include "mpi/args.h"

#include "plan/inside.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

void *rota_mpi_alloc(size_t n, size_t bytes)
{
    void *const memory = calloc(n + 1, bytes); /* some for none, too */

    if (!memory)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return memory;
}

rota_mpi_args rota_mpi_for_rota(const rota_mpi_args *args)
{
    rota_mpi_args a = *args;

    if (a.recv.buffer == MPI_IN_PLACE)
        a.recv.buffer = NULL;
    if (a.neighbors && a.send.buffer == MPI_IN_PLACE)
        a.send.buffer = NULL;
    return a;
}

/* ---- types --------------------------------------------------------------- */

bool rota_mpi_is_predefined(MPI_Datatype type, bool *valid)
{
    int n_ints, n_addresses, n_types, combiner;

    *valid = PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types,
                                    &combiner) == MPI_SUCCESS;
    return *valid && combiner == MPI_COMBINER_NAMED;
}

int rota_mpi_know(rota_mpi_type *known, MPI_Datatype type)
{
    MPI_Aint lb;
    bool valid;

    if (type == known->type && type != MPI_DATATYPE_NULL)
        return MPI_SUCCESS;
    known->type = MPI_DATATYPE_NULL;
    ROTA_MPI_TRY(rota_type_size(type, &known->size));
    ROTA_MPI_TRY(PMPI_Type_get_extent(type, &lb, &known->extent));
    ROTA_MPI_TRY(rota_type_is_plain(type, &known->plain));
    if (rota_mpi_is_predefined(type, &valid))
        known->type = type;
    return MPI_SUCCESS;
}

/* ---- bytes --------------------------------------------------------------- */

MPI_Count rota_mpi_scaled(MPI_Count n, MPI_Count size)
{
    const MPI_Count limit = PTRDIFF_MAX;

    if (size < 0)
        return -rota_mpi_scaled(n, -size);
    if (n >= 0 && n <= INT_MAX && size <= INT_MAX) /* without a division */
        return n * size;
    if (size != 0 && (n > limit / size || n < -limit / size))
        return n > 0 ? limit : -limit;
    return n * size;
}

MPI_Count rota_mpi_block_bytes(const rota_mpi_args *a, MPI_Datatype *type)
{
    static _Thread_local rota_mpi_type known = {.type = MPI_DATATYPE_NULL};
    const rota_mpi_blocks *const b = rota_mpi_sent(a);

    *type = MPI_DATATYPE_NULL;
    if (rota_mpi_know(&known, b->type) != MPI_SUCCESS)
        return 0;
    *type = known.type;
    return rota_mpi_scaled(rota_mpi_count_at(a, b, 0), known.size);
}

size_t rota_mpi_bytes_at(const rota_mpi_args *a, const rota_mpi_blocks *b,
                         int i)
{
    const MPI_Count n = b->counts ? rota_mpi_moved_at(a, b, i) : 0;
    MPI_Count size = 0;

    if (n > 0)
        rota_type_size(rota_mpi_type_at(b, i), &size);
    return (size_t)rota_mpi_scaled(n, size);
}

size_t rota_mpi_args_bytes(const rota_mpi_args *a)
{
    const rota_mpi_blocks *const b = rota_mpi_sent(a);
    size_t bytes = 0;

    for (int i = 0; i < b->n; i++)
        bytes += rota_mpi_bytes_at(a, b, i);
    return bytes;
}

static bool is_plain(const rota_mpi_args *a, const rota_mpi_blocks *b)
{
    rota_mpi_type known = {.type = MPI_DATATYPE_NULL, .plain = true};

    for (int i = 0; i < b->n && known.plain; i++)
        if (rota_mpi_moved_at(a, b, i) > 0 &&
            rota_mpi_know(&known, rota_mpi_type_at(b, i)) != MPI_SUCCESS)
            known.plain = false;
    return known.plain;
}

bool rota_mpi_args_plain(const rota_mpi_args *a)
{
    return is_plain(a, &a->recv) &&
           (rota_mpi_is_in_place(a) || is_plain(a, &a->send));
}
