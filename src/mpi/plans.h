/* plans.h - Rota's plans for exchanges.
 *
 * MPI lets a program block anywhere while a request is active. So a plan behind a
 * request has one phase and a progress thread (AT_ONCE). The thread moves what goes
 * within the node. All else are requests of MPI's, which advance in whatever call of
 * MPI the program blocks. A blocking call waits in Rota and may use any algorithm.
 */
#ifndef ROTA_MPI_PLANS_H
#define ROTA_MPI_PLANS_H

#include "mpi/args.h"

#include <rota.h>

/* Make a plan of bytes for blocking calls like this, on a communicator of ours: a
 * varying plan or, if bytes is not 0, a fixed one whose blocks all have this size. A
 * rank without memory for the plan passes NULL, so that all ranks fail. little: do
 * not find out whether the kernel copies long blocks faster. Collective, as below. */
int rota_mpi_make_bytes(MPI_Comm ours, const rota_mpi_args *args,
                        MPI_Count bytes, bool little, rota_plan **plan);

/* A fixed plan for these arguments, likewise. at_once: for a request of the program,
 * with its hints; else for a blocking call, which takes what overlaps as MPI does. */
int rota_mpi_make_fixed(const rota_mpi_args *args, bool at_once, MPI_Info user,
                        rota_plan **plan);

/* A plan, with the buffers that it has. */
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
