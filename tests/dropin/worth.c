/* worth.c - when the drop-in makes a plan and when it drops one, with times that
 * are made up: src/mpi/worth.c, and stubs for what it calls.
 */
#include "mpi/shim.h"

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

/* ---- what it calls ------------------------------------------------------------ */

static rota_mpi_settings settings = {.after = ROTA_MPI_BY_COST};
static bool room = true, has_plans;
static int make_err, made, destroyed, explained;

_Atomic(const rota_mpi_settings *) rota_mpi_settings_known = &settings;

const rota_mpi_settings *rota_mpi_settings_read(void)
{
    return &settings;
}

bool rota_mpi_group_has_room(const rota_mpi_group *group)
{
    (void)group;
    return room;
}

bool rota_mpi_group_has_plans(const rota_mpi_group *group)
{
    (void)group;
    return has_plans;
}

int rota_mpi_group_make(rota_mpi_group *group, rota_mpi_usage *u,
                        const rota_mpi_args *args)
{
    (void)group;
    (void)args;
    made++;
    if (make_err == MPI_SUCCESS)
        u->run = calloc(1, sizeof *u->run);
    return make_err;
}

void rota_mpi_run_destroy(rota_mpi_run *run)
{
    destroyed += run != NULL;
    free(run);
}

void rota_mpi_explain(MPI_Comm comm, int code)
{
    (void)comm;
    (void)code;
    explained++;
}

/* ---- a program ---------------------------------------------------------------- */

static const rota_mpi_args args = {.comm = MPI_COMM_SELF};

/* Seconds of a call by MPI and by Rota; every tenth is interrupted. */
typedef struct program {
    double mpi, rota;
    size_t bytes;
    int taken; /* calls by Rota */
} program;

static void call(program *p, rota_mpi_usage *u)
{
    const bool rota = rota_mpi_usage_takes(u, NULL, &args);
    const double pause = u->tally.calls % 10 == 0 ? 1 : 0;

    p->taken += rota;
    CHECK(!rota || u->run);
    if (rota_mpi_usage_is_timed(u))
        rota_mpi_usage_time(u, rota, p->bytes,
                            (rota ? p->rota : p->mpi) + pause);
}

static rota_mpi_usage *run(program *p, long calls)
{
    rota_mpi_usage *const u = rota_mpi_usage_make(0);

    made = destroyed = explained = 0;
    p->taken = 0;
    for (long i = 0; i < calls; i++)
        call(p, u);
    return u;
}

/* 100 ms a call: a plan pays at once, and it is kept. */
static void long_calls(void)
{
    program p = {.mpi = 0.1, .rota = 0.05, .bytes = 1000000};
    rota_mpi_usage *const u = run(&p, 100);

    CHECK(made == 1 && p.taken >= 95 && u->verdict == ROTA_MPI_TAKEN);
    rota_mpi_usage_destroy(u);
    CHECK(destroyed == 1);
}

/* Microseconds: not in a hundred calls, but in a hundred thousand. */
static void short_calls(void)
{
    program p = {.mpi = 1e-6, .rota = 5e-7, .bytes = 8};

    rota_mpi_usage_destroy(run(&p, 100));
    CHECK(made == 0 && p.taken == 0);
    rota_mpi_usage *const u = run(&p, 100000);
    CHECK(made == 1 && p.taken > 80000 && u->verdict == ROTA_MPI_TAKEN);
    rota_mpi_usage_destroy(u);
}

/* Slower than MPI: dropped when the trial is over. */
static void slow_plan(void)
{
    program p = {.mpi = 0.1, .rota = 0.11, .bytes = 1000};
    rota_mpi_usage *const u = run(&p, 1000);

    CHECK(made == 1 && destroyed == 1 && p.taken > 0 && p.taken < 20);
    CHECK(u->verdict == ROTA_MPI_LEFT && !u->run);
    rota_mpi_usage_destroy(u);
}

/* Far slower: dropped at once, by the first call that is timed or, if that may
 * have been interrupted, by two. */
static void hopeless_plan(void)
{
    program p = {.mpi = 0.1, .rota = 0.4, .bytes = 1000};

    rota_mpi_usage_destroy(run(&p, 1000));
    CHECK(made == 1 && destroyed == 1 && p.taken == 2);
    p.rota = 0.15;
    rota_mpi_usage_destroy(run(&p, 1000));
    CHECK(made == 1 && destroyed == 1 && p.taken == 3);
}

/* Interrupted in the first call that is timed, for less than was to be won. */
static void unlucky_plan(void)
{
    rota_mpi_usage *const u = rota_mpi_usage_make(0);
    program p = {.mpi = 1e-3, .bytes = 1000};

    for (long i = 0; i < 1000; i++) {
        p.rota = p.taken == 1 ? 1.8e-3 : 5e-4;
        call(&p, u);
    }
    CHECK(p.taken > 800 && u->verdict == ROTA_MPI_TAKEN);
    rota_mpi_usage_destroy(u);
}

/* As fast as MPI within the noise: kept. Where there is no call of the size of
 * any by MPI, there is nothing to compare. */
static void no_difference(void)
{
    program p = {.mpi = 0.1, .rota = 0.101, .bytes = 1000};

    rota_mpi_usage_destroy(run(&p, 100));
    CHECK(made == 1 && p.taken > 90);
    rota_mpi_usage *const u = rota_mpi_usage_make(0);
    p.taken = 0;
    for (long i = 0; i < 100; i++) {
        p.bytes = p.taken ? 1000000 : 1000;
        p.rota = 1;
        call(&p, u);
    }
    CHECK(p.taken > 90 && u->verdict == ROTA_MPI_TAKEN);
    rota_mpi_usage_destroy(u);
}

/* Sizes are compared with their like: large ones by Rota, small ones by MPI. */
static void sizes(void)
{
    rota_mpi_usage *const u = rota_mpi_usage_make(0);
    program p = {0};

    for (long i = 0; i < 100; i++) {
        const double scale = i % 2 ? 1 : 100;
        p.bytes = (size_t)(1000 * scale);
        p.mpi = 0.1 * scale;
        p.rota = (p.taken > 6 ? 0.05 : 0.06) * scale;
        call(&p, u);
    }
    CHECK(u->verdict == ROTA_MPI_TAKEN && p.taken > 90);
    rota_mpi_usage_destroy(u);
}

static void refusals(void)
{
    program p = {.mpi = 0.1, .rota = 0.05, .bytes = 1000};

    room = false;
    rota_mpi_usage_destroy(run(&p, 100));
    CHECK(made == 0 && p.taken == 0);
    room = true;
    make_err = MPI_ERR_OTHER;
    rota_mpi_usage_destroy(run(&p, 100));
    CHECK(made == 1 && p.taken == 0 && explained == 1);
    make_err = MPI_SUCCESS;
}

/* So many calls and no fewer, without a trial. */
static void after(void)
{
    program p = {.mpi = 1e-6, .rota = 1, .bytes = 1000};

    for (settings.after = 0; settings.after < 8; settings.after++) {
        rota_mpi_usage_destroy(run(&p, 100));
        CHECK(made == 1 && p.taken == 100 - settings.after);
    }
    settings.after = ROTA_MPI_BY_COST;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long_calls();
    short_calls();
    slow_plan();
    hopeless_plan();
    unlucky_plan();
    no_difference();
    sizes();
    refusals();
    after();
    has_plans = true;
    long_calls();
    MPI_Finalize();
    return failures > 0;
}
