/* alltoallv.c - MPI_Alltoallv, MPI_Ialltoallv, MPI_Alltoallv_init. */
#include "mpi/shim.h"

/* ---- blocking --------------------------------------------------------------- */

static int exchange(rota_mpi_run *run, const rota_mpi_args *args)
{
    const double begin = rota_mpi_time_begin();

    ROTA_MPI_TRY(rota_mpi_run_start(run, args));
    const int err = rota_mpi_run_finish(run, rota_wait(run->plan));
    rota_mpi_time_end(begin);
    return err;
}

#define ARGS(is_large)                                                         \
    {                                                                          \
        .sendbuf = sendbuf, .sendcounts = sendcounts, .sdispls = sdispls,      \
        .sendtype = sendtype, .recvbuf = recvbuf, .recvcounts = recvcounts,    \
        .rdispls = rdispls, .recvtype = recvtype, .large = (is_large),         \
    }

int rota_mpi_Alltoallv(const void *sendbuf, const int sendcounts[],
                       const int sdispls[], MPI_Datatype sendtype,
                       void *recvbuf, const int recvcounts[],
                       const int rdispls[], MPI_Datatype recvtype,
                       MPI_Comm comm)
{
    const rota_mpi_args args = ARGS(false);
    const bool refused = rota_mpi_refused(&args, comm);
    rota_mpi_run *const run = refused ? NULL : rota_mpi_comm_blocking(comm);

    rota_mpi_count_call(ROTA_MPI_BLOCKING, run != NULL);
    return run ? exchange(run, &args)
               : PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                recvcounts, rdispls, recvtype, comm);
}

int rota_mpi_Alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
                         const MPI_Aint sdispls[], MPI_Datatype sendtype,
                         void *recvbuf, const MPI_Count recvcounts[],
                         const MPI_Aint rdispls[], MPI_Datatype recvtype,
                         MPI_Comm comm)
{
    const rota_mpi_args args = ARGS(true);
    const bool refused = rota_mpi_refused(&args, comm);
    rota_mpi_run *const run = refused ? NULL : rota_mpi_comm_blocking(comm);

    rota_mpi_count_call(ROTA_MPI_BLOCKING, run != NULL);
    return run ? exchange(run, &args)
               : PMPI_Alltoallv_c(sendbuf, sendcounts, sdispls, sendtype,
                                  recvbuf, recvcounts, rdispls, recvtype, comm);
}

/* ---- nonblocking ------------------------------------------------------------ */

static int begin_exchange(rota_mpi_run *run, const rota_mpi_args *args,
                          MPI_Comm comm, MPI_Request *request)
{
    rota_mpi_request *const r = run->request;

    /* The run's turn has come on all ranks, so that this one cannot take
     * another; nor may it wait here. */
    if (r->state != ROTA_MPI_INACTIVE)
        return rota_error_raise(comm, MPI_ERR_OTHER,
                                "a request was not completed before "
                                "ROTA_MPI_IN_FLIGHT more calls on its "
                                "communicator");
    const double begin = rota_mpi_time_begin();
    ROTA_MPI_TRY(rota_mpi_run_start(run, args));
    r->state = ROTA_MPI_ACTIVE;
    *request = r->handle;
    rota_mpi_time_end(begin);
    return MPI_SUCCESS;
}

int rota_mpi_Ialltoallv(const void *sendbuf, const int sendcounts[],
                        const int sdispls[], MPI_Datatype sendtype,
                        void *recvbuf, const int recvcounts[],
                        const int rdispls[], MPI_Datatype recvtype,
                        MPI_Comm comm, MPI_Request *request)
{
    const rota_mpi_args args = ARGS(false);
    const bool refused = rota_mpi_refused(&args, comm) || !request;
    rota_mpi_run *const run = refused ? NULL : rota_mpi_comm_nonblocking(comm);

    rota_mpi_count_call(ROTA_MPI_NONBLOCKING, run != NULL);
    return run ? begin_exchange(run, &args, comm, request)
               : PMPI_Ialltoallv(sendbuf, sendcounts, sdispls, sendtype,
                                 recvbuf, recvcounts, rdispls, recvtype, comm,
                                 request);
}

