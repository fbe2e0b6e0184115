/* wrap.c - the functions of list.h, under the names that programs call. */
#include "mpi/shim.h"

/* ---- shapes of arguments ------------------------------------------------------
 *
 * For each shape of list.h: the parameters, these as arguments, these as
 * rota_mpi_blocks, blocks as arguments again, and what counts a call that goes to
 * MPI at once. */

#define PARAMETERS_ONE(count, displ)                                           \
    const void *sendbuf, count sendcount, MPI_Datatype sendtype,               \
        void *recvbuf, count recvcount, MPI_Datatype recvtype, MPI_Comm comm
#define ARGUMENTS_ONE                                                          \
    sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm
#define BLOCKS_ONE                                                             \
    .send = {.buffer = (void *)sendbuf,                                        \
             .counts = &sendcount,                                             \
             .type = sendtype},                                                \
    .recv = {.buffer = recvbuf, .counts = &recvcount, .type = recvtype}
#define GIVE_ONE(count, displ)                                                 \
    a->send.buffer, *(const count *)a->send.counts, a->send.type,              \
        a->recv.buffer, *(const count *)a->recv.counts, a->recv.type

#define PLAIN_ONE(call)                                                        \
    rota_mpi_plain_one(call, sendbuf, sendcount, sendtype, recvcount,          \
                       recvtype, comm)

#define PARAMETERS_V(count, displ)                                             \
    const void *sendbuf, const count sendcounts[], const displ sdispls[],      \
        MPI_Datatype sendtype, void *recvbuf, const count recvcounts[],        \
        const displ rdispls[], MPI_Datatype recvtype, MPI_Comm comm
#define ARGUMENTS_V                                                            \
    sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls,      \
        recvtype, comm
#define BLOCKS_V                                                               \
    .send = {.buffer = (void *)sendbuf,                                        \
             .counts = sendcounts,                                             \
             .displs = sdispls,                                                \
             .type = sendtype},                                                \
    .recv = {.buffer = recvbuf,                                                \
             .counts = recvcounts,                                             \
             .displs = rdispls,                                                \
             .type = recvtype}
#define GIVE_V(count, displ)                                                   \
    a->send.buffer, a->send.counts, a->send.displs, a->send.type,              \
        a->recv.buffer, a->recv.counts, a->recv.displs, a->recv.type

#define PLAIN_V(call) rota_mpi_plain(call, comm)

#define PARAMETERS_W(count, displ)                                             \
    const void *sendbuf, const count sendcounts[], const displ sdispls[],      \
        const MPI_Datatype sendtypes[], void *recvbuf,                         \
        const count recvcounts[], const displ rdispls[],                       \
        const MPI_Datatype recvtypes[], MPI_Comm comm
#define ARGUMENTS_W                                                            \
    sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls,     \
        recvtypes, comm
#define BLOCKS_W                                                               \
    .send = {.buffer = (void *)sendbuf,                                        \
             .counts = sendcounts,                                             \
             .displs = sdispls,                                                \
             .types = sendtypes},                                              \
    .recv = {.buffer = recvbuf,                                                \
             .counts = recvcounts,                                             \
             .displs = rdispls,                                                \
             .types = recvtypes}
#define GIVE_W(count, displ)                                                   \
    a->send.buffer, a->send.counts, a->send.displs, a->send.types,             \
        a->recv.buffer, a->recv.counts, a->recv.displs, a->recv.types

#define PLAIN_W(call) rota_mpi_plain(call, comm)

/* ---- exchanges ----------------------------------------------------------- */

#define ROTA_APART __attribute__((noinline))

#define ARGS(name, shape_, large_, displ, among)                               \
    {                                                                          \
        .call = ROTA_MPI_CALL_##name, .shape = ROTA_MPI_##shape_,              \
        .large = (large_), .far = sizeof(displ) == sizeof(MPI_Aint),           \
        .neighbors = ROTA_MPI_##among, BLOCKS_##shape_, .comm = comm,          \
    }

/* A call that goes to MPI at once is MPI's and a count: all else is behind calls
 * with the same arguments, which are where they were. */
#define PASS(name, lower, shape, c)                                            \
    const int err = PMPI_##name##c(ARGUMENTS_##shape);                         \
    if (err != MPI_SUCCESS)                                                    \
        return fail_##lower##c(ARGUMENTS_##shape, tally, err);                 \
    tally->calls++;                                                            \
    return MPI_SUCCESS;

