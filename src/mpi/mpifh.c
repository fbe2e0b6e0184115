/* mpifh.c - calls of Fortran with Open MPI.
 *
 * Open MPI's functions for Fortran call C functions by their PMPI_ names. So this
 * file replaces those that exchange, those that see requests of ours, and the
 * beginning and the end: mpi_alltoall_ and its kin for mpif.h and the module mpi,
 * ompi_alltoall_f and its kin behind mpi_f08. They call what a C program would call.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT, RTLD_NEXT */
#include "mpi/comm.h"
#include "mpi/request.h"
#include "mpi/stats.h"

#include <dlfcn.h>
#include <stdlib.h>

/* MPI_Fint may be of 8 bytes in a build of Open MPI for that. */
_Static_assert(sizeof(MPI_Fint) == sizeof(int),
               "arrays are handed on as they are");

static void set(MPI_Fint *ierr, int err)
{
    if (ierr)
        *ierr = err;
}

/* mpif: the name for mpif.h, f08: what mpi_f08 calls, which is pmpi_test_ for
 * functions with a logical result. */
#define WRAP(mpif, f08, parameters, call)                                      \
    ROTA_API void mpif parameters;                                             \
    ROTA_API void f08 parameters;                                              \
    void mpif parameters                                                       \
    {                                                                          \
        set(ierr, call);                                                       \
    }                                                                          \
    void f08 parameters                                                        \
    {                                                                          \
        set(ierr, call);                                                       \
    }

/* ---- arguments ----------------------------------------------------------- */

/* In Fortran, MPI_IN_PLACE and MPI_BOTTOM are variables. */
static void *buffer(void *given)
{
    static void *_Atomic in_place, *_Atomic bottom;

    if (!in_place)
        in_place = dlsym(RTLD_DEFAULT, "mpi_fortran_in_place_");
    if (!bottom)
        bottom = dlsym(RTLD_DEFAULT, "mpi_fortran_bottom_");
    if (given && given == in_place)
        return MPI_IN_PLACE;
    return given && given == bottom ? MPI_BOTTOM : given;
}

/* The types of a call of W, to send and behind them to receive. */
typedef struct types {
    MPI_Datatype *send, *recv;
} types;

/* How many blocks has each side? */
static void count_blocks(MPI_Comm comm, bool neighbors, int *n_to, int *n_from)
{
    rota_mpi_args args = {.comm = comm, .neighbors = neighbors};
    int inter = 0;
    bool known;

    rota_mpi_comm_takes(&args, &known);
    if (comm != MPI_COMM_NULL && !neighbors)
        PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        PMPI_Comm_remote_size(comm, &args.send.n);
    *n_to = args.send.n;
    *n_from = inter ? args.send.n : args.recv.n;
}

static types make_types(MPI_Comm comm, bool neighbors, const void *sendbuf,
                        const MPI_Fint send[], const MPI_Fint recv[])
{
    int n_to, n_from;

    count_blocks(comm, neighbors, &n_to, &n_from);
    MPI_Datatype *const all =
        rota_mpi_alloc((size_t)n_to + (size_t)n_from, sizeof *all);
    for (int i = 0; i < n_to && sendbuf != MPI_IN_PLACE; i++)
        all[i] = PMPI_Type_f2c(send[i]);
    for (int i = 0; i < n_from; i++)
        all[n_to + i] = PMPI_Type_f2c(recv[i]);
    return (types){all, all + n_to};
}

/* ---- exchanges -----------------------------------------------------------
 *
 * For each shape of list.h: the parameters, these as arguments, and those of C. */

#define PARAMETERS_ONE(displ)                                                  \
    void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf,     \
        MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *comm
#define ARGUMENTS_ONE                                                          \
    sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
#define IN_C_ONE                                                               \
    buffer(sendbuf), *sendcount, PMPI_Type_f2c(*sendtype), buffer(recvbuf),    \
        *recvcount, PMPI_Type_f2c(*recvtype), PMPI_Comm_f2c(*comm)

#define PARAMETERS_V(displ)                                                    \
    void *sendbuf, MPI_Fint *sendcounts, displ *sdispls, MPI_Fint *sendtype,   \
        void *recvbuf, MPI_Fint *recvcounts, displ *rdispls,                   \
        MPI_Fint *recvtype, MPI_Fint *comm
#define ARGUMENTS_V                                                            \
    sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,      \
        recvtype, comm
