/* p2p_calls.c - see p2p_calls.h. */
#include "exec/transport/p2p_calls.h"

#include <limits.h>
#include <stdlib.h>

static int fill_gather_type(const rota_blocks *b, const rota_block item[],
                            uint32_t n, int lengths[], MPI_Aint places[],
                            MPI_Datatype *type)
{
    for (uint32_t i = 0; i < n; i++) {
        lengths[i] = (int)b->bytes[item[i]];
        ROTA_TRY(MPI_Get_address(rota_block_at(b, item[i]), &places[i]));
    }
    ROTA_TRY(MPI_Type_create_hindexed((int)n, lengths, places, MPI_BYTE, type));
    const int err = MPI_Type_commit(type);
    if (err != MPI_SUCCESS)
        MPI_Type_free(type);
    return err;
}

int rota_p2p_gather_type(const rota_blocks *b, const rota_block item[],
                         uint32_t n, MPI_Datatype *type)
{
    int *const lengths = malloc(n * sizeof *lengths);
    MPI_Aint *const places = malloc(n * sizeof *places);
    const int err = lengths && places
                        ? fill_gather_type(b, item, n, lengths, places, type)
                        : rota_fail_mem("a datatype");

    free(lengths);
    free(places);
    return err;
}

/* ---- counts beyond int --------------------------------------------------- */

#if MPI_VERSION >= 4

int rota_p2p_init(const rota_mpi_buffer *p, rota_dir dir, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    const MPI_Count n = (MPI_Count)p->count;

    return dir == ROTA_SEND
               ? MPI_Send_init_c(p->data, n, p->type, peer, tag, comm, request)
               : MPI_Recv_init_c(p->data, n, p->type, peer, tag, comm, request);
}

int rota_p2p_post(const rota_mpi_buffer *p, rota_dir dir, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    const MPI_Count n = (MPI_Count)p->count;

    return dir == ROTA_SEND
               ? MPI_Isend_c(p->data, n, p->type, peer, tag, comm, request)
               : MPI_Irecv_c(p->data, n, p->type, peer, tag, comm, request);
}

int rota_p2p_synchronous(void *data, size_t bytes, int peer, int tag,
                         MPI_Comm comm, MPI_Request *request)
{
    return MPI_Issend_c(data, (MPI_Count)bytes, MPI_BYTE, peer, tag, comm,
                        request);
}

int rota_p2p_matched(void *data, size_t bytes, MPI_Message *message,
                     MPI_Request *request)
{
    return MPI_Imrecv_c(data, (MPI_Count)bytes, MPI_BYTE, message, request);
}

#else

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

typedef int init_fn(void *data, int count, MPI_Datatype type, int peer, int tag,
                    MPI_Comm comm, MPI_Request *request);

/* MPI 3 declares the data of a send const, those of a receive not. */
static int send_init(void *data, int count, MPI_Datatype type, int peer,
                     int tag, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Send_init(data, count, type, peer, tag, comm, request);
}

static int isend(void *data, int count, MPI_Datatype type, int peer, int tag,
                 MPI_Comm comm, MPI_Request *request)
{
    return MPI_Isend(data, count, type, peer, tag, comm, request);
}

static int call(init_fn *fn, const rota_mpi_buffer *p, int peer, int tag,
                MPI_Comm comm, MPI_Request *request)
{
    MPI_Datatype big;

    if (p->count <= INT_MAX)
        return fn(p->data, (int)p->count, p->type, peer, tag, comm, request);
    ROTA_TRY(big_type(p->count, p->type, &big));
    const int err = fn(p->data, 1, big, peer, tag, comm, request);
    MPI_Type_free(&big); /* MPI keeps it while the request lives */
    return err;
}

int rota_p2p_init(const rota_mpi_buffer *p, rota_dir dir, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    return call(dir == ROTA_SEND ? send_init : MPI_Recv_init, p, peer, tag,
                comm, request);
}

int rota_p2p_post(const rota_mpi_buffer *p, rota_dir dir, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    return call(dir == ROTA_SEND ? isend : MPI_Irecv, p, peer, tag, comm,
                request);
}

static int issend(void *data, int count, MPI_Datatype type, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    return MPI_Issend(data, count, type, peer, tag, comm, request);
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

    if (bytes <= INT_MAX)
        return MPI_Imrecv(data, (int)bytes, MPI_BYTE, message, request);
    ROTA_TRY(big_type(bytes, MPI_BYTE, &big));
    const int err = MPI_Imrecv(data, 1, big, message, request);
    MPI_Type_free(&big);
    return err;
}

#endif
