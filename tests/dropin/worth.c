/* worth.c - when the drop-in makes a plan and when it drops one, with a clock that
 * is made up: src/mpi/worth.c and decide.c, and stubs for what the latter calls.
 */
#include "mpi/decide.h"
#include "mpi/plans.h"
#include "mpi/sync.h"
#include "plan/inside.h"

#include <math.h>
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
static rota_mpi_group group = {.P = 1};
static bool room = true, plans_before;
static int make_err, made, destroyed, explained;
/* plan_takes: the first of the process; others a fifth. */
static double now, plan_takes = 5e-3;

double rota_mpi_clock(void)
{
    return now;
}

int rota_wait_request(MPI_Comm comm, MPI_Request *request)
{
    (void)comm;
    return MPI_Wait(request, MPI_STATUS_IGNORE);
}

void *rota_mpi_alloc(size_t n, size_t bytes)
{
    return calloc(n, bytes);
}

double rota_ranks_per_core(void)
{
    return 1;
}

int rota_mpi_barrier(MPI_Comm comm)
{
    (void)comm;
    return MPI_SUCCESS;
}

bool rota_mpi_group_has_room(const rota_mpi_group *g)
{
    (void)g;
    return room;
}

bool rota_mpi_args_plain(const rota_mpi_args *a)
{
    (void)a;
    return true;
}

size_t rota_mpi_args_bytes(const rota_mpi_args *a)
{
    (void)a;
    return 80;
}

int rota_mpi_group_make(rota_mpi_group *g, rota_mpi_usage *u,
                        const rota_mpi_args *args,
                        const rota_mpi_sample *sample)
{
    (void)g;
    (void)args;
    (void)sample;
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

/* Seconds of a call by MPI and by Rota, and of computing before it; every tenth is
 * interrupted, unless it is quiet. */
typedef struct program {
    double mpi, rota, between;
    size_t bytes;
    bool quiet;
    int taken; /* calls by Rota */
} program;

static void call(program *p, rota_mpi_usage *u)
{
    rota_mpi_question question;
    const bool rota = rota_mpi_decide(u, &group, &args, &question);
    const double pause = !p->quiet && u->tally.calls % 10 == 0 ? 1 : 0;
    const double takes = (rota ? p->rota : p->mpi) + pause;

    p->taken += rota;
    CHECK(!rota || u->run);
    now += p->between + takes;
    if (rota_mpi_worth_is_timed(&u->worth, u->tally.calls - 1))
        rota_mpi_worth_time(&u->worth, u->tally.calls - 1, p->bytes, takes);
    rota_mpi_decided(&question);
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

/* 100 ms a call: a plan pays soon, and it is kept. */
static void long_calls(void)
{
    program p = {.mpi = 0.1, .rota = 0.05, .bytes = 1000000};
    rota_mpi_usage *const u = run(&p, 1000);

    CHECK(made == 1 && p.taken >= 900 && rota_mpi_worth_takes(&u->worth, 1000));
    destroy(u);
    CHECK(destroyed == 1);
}

/* Microseconds: not in a hundred calls, but in a hundred thousand. */
static void short_calls(void)
{
    program p = {.mpi = 1e-6, .rota = 5e-7, .bytes = 8, .quiet = true};

    destroy(run(&p, 100));
    CHECK(made == 0 && p.taken == 0);
    rota_mpi_usage *const u = run(&p, 100000);
    CHECK(made == 1 && p.taken > 50000);
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

/* MPI has the calls; the plan is kept, as it is tried again. */
static void slow_plan(void)
{
    program p = {.mpi = 0.1, .rota = 0.4, .bytes = 1000};
    rota_mpi_usage *const u = run(&p, 10000);

    CHECK(made == 1 && destroyed == 0 && p.taken > 0 && p.taken <= 100);
    CHECK(u->worth.verdict == ROTA_MPI_LEFT && u->run);
    destroy(u);
}

/* A program that computes most of the time, and whose exchanges Rota would not make
 * shorter: at no time has it lost more than 2 %. */
static void rare_calls(void)
{
    program p = {.mpi = 1e-4,
                 .rota = 1.5e-4,
                 .between = 4e-4,
                 .bytes = 50000,
                 .quiet = true};
    rota_mpi_usage *const u = make_usage();
    const double begin = now, takes = plan_takes;
    double most = 0;

    made = 0;
    plans_before = false;
    plan_takes = 1e-3;
    for (int i = 0; i < 20000; i++) {
        call(&p, u);
        const double lost = made * plan_takes + p.taken * (p.rota - p.mpi);
        most = fmax(most, lost / (now - begin));
    }
    CHECK(made == 1 && p.taken > 0 && most <= 0.02);
    plan_takes = takes;
    destroy(u);
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

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    rare_calls(); /* the first, before anything is known */
    long_calls();
    short_calls();
    slow_plan();
    refusals();
    after();
    MPI_Finalize();
    return failures > 0;
}
