/* comm.h - what is known of a communicator. An attribute tells when it is freed,
 * whatever function frees it. */
#ifndef ROTA_MPI_COMM_H
#define ROTA_MPI_COMM_H

#include "mpi/group.h"

/* Set the numbers of blocks of a call, and return whether Rota may take such
 * calls on the communicator. *known: false if there is no such communicator, or
 * MPI is not initialised. Local. */
bool rota_mpi_comm_takes(rota_mpi_args *args, bool *known);

/* The group of a blocking call that may be taken. Collective. */
rota_mpi_group *rota_mpi_comm_blocking(const rota_mpi_args *args);

/* May a persistent plan be made on this communicator? Sets numbers of blocks.
 * Collective. */
bool rota_mpi_comm_takes_init(rota_mpi_args *args);

/* Before the first call; MPI is there. */
void rota_mpi_comm_begin(void);

/* Forget all communicators. */
void rota_mpi_comm_end(void);

#endif /* ROTA_MPI_COMM_H */
