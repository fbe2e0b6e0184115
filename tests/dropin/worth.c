/* worth.c - when the drop-in makes a plan and when it drops one, with a clock that
 * is made up: src/mpi/worth.c and decide.c, and stubs for what the latter calls.
 */
#include "mpi/decide.h"
#include "mpi/plans.h"
#include "mpi/sync.h"
#include "plan/inside.h"

#include <stdio.h>
#include <stdlib.h>

static int failures;

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "worth.c:%d: %s\n", __LINE__, #condition);         \
            failures++;                                                        \
        }                                                                      \
    } while (0)

/* ---- what is called ------------------------------------------------------- */

enum { BY_COST = -1 };

static int after_calls = BY_COST;
static rota_mpi_group group;
static bool room = true, plans_before;
static int make_err, made, destroyed, explained;
/* plan_takes: the first of the process; others a fifth. */
static double now, plan_takes = 5e-3, barrier_takes, ranks_per_core = 1;

double rota_mpi_clock(void)
{
    return now;
}

int rota_mpi_reduce(const void *in, void *out, int n, MPI_Datatype type,
                    MPI_Op op, MPI_Comm comm)
{
    return MPI_Allreduce(in, out, n, type, op, comm);
}

double rota_ranks_per_core(void)
{
    return ranks_per_core;
}

int rota_mpi_barrier(MPI_Comm comm)
{
    (void)comm;
    now += barrier_takes;
    return MPI_SUCCESS;
}

bool rota_mpi_group_has_room(const rota_mpi_group *g)
{
    (void)g;
    return room;
}

int rota_mpi_group_make(rota_mpi_group *g, rota_mpi_usage *u,
                        const rota_mpi_args *args)
{
    (void)g;
    (void)args;
    made++;
    now += plans_before ? plan_takes / 5 : plan_takes;
    plans_before = true;
    if (make_err == MPI_SUCCESS)
        u->run = malloc(1);
    return make_err;
}

void rota_mpi_usage_drop(rota_mpi_usage *u)
{
    destroyed += u->run != NULL;
    free(u->run);
    u->run = NULL;
}

void rota_mpi_explain(MPI_Comm comm, int code)
{
    (void)comm;
    (void)code;
    explained++;
}

/* ---- a program ----------------------------------------------------------- */

static const rota_mpi_args args = {.comm = MPI_COMM_SELF};

static rota_mpi_usage *make_usage(void)
{
    rota_mpi_usage *const u = calloc(1, sizeof *u);

    rota_mpi_worth_begin(&u->worth, after_calls == BY_COST, after_calls);
    return u;
}

static void destroy(rota_mpi_usage *u)
{
    rota_mpi_usage_drop(u);
    rota_mpi_worth_end(&u->worth);
    free(u);
}

/* Seconds of a call by MPI and by Rota; every tenth is interrupted, unless it is
 * quiet. */
typedef struct program {
    double mpi, rota;
    size_t bytes;
    bool quiet;
    int taken; /* calls by Rota */
} program;

static void call(program *p, rota_mpi_usage *u)
{
    const bool rota = rota_mpi_decide(u, &group, &args);
    const double pause = !p->quiet && u->tally.calls % 10 == 0 ? 1 : 0;
    const double takes = (rota ? p->rota : p->mpi) + pause;

    p->taken += rota;
    CHECK(!rota || u->run);
    now += takes;
    if (rota_mpi_worth_is_timed(&u->worth, u->tally.calls - 1))
        rota_mpi_worth_time(&u->worth, rota, p->bytes, takes);
}

static rota_mpi_usage *run(program *p, long calls)
{
    rota_mpi_usage *const u = make_usage();

    made = destroyed = explained = 0;
    p->taken = 0;
    for (long i = 0; i < calls; i++)
        call(p, u);
    return u;
}

/* Programs whose calls Rota makes slower, of any length, one after the other: at
 * no time have they lost more than 2 %. */
static void never_loses(void)
{
    const double slower[] = {1.03, 1.3, 4}, begin = now;
    program p = {.quiet = true};
    double mpi = 0;
    int plans = 0;

    for (double call_takes = 1e-6; call_takes < 1; call_takes *= 5)
        for (int i = 0; i < 3; i++)
            for (long calls = 10; calls <= 100000; calls *= 10) {
                p.mpi = call_takes;
                p.rota = call_takes * slower[i];
                p.bytes = (size_t)(call_takes * 1e9);
                destroy(run(&p, calls));
                mpi += (double)calls * call_takes;
                plans += made;
                CHECK(now - begin <= 1.02 * mpi);
            }
    CHECK(plans > 0);
}

/* Too few to learn from, however long. */
static void few_calls(void)
{
    program p = {.mpi = 10, .rota = 1, .bytes = 1000000};

    destroy(run(&p, 16));
    CHECK(made == 0 && p.taken == 0);
}

/* 100 ms a call: a plan pays soon, and it is kept. */
static void long_calls(void)
{
    program p = {.mpi = 0.1, .rota = 0.05, .bytes = 1000000};
    rota_mpi_usage *const u = run(&p, 1000);

    CHECK(made == 1 && p.taken >= 900 && u->worth.verdict == ROTA_MPI_TAKEN);
    destroy(u);
    CHECK(destroyed == 1);
}

