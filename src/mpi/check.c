/* check.c - what MPI refuses: MPICH 4.0 and 4.1 look at these arguments, on this
 * rank alone, before they do anything else.
 */
#include "mpi/shim.h"

#include <pthread.h>

/* MPI can be asked whether a type is committed only by an error. */
static MPI_Comm quiet = MPI_COMM_NULL;
static pthread_mutex_t quiet_lock = PTHREAD_MUTEX_INITIALIZER;

static MPI_Comm get_quiet(void)
{
    pthread_mutex_lock(&quiet_lock);
    if (quiet == MPI_COMM_NULL &&
        PMPI_Comm_dup(MPI_COMM_SELF, &quiet) == MPI_SUCCESS)
        PMPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN);
    const MPI_Comm comm = quiet;
    pthread_mutex_unlock(&quiet_lock);
    return comm;
}

void rota_mpi_check_end(void)
{
    if (quiet != MPI_COMM_NULL)
        PMPI_Comm_free(&quiet);
}

static bool is_committed(MPI_Datatype type)
{
    const MPI_Comm comm = get_quiet();
    char none;
    int n_ints, n_addresses, n_types, combiner, at = 0;

    if (PMPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types,
                               &combiner) != MPI_SUCCESS)
        return false;
    return combiner == MPI_COMBINER_NAMED || comm == MPI_COMM_NULL ||
           PMPI_Pack(&none, 0, type, &none, 1, &at, comm) == MPI_SUCCESS;
}

/* Types seen good last: most programs have one. Predefined ones are never
 * freed. */
static bool is_good_type(MPI_Datatype type)
{
    return type == MPI_BYTE || type == MPI_INT || type == MPI_DOUBLE ||
           (type != MPI_DATATYPE_NULL && is_committed(type));
}

/* NULL is an address for types that have addresses in them. */
static bool needs_buffer(MPI_Datatype type)
{
    MPI_Aint true_lb = 0, true_extent = 0;

    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    return true_lb == 0 && true_extent > 0;
}

static bool is_refused(const void *buffer, const void *counts, bool large,
                       int P, MPI_Datatype type)
{
    bool any = false;

    if (!is_good_type(type))
        return true;
    for (int i = 0; counts && i < P; i++) {
        const MPI_Count n =
            large ? ((const MPI_Count *)counts)[i] : ((const int *)counts)[i];
        if (n < 0)
            return true;
        any = any || n > 0;
    }
    return any && (buffer == MPI_IN_PLACE || (!buffer && needs_buffer(type)));
}

bool rota_mpi_refused(const rota_mpi_args *a, MPI_Comm comm)
{
    const bool sends = a->sendbuf != MPI_IN_PLACE;
    int P = 0, inter = 0, world = 0;

    PMPI_Initialized(&world);
    if (!world || comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) ||
        inter || PMPI_Comm_size(comm, &P))
        return true;
    if (sends && a->sendbuf == a->recvbuf && a->sendcounts == a->recvcounts &&
        a->sendtype == a->recvtype)
        return true;
    return (sends &&
            is_refused(a->sendbuf, a->sendcounts, a->large, P, a->sendtype)) ||
           is_refused(a->recvbuf, a->recvcounts, a->large, P, a->recvtype);
}
