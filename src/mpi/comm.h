/* comm.h - what is known of a communicator, and its plans for nonblocking
 * exchanges.
 *
 * An attribute tells when a communicator is freed, whatever function frees it. A
 * nonblocking exchange must not wait for other ranks, so its plans are made in a
 * blocking collective on the communicator.
 */
#ifndef ROTA_MPI_COMM_H
#define ROTA_MPI_COMM_H

#include "mpi/group.h"
#include "mpi/request.h"

typedef struct rota_mpi_comm rota_mpi_comm;

/* The communicator of a call, whose numbers of blocks are set; NULL: the call is
 * MPI's or, if not known, there is none. Local. */
rota_mpi_comm *rota_mpi_comm_get(rota_mpi_args *args, bool *known);

/* The same of a blocking call, which needs no more than a group. */
bool rota_mpi_comm_takes(rota_mpi_args *args, bool *known);

/* The group of a blocking call that may be taken. Makes plans that nonblocking
 * calls have asked for. Collective. */
rota_mpi_group *rota_mpi_comm_blocking(const rota_mpi_args *args);

/* What a nonblocking call is to use; NULL: MPI. */
rota_mpi_request *rota_mpi_comm_nonblocking(rota_mpi_comm *c,
                                            const rota_mpi_args *args);

/* May a persistent plan be made on this communicator? Sets numbers of blocks.
 * Collective. */
bool rota_mpi_comm_takes_init(rota_mpi_args *args);

/* Make plans that nonblocking calls have asked for, if there are any. Collective. */
void rota_mpi_comm_meet(MPI_Comm comm);

static inline void rota_mpi_meet(MPI_Comm comm)
{
    if (atomic_load_explicit(&rota_mpi_n_wishes, memory_order_relaxed))
        rota_mpi_comm_meet(comm);
}

/* Forget all communicators. */
void rota_mpi_comm_end(void);

#endif /* ROTA_MPI_COMM_H */
