/* check.h - which arguments MPI refuses. */
#ifndef ROTA_MPI_CHECK_H
#define ROTA_MPI_CHECK_H

#include "mpi/args.h"

/* Does MPI refuse these arguments, on an intra-communicator, before it
 * communicates? Then MPI gets the call and reports the error, whether or not
 * there is a plan. It is not counted, since it is no part of the call on other
 * ranks. Local. */
bool rota_mpi_refused(const rota_mpi_args *args);
void rota_mpi_check_begin(void);
void rota_mpi_check_end(void);

#endif /* ROTA_MPI_CHECK_H */
