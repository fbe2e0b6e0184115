/* same.h - blocking exchanges of long blocks that have a type each, by fixed plans:
 * one plan for each set of arguments that recurs.
 *
 * A rank compares its own arguments with those of its plans. At each call, ranks
 * find out by a reduction of two numbers whether all of them have the same plan.
 * Buffers may differ from call to call. For short blocks, for plain bytes and among
 * neighbours that would cost more than packing (run.h).
 */
#ifndef ROTA_MPI_SAME_H
#define ROTA_MPI_SAME_H

#include "mpi/args.h"

typedef struct rota_mpi_same rota_mpi_same;

rota_mpi_same *rota_mpi_same_make(int P);
void rota_mpi_same_destroy(rota_mpi_same *s); /* may be NULL */
void rota_mpi_same_begin(void);
void rota_mpi_same_end(void);

/* False, on all ranks: MPI is to do it. args: for Rota; ours: the group's
 * communicator. Collective. */
bool rota_mpi_same_exchange(rota_mpi_same *s, const rota_mpi_args *args,
                            MPI_Comm ours, int *err);

#endif /* ROTA_MPI_SAME_H */
