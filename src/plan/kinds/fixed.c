/* fixed.c - plans with fixed counts. */
#include "plan/args/overlap.h"
#include "plan/kinds/device.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is asked for --------------------------------------------------- */

static int prepare(rota_task *t, const rota_args *args)
{
    return rota_problem_make(args, t->comm, t->problem.neighbors, t->checked,
                             &t->problem);
}

static uint64_t add_up(const size_t bytes[], int n)
{
    uint64_t all = 0;

    for (int q = 0; q < n; q++)
        all = all + bytes[q] < all ? UINT64_MAX : all + bytes[q];
    return all;
}

/* A digest of a block, so that a sum of many tells them all apart. Two sizes of
 * one pair of ranks never have the same. */
static uint64_t digest(int src, int dst, size_t bytes)
{
    const uint64_t pair = (uint64_t)src << 32 | (uint32_t)dst;

    return rota_scramble(rota_scramble(pair) ^ bytes);
}

/* The sum over all ranks is 0 if both ends of all blocks have the same sizes;
 * otherwise it is anything. */
static uint64_t find_unmatched(const rota_task *t)
{
    const size_t *const sent = rota_problem_sent(&t->problem);
    const int me = t->comm->me;
    uint64_t sum = 0;

    for (int q = 0; q < t->comm->P; q++)
        sum += digest(me, q, sent[q]) - digest(q, me, t->problem.recv.bytes[q]);
    return sum;
}

/* Types may differ between ranks: only bytes must match. */
static void vote(const rota_task *t, rota_alike *alike, rota_vote *v)
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
    if (t->checked && !among)
        v->unmatched = find_unmatched(t);
}

/* ---- building ------------------------------------------------------------ */

/* In place, send blocks are moved out of the way first. */
static int make_stage(rota_built *b)
{
    b->stage_bytes = rota_built_lay_out_stage(b, b->task->problem.recv.bytes);
    b->stage = b->stage_bytes > 0 ? malloc(b->stage_bytes) : NULL;
    b->exec.blocks.base[ROTA_SRC] = b->stage;
    return b->stage || b->stage_bytes == 0
               ? MPI_SUCCESS
               : rota_fail_mem("staging what is sent in place");
}

static int build(rota_built *b)
{
    const rota_problem *const problem = &b->task->problem;
    const rota_blocks *const to = &b->exec.blocks;

    ROTA_TRY(rota_built_schedule(b));
    const size_t S = (size_t)b->sched.n_send, R = (size_t)b->sched.n_recv;
    memcpy(to->bytes + S, problem->recv.bytes, R * sizeof *to->bytes);
    memcpy(to->offset + S, problem->recv.offset, R * sizeof *to->offset);
    if (problem->in_place)
        return make_stage(b);
    memcpy(to->bytes, problem->send.bytes, S * sizeof *to->bytes);
    memcpy(to->offset, problem->send.offset, S * sizeof *to->offset);
    return rota_built_check_own(b);
}

/* ---- learning and checking sizes ----------------------------------------- */

/* The radix of the run that finds differing counts, for plans whose schedule
 * carries no sizes: few phases of few messages. Eight messages at once cost
 * little more than one. */
enum { CHECK_RADIX = 8 };

static int compare_counts(const rota_built *b, const size_t cell[])
{
    for (int i = 0; i < b->sched.n_recv; i++) {
        const size_t sent = cell[rota_dst(&b->sched, i)];
        const size_t expected = b->task->problem.recv.bytes[i];
        if (sent != expected)
            return rota_fail_mismatch(rota_from(&b->sched, i), b->sched.me,
                                      sent, expected);
    }
    return MPI_SUCCESS;
}

/* Collective; the ranks agree on every failure. */
static int learn_from(rota_built *b, const rota_sched *s, int status)
{
    const rota_task *const t = b->task;
    size_t *const bytes = b->exec.blocks.bytes;
    rota_sizes z;

    status =
        rota_built_run_sizes(b, s, status, rota_problem_sent(&t->problem), &z);
    if (status == MPI_SUCCESS && t->checked)
        status = compare_counts(b, z.cell);
    if (status == MPI_SUCCESS && s == &b->sched) {
        const size_t first_tmp = rota_first_tmp(s);
        memcpy(bytes + first_tmp, z.cell + first_tmp,
               (s->n_blocks - first_tmp) * sizeof *bytes);
    }
    if (z.cell)
        rota_sizes_free(&z);
    return rota_agree(t->comm, status, NULL);
}

/* Learn the sizes of blocks in transit, and find counts that differ, if the
 * ranks have agreed that there are any, by one run on sizes: of this schedule
 * or, if that needs none or carries them, of another with few messages. */
static int learn(rota_built *b, int *status)
{
    const rota_task *const t = b->task;
    const rota_params params = {.radix = CHECK_RADIX};
    rota_sched s;

    if (b->choice.algo->sizes == ROTA_SIZES_LEARNT &&
        b->choice.metadata == ROTA_META_ONCE)
        return learn_from(b, &b->sched, *status);
    if (!t->unmatched)
        return MPI_SUCCESS;
    int err = rota_sched_init(&s, t->comm->P, t->comm->me);
    if (err == MPI_SUCCESS)
        err = rota_algo_parlogna.build(t->topo, &params, &s);
    err = learn_from(b, &s, *status == MPI_SUCCESS ? err : *status);
    rota_sched_free(&s);
    return err;
}

/* ---- memory -------------------------------------------------------------- */

static int place(rota_built *b)
{
    const rota_problem *const problem = &b->task->problem;

    ROTA_TRY(rota_built_stage(b, problem->send.base, problem->recv.base,
                              problem->in_place));
    if (problem->in_place && !b->exec.stage_in) {
        free(b->stage); /* a device stages it */
        b->stage = NULL;
        b->stage_bytes = 0;
    }
    return MPI_SUCCESS;
}

/* Other buffers must be like those that the plan was made with. */
static int check_buffers(const rota_built *b, const void *sendbuf,
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
    if (!b->task->checked || problem.in_place)
        return MPI_SUCCESS;
    problem.send.base = (char *)sendbuf; /* only read */
    problem.recv.base = (char *)recvbuf;
    return rota_check_overlap(&problem, false);
}

static int rebase(rota_built *b, const void *sendbuf, void *recvbuf)
{
    ROTA_TRY(check_buffers(b, sendbuf, recvbuf));
    return rota_built_rebase(b, sendbuf, recvbuf);
}

static int start(rota_built *b, const rota_args *args)
{
    (void)args;
    return rota_built_start(b);
}

const rota_kind_table rota_kind_fixed = {.kind = ROTA_FIXED,
                                         .title = "a plan with fixed counts",
                                         .is = "a fixed one",
                                         .fixed = true,
                                         .prepare = prepare,
                                         .vote = vote,
                                         .build = build,
                                         .learn = learn,
                                         .place = place,
                                         .start = start,
                                         .rebase = rebase};
