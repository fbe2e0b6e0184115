/* trial.c - see trial.h. */
#include "plan/kinds/trial.h"
#include "exec/memory/arena.h"
#include "exec/move/clock.h"
#include "plan/kinds/varying.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* If counts vary, a rank sends at most this many bytes. */
#define MOST_DRAWN 67108864.0

/* ---- what is moved ------------------------------------------------------- */

/* A size for counts that vary: from 0 to the bound, the same at both ends. */
static size_t drawn(const rota_plan *p, int src, int dst)
{
    const double degree = p->stats.degree;
    const double room = MOST_DRAWN / (degree > 1 ? degree : 1);
    const double most = 2 * p->stats.mean < room ? 2 * p->stats.mean : room;
    const uint64_t x = ((uint64_t)src << 32 | (uint64_t)dst) + 1;
    const uint64_t random = x * 0x9e3779b97f4a7c15u >> 32;

    return (size_t)(most * (double)random / 4294967296.0);
}

/* Lay out n blocks from the first on, end to end; returns their bytes. */
static size_t put_end_to_end(rota_trial *t, int first, int n)
{
    MPI_Aint end = 0;

    for (int i = first; i < first + n; i++) {
        t->displ[i] = end;
        end += (MPI_Aint)t->count[i];
    }
    return (size_t)end;
}

static void set_counts(const rota_plan *p, rota_trial *t)
{
    const rota_problem *const problem = &p->problem;
    const rota_neighbors *const among = problem->neighbors;
    const int me = p->comm->me;
    const size_t *const sent = rota_problem_sent(problem);
    const bool fixed = p->kind == ROTA_FIXED;

    for (int i = 0; i < t->n_send; i++) {
        const int to = among ? among->to[i] : i;
        t->count[i] = (MPI_Count)(fixed ? sent[i] : drawn(p, me, to));
    }
    for (int i = 0; i < t->n_recv; i++) {
        const int from = among ? among->from[i] : i;
        t->count[t->n_send + i] =
            (MPI_Count)(fixed ? problem->recv.bytes[i] : drawn(p, from, me));
    }
    t->sent = put_end_to_end(t, 0, t->n_send);
    t->received = put_end_to_end(t, t->n_send, t->n_recv);
}

/* Allocate memory of the kind of the caller's buffers. What is sent and what is
 * received lie apart, since some MPIs take equal addresses for in place. */
static int begin(void *arg)
{
    rota_trial *const t = arg;
    const rota_plan *const p = t->like;
    const rota_neighbors *const among = p->problem.neighbors;
    rota_place at;

    t->n_send = among ? among->n_send : p->comm->P;
    t->n_recv = among ? among->n_recv : p->comm->P;
    const size_t n = (size_t)t->n_send + (size_t)t->n_recv + 1;
    t->count = malloc(n * sizeof *t->count);
    t->displ = malloc(n * sizeof *t->displ);
    if (!t->count || !t->displ)
        return rota_fail_mem("what is measured");
    set_counts(p, t);
    const size_t apart = (t->sent / CACHE_LINE + 1) * CACHE_LINE;
    const size_t bytes = apart + t->received + 1;
    if (rota_arena_find(p->problem.send.base, 1, &at))
        t->memory = rota_arena_alloc(bytes);
    if (!t->memory)
        t->memory = malloc(bytes);
    if (!t->memory)
        return rota_fail_mem("buffers to measure with");
    memset(t->memory, 0, bytes);
    t->args = (rota_args){
        .kind = p->kind,
        .max_block = p->max_block,
        .sendbuf = t->memory,
        .sendcounts = {ROTA_COUNTS, t->count, 0},
        .sdispls = {ROTA_AINTS, t->displ, 0},
        .sendtype = MPI_BYTE,
        .recvbuf = t->memory + apart,
        .recvcounts = {ROTA_COUNTS, t->count + t->n_send, 0},
        .rdispls = {ROTA_AINTS, t->displ + t->n_send, 0},
        .recvtype = MPI_BYTE,
    };
    return MPI_SUCCESS;
}

static void end(void *arg)
{
    rota_trial *const t = arg;
    bool broken = false;

    for (int i = 0; i < ROTA_MOST_TRIED; i++) {
        broken = broken || (t->plan[i] && t->plan[i]->exec.status.broken);
        rota_plan_destroy(t->plan[i]);
    }
    /* Memory that MPI may still write to is not freed. */
    if (!broken && !rota_arena_free(t->memory))
        free(t->memory);
    free(t->count);
    free(t->displ);
}

/* ---- plans --------------------------------------------------------------- */

static int make(void *arg, int i, const rota_hints *wish)
{
    rota_trial *const t = arg;
    const rota_plan *const p = t->like;

    ROTA_TRY(rota_plan_make(p->comm, p->problem.neighbors, &t->args, wish,
                            MPI_SUCCESS, &t->plan[i]));
    t->plan[i]->user_out = t->args.recvbuf;
    t->plan[i]->user_room = t->received;
    return MPI_SUCCESS;
}

static int start(const rota_trial *t, rota_plan *plan)
{
    if (plan->kind == ROTA_FIXED)
        return rota_exec_start(&plan->exec);
    return plan->kind == ROTA_VARYING ? rota_varying_start(plan, &t->args)
                                      : rota_exchange_begin(plan, &t->args);
}

static int run(void *arg, int i, double *ns)
{
    rota_trial *const t = arg;
    const int64_t begin = rota_now_ns();
    rota_found found = {0};

    ROTA_TRY(start(t, t->plan[i]));
    ROTA_TRY(rota_exec_wait(&t->plan[i]->exec));
    if (t->plan[i]->kind == ROTA_EXCHANGE)
        ROTA_TRY(rota_exchange_collect(t->plan[i], &found));
    *ns = (double)(rota_now_ns() - begin);
    return MPI_SUCCESS;
}

rota_trials rota_trial_of(rota_trial *t, const rota_plan *like)
{
    *t = (rota_trial){.like = like};
    return (rota_trials){
        .arg = t, .begin = begin, .make = make, .run = run, .end = end};
}
