/* recent.c - see recent.h. */
#include "mpi/recent.h"

_Thread_local rota_mpi_recent rota_mpi_recently = {.comm = MPI_COMM_NULL,
                                                   .passed.look = LONG_MAX};
atomic_uint rota_mpi_n_freed;