/* Microseconds: not in a hundred calls, but in a hundred thousand. */
static void short_calls(void)
{
    program p = {.mpi = 1e-6, .rota = 5e-7, .bytes = 8};

    destroy(run(&p, 100));
    CHECK(made == 0 && p.taken == 0);
    rota_mpi_usage *const u = run(&p, 100000);
    CHECK(made == 1 && p.taken > 50000 && u->worth.verdict == ROTA_MPI_TAKEN);
    destroy(u);
}

/* Slower than MPI: dropped when a trial is over, and in the end for good. */
static void slow_plan(void)
{
    program p = {.mpi = 0.1, .rota = 0.11, .bytes = 1000};
    rota_mpi_usage *const u = run(&p, 10000);

    CHECK(made == 1 && destroyed == 1 && p.taken > 0 && p.taken <= 36);
    CHECK(u->worth.verdict == ROTA_MPI_LEFT && !u->run);
    destroy(u);
}

/* Far slower: dropped by the first calls that are timed, each time. */
static void hopeless_plan(void)
{
    program p = {.mpi = 0.1, .rota = 0.9, .bytes = 1000, .quiet = true};
    rota_mpi_usage *const u = run(&p, 100000);

    CHECK(made == 1 && destroyed == 1 && p.taken > 0 && p.taken <= 9);
    CHECK(u->worth.verdict == ROTA_MPI_LEFT);
    destroy(u);
}

/* A trial that is disturbed is not the last one. */
static void unlucky_plan(void)
{
    rota_mpi_usage *const u = make_usage();
    program p = {.mpi = 1e-3, .bytes = 1000};

    made = 0;
    for (long i = 0; i < 100000; i++) {
        p.rota = p.taken < 2 ? 10 : 5e-4;
        call(&p, u);
    }
    CHECK(made == 1 && p.taken > 50000 && u->worth.verdict == ROTA_MPI_TAKEN);
    destroy(u);
}

/* As fast as MPI within the noise: kept. Where there is no call of the size of
 * any by MPI, there is nothing to compare. */
static void no_difference(void)
{
    program p = {.mpi = 0.1, .rota = 0.101, .bytes = 1000};

    destroy(run(&p, 1000));
    CHECK(made == 1 && p.taken > 900);
    rota_mpi_usage *const u = make_usage();
    p.taken = 0;
    for (long i = 0; i < 1000; i++) {
        p.bytes = p.taken ? 1000000 : 1000;
        p.rota = 1;
        call(&p, u);
    }
    CHECK(p.taken > 900 && u->worth.verdict == ROTA_MPI_TAKEN);
    destroy(u);
}

/* Sizes are compared with their like: large ones by Rota, small ones by MPI. */
static void sizes(void)
{
    rota_mpi_usage *const u = make_usage();
    program p = {0};

    for (long i = 0; i < 1000; i++) {
        const double scale = i % 2 ? 1 : 100;
        p.bytes = (size_t)(1000 * scale);
        p.mpi = 0.1 * scale;
        p.rota = (p.taken > 6 ? 0.05 : 0.06) * scale;
        call(&p, u);
    }
    CHECK(u->worth.verdict == ROTA_MPI_TAKEN && p.taken > 900);
    destroy(u);
}

static void refusals(void)
{
    program p = {.mpi = 0.1, .rota = 0.05, .bytes = 1000};

    room = false;
    destroy(run(&p, 1000));
    CHECK(made == 0 && p.taken == 0);
    room = true;
    make_err = MPI_ERR_OTHER;
    destroy(run(&p, 1000));
    CHECK(made == 1 && p.taken == 0 && explained == 1);
    make_err = MPI_SUCCESS;
}

/* So many calls and no fewer, without a trial. */
static void after(void)
{
    program p = {.mpi = 1e-6, .rota = 1, .bytes = 1000};

    for (after_calls = 0; after_calls < 8; after_calls++) {
        destroy(run(&p, 100));
        CHECK(made == 1 && p.taken == 100 - after_calls);
    }
    after_calls = BY_COST;
}

/* 8 ranks on 2 cores: a barrier takes as long as two calls, and a plan, once the
 * group has one, as long as a barrier. It is made at the first decision. */
static void crowded(void)
{
    program p = {.mpi = 16e-3, .rota = 2e-3, .bytes = 64, .quiet = true};

    group.adopted = true;
    barrier_takes = 30e-3;
    plan_takes = 5 * barrier_takes;
    destroy(run(&p, 16)); /* so that a step is known */
    rota_mpi_usage *const u = run(&p, 200);
    CHECK(made == 1 && p.taken == 200 - 16);
    destroy(u);
    group.adopted = false;
    barrier_takes = 0;
    plan_takes = 5e-3;
}

/* Calls that go to MPI before a plan is made, with so many ranks for each core. */
static int calls_before_plan(double ranks)
{
    program p = {.mpi = 1e-3, .rota = 5e-4, .bytes = 8, .quiet = true};

    ranks_per_core = ranks;
    plan_takes = ranks * 5e-3;
    destroy(run(&p, 1000));
    ranks_per_core = 1;
    plan_takes = 5e-3;
    return 1000 - p.taken;
}

/* Each rank that shares a core makes its own part of a plan there. */
static void shared_cores(void)
{
    const int alone = calls_before_plan(1), together = calls_before_plan(100);

    CHECK(alone <= 32);
    CHECK(together >= 100 && together < 1000);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    never_loses();
    few_calls();
    long_calls();
    short_calls();
    slow_plan();
    hopeless_plan();
    unlucky_plan();
    no_difference();
    sizes();
    refusals();
    after();
    shared_cores();
    crowded();
    group.adopted = true;
    long_calls();
    MPI_Finalize();
    return failures > 0;
}
