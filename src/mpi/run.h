/* run.h - exchanges by a plan of bytes: a varying plan or, if all blocks have one
 * size, a fixed one.
 *
 * A varying plan has one datatype, and MPI_Alltoallv may have another on every rank.
 * So plans move bytes: counts and displacements are converted, and elements that are
 * not contiguous are packed by the rank that has them, into a stage.
 */
#ifndef ROTA_MPI_RUN_H
#define ROTA_MPI_RUN_H

#include "mpi/args.h"

#include <rota.h>

typedef struct rota_mpi_run rota_mpi_run;

/* For exchanges of so many blocks as these args have, without a plan. uniform: the
 * plan is by rota_mpi_make_uniform. nonblocking: the program may free types before an
 * exchange is finished. NULL without memory. Local. */
rota_mpi_run *rota_mpi_run_make(const rota_mpi_args *args, bool uniform,
                                bool nonblocking);
void rota_mpi_run_destroy(rota_mpi_run *run); /* and the plan; may be NULL */

/* Where its plan is. */
rota_plan **rota_mpi_run_plan(rota_mpi_run *run);

/* args: for Rota. finish: the plan is complete, with err. */
int rota_mpi_run_start(rota_mpi_run *run, const rota_mpi_args *args);
int rota_mpi_run_finish(rota_mpi_run *run, int err);

#endif /* ROTA_MPI_RUN_H */
