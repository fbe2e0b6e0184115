/* wrap.c - the functions of list.h, under the names that programs call.
 *
 * This and what it calls is the drop-in librota_mpi: MPI_Alltoall, MPI_Alltoallv and
 * their kin on Rota plans, for programs that are not changed, by MPI's profiling
 * interface. Inside the library Rota's own calls of MPI are bound to PMPI
 * (CMakeLists.txt), so that they do not come back here.
 */
#include "mpi/comm.h"
#include "mpi/exchange.h"
#include "mpi/plans.h"
#include "mpi/request.h"
#include "mpi/same.h"
#include "mpi/settings.h"
#include "mpi/stats.h"

#include "mpi/check.h"
#include "plan/inside.h"

#include <stdlib.h>
#include <string.h>

/* ---- shapes of arguments ------------------------------------------------------
 *
 * For each shape of list.h: the parameters, these as arguments, these as
 * rota_mpi_blocks, what counts a call that is settled, and whether it is the one
 * that is kept. */

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
#define SETTLED_ONE(call)                                                      \
    (sendbuf == MPI_IN_PLACE                                                   \
         ? NULL                                                                \
         : rota_mpi_settled_one(call, sendcount, sendtype, comm))
#define SETTLED_ELSE_ONE(call)                                                 \
    (sendbuf == MPI_IN_PLACE                                                   \
         ? rota_mpi_settled_one(call, -1 - recvcount, recvtype, comm)          \
         : rota_mpi_settled_one(call, sendcount, sendtype, comm))
#define RECENT_ONE rota_mpi_recent_one
#define SAME_ONE(r)                                                            \
    (SAME_TYPE(r) && (r)->send.count == sendcount &&                           \
     (r)->recv.count == recvcount)
#define SAME_TYPE(r) ((r)->send.type == sendtype && (r)->recv.type == recvtype)

