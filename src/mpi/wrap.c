/* wrap.c - the functions of list.h, under the names that programs call. */
#include "mpi/shim.h"

#define ROTA_WRAP(name, parameters, arguments, gate)                           \
    ROTA_API int MPI_##name parameters                                         \
    {                                                                          \
        if (!(gate))                                                           \
            return PMPI_##name arguments;                                      \
        rota_error_name("MPI_" #name);                                         \
        return rota_mpi_##name arguments;                                      \
    }
#define ROTA_MEET(name, parameters, arguments)                                 \
    ROTA_API int MPI_##name parameters                                         \
    {                                                                          \
        if (atomic_load_explicit(&rota_mpi_n_wishes, memory_order_relaxed))    \
            rota_mpi_comm_meet(comm);                                          \
        return PMPI_##name arguments;                                          \
    }
#include "mpi/list.h"

/* Rota's error codes may be of classes of its own. */
int rota_mpi_Error_class(int code, int *errorclass)
{
    return errorclass ? rota_error_class(code, errorclass)
                      : PMPI_Error_class(code, errorclass);
}

int rota_mpi_Session_finalize(MPI_Session *session)
{
    rota_mpi_stats_print_session();
    return PMPI_Session_finalize(session);
}

int rota_mpi_Finalize(void)
{
    rota_mpi_stats_print();
    rota_mpi_comm_end();
    rota_mpi_request_end();
    rota_mpi_check_end();
    return PMPI_Finalize();
}
