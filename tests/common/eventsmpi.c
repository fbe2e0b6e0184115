/* eventsmpi.c - tells events.c the messages that are posted to MPI.
 *
 * A program that links this has these functions in place of the MPI library's,
 * and reaches those by their PMPI names. What goes on MPI_COMM_WORLD is the
 * program's own, and left out.
 */
#include "events.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4
#define TYPE_SIZE PMPI_Type_size_c
#define GET_ELEMENTS PMPI_Get_elements_c
#else
#define TYPE_SIZE PMPI_Type_size_x
#define GET_ELEMENTS PMPI_Get_elements_x
#endif

/* A persistent request. */
typedef struct kept {
    uint64_t handle; /* 0: the slot is free */
    events_stream stream;
    uint64_t bytes;
} kept;

static struct {
    kept *slot;
    size_t n;
} kept_all;

static uint64_t number_of(MPI_Request request)
{
    uint64_t n = 0;

    memcpy(&n, &request, sizeof request);
    return n;
}

/* The slot of a handle; 0: a free one. */
static kept *find(uint64_t handle)
{
    size_t i = 0;

    while (i < kept_all.n && kept_all.slot[i].handle != handle)
        i++;
    if (i < kept_all.n)
        return &kept_all.slot[i];
    if (handle != 0)
        return NULL;
    kept_all.n = kept_all.n ? 2 * kept_all.n : 64;
    kept_all.slot = realloc(kept_all.slot, kept_all.n * sizeof *kept_all.slot);
    if (!kept_all.slot)
        abort();
    memset(kept_all.slot + i, 0, (kept_all.n - i) * sizeof *kept_all.slot);
    return &kept_all.slot[i];
}

static uint64_t bytes_of(MPI_Count count, MPI_Datatype type)
{
    MPI_Count size;

    TYPE_SIZE(type, &size);
    return (uint64_t)(count * size);
}

static events_stream stream_of(events_kind kind, int peer, int tag)
{
    return (events_stream){.kind = kind, .tag = tag, .peer = (uint64_t)peer};
}

static void note(events_kind kind, MPI_Count count, MPI_Datatype type, int peer,
                 int tag, MPI_Comm comm)
{
    if (comm != MPI_COMM_WORLD)
        events_add(stream_of(kind, peer, tag), bytes_of(count, type));
}

static void keep(events_kind kind, MPI_Count count, MPI_Datatype type, int peer,
                 int tag, MPI_Request request)
{
    *find(0) = (kept){.handle = number_of(request),
                      .stream = stream_of(kind, peer, tag),
                      .bytes = bytes_of(count, type)};
}

/* ---- messages ------------------------------------------------------------ */

#define POST(name, kind, count_type, buffer_type)                              \
    int MPI_##name(buffer_type buffer, count_type count, MPI_Datatype type,    \
                   int peer, int tag, MPI_Comm comm, MPI_Request *request)     \
    {                                                                          \
        note(kind, count, type, peer, tag, comm);                              \
        return PMPI_##name(buffer, count, type, peer, tag, comm, request);     \
    }

#define INIT(name, kind, count_type, buffer_type)                              \
    int MPI_##name(buffer_type buffer, count_type count, MPI_Datatype type,    \
                   int peer, int tag, MPI_Comm comm, MPI_Request *request)     \
    {                                                                          \
        const int err =                                                        \
            PMPI_##name(buffer, count, type, peer, tag, comm, request);        \
        keep(kind, count, type, peer, tag, *request);                          \
        return err;                                                            \
    }

#define MATCHED(name, count_type)                                              \
    int MPI_##name(void *buffer, count_type count, MPI_Datatype type,          \
                   MPI_Message *message, MPI_Request *request)                 \
    {                                                                          \
        const uint64_t bytes = bytes_of(count, type);                          \
        events_add((events_stream){.kind = EVENTS_MATCHED, .peer = bytes}, 1); \
        return PMPI_##name(buffer, count, type, message, request);             \
    }

