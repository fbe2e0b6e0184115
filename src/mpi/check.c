/* check.c - refuses what MPI refuses: the arguments that MPICH 4.0 and 4.1, or Open
 * MPI 4.1 and 5.0, check on each rank alone, before they do anything else. What Open
 * MPI lets pass may not be refused: the rank would be missing where others wait.
 */
#include "mpi/check.h"

#include <stdatomic.h>
#include <stdint.h>

/* Does MPI look where buffers are? Open MPI only compares them with MPI_IN_PLACE. */
#ifdef OPEN_MPI
enum { LOOKS_AT_BUFFERS = false };
#else
enum { LOOKS_AT_BUFFERS = true };
#endif

/* Only an error tells whether a type is committed. */
static MPI_Comm quiet = MPI_COMM_NULL;

void rota_mpi_check_begin(void)
{
    if (PMPI_Comm_dup(MPI_COMM_SELF, &quiet) == MPI_SUCCESS)
        PMPI_Comm_set_errhandler(quiet, MPI_ERRORS_RETURN);
}

void rota_mpi_check_end(void)
{
    if (quiet != MPI_COMM_NULL)
        PMPI_Comm_free(&quiet);
}

static bool is_committed(MPI_Datatype type)
{
    char none;
    int at = 0;

    return quiet == MPI_COMM_NULL ||
           PMPI_Pack(&none, 0, type, &none, 1, &at, quiet) == MPI_SUCCESS;
}

/* Predefined types that were found good, by a hash of their handles. They are
 * never freed. */
static _Atomic(MPI_Datatype) seen[64];

static bool is_good_type(MPI_Datatype type)
{
    _Atomic(MPI_Datatype) *const place = &seen[(uintptr_t)type % 64];
    bool valid;

    if (type == MPI_DATATYPE_NULL)
        return false;
    if (atomic_load_explicit(place, memory_order_relaxed) == type)
        return true;
    if (rota_mpi_is_predefined(type, &valid)) {
        atomic_store_explicit(place, type, memory_order_relaxed);
        return true;
    }
    return valid && is_committed(type);
}

/* NULL is a valid buffer for types that contain addresses. */
static bool needs_buffer(MPI_Datatype type)
{
    MPI_Aint true_lb = 0, true_extent = 0;

    PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
    return true_lb == 0 && true_extent > 0;
}

static bool is_block_refused(const rota_mpi_blocks *b, MPI_Count n,
                             MPI_Datatype type)
{
    return n < 0 ||
           (n > 0 && (b->buffer == MPI_IN_PLACE ||
                      (LOOKS_AT_BUFFERS && !b->buffer && needs_buffer(type))));
}

/* Among neighbours, MPICH checks a type if its count is not 0, and Open MPI if there
 * are any. */
static bool is_refused(const rota_mpi_args *a, const rota_mpi_blocks *b)
{
    const bool one = a->shape == ROTA_MPI_ONE;
    const bool each = b->types || (one && a->neighbors);
    const int n = one ? 1 : b->n;
    const bool asked = LOOKS_AT_BUFFERS || !a->neighbors || n > 0;
    bool bad = !each && asked && !is_good_type(b->type);

    for (int i = 0; b->counts && i < n && !bad; i++) {
        const MPI_Count count = rota_mpi_count_at(a, b, i);
        const MPI_Datatype type = rota_mpi_type_at(b, i);
        bad = (each && count > 0 && !is_good_type(type)) ||
              is_block_refused(b, count, type);
    }
    return bad;
}

/* Do both sides have one buffer, and everything else that MPI compares? */
static bool is_aliased(const rota_mpi_args *a)
{
    if (!LOOKS_AT_BUFFERS || a->send.buffer != a->recv.buffer ||
        a->send.type != a->recv.type || a->send.types != a->recv.types)
        return false;
    if (a->shape != ROTA_MPI_ONE)
        return a->send.counts == a->recv.counts;
    const MPI_Count n = rota_mpi_count_at(a, &a->send, 0);
    return n == rota_mpi_count_at(a, &a->recv, 0) && n != 0;
}

bool rota_mpi_refused(const rota_mpi_args *a)
{
    const bool sends = a->neighbors || a->send.buffer != MPI_IN_PLACE;

    if (sends && ((!a->neighbors && is_aliased(a)) || is_refused(a, &a->send)))
        return true;
    return is_refused(a, &a->recv);
}
