/* calls.h - what the drop-in takes the place of: list.h as numbers and names. */
#ifndef ROTA_MPI_CALLS_H
#define ROTA_MPI_CALLS_H

#include <mpi.h>

#include <stdbool.h>

#define ROTA_MPI_TRY(call)                                                     \
    do {                                                                       \
        const int try_err = (call);                                            \
        if (try_err != MPI_SUCCESS)                                            \
            return try_err;                                                    \
    } while (0)

typedef enum rota_mpi_call {
#define ROTA_CALL(call, ...) call,
#include "mpi/list.h"
    ROTA_MPI_CALLS
} rota_mpi_call;

enum { ROTA_MPI_RANKS = false, ROTA_MPI_NEIGHBORS = true };

typedef enum rota_mpi_kind {
    ROTA_MPI_BLOCKING,
    ROTA_MPI_NONBLOCKING,
    ROTA_MPI_PERSISTENT,
    ROTA_MPI_KINDS
} rota_mpi_kind;

/* "MPI_Alltoall", "MPI_Ialltoall", "MPI_Alltoall_init", and so on. */
const char *rota_mpi_call_name(rota_mpi_call call, rota_mpi_kind kind);

/* Functions of ours that run for those of MPI: of one request in request.c, of
 * arrays in array.c, the others in wrap.c. */
#define ROTA_REQUEST(mpi, ours, parameters, arguments) int ours parameters;
#define ROTA_WRAP(mpi, ours, parameters, arguments) int ours parameters;
#include "mpi/list.h"

#endif /* ROTA_MPI_CALLS_H */