#define IN_C_V                                                                 \
    buffer(sendbuf), sendcounts, sdispls, PMPI_Type_f2c(*sendtype),            \
        buffer(recvbuf), recvcounts, rdispls, PMPI_Type_f2c(*recvtype),        \
        PMPI_Comm_f2c(*comm)

#define PARAMETERS_W PARAMETERS_V
#define ARGUMENTS_W ARGUMENTS_V
#define IN_C_W                                                                 \
    buffer(sendbuf), sendcounts, sdispls, t.send, buffer(recvbuf), recvcounts, \
        rdispls, t.recv, PMPI_Comm_f2c(*comm)

/* What comes before a call in C, and what after it. MPI may look at the types of its
 * own persistent requests later, so that those stay. */
#define BEFORE_ONE(among)
#define BEFORE_V(among)
#define BEFORE_W(among)                                                        \
    const types t = make_types(PMPI_Comm_f2c(*comm), among, buffer(sendbuf),   \
                               sendtype, recvtype);
#define AFTER_ONE(done)
#define AFTER_V(done)
#define AFTER_W(done)                                                          \
    if (done)                                                                  \
        free(t.send);

/* name: without mpi_. Nonblocking ones are MPI's, and counted. */
#define EXCHANGE(call, among, shape, displ, name, iname, mpi)                  \
    static int run_##name(PARAMETERS_##shape(displ))                           \
    {                                                                          \
        BEFORE_##shape(among);                                                 \
        const int err = mpi(IN_C_##shape);                                     \
        AFTER_##shape(true);                                                   \
        return err;                                                            \
    }                                                                          \
    WRAP(mpi_##name##_, ompi_##name##_f,                                       \
         (PARAMETERS_##shape(displ), MPI_Fint * ierr),                         \
         run_##name(ARGUMENTS_##shape))                                        \
    static int begin_##name(PARAMETERS_##shape(displ), MPI_Fint *request)      \
    {                                                                          \
        static void *_Atomic found;                                            \
        union {                                                                \
            void *data; /* POSIX lets this be a function's */                  \
            void (*function)(PARAMETERS_##shape(displ), MPI_Fint *,            \
                             MPI_Fint *);                                      \
        } f;                                                                   \
        MPI_Fint err = MPI_ERR_INTERN;                                         \
        rota_mpi_count_call(call, ROTA_MPI_NONBLOCKING, false);                \
        if (!found)                                                            \
            found = dlsym(RTLD_NEXT, "ompi_" #iname "_f");                     \
        f.data = found;                                                        \
        if (f.data)                                                            \
            f.function(ARGUMENTS_##shape, request, &err);                      \
        return err;                                                            \
    }                                                                          \
    WRAP(mpi_##iname##_, ompi_##iname##_f,                                     \
         (PARAMETERS_##shape(displ), MPI_Fint * request, MPI_Fint * ierr),     \
         begin_##name(ARGUMENTS_##shape, request))                             \
    PERSISTENT(among, shape, displ, name##_init, mpi##_init)

#if ROTA_MPI_HAS_PERSISTENT
#define PERSISTENT(among, shape, displ, name, mpi)                             \
    static int run_##name(PARAMETERS_##shape(displ), MPI_Fint *info,           \
                          MPI_Fint *request)                                   \
    {                                                                          \
        MPI_Request r = MPI_REQUEST_NULL;                                      \
        BEFORE_##shape(among);                                                 \
        const int err = mpi(IN_C_##shape, PMPI_Info_f2c(*info), &r);           \
        AFTER_##shape(err != MPI_SUCCESS || rota_mpi_request_find(r));         \
        if (err == MPI_SUCCESS)                                                \
            *request = PMPI_Request_c2f(r);                                    \
        return err;                                                            \
    }                                                                          \
    WRAP(mpi_##name##_, ompi_##name##_f,                                       \
         (PARAMETERS_##shape(displ), MPI_Fint * info, MPI_Fint * request,      \
          MPI_Fint * ierr),                                                    \
         run_##name(ARGUMENTS_##shape, info, request))
#else
#define PERSISTENT(...)
#endif

EXCHANGE(ROTA_MPI_ALLTOALL, false, ONE, MPI_Fint, alltoall, ialltoall,
         MPI_Alltoall)
EXCHANGE(ROTA_MPI_ALLTOALLV, false, V, MPI_Fint, alltoallv, ialltoallv,
         MPI_Alltoallv)
EXCHANGE(ROTA_MPI_ALLTOALLW, false, W, MPI_Fint, alltoallw, ialltoallw,
         MPI_Alltoallw)
EXCHANGE(ROTA_MPI_NEIGHBOR_ALLTOALL, true, ONE, MPI_Fint, neighbor_alltoall,
         ineighbor_alltoall, MPI_Neighbor_alltoall)
EXCHANGE(ROTA_MPI_NEIGHBOR_ALLTOALLV, true, V, MPI_Fint, neighbor_alltoallv,
         ineighbor_alltoallv, MPI_Neighbor_alltoallv)
EXCHANGE(ROTA_MPI_NEIGHBOR_ALLTOALLW, true, W, MPI_Aint, neighbor_alltoallw,
         ineighbor_alltoallw, MPI_Neighbor_alltoallw)

/* ---- requests ------------------------------------------------------------
 *
 * Without persistent exchanges there are none of ours. */

#if ROTA_MPI_HAS_PERSISTENT

/* Requests and statuses of a call in C, and where Fortran has them. No statuses: none
 * are wanted. */
typedef struct batch {
    int n, n_statuses;
    MPI_Request *r;
    MPI_Status *s;
    MPI_Fint *requests, *statuses;
} batch;

/* MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are variables, too. */
static bool are_ignored(const MPI_Fint *statuses)
{
    static void *_Atomic one, *_Atomic many;

    if (!one)
        one = dlsym(RTLD_DEFAULT, "mpi_fortran_status_ignore_");
    if (!many)
        many = dlsym(RTLD_DEFAULT, "mpi_fortran_statuses_ignore_");
    return !statuses || statuses == one || statuses == many;
}

static batch begin(int n, MPI_Fint requests[], int n_statuses,
                   MPI_Fint statuses[])
{
    batch b = {.n = n > 0 ? n : 0, .requests = requests, .statuses = statuses};

    b.r = rota_mpi_alloc((size_t)b.n, sizeof *b.r);
    for (int i = 0; i < b.n; i++)
        b.r[i] = PMPI_Request_f2c(requests[i]);
    if (n_statuses > 0 && !are_ignored(statuses)) {
        b.n_statuses = n_statuses;
        b.s = rota_mpi_alloc((size_t)n_statuses, sizeof *b.s);
    }
    return b;
}

/* The first n_filled statuses have been filled in. Returns err. */
static int end(batch *b, int n_filled, int err)
{
    enum { INTS = sizeof(MPI_Status) / sizeof(MPI_Fint) };

    for (int i = 0; i < b->n; i++)
        b->requests[i] = PMPI_Request_c2f(b->r[i]);
    for (int i = 0; i < n_filled && i < b->n_statuses; i++)
        PMPI_Status_c2f(&b->s[i], b->statuses + INTS * i);
    free(b->r);
    free(b->s);
    return err;
}

/* In Fortran the first of an array has the index 1. */
static void renumber(int n, MPI_Fint indices[])
{
    for (int i = 0; i < n; i++)
        indices[i] += indices[i] != MPI_UNDEFINED;
}

/* The functions of one request. */
#define ONE(name, mpi)                                                         \
    static int run_##name(MPI_Fint *request)                                   \
    {                                                                          \
        batch b = begin(1, request, 0, NULL);                                  \
        return end(&b, 0, mpi(b.r));                                           \
    }                                                                          \
    WRAP(mpi_##name##_, ompi_##name##_f,                                       \
         (MPI_Fint * request, MPI_Fint * ierr), run_##name(request))

ONE(start, MPI_Start)
ONE(request_free, MPI_Request_free)
ONE(cancel, MPI_Cancel)

static int run_wait(MPI_Fint *request, MPI_Fint *status)
{
    batch b = begin(1, request, 1, status);

    return end(&b, 1, MPI_Wait(b.r, b.s));
}

static int run_test(MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status)
{
    batch b = begin(1, request, 1, status);
    const int err = MPI_Test(b.r, flag, b.s);

    return end(&b, *flag, err);
}

static int run_request_get_status(MPI_Fint *request, MPI_Fint *flag,
                                  MPI_Fint *status)
{
    batch b = begin(1, request, 1, status);
    const int err = MPI_Request_get_status(*b.r, flag, b.s);

    return end(&b, *flag, err);
}

WRAP(mpi_wait_, ompi_wait_f,
     (MPI_Fint * request, MPI_Fint *status, MPI_Fint *ierr),
     run_wait(request, status))
WRAP(mpi_test_, pmpi_test_,
     (MPI_Fint * request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierr),
     run_test(request, flag, status))
WRAP(mpi_request_get_status_, pmpi_request_get_status_,
     (MPI_Fint * request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierr),
     run_request_get_status(request, flag, status))

/* Those of arrays. */
static int run_startall(int n, MPI_Fint r[])
{
    batch b = begin(n, r, 0, NULL);

    return end(&b, 0, MPI_Startall(n, b.r));
}

static int run_waitall(int n, MPI_Fint r[], MPI_Fint statuses[])
{
    batch b = begin(n, r, n, statuses);

    return end(&b, n, MPI_Waitall(n, b.r, b.s));
}

static int run_testall(int n, MPI_Fint r[], MPI_Fint *flag, MPI_Fint statuses[])
{
    batch b = begin(n, r, n, statuses);
    const int err = MPI_Testall(n, b.r, flag, b.s);

    return end(&b, *flag ? n : 0, err);
}

static int run_waitany(int n, MPI_Fint r[], MPI_Fint *index, MPI_Fint *status)
{
    batch b = begin(n, r, 1, status);
    const int err = MPI_Waitany(n, b.r, index, b.s);

    renumber(1, index);
    return end(&b, 1, err);
}

static int run_testany(int n, MPI_Fint r[], MPI_Fint *index, MPI_Fint *flag,
                       MPI_Fint *status)
{
    batch b = begin(n, r, 1, status);
    const int err = MPI_Testany(n, b.r, index, flag, b.s);

    renumber(1, index);
    return end(&b, *flag, err);
}

/* some: MPI_Waitsome or MPI_Testsome. */
static int run_some(int (*some)(int, MPI_Request[], int *, int[], MPI_Status[]),
                    int n, MPI_Fint r[], MPI_Fint *count, MPI_Fint indices[],
                    MPI_Fint statuses[])
{
    batch b = begin(n, r, n, statuses);
    const int err = some(n, b.r, count, indices, b.s);
    const int filled = *count == MPI_UNDEFINED ? 0 : *count;

    renumber(filled, indices);
    return end(&b, filled, err);
}

#define ARRAY MPI_Fint *n, MPI_Fint r[]
#define SOME MPI_Fint *count, MPI_Fint indices[], MPI_Fint statuses[]

WRAP(mpi_startall_, ompi_startall_f, (ARRAY, MPI_Fint *ierr),
     run_startall(*n, r))
WRAP(mpi_waitall_, ompi_waitall_f, (ARRAY, MPI_Fint statuses[], MPI_Fint *ierr),
     run_waitall(*n, r, statuses))
WRAP(mpi_testall_, pmpi_testall_,
     (ARRAY, MPI_Fint *flag, MPI_Fint statuses[], MPI_Fint *ierr),
     run_testall(*n, r, flag, statuses))
WRAP(mpi_waitany_, ompi_waitany_f,
     (ARRAY, MPI_Fint *index, MPI_Fint *status, MPI_Fint *ierr),
     run_waitany(*n, r, index, status))
WRAP(mpi_testany_, pmpi_testany_,
     (ARRAY, MPI_Fint *index, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *ierr),
     run_testany(*n, r, index, flag, status))
WRAP(mpi_waitsome_, ompi_waitsome_f, (ARRAY, SOME, MPI_Fint *ierr),
     run_some(MPI_Waitsome, *n, r, count, indices, statuses))
WRAP(mpi_testsome_, pmpi_testsome_, (ARRAY, SOME, MPI_Fint *ierr),
     run_some(MPI_Testsome, *n, r, count, indices, statuses))

#endif

/* ---- the others ---------------------------------------------------------- */

WRAP(mpi_init_, ompi_init_f, (MPI_Fint * ierr), MPI_Init(NULL, NULL))
WRAP(mpi_init_thread_, ompi_init_thread_f,
     (MPI_Fint * required, MPI_Fint *provided, MPI_Fint *ierr),
     MPI_Init_thread(NULL, NULL, *required, provided))
WRAP(mpi_finalize_, ompi_finalize_f, (MPI_Fint * ierr), MPI_Finalize())
WRAP(mpi_error_class_, ompi_error_class_f,
     (MPI_Fint * code, MPI_Fint *errorclass, MPI_Fint *ierr),
     MPI_Error_class(*code, errorclass))
