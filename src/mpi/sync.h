/* sync.h - what the drop-in's ranks do together, apart from exchanges. All of it
 * without keeping the processor from ranks that are late. */
#ifndef ROTA_MPI_SYNC_H
#define ROTA_MPI_SYNC_H

#include <mpi.h>

#include <stdbool.h>

/* MPI_Allreduce and MPI_Barrier, and a duplicate of a communicator that only the
 * drop-in uses. Collective. */
int rota_mpi_reduce(const void *in, void *out, int n, MPI_Datatype type,
                    MPI_Op op, MPI_Comm comm);
int rota_mpi_barrier(MPI_Comm comm);
int rota_mpi_duplicate(MPI_Comm ours, MPI_Comm *comm);

/* Is it true on all ranks? Collective. */
bool rota_mpi_all(MPI_Comm comm, bool mine);

/* Seconds. */
double rota_mpi_clock(void);

#endif /* ROTA_MPI_SYNC_H */
