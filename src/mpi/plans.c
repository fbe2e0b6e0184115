/* plans.c - see plans.h. */
#include "mpi/plans.h"
#include "mpi/stats.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- hints --------------------------------------------------------------- */

static bool set(MPI_Info info, const char *key, const char *value)
{
    return PMPI_Info_set(info, key, value) == MPI_SUCCESS;
}

/* Hints of blocking calls. False without memory. */
static bool hint_blocking(bool little, MPI_Info *info)
{
    *info = MPI_INFO_NULL;
    return PMPI_Info_create(info) == MPI_SUCCESS &&
           set(*info, "rota_check", "off") &&
           (!little || getenv("ROTA_ATTACHED_FROM") ||
            set(*info, "rota_attached_from", "1048576"));
}

/* Rota's hints beside the user's. False without memory. */
static bool hint(MPI_Info user, bool at_once, bool neighbors, MPI_Info *info)
{
    if (!at_once)
        return hint_blocking(false, info);
    *info = MPI_INFO_NULL;
    const int made = user == MPI_INFO_NULL ? PMPI_Info_create(info)
                                           : PMPI_Info_dup(user, info);
    return made == MPI_SUCCESS && set(*info, "rota_progress", "thread") &&
           set(*info, "rota_algorithm", neighbors ? "neighbor" : "spread_out");
}

/* What a function returned that makes plans with these hints. */
static int made(int err, MPI_Info *info, rota_plan *const *plan)
{
    if (*info != MPI_INFO_NULL)
        PMPI_Info_free(info);
    if (err == MPI_SUCCESS)
        rota_mpi_count_plan(*plan);
    return err;
}

void rota_mpi_hush(MPI_Comm comm, MPI_Errhandler *handler)
{
    PMPI_Comm_get_errhandler(comm, handler);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

void rota_mpi_unhush(MPI_Comm comm, MPI_Errhandler *handler)
{
    PMPI_Comm_set_errhandler(comm, *handler);
    PMPI_Errhandler_free(handler);
}

/* MPI itself would say that MPI_Comm_call_errhandler has failed. */
int rota_mpi_raise(MPI_Comm comm, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Errhandler handler;
    int length, errorclass = MPI_ERR_OTHER;

    PMPI_Comm_get_errhandler(comm, &handler);
    if (handler == MPI_ERRORS_ARE_FATAL) {
        PMPI_Error_string(code, text, &length);
        rota_error_class(code, &errorclass);
        fprintf(stderr, "Fatal error in %s\n", text);
        PMPI_Abort(comm, errorclass);
    }
    PMPI_Errhandler_free(&handler);
    return PMPI_Comm_call_errhandler(comm, code);
}

void rota_mpi_explain(MPI_Comm comm, int code)
{
    static atomic_bool said;
    char text[MPI_MAX_ERROR_STRING] = "";
    int rank = 0, length;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Error_string(code, text, &length);
    if (!atomic_exchange(&said, true) && rank == 0)
        fprintf(stderr, "rota_mpi: exchanges go to MPI: %s\n", text);
}

/* ---- plans of bytes ------------------------------------------------------ */

/* A plan of one size gets its buffers when it is started: these may be the program's
 * and need to be some. */
int rota_mpi_make_bytes(MPI_Comm ours, const rota_mpi_args *args,
                        MPI_Count bytes, bool little, rota_plan **plan)
{
    static char some[1];
    void *const from = args->send.buffer ? args->send.buffer : some;
    void *const to = args->recv.buffer ? args->recv.buffer : some;
    MPI_Info info;
    rota_plan **const place = hint_blocking(little, &info) ? plan : NULL;

    return made(bytes > 0
                    ? rota_alltoall_init_c(from, bytes, MPI_BYTE, to, bytes,
                                           MPI_BYTE, ours, info, place)
                : args->neighbors
                    ? rota_neighbor_alltoallv_varying_init(
                          ROTA_UNBOUNDED, MPI_BYTE, ours, info, place)
                    : rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE,
                                                  ours, info, place),
                &info, plan);
}

int rota_mpi_start_on(rota_mpi_fixed *f, const void *send, void *recv)
{
    if (send != f->send || recv != f->recv)
        ROTA_MPI_TRY(rota_plan_set_buffers(f->plan, send, recv));
    f->send = send;
    f->recv = recv;
    return rota_start(f->plan);
}

