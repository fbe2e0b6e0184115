/* p2p_calls.c - see p2p_calls.h. */
#include "exec/transport/p2p_calls.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

int rota_p2p_gather_type(const rota_blocks *b, const rota_block item[],
                         uint32_t n, MPI_Datatype *type)
{
    int *const lengths = malloc(n * sizeof *lengths);
    MPI_Aint *const places = malloc(n * sizeof *places);
    int err = lengths && places ? MPI_SUCCESS : rota_fail_mem("a datatype");

    for (uint32_t i = 0; err == MPI_SUCCESS && i < n; i++) {
        lengths[i] = (int)b->bytes[item[i]];
        err = MPI_Get_address(rota_block_at(b, item[i]), &places[i]);
    }
    *type = MPI_DATATYPE_NULL;
    if (err == MPI_SUCCESS)
        err = MPI_Type_create_hindexed((int)n, lengths, places, MPI_BYTE, type);
    if (err == MPI_SUCCESS)
        err = MPI_Type_commit(type);
    if (err != MPI_SUCCESS && *type != MPI_DATATYPE_NULL)
        MPI_Type_free(type);
    free(lengths);
    free(places);
    return err;
}

/* ---- counts beyond int --------------------------------------------------- */

/* MPI 4 has functions for any count. Before, more elements than an int counts are
 * one element of a larger datatype. */
#if MPI_VERSION >= 4
typedef MPI_Count mpi_count;
#define ANY_COUNT(function) function##_c
static const size_t most = SIZE_MAX;
#else
#define MPI_Get_elements_c MPI_Get_elements_x /* which MPI 4.1 deprecates */
typedef int mpi_count;
#define ANY_COUNT(function) function
static const size_t most = INT_MAX;
#endif

/* Make a datatype of count elements, more than an int holds: whole chunks of
 * 2^30 elements and the rest. */
static int big_type(size_t count, MPI_Datatype element, MPI_Datatype *type)
{
    const size_t chunk = (size_t)1 << 30;
    MPI_Datatype part[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Aint lb, extent;
    int err = MPI_Type_get_extent(element, &lb, &extent);

    if (err == MPI_SUCCESS)
        err = MPI_Type_contiguous((int)chunk, element, &part[0]);
    if (err == MPI_SUCCESS)
        err = MPI_Type_contiguous((int)(count % chunk), element, &part[1]);
    if (err == MPI_SUCCESS) {
        const int n[2] = {(int)(count / chunk), 1};
        const MPI_Aint at[2] = {0, (MPI_Aint)(count - count % chunk) * extent};
        err = MPI_Type_create_struct(2, n, at, part, type);
    }
    if (err == MPI_SUCCESS)
        err = MPI_Type_commit(type);
    for (int i = 0; i < 2; i++)
        if (part[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&part[i]);
    return err;
}

int rota_p2p_bytes(const MPI_Status *status, MPI_Count *bytes)
{
    return MPI_Get_elements_c(status, MPI_BYTE, bytes);
}

typedef int post_fn(void *data, mpi_count n, MPI_Datatype type, int peer,
                    int tag, MPI_Comm comm, MPI_Request *request);

/* MPI declares the data of a send const, those of a receive not. */
#define SENDING(name, function)                                                \
    static int name(void *data, mpi_count n, MPI_Datatype type, int peer,      \
                    int tag, MPI_Comm comm, MPI_Request *request)              \
    {                                                                          \
        return ANY_COUNT(function)(data, n, type, peer, tag, comm, request);   \
    }
SENDING(send_init, MPI_Send_init)
SENDING(isend, MPI_Isend)
SENDING(issend, MPI_Issend)

static int call(post_fn *fn, const rota_mpi_buffer *p, int peer, int tag,
                MPI_Comm comm, MPI_Request *request)
{
    MPI_Datatype big;

    if (p->count <= most)
        return fn(p->data, (mpi_count)p->count, p->type, peer, tag, comm,
                  request);
    ROTA_TRY(big_type(p->count, p->type, &big));
    const int err = fn(p->data, 1, big, peer, tag, comm, request);
    MPI_Type_free(&big); /* MPI keeps it while the request lives */
    return err;
}

int rota_p2p_init(const rota_mpi_buffer *p, rota_dir dir, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    return call(dir == ROTA_SEND ? send_init : ANY_COUNT(MPI_Recv_init), p,
                peer, tag, comm, request);
}

int rota_p2p_post(const rota_mpi_buffer *p, rota_dir dir, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    return call(dir == ROTA_SEND ? isend : ANY_COUNT(MPI_Irecv), p, peer, tag,
                comm, request);
}

int rota_p2p_synchronous(void *data, size_t bytes, int peer, int tag,
                         MPI_Comm comm, MPI_Request *request)
{
    const rota_mpi_buffer p = {data, bytes, MPI_BYTE};

    return call(issend, &p, peer, tag, comm, request);
}

int rota_p2p_matched(void *data, size_t bytes, MPI_Message *message,
                     MPI_Request *request)
{
    MPI_Datatype big;

    if (bytes <= most)
        return ANY_COUNT(MPI_Imrecv)(data, (mpi_count)bytes, MPI_BYTE, message,
                                     request);
    ROTA_TRY(big_type(bytes, MPI_BYTE, &big));
    const int err = ANY_COUNT(MPI_Imrecv)(data, 1, big, message, request);
    MPI_Type_free(&big);
    return err;
}