#define FORMS(name, lower, shape, large, count, displ, among, c)               \
    static ROTA_APART int fail_##lower##c(PARAMETERS_##shape(count, displ),    \
                                          rota_mpi_tally *tally, int err)      \
    {                                                                          \
        rota_mpi_args args = ARGS(name, shape, large, displ, among);           \
        rota_mpi_failed(&args, tally);                                         \
        return err;                                                            \
    }                                                                          \
    static ROTA_APART int look_##lower##c(PARAMETERS_##shape(count, displ))    \
    {                                                                          \
        rota_mpi_tally *const tally =                                          \
            rota_mpi_recall(comm) ? PLAIN_##shape(ROTA_MPI_CALL_##name)        \
                                  : NULL;                                      \
        if (tally) {                                                           \
            PASS(name, lower, shape, c)                                        \
        }                                                                      \
        rota_mpi_args args = ARGS(name, shape, large, displ, among);           \
        rota_mpi_turn turn;                                                    \
        if (rota_mpi_exchange(&args, &turn))                                   \
            return turn.err;                                                   \
        turn.err = PMPI_##name##c(ARGUMENTS_##shape);                          \
        rota_mpi_passed(&turn);                                                \
        return turn.err;                                                       \
    }                                                                          \
    ROTA_API int MPI_##name##c(PARAMETERS_##shape(count, displ))               \
    {                                                                          \
        rota_mpi_tally *const tally = PLAIN_##shape(ROTA_MPI_CALL_##name);     \
        if (!tally)                                                            \
            return look_##lower##c(ARGUMENTS_##shape);                         \
        PASS(name, lower, shape, c)                                            \
    }                                                                          \
    ROTA_API int MPI_I##lower##c(PARAMETERS_##shape(count, displ),             \
                                 MPI_Request *request)                         \
    {                                                                          \
        if (rota_mpi_is_off(ROTA_MPI_CALL_##name, ROTA_MPI_NONBLOCKING))       \
            return PMPI_I##lower##c(ARGUMENTS_##shape, request);               \
        rota_mpi_args args = ARGS(name, shape, large, displ, among);           \
        int err;                                                               \
        return rota_mpi_begin(&args, request, &err)                            \
                   ? err                                                       \
                   : PMPI_I##lower##c(ARGUMENTS_##shape, request);             \
    }                                                                          \
    PERSISTENT(name, lower, shape, large, count, displ, among, c)

#if ROTA_MPI_HAS_PERSISTENT
#define PERSISTENT(name, lower, shape, large, count, displ, among, c)          \
    ROTA_API int MPI_##name##_init##c(PARAMETERS_##shape(count, displ),        \
                                      MPI_Info info, MPI_Request *request)     \
    {                                                                          \
        rota_mpi_args args = ARGS(name, shape, large, displ, among);           \
        int err;                                                               \
        return rota_mpi_init(&args, info, request, &err)                       \
                   ? err                                                       \
                   : PMPI_##name##_init##c(ARGUMENTS_##shape, info, request);  \
    }
#else
#define PERSISTENT(name, lower, shape, large, count, displ, among, c)
#endif

#if ROTA_MPI_HAS_LARGE
#define LARGE(name, lower, shape, among)                                       \
    FORMS(name, lower, shape, true, MPI_Count, MPI_Aint, among, _c)
#else
#define LARGE(name, lower, shape, among)
#endif

#define ROTA_CALLS(name, lower, shape, displ, among)                           \
    FORMS(name, lower, shape, false, int, displ, among, )                      \
    LARGE(name, lower, shape, among)                                           \
    static int make_##lower(const rota_mpi_args *a, MPI_Info info,             \
                            rota_plan **plan)                                  \
    {                                                                          \
        return a->large                                                        \
                   ? rota_##lower##_init_c(GIVE_##shape(MPI_Count, MPI_Aint),  \
                                           a->comm, info, plan)                \
                   : rota_##lower##_init(GIVE_##shape(int, displ), a->comm,    \
                                         info, plan);                          \
    }
#include "mpi/list.h"

int rota_mpi_make_plan(const rota_mpi_args *args, MPI_Info info,
                       rota_plan **plan)
{
#define ROTA_CALLS(name, lower, shape, displ, among) make_##lower,
    static int (*const make[])(const rota_mpi_args *, MPI_Info,
                               rota_plan **) = {
#include "mpi/list.h"
    };
    return make[args->call](args, info, plan);
}

const char *rota_mpi_call_name(rota_mpi_call call, rota_mpi_kind kind)
{
#define ROTA_CALLS(name, lower, shape, displ, among)                           \
    {"MPI_" #name, "MPI_I" #lower, "MPI_" #name "_init"},
    static const char *const names[ROTA_MPI_CALLS][ROTA_MPI_KINDS] = {
#include "mpi/list.h"
    };
    return names[call][kind];
}

/* ---- the others ---------------------------------------------------------- */

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

int rota_mpi_Init(int *argc, char ***argv)
{
    ROTA_MPI_TRY(PMPI_Init(argc, argv));
    rota_mpi_group_begin();
    return MPI_SUCCESS;
}

int rota_mpi_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    ROTA_MPI_TRY(PMPI_Init_thread(argc, argv, required, provided));
    rota_mpi_group_begin();
    return MPI_SUCCESS;
}

/* Rota's error codes may be of classes of its own. */
int rota_mpi_Error_class(int code, int *errorclass)
{
    return errorclass ? rota_error_class(code, errorclass)
                      : PMPI_Error_class(code, errorclass);
}

#if ROTA_MPI_HAS_SESSIONS
int rota_mpi_Session_finalize(MPI_Session *session)
{
    rota_mpi_stats_print_session();
    return PMPI_Session_finalize(session);
}
#endif

int rota_mpi_Finalize(void)
{
    rota_mpi_stats_print();
    rota_mpi_comm_end();
    rota_mpi_group_end();
    rota_mpi_request_end();
    rota_mpi_check_end();
    rota_mpi_same_end();
    return PMPI_Finalize();
}
