/* device.c - plans whose buffers are memory of a device. */
#include "plan/kinds/device.h"
#include "device/ipc.h"
#include "device/staging.h"
#include "exec/payload/sized.h"

#include <stdlib.h>
#ifdef ROTA_MPI_HAS_CUDA_QUERY
#include <mpi-ext.h>
#endif

/* ---- which memory it is
 * --------------------------------------------------- */

/* The types of a side's blocks, as the caller has them. */
static const rota_types *types_of(const rota_plan *p, rota_region side)
{
    return side == ROTA_SRC ? rota_problem_sent_types(&p->problem)
                            : &p->problem.recv.types;
}

/* Is the first block with bytes on a device? Only its address is sure to be
 * valid. bytes, offset: of the side `type`, from base. */
static bool is_on_device(const rota_plan *p, const char *base,
                         const size_t bytes[], const ptrdiff_t offset[],
                         rota_region type)
{
    const int n = type == ROTA_SRC ? p->sched.n_send : p->sched.n_recv;

    for (int q = 0; p->device && q < n; q++)
        if (rota_cell_bytes(bytes[q]) > 0)
            return p->device->holds(
                base + offset[q] +
                rota_types_at(types_of(p, type), (size_t)q)->lb);
    return false;
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
static int check_ipc(const rota_plan *p)
{
    const char *what = p->ipc_why;

    if (!rota_algo_is_direct(p->choice.algo))
        what = "this algorithm moves blocks through memory of the host";
    return what[0] ? rota_fail(MPI_ERR_ARG,
                               "rota_device = cuda_ipc, but %s; copy_to_cpu "
                               "works (algorithm %s)",
                               what, p->choice.algo->name)
                   : MPI_SUCCESS;
}

/* Only MPI touches the buffers then. So blocks must go straight from one to the
 * other, as bytes. */
int rota_plan_check_device(const rota_plan *p)
{
    const rota_problem *const problem = &p->problem;
    const char *what = NULL;

    if (p->choice.device == ROTA_DEVICE_IPC)
        return check_ipc(p);
    if (p->choice.device != ROTA_DEVICE_AWARE)
        return MPI_SUCCESS;
    if (!p->device)
        what = rota_device_why_none();
    else if (!mpi_takes_device())
        what = "this MPI does not say that it takes memory of a device";
    else if (p->choice.algo->sizes != ROTA_SIZES_STATED)
        what = "this algorithm moves blocks through memory of the host";
    else if (p->kind >= ROTA_EXCHANGE)
        what = "an exchange collects blocks in memory of the host";
    else if (problem->in_place)
        what = "the plan is in place";
    else if (!rota_types_are_bytes(&problem->recv.types) ||
             !rota_types_are_bytes(rota_problem_sent_types(problem)))
        what = "elements of a type are not contiguous";
    return what ? rota_fail(MPI_ERR_ARG,
                            "rota_device = cuda_aware, but %s; copy_to_cpu "
                            "works (algorithm %s)",
                            what, p->choice.algo->name)
                : MPI_SUCCESS;
}

/* ---- staging ------------------------------------------------------------- */

/* Do messages take blocks from where they are? */
static bool has_no_bounce_buffers(const rota_plan *p)
{
    return p->choice.device == ROTA_DEVICE_AWARE ||
           p->choice.device == ROTA_DEVICE_IPC;
}

/* May the device copy the rank's own block directly? Without bounce buffers it
 * must; otherwise both its places must be known to be on the device. */
static bool is_straight(const rota_plan *p)
{
    const bool plain =
        rota_types_are_bytes(rota_problem_sent_types(&p->problem)) &&
        rota_types_are_bytes(&p->problem.recv.types);

    return has_no_bounce_buffers(p) ||
           (p->kind == ROTA_FIXED && !p->problem.in_place && plain &&
            p->on_device[ROTA_SRC] && p->on_device[ROTA_DST]);
}

int rota_plan_make_staging(rota_plan *p, const char *near, bool straight,
                           rota_queue **queue)
{
    ROTA_TRY(p->device->queue_make(near, queue));
    ROTA_TRY(rota_staging_make(&p->exec, p->device, *queue, straight));
    rota_staging_set_stream(&p->exec, p->follow, p->stream);
    return MPI_SUCCESS;
}

static int need_staging(rota_plan *p, const char *near)
{
    rota_queue *queue;

    return p->exec.hooks
               ? MPI_SUCCESS
               : rota_plan_make_staging(p, near, is_straight(p), &queue);
}

/* Stage the blocks of a region. They have the types of a side, in place of the
 * other side. */
static int bounce(rota_plan *p, rota_region region, char *base,
                  const ptrdiff_t offset[], rota_region type)
{
    ROTA_TRY(need_staging(p, base));
    return rota_staging_bounce(&p->exec, region, base, offset,
                               types_of(p, type));
}

static int stage_by_host(rota_plan *p, char *send, char *recv, bool in_place)
{
    const size_t S = (size_t)p->sched.n_send;
    rota_exec *const x = &p->exec;

    if (p->on_device[ROTA_SRC] && in_place)
        ROTA_TRY(bounce(p, ROTA_SRC, recv, p->offset + S, ROTA_DST));
    else if (p->on_device[ROTA_SRC])
        ROTA_TRY(bounce(p, ROTA_SRC, send, p->offset, ROTA_SRC));
    x->stage_in = x->stage_in && !p->on_device[ROTA_SRC];
    return p->on_device[ROTA_DST]
               ? bounce(p, ROTA_DST, recv, p->offset + S, ROTA_DST)
               : MPI_SUCCESS;
}

/* In place, send blocks are copied from where data will arrive to their bounce
 * buffer, which is out of the way. */
int rota_plan_stage(rota_plan *p, char *send, char *recv, bool in_place)
{
    const size_t S = (size_t)p->sched.n_send;
    if (!p->device)
        return MPI_SUCCESS;
    const bool down =
        in_place ? is_on_device(p, recv, p->bytes, p->offset + S, ROTA_DST)
                 : is_on_device(p, send, p->bytes, p->offset, ROTA_SRC);
    const bool up =
        is_on_device(p, recv, p->bytes + S, p->offset + S, ROTA_DST);
    if (has_no_bounce_buffers(p) && in_place && up)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE, which plans "
                                         "with rota_device = cuda_aware "
                                         "cannot be on a device");
    p->on_device[ROTA_SRC] = down;
    p->on_device[ROTA_DST] = up;
    if (p->exec.hooks)
        rota_staging_unbounce(&p->exec);
    if (!has_no_bounce_buffers(p))
        return stage_by_host(p, send, recv, in_place);
    return down || up ? need_staging(p, down ? send : recv) : MPI_SUCCESS;
}

