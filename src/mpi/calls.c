/* calls.c - see calls.h. */
#include "mpi/calls.h"

const char *rota_mpi_call_name(rota_mpi_call call, rota_mpi_kind kind)
{
#define ROTA_CALL(call, among, shape, displ, b, i, p, make) {#b, #i, #p},
    static const char *const names[ROTA_MPI_CALLS][ROTA_MPI_KINDS] = {
#include "mpi/list.h"
    };
    return names[call][kind];
}
