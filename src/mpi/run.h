/* run.h - exchanges by a plan of bytes: a varying plan or, if all blocks have one
 * size, a fixed one.
 *
 * A varying plan has one datatype, and MPI_Alltoallv may have another on every rank.
 * So plans move bytes: counts and displacements are converted, and elements that are
 * not contiguous are packed by the rank that has them, into a stage.
 */
#ifndef ROTA_MPI_RUN_H
#define ROTA_MPI_RUN_H

#include "mpi/repeat.h"

typedef struct rota_mpi_run rota_mpi_run;

/* For blocking calls like this, with a plan on a communicator of ours; bytes: of a
 * block, if all are of one size, else 0; little: as plans.h has it. Collective; fails
 * on all ranks or none. */
int rota_mpi_run_make(const rota_mpi_args *args, MPI_Count bytes, bool little,
                      MPI_Comm ours, rota_mpi_run **run);
void rota_mpi_run_destroy(rota_mpi_run *run); /* may be NULL */

/* args: for Rota. r keeps the call, unless elements are packed. */
int rota_mpi_run_exchange(rota_mpi_run *run, const rota_mpi_args *args,
                          rota_mpi_repeat *r);

#endif /* ROTA_MPI_RUN_H */
