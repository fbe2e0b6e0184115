/* trial.c - see trial.h. */
#include "plan/kinds/trial.h"
#include "exec/memory/arena.h"
#include "exec/move/clock.h"
#include "plan/kinds/counted.h"
#include "plan/ranks/crossing.h"
#include "plan/ranks/node.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* If counts vary, a rank sends at most this many bytes. */
#define MOST_DRAWN 67108864.0

/* ---- what is moved ------------------------------------------------------- */

/* A size for counts that vary: from 0 to the bound, the same at both ends. */
static size_t drawn(const rota_stats *s, int src, int dst)
{
    const double room = MOST_DRAWN / (s->degree > 1 ? s->degree : 1);
    const double most = 2 * s->mean < room ? 2 * s->mean : room;
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

static void set_counts(rota_trial *t)
{
    const rota_problem *const problem = &t->like->problem;
    const rota_neighbors *const among = problem->neighbors;
    const int me = t->like->comm->me;
    const size_t *const sent = rota_problem_sent(problem);
    const bool fixed = t->like->kind->fixed;

    for (int i = 0; i < t->n_send; i++) {
        const int to = among ? among->to[i] : i;
        t->count[i] = (MPI_Count)(fixed ? sent[i] : drawn(&t->stats, me, to));
    }
    for (int i = 0; i < t->n_recv; i++) {
        const int from = among ? among->from[i] : i;
        t->count[t->n_send + i] =
            (MPI_Count)(fixed ? problem->recv.bytes[i]
                              : drawn(&t->stats, from, me));
    }
    t->sent = put_end_to_end(t, 0, t->n_send);
    t->received = put_end_to_end(t, t->n_send, t->n_recv);
}

static int allocate(rota_trial *t)
{
    const size_t n = (size_t)t->n_send + (size_t)t->n_recv + 1;

    t->count = malloc(n * sizeof *t->count);
    t->displ = malloc(n * sizeof *t->displ);
    t->built = calloc(ROTA_MOST_TRIED, sizeof *t->built);
    return t->count && t->displ && t->built ? MPI_SUCCESS
                                            : rota_fail_mem("what is measured");
}

/* Allocate memory of the kind of the caller's buffers. What is sent and what is
 * received lie apart, since some MPIs take equal addresses for in place. */
static int make_buffers(rota_trial *t)
{
    const size_t apart = (t->sent / CACHE_LINE + 1) * CACHE_LINE;
    const size_t bytes = apart + t->received + 1;
    rota_place at;

    if (rota_arena_find(t->like->problem.send.base, 1, &at))
        t->memory = rota_arena_alloc(bytes);
    if (!t->memory)
        t->memory = malloc(bytes);
    if (!t->memory)
        return rota_fail_mem("buffers to measure with");
    memset(t->memory, 0, bytes);
    t->start =
        (rota_start_args){.form = ROTA_COUNTS,
                          .send = {t->memory, t->count, t->displ},
                          .recv = {t->memory + apart, t->count + t->n_send,
                                   t->displ + t->n_send}};
    return MPI_SUCCESS;
}

/* What a plan is asked for with one side of a start. */
static rota_side_args asked(const rota_start_args *a,
                            const rota_start_side *side)
{
    return (rota_side_args){.form = a->form,
                            .base = side->base,
                            .counts = side->counts,
                            .displs = side->displs,
                            .type = MPI_BYTE};
}

/* What the ranks have agreed on for the wanted plan holds for trials too, except
 * for what depends on memory. May fail on one rank alone. */
static int begin(void *arg)
{
    rota_trial *const t = arg;
    const rota_task *const like = t->like;
    const rota_neighbors *const among = like->problem.neighbors;

    t->n_send = among ? among->n_send : like->comm->P;
    t->n_recv = among ? among->n_recv : like->comm->P;
    ROTA_TRY(allocate(t));
    set_counts(t);
    ROTA_TRY(make_buffers(t));
    t->task = *like;
    t->task.problem = (rota_problem){.neighbors = among};
    memset(&t->task.crossing, 0, sizeof t->task.crossing);
    t->task.use.ipc = false;
    strcpy(t->task.use.ipc_why, "what is measured is in memory of the host");
    t->task.own = NULL;
    t->task.accumulate = (rota_operator){0};
    const rota_args args = {.send = asked(&t->start, &t->start.send),
                            .recv = asked(&t->start, &t->start.recv)};
    ROTA_TRY(like->kind->prepare(&t->task, &args));
    if (like->kind->collects)
        rota_counted_set_buffer(&t->task, (char *)t->start.recv.base,
                                t->received, false);
    return MPI_SUCCESS;
}

static void end(void *arg)
{
    rota_trial *const t = arg;
    bool all = true;

    for (int i = 0; t->built && i < ROTA_MOST_TRIED; i++)
        all = rota_built_free(&t->built[i]) && all;
    free(t->count);
    free(t->displ);
    if (!all) /* memory that MPI may still write to is not freed */
        return;
    if (t->task.kind && t->task.kind->forget)
        t->task.kind->forget(&t->task);
    rota_problem_free(&t->task.problem);
    rota_crossing_free(&t->task.crossing);
    if (!rota_arena_free(t->memory))
        free(t->memory);
    free(t->built);
}

/* ---- what is built ------------------------------------------------------- */

/* All ranks build the same candidates in the same order, since they have agreed on
 * candidates and prices. They agree on each, also on b->apart: if some rank cannot
 * map memory of another, all build again without it. A failure to build is one of all
 * ranks. */
static int build_one(void *arg, int i, const rota_hints *wish)
{
    rota_trial *const t = arg;
    rota_task *const task = &t->task;
    rota_built *const b = &t->built[i];
    const rota_plan_kind what = {.topo = task->topo,
                                 .neighbors = task->problem.neighbors != NULL,
                                 .kind = task->kind->kind,
                                 .max_block = task->max_block};
    rota_choice choice;
    rota_claim claim;
    rota_vote vote = {0};

    if (wish->algo->nodes && what.neighbors && !task->problem.crossing)
        ROTA_TRY(rota_crossing_find(task->comm, task->topo, &task->problem,
                                    &task->crossing));
    ROTA_TRY(rota_choose(wish, &what, &choice)); /* the same on all ranks */
    ROTA_TRY(rota_agree_claim(task->comm, MPI_SUCCESS, &vote, &claim));
    ROTA_TRY(rota_built_make(b, task, &choice, claim));
    if (!b->apart)
        return MPI_SUCCESS;
    rota_built_free(b);
    ROTA_TRY(rota_comm_part_node(task->comm));
    return build_one(arg, i, wish);
}

/* What a program does between exchanges: what it sends it writes, what came it reads.
 * Both change hands between caches, at a cost that depends on the algorithm. */
static void write_sent(const rota_trial *t)
{
    memset(t->memory, 1, t->sent);
}

static void read_received(const rota_trial *t)
{
    const volatile char *const received = t->start.recv.base;

    for (size_t at = 0; at < t->received; at += CACHE_LINE)
        (void)received[at];
}

static int run(void *arg, int i, double *ns)
{
    rota_trial *const t = arg;
    rota_built *const b = &t->built[i];
    const rota_kind_table *const kind = t->task.kind;
    const int64_t begin = rota_now_ns();
    rota_found found = {0};

    write_sent(t);
    ROTA_TRY(kind->start(b, &t->start));
    ROTA_TRY(rota_exec_wait(&b->exec));
    if (kind->collect)
        ROTA_TRY(kind->collect(b, &found));
    read_received(t);
    *ns = (double)(rota_now_ns() - begin);
    return MPI_SUCCESS;
}

rota_trials rota_trial_of(rota_trial *t, const rota_task *like,
                          const rota_stats *stats)
{
    *t = (rota_trial){.like = like, .stats = *stats};
    return (rota_trials){
        .arg = t, .begin = begin, .make = build_one, .run = run, .end = end};
}
