/* fixed.c - plans with fixed counts. */
#include "plan/kinds/fixed.h"
#include "exec/move/accumulate.h"
#include "plan/args/overlap.h"
#include "plan/args/reverse.h"
#include "plan/kinds/accumulate.h"
#include "plan/kinds/device.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is asked for --------------------------------------------------- */

/* What a rank has for itself is empty then, on both sides. */
static void leave_own(rota_task *t)
{
    rota_problem *const problem = &t->problem;
    const rota_neighbors *const among = problem->neighbors;

    for (int k = 0; among && k < among->n_own; k++) {
        problem->send.bytes[among->own[k].send] = 0;
        problem->recv.bytes[among->own[k].recv] = 0;
    }
    if (!among)
        problem->recv.bytes[t->comm->me] = 0;
    if (!among && !problem->in_place)
        problem->send.bytes[t->comm->me] = 0;
}

static int make_reverse(rota_task *t, const rota_args *args)
{
    ROTA_TRY(rota_problem_reverse(args, t->problem.neighbors, &t->problem));
    return rota_accumulate_prepare(t, args->back->type, args->back->op);
}

int rota_fixed_prepare(rota_task *t, const rota_args *args)
{
    ROTA_TRY(args->back ? make_reverse(t, args)
                        : rota_problem_make(args, t->comm, t->problem.neighbors,
                                            &t->problem));
    if (t->leaves_own)
        leave_own(t);
    return t->checked ? rota_overlap_check(&t->problem, !t->accumulate.combine)
                      : MPI_SUCCESS;
}

static uint64_t add_up(const size_t bytes[], int n)
{
    uint64_t all = 0;

    for (int q = 0; q < n; q++)
        all = all + bytes[q] < all ? UINT64_MAX : all + bytes[q];
    return all;
}

/* Types may differ between ranks: only bytes must match. */
void rota_fixed_vote(const rota_task *t, rota_alike *alike, rota_vote *v)
{
    const rota_problem *const problem = &t->problem;
    const size_t *const bytes = rota_problem_sent(problem);
    const rota_neighbors *const among = problem->neighbors;
    const int n = among ? among->n_send : t->comm->P;

    rota_alike_add(alike, "size of type", 0);
    if (!bytes)
        return;
    for (int d = 0; d < n; d++) {
        v->smallest = bytes[d] < v->smallest ? bytes[d] : v->smallest;
        v->largest = bytes[d] > v->largest ? bytes[d] : v->largest;
        v->filled += bytes[d] > 0;
    }
    const uint64_t received = add_up(problem->recv.bytes, problem->recv.n);
    v->total = add_up(bytes, n);
    v->busiest = v->total > received ? v->total : received;
}

/* ---- building ------------------------------------------------------------ */

int rota_fixed_fill(rota_built *b)
{
    const rota_problem *const problem = &b->task->problem;
    const rota_blocks *const to = &b->exec.blocks;
    const size_t S = (size_t)b->sched.n_send, R = (size_t)b->sched.n_recv;

    memcpy(to->bytes + S, problem->recv.bytes, R * sizeof *to->bytes);
    if (b->exec.accumulation)
        ROTA_TRY(rota_accumulate_fill(b));
    else
        memcpy(to->offset + S, problem->recv.offset, R * sizeof *to->offset);
    if (problem->in_place)
        return rota_grow(&b->stage, &b->stage_bytes,
                         rota_built_lay_out_stage(b, problem->recv.bytes),
                         "staging what is sent in place");
    memcpy(to->bytes, problem->send.bytes, S * sizeof *to->bytes);
    memcpy(to->offset, problem->send.offset, S * sizeof *to->offset);
    return rota_built_check_own(b);
}

static int build(rota_built *b)
{
    ROTA_TRY(rota_built_schedule(b));
    ROTA_TRY(rota_fixed_fill(b));
    if (b->task->problem.in_place)
        b->exec.blocks.base[ROTA_SRC] = b->stage;
    return MPI_SUCCESS;
}