POST(Isend, EVENTS_SENT, int, const void *)
POST(Issend, EVENTS_SENT, int, const void *)
POST(Irecv, EVENTS_RECEIVED, int, void *)
INIT(Send_init, EVENTS_SENT, int, const void *)
INIT(Recv_init, EVENTS_RECEIVED, int, void *)
MATCHED(Imrecv, int)
#if MPI_VERSION >= 4
POST(Isend_c, EVENTS_SENT, MPI_Count, const void *)
POST(Issend_c, EVENTS_SENT, MPI_Count, const void *)
POST(Irecv_c, EVENTS_RECEIVED, MPI_Count, void *)
INIT(Send_init_c, EVENTS_SENT, MPI_Count, const void *)
INIT(Recv_init_c, EVENTS_RECEIVED, MPI_Count, void *)
MATCHED(Imrecv_c, MPI_Count)
#endif

static void note_start(MPI_Request request)
{
    const kept *const k = find(number_of(request));

    if (k)
        events_add(k->stream, k->bytes);
}

int MPI_Start(MPI_Request *request)
{
    note_start(*request);
    return PMPI_Start(request);
}

int MPI_Startall(int n, MPI_Request requests[])
{
    for (int i = 0; i < n; i++)
        note_start(requests[i]);
    return PMPI_Startall(n, requests);
}

int MPI_Request_free(MPI_Request *request)
{
    kept *const k = find(number_of(*request));

    if (k)
        k->handle = 0;
    return PMPI_Request_free(request);
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag,
                MPI_Message *message, MPI_Status *status)
{
    MPI_Status own;
    MPI_Status *const s = status == MPI_STATUS_IGNORE ? &own : status;
    MPI_Count bytes;
    const int err = PMPI_Improbe(source, tag, comm, flag, message, s);

    if (err == MPI_SUCCESS && *flag) {
        GET_ELEMENTS(s, MPI_BYTE, &bytes);
        events_add(stream_of(EVENTS_FOUND, s->MPI_SOURCE, tag),
                   (uint64_t)bytes);
    }
    return err;
}

/* ---- collectives --------------------------------------------------------- */

static uint64_t mix_all(const int counts[], MPI_Datatype type, MPI_Comm comm)
{
    uint64_t h = 0;
    int n;

    PMPI_Comm_size(comm, &n);
    for (int i = 0; counts && i < n; i++)
        h = events_mix(h, bytes_of(counts[i], type));
    return h;
}

static uint64_t mix_typed(const int counts[], const MPI_Datatype types[],
                          MPI_Comm comm)
{
    uint64_t h = 0;
    int n;

    PMPI_Comm_size(comm, &n);
    for (int i = 0; counts && i < n; i++)
        h = events_mix(h, counts[i] > 0 ? bytes_of(counts[i], types[i]) : 0);
    return h;
}

static void call(char what, uint64_t sent, uint64_t received)
{
    events_add((events_stream){.kind = EVENTS_CALLED},
               events_mix(events_mix((uint64_t)what, sent), received));
}

int MPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Request *request)
{
    call('a', 0, bytes_of(recvcount, recvtype));
    return PMPI_Ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                          recvtype, comm, request);
}

int MPI_Ialltoallv(const void *sendbuf, const int sendcounts[],
                   const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                   const int recvcounts[], const int rdispls[],
                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    const bool in_place = sendbuf == MPI_IN_PLACE;

    call('v', in_place ? 0 : mix_all(sendcounts, sendtype, comm),
         mix_all(recvcounts, recvtype, comm));
    return PMPI_Ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                           recvcounts, rdispls, recvtype, comm, request);
}

int MPI_Ialltoallw(const void *sendbuf, const int sendcounts[],
                   const int sdispls[], const MPI_Datatype sendtypes[],
                   void *recvbuf, const int recvcounts[], const int rdispls[],
                   const MPI_Datatype recvtypes[], MPI_Comm comm,
                   MPI_Request *request)
{
    const bool in_place = sendbuf == MPI_IN_PLACE;

    call('w', in_place ? 0 : mix_typed(sendcounts, sendtypes, comm),
         mix_typed(recvcounts, recvtypes, comm));
    return PMPI_Ialltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                           recvcounts, rdispls, recvtypes, comm, request);
}
