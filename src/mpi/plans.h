/* plans.h - Rota's plans for exchanges.
 *
 * MPI lets a program block anywhere while a request is active. So a plan behind one
 * is of one phase and has a progress thread (AT_ONCE): that moves what goes within the
 * node, and all else are requests of MPI's, which moves them in whatever call the
 * program blocks. A blocking call waits in Rota and may use any algorithm.
 */
#ifndef ROTA_MPI_PLANS_H
#define ROTA_MPI_PLANS_H

#include "mpi/args.h"

#include <rota.h>

/* A plan of bytes on a communicator of ours, for blocking calls like this: of blocks
 * that vary or, if bytes is not 0, that are all of this size. A rank that has no place
 * for it gives NULL, which Rota refuses on all ranks. Collective, as below. */
int rota_mpi_make_bytes(MPI_Comm ours, const rota_mpi_args *args,
                        MPI_Count bytes, rota_plan **plan);

/* A fixed plan for these arguments, likewise. at_once: for a request of the program,
 * with its hints; else for a blocking call, which takes what overlaps as MPI does. */
int rota_mpi_make_fixed(const rota_mpi_args *args, bool at_once, MPI_Info user,
                        rota_plan **plan);

/* A fixed plan, with the buffers that it has. */
typedef struct rota_mpi_fixed {
    rota_plan *plan; /* or NULL */
    const void *send, *recv;
} rota_mpi_fixed;

/* Start it on these buffers. Local. */
int rota_mpi_start_on(rota_mpi_fixed *f, const void *send, void *recv);

/* Until unhush, comm returns errors: what is said while plans are made is no error
 * of the program's, and its error handler is not to hear of it. Local. */
void rota_mpi_hush(MPI_Comm comm, MPI_Errhandler *handler);
void rota_mpi_unhush(MPI_Comm comm, MPI_Errhandler *handler);

/* Call the error handler of comm, and return code. */
int rota_mpi_raise(MPI_Comm comm, int code);

/* Say, once, why Rota does not take exchanges whose turn has come. Local. */
void rota_mpi_explain(MPI_Comm comm, int code);

#endif /* ROTA_MPI_PLANS_H */