/* ---- fixed plans --------------------------------------------------------- */

/* The arguments of each shape. */
#define ONE(count, displ)                                                      \
    a->send.buffer, *(const count *)a->send.counts, a->send.type,              \
        a->recv.buffer, *(const count *)a->recv.counts, a->recv.type
#define V(count, displ) WITH(type)
#define W(count, displ) WITH(types)
#define WITH(type)                                                             \
    a->send.buffer, a->send.counts, a->send.displs, a->send.type,              \
        a->recv.buffer, a->recv.counts, a->recv.displs, a->recv.type

#define MAKE(make, arguments)                                                  \
    static int with_##make(const rota_mpi_args *a, MPI_Info info,              \
                           rota_plan **plan)                                   \
    {                                                                          \
        return make(arguments, a->comm, info, plan);                           \
    }
#define ROTA_CALL(call, among, shape, displ, b, i, p, make)                    \
    MAKE(make, shape(int, displ))
#define ROTA_CALL_C(call, among, shape, b, i, p, make)                         \
    MAKE(make, shape(MPI_Count, MPI_Aint))
#include "mpi/list.h"

static int (*const make[ROTA_MPI_CALLS][2])(const rota_mpi_args *, MPI_Info,
                                            rota_plan **) = {
#define ROTA_CALL(call, among, shape, displ, b, i, p, make)                    \
    [call][false] = with_##make,
#define ROTA_CALL_C(call, among, shape, b, i, p, make)                         \
    [call][true] = with_##make,
#include "mpi/list.h"
};

/* Arguments as arrays of MPI_Count and MPI_Aint. */
typedef struct arrays {
    MPI_Count *counts;
    MPI_Aint *displs;
    MPI_Datatype *types;
} arrays;

static void free_arrays(arrays *x)
{
    free(x->counts);
    free(x->displs);
    free(x->types);
}

/* If the caller has no array, neither has the result. */
static void make_arrays(arrays *x, const rota_mpi_args *a, rota_mpi_blocks *b)
{
    const size_t n = (size_t)b->n;
    const bool one = a->shape == ROTA_MPI_ONE;

    *x = (arrays){rota_mpi_alloc(n, sizeof *x->counts),
                  rota_mpi_alloc(n, sizeof *x->displs),
                  rota_mpi_alloc(n, sizeof *x->types)};
    for (int i = 0; i < b->n; i++) {
        const int at = b->slots ? b->slots[i] : i;
        const MPI_Count count = b->counts ? rota_mpi_count_at(a, b, i) : 0;
        x->counts[at] = count;
        x->displs[at] = one         ? (MPI_Aint)rota_mpi_scaled(count, i)
                        : b->displs ? rota_mpi_displ_at(a, b, i)
                                    : 0;
        x->types[at] = b->types ? b->types[i] : MPI_DATATYPE_NULL;
    }
    b->counts = b->counts ? x->counts : NULL;
    b->displs = b->displs || one ? x->displs : NULL;
    b->types = b->types ? x->types : NULL;
}

/* For receive blocks that Rota has in another order. */
static int make_reordered(const rota_mpi_args *from, MPI_Info info,
                          rota_plan **plan)
{
    rota_mpi_args a = *from;
    arrays send, recv;

    make_arrays(&send, from, &a.send);
    make_arrays(&recv, from, &a.recv);
    a.large = a.far = true;
    if (a.shape == ROTA_MPI_ONE) {
        a.shape = ROTA_MPI_V;
        a.call = ROTA_MPI_NEIGHBOR_ALLTOALLV;
    }
    const int err = make[a.call][true](&a, info, plan);
    free_arrays(&send);
    free_arrays(&recv);
    return err;
}

int rota_mpi_make_fixed(const rota_mpi_args *args, bool at_once, MPI_Info user,
                        rota_plan **plan)
{
    MPI_Info info;
    rota_plan **const place =
        hint(user, at_once, args->neighbors, &info) ? plan : NULL;

    return made(args->recv.slots
                    ? make_reordered(args, info, place)
                    : make[args->call][args->large](args, info, place),
                &info, plan);
}