int rota_plan_stage_fixed(rota_plan *p)
{
    const bool in_place = p->problem.in_place;

    ROTA_TRY(rota_plan_stage(p, p->problem.send.base, p->problem.recv.base,
                             in_place));
    if (in_place && !p->exec.stage_in) {
        free(p->stage);
        p->stage = NULL;
        p->stage_bytes = 0;
    }
    return MPI_SUCCESS;
}

/* Sides with bounce buffers keep them, wherever the new buffers are. */
static int rebase_by_host(rota_plan *p, char *send, char *recv)
{
    rota_exec *const x = &p->exec;
    const size_t S = (size_t)p->sched.n_send;
    const bool in_place = p->problem.in_place;
    char *src = in_place ? p->stage : send, *dst = recv;

    if (rota_staging_bounces(x, ROTA_SRC))
        src = x->blocks.base[ROTA_SRC];
    else if (!in_place && is_on_device(p, src, p->bytes, p->offset, ROTA_SRC))
        return no_staging("sendbuf");
    if (rota_staging_bounces(x, ROTA_DST))
        dst = x->blocks.base[ROTA_DST];
    else if (is_on_device(p, dst, p->bytes + S, p->offset + S, ROTA_DST))
        return no_staging("recvbuf");
    if (x->hooks)
        rota_staging_rebase(x, in_place ? recv : send, recv);
    return rota_exec_rebase(x, src, dst);
}

int rota_plan_rebase(rota_plan *p, const void *sendbuf, void *recvbuf)
{
    char *const send = (char *)sendbuf; /* MPI's const: it is not written */

    if (!has_no_bounce_buffers(p))
        return rebase_by_host(p, send, recvbuf);
    if (p->exec.fetching)
        ROTA_TRY(rota_ipc_rebase(&p->exec, send));
    ROTA_TRY(rota_plan_stage(p, send, recvbuf, false));
    return rota_exec_rebase(&p->exec, send, recvbuf);
}

int rota_plan_stage_found(rota_plan *p, char *buffer)
{
    const size_t S = (size_t)p->sched.n_send;

    p->exec.blocks.base[ROTA_DST] = buffer;
    p->exec.blocks.types[ROTA_DST] = p->problem.recv.types;
    if (!is_on_device(p, buffer, p->bytes + S, p->offset + S, ROTA_DST))
        return MPI_SUCCESS;
    return bounce(p, ROTA_DST, buffer, p->offset + S, ROTA_DST);
}

void rota_plan_follow(rota_plan *p, bool follow, void *stream)
{
    p->follow = follow;
    p->stream = stream;
    if (p->exec.hooks)
        rota_staging_set_stream(&p->exec, follow, stream);
}