#define BLOCKS_WITH(type)                                                      \
    .send = {.buffer = (void *)sendbuf,                                        \
             .counts = sendcounts,                                             \
             .displs = sdispls,                                                \
             .type = send##type},                                              \
    .recv = {.buffer = recvbuf,                                                \
             .counts = recvcounts,                                             \
             .displs = rdispls,                                                \
             .type = recv##type}

#define PARAMETERS_WITH(count, displ, sendtypes, recvtypes)                    \
    const void *sendbuf, const count sendcounts[], const displ sdispls[],      \
        sendtypes, void *recvbuf, const count recvcounts[],                    \
        const displ rdispls[], recvtypes, MPI_Comm comm
#define ARGUMENTS_WITH(type)                                                   \
    sendbuf, sendcounts, sdispls, send##type, recvbuf, recvcounts, rdispls,    \
        recv##type, comm

#define PARAMETERS_V(count, displ)                                             \
    PARAMETERS_WITH(count, displ, MPI_Datatype sendtype, MPI_Datatype recvtype)
#define ARGUMENTS_V ARGUMENTS_WITH(type)
#define BLOCKS_V BLOCKS_WITH(type)
#define SETTLED_V(call) rota_mpi_settled(call, comm)
#define SETTLED_ELSE_V SETTLED_V
#define RECENT_V(call) rota_mpi_recently.tally[call]
#define SAME_V(r)                                                              \
    (SAME_TYPE(r) &&                                                           \
     rota_mpi_same_v(r, sendcounts, sdispls, recvcounts, rdispls))

#define PARAMETERS_W(count, displ)                                             \
    PARAMETERS_WITH(count, displ, const MPI_Datatype sendtypes[],              \
                    const MPI_Datatype recvtypes[])
#define ARGUMENTS_W ARGUMENTS_WITH(types)
#define BLOCKS_W BLOCKS_WITH(types)
#define SETTLED_W SETTLED_V
#define SETTLED_ELSE_W SETTLED_W
#define RECENT_W RECENT_V
#define SAME_W(r)                                                              \
    rota_mpi_same_w(r, sendcounts, sdispls, sendtypes, recvcounts, rdispls,    \
                    recvtypes)

/* ---- exchanges ----------------------------------------------------------- */

#define ROTA_APART __attribute__((noinline))

#define ARGS(call_, among, shape_, large_, displ)                              \
    {                                                                          \
        .call = (call_), .shape = ROTA_MPI_##shape_, .large = (large_),        \
        .far = sizeof(displ) == sizeof(MPI_Aint), .neighbors = (among),        \
        BLOCKS_##shape_, .comm = comm,                                         \
    }

/* A call whose way is known goes to MPI at once, or repeats one that went by Rota,
 * and is counted. All else is in functions with the same parameters, so that the
 * arguments stay in their registers. */
#define PASS(mpi, shape)                                                       \
    const int err = P##mpi(ARGUMENTS_##shape);                                 \
    if (err != MPI_SUCCESS)                                                    \
        return failed_##mpi(ARGUMENTS_##shape, tally, err);                    \
    tally->calls++;                                                            \
    return MPI_SUCCESS;

#define REPEAT(mpi, shape, large)                                              \
    int err;                                                                   \
    if (rota_mpi_may_repeat(tally->by, large, sendbuf) &&                      \
        SAME_##shape(tally->by) &&                                             \
        rota_mpi_repeat_run(tally->by, #mpi, sendbuf, recvbuf, &err)) {        \
        tally->calls++;                                                        \
        if (err != MPI_SUCCESS)                                                \
            rota_mpi_raise(comm, err);                                         \
        return err;                                                            \
    }

#define FUNCTIONS(large, count, call, among, shape, displ, mpi, impi,          \
                  mpi_init, make)                                              \
    static ROTA_APART int failed_##mpi(PARAMETERS_##shape(count, displ),       \
                                       rota_mpi_tally *tally, int err)         \
    {                                                                          \
        rota_mpi_args args = ARGS(call, among, shape, large, displ);           \
        rota_mpi_failed(&args, tally);                                         \
        return err;                                                            \
    }                                                                          \
    static ROTA_APART int looked_at_##mpi(PARAMETERS_##shape(count, displ))    \
    {                                                                          \
        rota_mpi_args args = ARGS(call, among, shape, large, displ);           \
        rota_mpi_turn turn;                                                    \
        if (rota_mpi_blocking(&args, &turn))                                   \
            return turn.err;                                                   \
        turn.err = P##mpi(ARGUMENTS_##shape);                                  \
        rota_mpi_passed(&turn);                                                \
        return turn.err;                                                       \
    }                                                                          \
    static ROTA_APART int repeated_##mpi(PARAMETERS_##shape(count, displ))     \
    {                                                                          \
        rota_mpi_tally *const tally = RECENT_##shape(call);                    \
        REPEAT(mpi, shape, large)                                              \
        return looked_at_##mpi(ARGUMENTS_##shape);                             \
    }                                                                          \
    static ROTA_APART int recalled_##mpi(PARAMETERS_##shape(count, displ))     \
    {                                                                          \
        rota_mpi_tally *const tally =                                          \
            rota_mpi_recall(comm) ? SETTLED_ELSE_##shape(call) : NULL;         \
        if (tally && tally->by)                                                \
            return repeated_##mpi(ARGUMENTS_##shape);                          \
        if (tally) {                                                           \
            PASS(mpi, shape)                                                   \
        }                                                                      \
        return looked_at_##mpi(ARGUMENTS_##shape);                             \
    }                                                                          \
    ROTA_API int mpi(PARAMETERS_##shape(count, displ))                         \
    {                                                                          \
        rota_mpi_tally *const tally = SETTLED_##shape(call);                   \
        if (!tally)                                                            \
            return recalled_##mpi(ARGUMENTS_##shape);                          \
        if (tally->by)                                                         \
            return repeated_##mpi(ARGUMENTS_##shape);                          \
        PASS(mpi, shape)                                                       \
    }                                                                          \
    ROTA_API int impi(PARAMETERS_##shape(count, displ), MPI_Request *request)  \
    {                                                                          \
        if (rota_mpi_settings_get()->counted) {                                \
            rota_mpi_args args = ARGS(call, among, shape, large, displ);       \
            rota_mpi_nonblocking(&args);                                       \
        }                                                                      \
        return P##impi(ARGUMENTS_##shape, request);                            \
    }                                                                          \
    PERSISTENT(large, count, call, among, shape, displ, mpi_init)

#if ROTA_MPI_HAS_PERSISTENT
#define PERSISTENT(large, count, call, among, shape, displ, mpi)               \
    ROTA_API int mpi(PARAMETERS_##shape(count, displ), MPI_Info info,          \
                     MPI_Request *request)                                     \
    {                                                                          \
        rota_mpi_args args = ARGS(call, among, shape, large, displ);           \
        int err;                                                               \
        return rota_mpi_persistent(&args, info, request, &err)                 \
                   ? err                                                       \
                   : P##mpi(ARGUMENTS_##shape, info, request);                 \
    }
#else
#define PERSISTENT(...)
#endif

#define ROTA_CALL(...) FUNCTIONS(false, int, __VA_ARGS__)
#if ROTA_MPI_HAS_LARGE
#define ROTA_CALL_C(call, among, shape, ...)                                   \
    FUNCTIONS(true, MPI_Count, call, among, shape, MPI_Aint, __VA_ARGS__)
#endif
#include "mpi/list.h"

/* ---- the others ---------------------------------------------------------- */

#define WRAP(gate, mpi, ours, parameters, arguments)                           \
    ROTA_API int mpi parameters                                                \
    {                                                                          \
        if (!(gate))                                                           \
            return P##mpi arguments;                                           \
        rota_error_name(#mpi);                                                 \
        return ours arguments;                                                 \
    }
#define ROTA_REQUEST(...) WRAP(rota_mpi_any_request(), __VA_ARGS__)
#define ROTA_WRAP(...) WRAP(true, __VA_ARGS__)
#include "mpi/list.h"

/* librota_malloc, if it is there, makes the heap when so much is first asked for:
 * now, so that even the first plan has it mapped. */
static void have_heap_made(void)
{
    void *volatile memory = malloc(1 << 20);

    free(memory);
}

static int begin(void)
{
    have_heap_made();
    rota_mpi_stats_begin();
    rota_error_raise_by(rota_mpi_raise);
    rota_mpi_check_begin();
    rota_mpi_same_begin();
    rota_mpi_repeat_begin();
    rota_mpi_comm_begin();
    rota_mpi_group_begin();
    return MPI_SUCCESS;
}

int rota_mpi_init(int *argc, char ***argv)
{
    rota_flavour_check("librota_mpi");
    ROTA_MPI_TRY(PMPI_Init(argc, argv));
    return begin();
}

int rota_mpi_init_thread(int *argc, char ***argv, int required, int *provided)
{
    rota_flavour_check("librota_mpi");
    ROTA_MPI_TRY(PMPI_Init_thread(argc, argv, required, provided));
    return begin();
}

/* Other ranks of the node reach this memory, where they can. MPI has any other,
 * and mistakes. */
int rota_mpi_alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    void *const memory = rota_mpi_settings_get()->share && size > 0 && baseptr
                             ? rota_malloc_shared((size_t)size)
                             : NULL;

    if (!memory)
        return PMPI_Alloc_mem(size, info, baseptr);
    memcpy(baseptr, &memory, sizeof memory); /* to any pointer type */
    return MPI_SUCCESS;
}

int rota_mpi_free_mem(void *base)
{
    return rota_malloc_release(base) ? MPI_SUCCESS : PMPI_Free_mem(base);
}

/* Rota's error codes may be of classes of its own. */
int rota_mpi_error_class(int code, int *errorclass)
{
    return errorclass ? rota_error_class(code, errorclass)
                      : PMPI_Error_class(code, errorclass);
}

#if ROTA_MPI_HAS_SESSIONS
int rota_mpi_session_finalize(MPI_Session *session)
{
    rota_mpi_stats_print(true);
    return PMPI_Session_finalize(session);
}
#endif

int rota_mpi_finalize(void)
{
    rota_mpi_stats_print(false);
    rota_mpi_comm_end();
    rota_mpi_group_end();
    rota_mpi_check_end();
    rota_mpi_same_end();
    rota_mpi_repeat_end();
    return PMPI_Finalize();
}
