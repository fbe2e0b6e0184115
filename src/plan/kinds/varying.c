/* varying.c - plans whose starts come with counts and buffers of their own. */
#include "plan/args/overlap.h"
#include "plan/kinds/counted.h"
#include "plan/kinds/device.h"

#include <stdlib.h>

/* ---- making -------------------------------------------------------------- */

/* Where counts vary but are known: find the blocks in messages with sizes that
 * need none. Labels name pairs of ranks, but neighbours may have several
 * edges. Whether there is a run follows from the choice, which is the same on all
 * ranks; a rank without memory takes part up to the agreement before it. */
static int learn(rota_built *b, int *status)
{
    const rota_comm *const c = b->task->comm;
    rota_sizes z;

    if (b->choice.metadata == ROTA_META_ONCE || b->task->problem.neighbors)
        return MPI_SUCCESS;
    size_t *const label = malloc((size_t)c->P * sizeof *label);
    if (*status == MPI_SUCCESS && !label)
        *status = rota_fail_mem("which blocks land");
    if (label)
        rota_sizes_label(c->P, c->me, label);
    *status = rota_built_run_sizes(b, *status, label, &z);
    if (*status == MPI_SUCCESS)
        *status = rota_sizes_landing(&z, b->sizing.landing);
    if (z.cell)
        rota_sizes_free(&z);
    free(label);
    return rota_agree(c, *status, NULL);
}

/* ---- starting ------------------------------------------------------------ */

/* Only for data that are not staged from a device. */
ROTA_RARE static int grow_stage(rota_built *b, size_t room)
{
    ROTA_TRY(rota_grow(&b->stage, &b->stage_bytes, room,
                       "staging what is sent in place"));
    b->exec.blocks.base[ROTA_SRC] = b->stage;
    return MPI_SUCCESS;
}

/* In one buffer, blocks must not overlap; two buffers are trusted. */
ROTA_RARE static int check_one_buffer(const rota_built *b, char *buffer)
{
    const rota_blocks *const blocks = &b->exec.blocks;
    const rota_sched *const s = &b->sched;
    const rota_types types = b->task->problem.recv.types;
    const rota_problem problem = {
        .neighbors = b->task->problem.neighbors,
        .send = {.base = buffer,
                 .n = s->n_send,
                 .types = types,
                 .bytes = blocks->bytes,
                 .offset = blocks->offset},
        .recv = {.base = buffer,
                 .n = s->n_recv,
                 .types = types,
                 .bytes = blocks->bytes + s->n_send,
                 .offset = blocks->offset + s->n_send},
    };

    return rota_overlap_check(&problem, false);
}

/* A longer block for itself would be written beyond its place. */
static ROTA_ANEW int check_own(const rota_built *b, bool usual)
{
    const rota_sched *const s = &b->sched;
    const size_t *const bytes = b->exec.blocks.bytes;

    return usual && bytes[rota_src(s, s->me)] == bytes[rota_dst(s, s->me)]
               ? MPI_SUCCESS
               : rota_built_check_own(b);
}

/* In place, the send blocks are those of the receive buffer, to be staged end to
 * end: *room bytes. */
static ROTA_ANEW int fill(rota_built *b, const rota_start_args *args,
                          bool in_place, size_t *largest, size_t *room,
                          bool usual)
{
    size_t largest_sent;

    ROTA_TRY(rota_counted_fill(b, args, ROTA_DST, largest, usual));
    if (in_place) {
        *room =
            rota_built_lay_out_stage(b, b->exec.blocks.bytes + b->sched.n_send);
        return MPI_SUCCESS;
    }
    ROTA_TRY(rota_counted_fill(b, args, ROTA_SRC, &largest_sent, usual));
    *largest = largest_sent > *largest ? largest_sent : *largest;
    ROTA_TRY(check_own(b, usual));
    return args->send.base == args->recv.base && b->task->checked
               ? check_one_buffer(b, (char *)args->recv.base)
               : MPI_SUCCESS;
}

/* Only the start that stages, and the next one, need other types than the plan's,
 * unless a device has bounce buffers. */
ROTA_RARE static void choose_types(rota_built *b, bool in_place)
{
    rota_types *const types = b->exec.blocks.types;

    rota_exec_stage_in(&b->exec, in_place);
    types[ROTA_DST] = b->task->problem.recv.types;
    types[ROTA_SRC] = in_place ? rota_types_bytes : types[ROTA_DST];
}

static ROTA_ANEW int start_as(rota_built *b, const rota_start_args *args,
                              bool usual)
{
    const bool in_place = args->send.base == MPI_IN_PLACE;
    char *const send = (char *)args->send.base;
    char *const recv = (char *)args->recv.base;
    const bool device = !usual && b->task->use.device;
    rota_exec *const x = &b->exec;
    size_t largest, room = 0;

    if (in_place || recv == MPI_IN_PLACE)
        ROTA_TRY(
            rota_args_check_in_place(send, recv, !usual && b->sched.neighbors));
    if (in_place &&
        (b->task->partitioned || rota_packer_is_on(&b->task->packer)))
        return rota_fail(MPI_ERR_BUFFER,
                         "sendbuf is MPI_IN_PLACE, and the plan "
                         "%s",
                         rota_packer_is_on(&b->task->packer)
                             ? "has functions that pack"
                             : "is partitioned");
    ROTA_TRY(fill(b, args, in_place, &largest, &room, usual));
    rota_counted_leave_out(b, largest, rota_first_tmp(&b->sched));
    if (in_place || x->stage_in || device)
        choose_types(b, in_place);
    x->blocks.base[ROTA_SRC] = send;
    x->blocks.base[ROTA_DST] = recv;
    if (device)
        ROTA_TRY(rota_built_stage(b, send, recv, in_place));
    if (x->stage_in)
        ROTA_TRY(grow_stage(b, room));
    if (b->task->record)
        rota_built_record(b, x->blocks.bytes);
    return rota_exec_start(x);
}

ROTA_RARE static int start_unusual(rota_built *b, const rota_start_args *args)
{
    return start_as(b, args, false);
}

static int start(rota_built *b, const rota_start_args *args)
{
    return rota_counted_is_usual(b) ? start_as(b, args, true)
                                    : start_unusual(b, args);
}

/* What a start has set may be used again, unless a run may change it. */
static bool repeats(const rota_built *b)
{
    return !b->exec.sizing && !b->task->use.device &&
           b->exec.max_block == SIZE_MAX;
}

static int rebase(rota_built *b, const void *sendbuf, void *recvbuf)
{
    char **const base = b->exec.blocks.base;

    if ((sendbuf == MPI_IN_PLACE) != b->exec.stage_in)
        return rota_fail(MPI_ERR_BUFFER, "one of two starts alike is in place");
    if (!b->exec.stage_in)
        base[ROTA_SRC] = (char *)sendbuf; /* only read */
    base[ROTA_DST] = recvbuf;
    return MPI_SUCCESS;
}

const rota_kind_table rota_kind_varying = {
    .kind = ROTA_VARYING,
    .title = "a plan with varying counts",
    .is = "a varying one",
    .parts = true,
    .own_bytes = sizeof(rota_counted),
    .prepare = rota_counted_prepare,
    .vote = rota_counted_vote,
    .forget = rota_counted_forget,
    .build = rota_built_schedule,
    .learn = learn,
    .start = start,
    .repeats = repeats,
    .rebase = rebase,
};
