/* recent.c - see recent.h. */
#include "mpi/recent.h"

_Thread_local rota_mpi_recent rota_mpi_recently = {.comm = MPI_COMM_NULL,
                                                   .known.type =
                                                       MPI_DATATYPE_NULL,
                                                   .passed.plain = LONG_MAX};
atomic_uint rota_mpi_n_freed;
