/* check.h - which arguments MPI refuses. */
#ifndef ROTA_MPI_CHECK_H
#define ROTA_MPI_CHECK_H

#include "mpi/args.h"

/* Does MPI refuse these arguments, on an intra-communicator, before it
 * communicates? Then the call is MPI's, which says why: the same error from the
 * first call to the last, and no call that other ranks count. Local. */
bool rota_mpi_refused(const rota_mpi_args *args);
void rota_mpi_check_begin(void);
void rota_mpi_check_end(void);

#endif /* ROTA_MPI_CHECK_H */