/* Learn the sizes of blocks in transit, unless they come with messages, by a run of
 * the schedule on sizes. The choice, the same on all ranks, says whether to. The run
 * begins when all can take part. It may fail on one rank alone, as when a peer has
 * died; so the ranks agree on its result, and none goes on without sizes. */
static int learn(rota_built *b, int *status)
{
    const rota_task *const t = b->task;
    const size_t first_tmp = rota_first_tmp(&b->sched);
    rota_sizes z;

    if (b->choice.algo->sizes != ROTA_SIZES_LEARNT ||
        b->choice.metadata != ROTA_META_ONCE)
        return MPI_SUCCESS;
    const int err =
        rota_built_run_sizes(b, *status, rota_problem_sent(&t->problem), &z);
    if (err == MPI_SUCCESS)
        memcpy(b->exec.blocks.bytes + first_tmp, z.cell + first_tmp,
               (b->sched.n_blocks - first_tmp) * sizeof *z.cell);
    if (z.cell)
        rota_sizes_free(&z);
    return rota_agree(t->comm, err, NULL);
}

/* ---- memory -------------------------------------------------------------- */

static int place(rota_built *b)
{
    const rota_problem *const problem = &b->task->problem;

    ROTA_TRY(rota_built_stage(b, problem->send.base,
                              b->exec.blocks.base[ROTA_DST],
                              problem->in_place));
    if (problem->in_place && !b->exec.stage_in) {
        free(b->stage); /* a device stages it */
        b->stage = NULL;
        b->stage_bytes = 0;
    }
    return MPI_SUCCESS;
}

int rota_fixed_check_buffers(const rota_built *b, const void *sendbuf,
                             const void *recvbuf)
{
    const rota_sched *const s = &b->sched;
    const size_t *const bytes = b->exec.blocks.bytes;
    rota_problem problem = b->task->problem;
    size_t sent = 0, received = 0;

    if (recvbuf == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE");
    if ((sendbuf == MPI_IN_PLACE) != problem.in_place)
        return rota_fail(MPI_ERR_BUFFER,
                         problem.in_place
                             ? "the plan is in place, sendbuf is not"
                             : "sendbuf is MPI_IN_PLACE, the plan is not");
    for (int i = 0; i < s->n_send; i++)
        sent += bytes[rota_src(s, i)];
    for (int i = 0; i < s->n_recv; i++)
        received += bytes[rota_dst(s, i)];
    if (!sendbuf && sent > 0 && !problem.send.null_ok)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is NULL");
    if (!recvbuf && received > 0 && !problem.recv.null_ok)
        return rota_fail(MPI_ERR_BUFFER, "recvbuf is NULL");
    if (b->exec.accumulation)
        ROTA_TRY(rota_accumulate_check_buffer(b->task, recvbuf));
    if (!b->task->checked || problem.in_place)
        return MPI_SUCCESS;
    problem.send.base = (char *)sendbuf; /* only read */
    problem.recv.base = (char *)recvbuf;
    return rota_overlap_check(&problem, false);
}

static int rebase(rota_built *b, const void *sendbuf, void *recvbuf)
{
    rota_accumulation *const a = b->exec.accumulation;

    ROTA_TRY(rota_fixed_check_buffers(b, sendbuf, recvbuf));
    ROTA_TRY(rota_built_rebase(b, sendbuf, a ? a->landing : recvbuf));
    if (a)
        a->into = recvbuf;
    return MPI_SUCCESS;
}

static bool repeats(const rota_built *b)
{
    return !b->task->use.device;
}

static int start(rota_built *b, const rota_start_args *args)
{
    (void)args;
    return rota_built_start(b);
}

const rota_kind_table rota_kind_fixed = {.kind = ROTA_FIXED,
                                         .title = "a plan with fixed counts",
                                         .is = "a fixed one",
                                         .fixed = true,
                                         .parts = true,
                                         .prepare = rota_fixed_prepare,
                                         .vote = rota_fixed_vote,
                                         .build = build,
                                         .learn = learn,
                                         .place = place,
                                         .start = start,
                                         .repeats = repeats,
                                         .rebase = rebase};
