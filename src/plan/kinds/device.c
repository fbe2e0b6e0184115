/* device.c - see device.h. */
#include "plan/kinds/device.h"
#include "device/ipc.h"
#include "device/staging.h"
#include "exec/payload/sized.h"

#include <stdlib.h>
#ifdef ROTA_MPI_HAS_CUDA_QUERY
#include <mpi-ext.h>
#endif

/* ---- which memory it is -------------------------------------------------- */

/* The types of a side's blocks, as the caller has them. */
static const rota_types *types_of(const rota_built *b, rota_region side)
{
    return side == ROTA_SRC ? rota_problem_sent_types(&b->task->problem)
                            : &b->task->problem.recv.types;
}

/* Is the first block with bytes on a device? Only its address is sure to be
 * valid. bytes, offset: of the side `type`, from base. */
static bool is_on_device(const rota_built *b, const char *base,
                         const size_t bytes[], const ptrdiff_t offset[],
                         rota_region type)
{
    const int n = type == ROTA_SRC ? b->sched.n_send : b->sched.n_recv;

    for (int q = 0; b->task->use.device && q < n; q++)
        if (rota_cell_bytes(bytes[q]) > 0)
            return b->task->use.device->holds(
                base + offset[q] +
                rota_types_at(types_of(b, type), (size_t)q)->lb);
    return false;
}

/* The first block with bytes of a side, if it is on a device; else NULL. */
static const char *side_on_device(const rota_task *t, const rota_side *side)
{
    int q = 0;

    while (q < side->n && side->bytes[q] == 0)
        q++;
    if (q == side->n)
        return NULL;
    const char *const block = side->base + side->offset[q] +
                              rota_types_at(&side->types, (size_t)q)->lb;
    return t->use.device->holds(block) ? block : NULL;
}

const char *rota_task_memory_on_device(const rota_task *t)
{
    const char *sent = NULL;

    if (!t->use.device || !t->kind->fixed)
        return NULL;
    if (!t->problem.in_place)
        sent = side_on_device(t, &t->problem.send);
    return sent ? sent : side_on_device(t, &t->problem.recv);
}

static int no_staging(const char *name)
{
    return rota_fail(MPI_ERR_BUFFER,
                     "%s is memory of a device, but the plan was made for "
                     "memory of the host",
                     name);
}

/* ---- MPI and devices ----------------------------------------------------- */

static bool mpi_takes_device(void)
{
#if defined(ROTA_MPI_HAS_GPU_QUERY)
    int takes = 0;

    return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &takes) ==
               MPI_SUCCESS &&
           takes;
#elif defined(ROTA_MPI_HAS_CUDA_QUERY)
    return MPIX_Query_cuda_support() != 0;
#else
    return false;
#endif
}

/* If another rank cannot, that rank reports it. */
static int check_ipc(const rota_built *b)
{
    const char *what = b->task->use.ipc_why;

    if (!rota_algo_is_direct(b->choice.algo))
        what = "this algorithm moves blocks through memory of the host";
    return what[0] ? rota_fail(MPI_ERR_ARG,
                               "rota_device = cuda_ipc, but %s; copy_to_cpu "
                               "works (algorithm %s)",
                               what, b->choice.algo->name)
                   : MPI_SUCCESS;
}

/* Only MPI touches the buffers then. So blocks must go straight from one to the
 * other, as bytes. */
int rota_built_check_device(const rota_built *b)
{
    const rota_problem *const problem = &b->task->problem;
    const char *what = NULL;

    if (b->choice.device == ROTA_DEVICE_IPC)
        return check_ipc(b);
    if (b->choice.device != ROTA_DEVICE_AWARE)
        return MPI_SUCCESS;
    if (!b->task->use.device)
        what = rota_device_why_none();
    else if (!mpi_takes_device())
        what = "this MPI does not say that it takes memory of a device";
    else if (b->choice.algo->sizes != ROTA_SIZES_STATED)
        what = "this algorithm moves blocks through memory of the host";
    else if (b->task->kind->collects)
        what = "an exchange collects blocks in memory of the host";
    else if (problem->in_place)
        what = "the plan is in place";
    else if (!rota_types_are_bytes(&problem->recv.types) ||
             !rota_types_are_bytes(rota_problem_sent_types(problem)))
        what = "elements of a type are not contiguous";
    return what ? rota_fail(MPI_ERR_ARG,
                            "rota_device = cuda_aware, but %s; copy_to_cpu "
                            "works (algorithm %s)",
                            what, b->choice.algo->name)
                : MPI_SUCCESS;
}