int rota_mpi_Ialltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
                          const MPI_Aint sdispls[], MPI_Datatype sendtype,
                          void *recvbuf, const MPI_Count recvcounts[],
                          const MPI_Aint rdispls[], MPI_Datatype recvtype,
                          MPI_Comm comm, MPI_Request *request)
{
    const rota_mpi_args args = ARGS(true);
    const bool refused = rota_mpi_refused(&args, comm) || !request;
    rota_mpi_run *const run = refused ? NULL : rota_mpi_comm_nonblocking(comm);

    rota_mpi_count_call(ROTA_MPI_NONBLOCKING, run != NULL);
    return run ? begin_exchange(run, &args, comm, request)
               : PMPI_Ialltoallv_c(sendbuf, sendcounts, sdispls, sendtype,
                                   recvbuf, recvcounts, rdispls, recvtype, comm,
                                   request);
}
/* ---- persistent ------------------------------------------------------------- */

typedef struct making {
    rota_mpi_request *request;
    MPI_Info info;
    rota_plan **plan;
} making;

/* A rank that fails here takes part without a place for the plan, which Rota
 * refuses on all ranks. */
static making begin_making(MPI_Info info, const MPI_Request *request)
{
    making m = {.request = rota_mpi_request_make(), .info = MPI_INFO_NULL};

    if (m.request && request &&
        rota_mpi_hint_at_once(info, &m.info) == MPI_SUCCESS)
        m.plan = &m.request->plan;
    return m;
}

static int end_making(making *m, int err, const rota_mpi_args *args,
                      MPI_Comm comm, MPI_Request *request)
{
    if (m->info != MPI_INFO_NULL)
        PMPI_Info_free(&m->info);
    if (err != MPI_SUCCESS) {
        rota_mpi_request_destroy(m->request);
        return err;
    }
    rota_mpi_count_plan(m->request->plan);
    m->request->bytes = rota_mpi_args_bytes(args, comm);
    *request = m->request->handle;
    return MPI_SUCCESS;
}

int rota_mpi_Alltoallv_init(const void *sendbuf, const int sendcounts[],
                            const int sdispls[], MPI_Datatype sendtype,
                            void *recvbuf, const int recvcounts[],
                            const int rdispls[], MPI_Datatype recvtype,
                            MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    const bool taken = rota_mpi_comm_takes_init(comm);
    const rota_mpi_args args = ARGS(false);

    rota_mpi_count_call(ROTA_MPI_INIT, taken);
    if (!taken)
        return PMPI_Alltoallv_init(sendbuf, sendcounts, sdispls, sendtype,
                                   recvbuf, recvcounts, rdispls, recvtype, comm,
                                   info, request);
    making m = begin_making(info, request);
    const int err = rota_alltoallv_init(sendbuf, sendcounts, sdispls, sendtype,
                                        recvbuf, recvcounts, rdispls, recvtype,
                                        comm, m.info, m.plan);
    return end_making(&m, err, &args, comm, request);
}

int rota_mpi_Alltoallv_init_c(const void *sendbuf, const MPI_Count sendcounts[],
                              const MPI_Aint sdispls[], MPI_Datatype sendtype,
                              void *recvbuf, const MPI_Count recvcounts[],
                              const MPI_Aint rdispls[], MPI_Datatype recvtype,
                              MPI_Comm comm, MPI_Info info,
                              MPI_Request *request)
{
    const bool taken = rota_mpi_comm_takes_init(comm);
    const rota_mpi_args args = ARGS(true);

    rota_mpi_count_call(ROTA_MPI_INIT, taken);
    if (!taken)
        return PMPI_Alltoallv_init_c(sendbuf, sendcounts, sdispls, sendtype,
                                     recvbuf, recvcounts, rdispls, recvtype,
                                     comm, info, request);
    making m = begin_making(info, request);
    const int err = rota_alltoallv_init_c(
        sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
        recvtype, comm, m.info, m.plan);
    return end_making(&m, err, &args, comm, request);
}
