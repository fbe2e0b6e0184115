/* clock.c - what a program spends in its exchanges, those by MPI and those by Rota:
 * linked with --wrap for the functions below. MPI_Finalize has rank 0 print the time
 * of the slowest rank. */
#include <mpi.h>
#include <rota.h>
#include <stdio.h>

static double spent;

#define TIMED(name, parameters, arguments)                                     \
    int __real_##name parameters;                                              \
    int __wrap_##name parameters;                                              \
    int __wrap_##name parameters                                               \
    {                                                                          \
        const double begin = MPI_Wtime();                                      \
        const int err = __real_##name arguments;                               \
                                                                               \
        spent += MPI_Wtime() - begin;                                          \
        return err;                                                            \
    }

TIMED(MPI_Alltoall,
      (const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
       int recvcount, MPI_Datatype recvtype, MPI_Comm comm),
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm))

TIMED(MPI_Alltoallv,
      (const void *sendbuf, const int *sendcounts, const int *sdispls,
       MPI_Datatype sendtype, void *recvbuf, const int *recvcounts,
       const int *rdispls, MPI_Datatype recvtype, MPI_Comm comm),
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,
       recvtype, comm))

TIMED(rota_exchange_start_arrays,
      (rota_plan * plan, const void *const *sendbufs, const int *sendcounts,
       const int *sdispls),
      (plan, sendbufs, sendcounts, sdispls))

TIMED(rota_exchange_wait_arrays,
      (rota_plan * plan, void **recvbufs, int *recvcounts, int *rdispls),
      (plan, recvbufs, recvcounts, rdispls))

int __real_MPI_Finalize(void);
int __wrap_MPI_Finalize(void);
int __wrap_MPI_Finalize(void)
{
    double most;
    int me;

    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Reduce(&spent, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (me == 0)
        printf("exchanges took %.3f ms\n", most * 1e3);
    return __real_MPI_Finalize();
}
