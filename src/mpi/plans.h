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

/* UNCHECKED: what overlaps and MPI takes is taken. */
enum { ROTA_MPI_UNCHECKED = 1, ROTA_MPI_AT_ONCE = 2 };

/* These hints, beside the user's. */
int rota_mpi_hint(MPI_Info user, unsigned hints, bool neighbors,
                  MPI_Info *info);
void rota_mpi_unhint(MPI_Info *info); /* may be MPI_INFO_NULL */

/* A plan of bytes on a communicator: for blocks that vary, or for those of args,
 * which are all of one size. Collective, as all below. */
int rota_mpi_make_varying(MPI_Comm comm, bool neighbors, MPI_Info info,
                          rota_plan **plan);
int rota_mpi_make_uniform(MPI_Comm comm, const rota_mpi_args *args,
                          MPI_Count bytes, MPI_Info info, rota_plan **plan);

/* A fixed plan for these arguments. A rank that has no place for it gives NULL,
 * which Rota refuses on all ranks. */
int rota_mpi_make_fixed(const rota_mpi_args *args, MPI_Info info,
                        rota_plan **plan);

/* Until unhush, comm returns errors: what is said while plans are made is no error
 * of the program's, and its error handler is not to hear of it. Local. */
int rota_mpi_hush(MPI_Comm comm, MPI_Errhandler *handler);
void rota_mpi_unhush(MPI_Comm comm, MPI_Errhandler *handler);

/* Say, once, why Rota does not take exchanges whose turn has come. Local. */
void rota_mpi_explain(MPI_Comm comm, int code);

#endif /* ROTA_MPI_PLANS_H */