/* ---- staging ------------------------------------------------------------- */

/* Do messages take blocks from where they are? */
static bool has_no_bounce_buffers(const rota_built *b)
{
    return b->choice.device == ROTA_DEVICE_AWARE ||
           b->choice.device == ROTA_DEVICE_IPC;
}

/* Should the device copy the rank's own blocks by themselves? On a device that ranks
 * share by time, each copy within it waits for a turn. Meanwhile so many bytes come
 * down and go up again, for which copies do not wait. An estimate, from turns of
 * 0.14 ms for each rank (one H200, 2 and 4 ranks: rota-bench --mem cuda). */
static bool own_should_stay(const rota_built *b)
{
    enum { BYTES_OF_A_TURN = 1 << 21 };
    const size_t sharers = (size_t)b->task->comm->device_sharers;
    size_t bytes = 0, n = 0;

    for (int k = 0; k < rota_n_own(&b->sched); k++) {
        const rota_own own = rota_own_block(&b->sched, k);
        const size_t here = rota_cell_bytes(
            b->exec.blocks.bytes[rota_src(&b->sched, own.send)]);
        bytes += here;
        n += here > 0;
    }
    return sharers <= 1 || bytes > n * sharers * BYTES_OF_A_TURN;
}

/* May the device copy the rank's own block directly? Without bounce buffers it
 * must; otherwise both its places must be known to be on the device. */
static bool is_straight(const rota_built *b)
{
    const bool plain =
        rota_types_are_bytes(rota_problem_sent_types(&b->task->problem)) &&
        rota_types_are_bytes(&b->task->problem.recv.types);

    return has_no_bounce_buffers(b) ||
           (b->task->kind->fixed && b->task->largest_unit == 0 &&
            !b->task->problem.in_place && plain && b->task->use.on[ROTA_SRC] &&
            b->task->use.on[ROTA_DST] && own_should_stay(b));
}

int rota_built_make_staging(rota_built *b, const char *memory, bool straight,
                            rota_queue **queue)
{
    ROTA_TRY(b->task->use.device->queue_make(memory, queue));
    ROTA_TRY(
        rota_staging_make(&b->exec, b->task->use.device, *queue, straight));
    rota_staging_set_stream(&b->exec, b->task->use.follow, b->task->use.stream);
    return MPI_SUCCESS;
}

static int need_staging(rota_built *b, const char *memory)
{
    rota_queue *queue;

    return rota_staging_is_on(&b->exec)
               ? MPI_SUCCESS
               : rota_built_make_staging(b, memory, is_straight(b), &queue);
}

/* Stage the blocks of a region. They have the types of a side, in place of the
 * other side. */
static int bounce(rota_built *b, rota_region region, char *base,
                  const ptrdiff_t offset[], rota_region type)
{
    ROTA_TRY(need_staging(b, base));
    return rota_staging_bounce(&b->exec, region, base, offset,
                               types_of(b, type));
}

static int stage_by_host(rota_built *b, char *send, char *recv, bool in_place)
{
    const size_t S = (size_t)b->sched.n_send;
    rota_exec *const x = &b->exec;

    if (b->task->use.on[ROTA_SRC] && in_place)
        ROTA_TRY(bounce(b, ROTA_SRC, recv, x->blocks.offset + S, ROTA_DST));
    else if (b->task->use.on[ROTA_SRC])
        ROTA_TRY(bounce(b, ROTA_SRC, send, x->blocks.offset, ROTA_SRC));
    x->stage_in = x->stage_in && !b->task->use.on[ROTA_SRC];
    return b->task->use.on[ROTA_DST]
               ? bounce(b, ROTA_DST, recv, x->blocks.offset + S, ROTA_DST)
               : MPI_SUCCESS;
}

