/* sync.c - see sync.h. */
#include "mpi/sync.h"
#include "mpi/calls.h"

#include "plan/inside.h"

int rota_mpi_reduce(const void *in, void *out, int n, MPI_Datatype type,
                    MPI_Op op, MPI_Comm comm)
{
    MPI_Request request;

    ROTA_MPI_TRY(PMPI_Iallreduce(in, out, n, type, op, comm, &request));
    return rota_wait_request(comm, &request);
}

int rota_mpi_barrier(MPI_Comm comm)
{
    MPI_Request request;

    ROTA_MPI_TRY(PMPI_Ibarrier(comm, &request));
    return rota_wait_request(comm, &request);
}

int rota_mpi_duplicate(MPI_Comm ours, MPI_Comm *comm)
{
    MPI_Request request;

    ROTA_MPI_TRY(PMPI_Comm_idup(ours, comm, &request));
    return rota_wait_request(ours, &request);
}

bool rota_mpi_all(MPI_Comm comm, bool mine)
{
    int in = mine, out = 0;

    return rota_mpi_reduce(&in, &out, 1, MPI_INT, MPI_MIN, comm) ==
               MPI_SUCCESS &&
           out;
}

double rota_mpi_clock(void)
{
    return PMPI_Wtime();
}