/* In place, send blocks are copied from where data will arrive to their bounce
 * buffer, which is out of the way. */
int rota_built_stage(rota_built *b, char *send, char *recv, bool in_place)
{
    const size_t *const bytes = b->exec.blocks.bytes;
    const ptrdiff_t *const offset = b->exec.blocks.offset;
    const size_t S = (size_t)b->sched.n_send;
    if (!b->task->use.device)
        return MPI_SUCCESS;
    const bool down = in_place
                          ? is_on_device(b, recv, bytes, offset + S, ROTA_DST)
                          : is_on_device(b, send, bytes, offset, ROTA_SRC);
    const bool up = is_on_device(b, recv, bytes + S, offset + S, ROTA_DST);
    if (has_no_bounce_buffers(b) && in_place && up)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE, which plans "
                                         "with rota_device = cuda_aware "
                                         "cannot be on a device");
    b->task->use.on[ROTA_SRC] = down;
    b->task->use.on[ROTA_DST] = up;
    if (rota_staging_is_on(&b->exec))
        rota_staging_unbounce(&b->exec);
    if (!has_no_bounce_buffers(b))
        return stage_by_host(b, send, recv, in_place);
    return down || up ? need_staging(b, down ? send : recv) : MPI_SUCCESS;
}

/* Sides with bounce buffers keep them, wherever the new buffers are. */
static int rebase_by_host(rota_built *b, char *send, char *recv)
{
    rota_exec *const x = &b->exec;
    const size_t *const bytes = x->blocks.bytes;
    const ptrdiff_t *const offset = x->blocks.offset;
    const size_t S = (size_t)b->sched.n_send;
    const bool in_place = b->task->problem.in_place;
    char *src = in_place ? b->stage : send, *dst = recv;

    if (rota_staging_bounces(x, ROTA_SRC))
        src = x->blocks.base[ROTA_SRC];
    else if (!in_place && is_on_device(b, src, bytes, offset, ROTA_SRC))
        return no_staging("sendbuf");
    if (rota_staging_bounces(x, ROTA_DST))
        dst = x->blocks.base[ROTA_DST];
    else if (is_on_device(b, dst, bytes + S, offset + S, ROTA_DST))
        return no_staging("recvbuf");
    if (rota_staging_is_on(x))
        rota_staging_rebase(x, in_place ? recv : send, recv);
    return rota_exec_rebase(x, src, dst);
}

int rota_built_rebase(rota_built *b, const void *sendbuf, void *recvbuf)
{
    char *const send = (char *)sendbuf; /* MPI's const: it is not written */

    if (!has_no_bounce_buffers(b))
        return rebase_by_host(b, send, recvbuf);
    if (rota_fetching_of(&b->exec))
        ROTA_TRY(rota_ipc_rebase(&b->exec, send));
    ROTA_TRY(rota_built_stage(b, send, recvbuf, false));
    return rota_exec_rebase(&b->exec, send, recvbuf);
}

int rota_built_stage_found(rota_built *b, char *buffer)
{
    rota_blocks *const blocks = &b->exec.blocks;
    const size_t S = (size_t)b->sched.n_send;
    const ptrdiff_t *const offset = blocks->offset + S;

    blocks->base[ROTA_DST] = buffer;
    blocks->types[ROTA_DST] = b->task->problem.recv.types;
    if (!is_on_device(b, buffer, blocks->bytes + S, offset, ROTA_DST))
        return MPI_SUCCESS;
    return bounce(b, ROTA_DST, buffer, offset, ROTA_DST);
}

void rota_built_follow(rota_built *b, bool follow, void *stream)
{
    b->task->use.follow = follow;
    b->task->use.stream = stream;
    if (rota_staging_is_on(&b->exec))
        rota_staging_set_stream(&b->exec, follow, stream);
}
