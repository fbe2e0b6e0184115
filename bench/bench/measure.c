#define _POSIX_C_SOURCE 200809L /* isatty */

#include "bench/measure.h"

#include "common/hash.h"
#include "common/touch.h"
#include "common/util.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Verified exchanges of each algorithm before it is timed: the second one runs
 * a plan that has run before. One more follows after the timing. */
#define VERIFY_BEFORE 2
#define PROGRESS_INTERVAL_US 200000.0

typedef struct cell_run {
    bench_env *env;
    const options *opt;
    exchange x;
    runner *runners; /* [n], as many set up as n_ready says */
    int n, n_ready;
    double *init_us;      /* [n] */
    double *times;        /* [n][opt->iters] */
    double *steps;        /* [n][opt->iters]; NULL: nothing is touched */
    uint64_t stamp;       /* of what was written last */
    unsigned char *other; /* [opt->between] */
    double *parts;        /* [n][N_PARTS][opt->iters]; NULL: not on a device */
    double *switches;     /* [n][N_SWITCHES], of this rank; NULL: not counted */
    double bytes;         /* sent by this rank in timed iterations */
    int done, rows;       /* timed iterations, and the rows they were in */
    bool timed;           /* is this one of them? */
    double began_us, shown_us;
} cell_run;

static double *times_of(const cell_run *run, int a)
{
    return run->times + (size_t)a * (size_t)run->opt->iters;
}

static double *steps_of(const cell_run *run, int a)
{
    return run->steps + (size_t)a * (size_t)run->opt->iters;
}

static double *part_of(const cell_run *run, int a, int part)
{
    const size_t row = (size_t)a * N_PARTS + (size_t)part;

    return run->parts + row * (size_t)run->opt->iters;
}

static double *switches_of(const cell_run *run, int a)
{
    return run->switches + (size_t)a * N_SWITCHES;
}

/* ---- statistics ---------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Linear interpolation between the two closest ranks; sorted [n], n > 0. */
static double quantile(const double *sorted, int n, double q)
{
    const double at = q * (n - 1);
    const int below = (int)at, above = below + 1 < n ? below + 1 : below;

    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

static void sort_doubles(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
}

/* ---- setting up ---------------------------------------------------------- */

static int init_once(runner *r, const exchange *x)
{
    return r->ops->init != NULL ? r->ops->init(r, x) : MPI_SUCCESS;
}

/* The error is of the same class on all ranks: the library agrees on it. */
static int time_inits(cell_run *run, runner *r, double times[])
{
    for (int i = 0; i < run->opt->inits; i++) {
        double began;
        int err;

        sync_barrier(&run->env->sync, false);
        began = sync_now_us();
        err = init_once(r, &run->x);
        if (err != MPI_SUCCESS)
            return err;
        bench_must(r->ops->free(r), r->spec->name);
        times[i] = sync_now_us() - began;
    }
    return MPI_SUCCESS;
}

static int time_init(cell_run *run, runner *r, double *median_us)
{
    const int n = run->opt->inits;
    double *times;
    int err;

    *median_us = NAN;
    if (!r->ops->has_init)
        return MPI_SUCCESS;
    times = bench_calloc((size_t)n, sizeof *times);
    err = time_inits(run, r, times);
    if (err == MPI_SUCCESS) {
        bench_must(MPI_Allreduce(MPI_IN_PLACE, times, n, MPI_DOUBLE, MPI_MAX,
                                 run->env->comm),
                   "MPI_Allreduce");
        sort_doubles(times, n);
        *median_us = quantile(times, n, 0.5);
    }
    free(times);
    return err;
}

static void explain(const algo_spec *spec, int err, char *error, size_t errlen)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    MPI_Error_string(err, text, &length);
    snprintf(error, errlen, "algorithm '%s%s%s': %s", spec->name,
             spec->params[0] != '\0' ? ":" : "", spec->params, text);
}

static int set_up(cell_run *run, char *error, size_t errlen)
{
    for (int a = 0; a < run->n; a++) {
        runner *r = &run->runners[a];
        int err;

        runner_create(r, &run->opt->algos[a], run->opt->kind, run->opt->mem);
        err = time_init(run, r, &run->init_us[a]);
        if (err == MPI_SUCCESS)
            err = init_once(r, &run->x);
        if (err != MPI_SUCCESS) {
            explain(r->spec, err, error, errlen);
            runner_abandon(r);
            return -1;
        }
        run->n_ready++;
    }
    return 0;
}

/* ---- exchanging ---------------------------------------------------------- */

static void run_once(cell_run *run, int a)
{
    runner *r = &run->runners[a];

    bench_must(r->ops->run(r, &run->x), r->spec->name);
}

/* Each exchange has a payload of its own, so that what another algorithm left
 * behind is as wrong as anything else. */
static void verify_step(cell_run *run, uint64_t step)
{
    exchange *x = &run->x;

    exchange_set_step(x, step);
    for (int a = 0; a < run->n; a++) {
        const uint64_t stamp = step * OPTIONS_MAX_LIST + (uint64_t)a;
        runner *r = &run->runners[a];
        char error[256];

        exchange_fill_send(x, stamp);
        exchange_poison_recv(x, stamp);
        if (r->ops->refresh != NULL)
            r->ops->refresh(r, x, stamp);
        sync_barrier(&run->env->sync, false);
        run_once(run, a);
        if (!exchange_verify(x, stamp, error, sizeof error))
            bench_die("%s%s%s, %s, S = %zu, step %llu: %s", r->spec->name,
                      r->spec->params[0] != '\0' ? ":" : "", r->spec->params,
                      x->dist->text, x->max_bytes, (unsigned long long)step,
                      error);
    }
}

/* Another order in every iteration, so that no algorithm always runs in the
 * wake of the same one. The same on all ranks. */
static void shuffle(int *order, int n, uint64_t key)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)(hash_draw(key, (uint64_t)i) % (uint64_t)(i + 1));
        const int moved = order[i];

        order[i] = order[j];
        order[j] = moved;
    }
}

static bool over_limit(const cell_run *run)
{
    return run->opt->time_limit > 0 &&
           sync_now_us() - run->began_us > run->opt->time_limit * 1e6;
}

/* Iterations in a row by one algorithm, the same ones for all: n of them, of
 * which those from skip on are timed. */
typedef struct turn {
    uint64_t step; /* of the first */
    int n, skip;
} turn;

/* Add what this process has had so far, times sign, in an iteration that is timed. */
static void count_switches(const cell_run *run, int a, double sign)
{
    struct rusage usage;

    if (!run->timed || run->switches == NULL ||
        getrusage(RUSAGE_SELF, &usage) != 0)
        return;
    switches_of(run, a)[SWITCH_VOLUNTARY] += sign * (double)usage.ru_nvcsw;
    switches_of(run, a)[SWITCH_INVOLUNTARY] += sign * (double)usage.ru_nivcsw;
}

/* ---- touching ------------------------------------------------------------ */

/* A bare copy takes from a source of its own, laid out as what is received. */
static touch_blocks sent_blocks(const cell_run *run, int a)
{
    const exchange *x = &run->x;
    unsigned char *source = run->runners[a].source;

    if (source != NULL)
        return (touch_blocks){source, x->recvcounts, x->rdispls, x->P};
    return (touch_blocks){x->sendbuf, x->sendcounts, x->sdispls, x->P};
}

/* Until what was written is this core's: stores that still wait for a line would
 * not show in the time. */
static void write_sent(cell_run *run, int a)
{
    const touch_blocks sent = sent_blocks(run, a);

    if (!(run->opt->touch & TOUCH_SEND))
        return;
    touch_write(&sent, ++run->stamp);
    atomic_thread_fence(memory_order_seq_cst);
}

static void read_received(const cell_run *run)
{
    const exchange *x = &run->x;
    const touch_blocks received = {x->recvbuf, x->recvcounts, x->rdispls, x->P};

    if (run->opt->touch & TOUCH_RECV)
        touch_read(&received);
}

/* Other work on other memory, which takes the place of this in the caches. */
static void work_between(cell_run *run)
{
    const int bytes = (int)run->opt->between, none = 0;
    const touch_blocks other = {run->other, &bytes, &none, 1};

    if (bytes > 0)
        touch_write(&other, run->stamp);
}

/* All as it stands between two exchanges. */
static void touch(cell_run *run, int a)
{
    read_received(run);
    work_between(run);
    write_sent(run, a);
}

/* ---- timing -------------------------------------------------------------- */

/* Of one exchange, mean of those of an iteration; step_us: with what is touched
 * after it, less the same touching when no exchange went before. */
typedef struct taken {
    double exchange_us, step_us;
} taken;

static taken run_untouched(cell_run *run, int a)
{
    const int starts = run->opt->starts;

    count_switches(run, a, -1);
    const double began = sync_now_us();
    for (int k = 0; k < starts; k++)
        run_once(run, a);
    const double took = (sync_now_us() - began) / starts;
    count_switches(run, a, 1);
    return (taken){took, NAN};
}

/* The last touching finds everything as the one before has left it. An exchange
 * and its touching have two looks at the clock in them, the last touching one: so
 * step_us has one, as exchange_us has. */
static taken run_touched(cell_run *run, int a)
{
    const int starts = run->opt->starts;

    count_switches(run, a, -1);
    const double began = sync_now_us();
    double exchanges = 0, now = began;
    for (int k = 0; k < starts; k++) {
        const double before = now;

        run_once(run, a);
        exchanges += sync_now_us() - before;
        touch(run, a);
        now = sync_now_us();
    }
    count_switches(run, a, 1);
    touch(run, a);
    const double alone = sync_now_us() - now;
    return (taken){exchanges / starts, (now - began) / starts - alone};
}

/* Touch n times, each time after an exchange or not. Returns how long that takes
 * until the last rank is done, from when the last was before. */
static double time_all(cell_run *run, int a, bool exchanging, int n)
{
    bench_sync *const sync = &run->env->sync;
    const double began = sync_last_us(sync);

    for (int k = 0; k < n; k++) {
        if (exchanging)
            run_once(run, a);
        touch(run, a);
    }
    sync_barrier(sync, false);
    return sync_last_us(sync) - began;
}

/* Where ranks share cores, a rank that is done goes on while others of its core
 * still exchange, so that one rank's time has another's work in it, and how long
 * ranks take to wake after a barrier. So it is the time of all ranks together, as
 * far as the next barrier, less the same without an exchange. */
static taken run_sharing(cell_run *run, int a)
{
    const int starts = run->opt->starts;

    count_switches(run, a, -1);
    const double with = time_all(run, a, true, starts);
    count_switches(run, a, 2);
    const double step = (with - time_all(run, a, false, starts)) / starts;
    count_switches(run, a, -1);
    return (taken){step, step};
}

static taken run_iteration(cell_run *run, int a)
{
    return sync_sleeps(&run->env->sync) ? run_sharing(run, a)
           : run->steps == NULL         ? run_untouched(run, a)
                                        : run_touched(run, a);
}

/* Times go to the columns after those that are done. Returns, the same on all
 * ranks, whether some rank found the time over. */
static bool run_turn(cell_run *run, const turn *t, int a, bool over)
{
    for (int i = 0; i < t->n; i++) {
        taken took;

        exchange_set_step(&run->x, t->step + (uint64_t)i);
        write_sent(run, a);
        over = sync_barrier(&run->env->sync, over);
        run->timed = i >= t->skip;
        took = run_iteration(run, a);
        if (!run->timed)
            continue;
        times_of(run, a)[run->done + i - t->skip] = took.exchange_us;
        if (run->steps != NULL)
            steps_of(run, a)[run->done + i - t->skip] = took.step_us;
    }
    return over;
}

/* A turn of every algorithm. Returns as run_turn. */
static bool run_row(cell_run *run, const turn *t)
{
    int order[OPTIONS_MAX_LIST];
    bool over = over_limit(run);

    shuffle(order, run->n, hash_draw(run->opt->seed, t->step));
    for (int k = 0; k < run->n; k++)
        over = run_turn(run, t, order[k], over);
    return over;
}

/* Of everyone's last run in a row. Plans have to be asked at length, which
 * leaves caches to no algorithm's advantage only if it is done after a row. */
static void keep_parts(cell_run *run)
{
    double part_us[N_PARTS];

    for (int a = 0; a < run->n; a++) {
        runner_parts(&run->runners[a], part_us);
        for (int i = 0; i < N_PARTS; i++)
            part_of(run, a, i)[run->rows] = part_us[i];
    }
}

static void show_progress(cell_run *run)
{
    const double now = sync_now_us();

    if (run->env->me != 0 || now - run->shown_us < PROGRESS_INTERVAL_US ||
        !isatty(STDERR_FILENO))
        return;
    run->shown_us = now;
    fprintf(stderr, "\r%s, S = %zu: iteration %d of %d ", run->x.dist->text,
            run->x.max_bytes, run->done, run->opt->iters);
    fflush(stderr);
}

static void hide_progress(const cell_run *run)
{
    if (run->env->me == 0 && run->shown_us > 0)
        fprintf(stderr, "\r%60s\r", "");
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/* The first of several in a row follows another algorithm: not counted. */
static int not_counted(const bench_env *env)
{
    return env->block > 1;
}

/* Of all turns, at most. */
static uint64_t count_steps(const bench_env *env)
{
    const int skip = not_counted(env), timed = env->block - skip;
    const uint64_t turns = (uint64_t)((env->opt->iters - 1) / timed) + 1;

    return (uint64_t)env->opt->warmup + (uint64_t)env->opt->iters +
           turns * (uint64_t)skip;
}

static void count_bytes(cell_run *run, const turn *t)
{
    for (int i = t->skip; i < t->n; i++) {
        exchange_set_step(&run->x, t->step + (uint64_t)i);
        run->bytes += (double)run->x.send_bytes;
    }
}

/* A time limit ends the warm-up, and the timing after at least one row. */
static void time_rows(cell_run *run, uint64_t step)
{
    const int block = run->env->block, skip = not_counted(run->env);
    const options *opt = run->opt;
    bool over = false;

    for (int i = 0; i < opt->warmup && !over; i += block) {
        const int n = min_int(block, opt->warmup - i);

        over = run_row(run, &(turn){step + (uint64_t)i, n, n});
    }
    step += (uint64_t)opt->warmup;
    for (over = false; run->done < opt->iters && !over;) {
        const int n = min_int(block, opt->iters - run->done + skip);
        const turn t = {step, n, skip};

        over = run_row(run, &t);
        count_bytes(run, &t);
        if (run->parts != NULL)
            keep_parts(run);
        run->done += n - skip;
        run->rows++;
        step += (uint64_t)n;
        show_progress(run);
    }
    hide_progress(run);
}

/* ---- results ------------------------------------------------------------- */

/* On rank 0, the maximum over all ranks of n values. */
static void reduce(const cell_run *run, double *values, int n, MPI_Op op)
{
    const void *from = run->env->me == 0 ? MPI_IN_PLACE : values;

    bench_must(MPI_Reduce(from, values, n, MPI_DOUBLE, op, 0, run->env->comm),
               "MPI_Reduce");
}

static const bench_result *find_named(const bench_cell *cell, int n,
                                      const char *name)
{
    for (int a = 0; a < n; a++)
        if (strcmp(cell->results[a].spec->name, name) == 0)
            return &cell->results[a];
    return NULL;
}

static double median_named(const bench_cell *cell, int n, const char *name)
{
    const bench_result *result = find_named(cell, n, name);

    return result != NULL ? result->median_us : NAN;
}

static double copies_us(const bench_result *result)
{
    return result->part_us[PART_DOWN] + result->part_us[PART_UP];
}

/* Comparisons with what was not measured are NAN, as any arithmetic with NAN
 * is. */
static void compare(bench_cell *cell, int n)
{
    const double mpi = median_named(cell, n, "mpi");
    const double persistent = median_named(cell, n, "mpi_persistent");
    const bench_result *bound = find_named(cell, n, "stage_bound");
    const double bound_us = bound != NULL ? copies_us(bound) : NAN;

    for (int a = 0; a < n; a++) {
        bench_result *result = &cell->results[a];
        /* It may be below 0, as a difference (run_sharing). */
        const double us = result->median_us > 0 ? result->median_us : NAN;
        const double gain = mpi - us;

        result->ratio_to_mpi = mpi / us;
        result->ratio_to_mpi_persistent = persistent / us;
        result->ratio_to_bound = bound_us / copies_us(result);
        result->break_even_starts =
            gain > 0 ? ceil(result->init_us / gain) : NAN;
    }
}

/* Of the slowest rank; of n values there, which are sorted. */
static double median_over_ranks(const cell_run *run, double *values, int n)
{
    reduce(run, values, n, MPI_MAX);
    sort_doubles(values, n);
    return quantile(values, n, 0.5);
}

static void collect_parts(cell_run *run, int a, bench_result *result)
{
    for (int i = 0; i < N_PARTS; i++) {
        double us = NAN;

        if (run->parts != NULL)
            us = median_over_ranks(run, part_of(run, a, i), run->rows);
        result->part_us[i] = us >= 0 ? us : NAN;
    }
}

static void collect_switches(cell_run *run, int a, bench_result *result)
{
    const double exchanges = (double)run->done * run->opt->starts;

    for (int i = 0; i < N_SWITCHES; i++)
        result->switches[i] = NAN;
    if (run->switches == NULL)
        return;
    reduce(run, switches_of(run, a), N_SWITCHES, MPI_SUM);
    for (int i = 0; i < N_SWITCHES; i++)
        result->switches[i] =
            switches_of(run, a)[i] / (run->env->P * exchanges);
}

static void collect(cell_run *run, bench_cell *cell)
{
    reduce(run, &run->bytes, 1, MPI_SUM);
    cell->total_bytes = run->bytes / run->done;
    cell->iters = run->done;
    for (int a = 0; a < run->n; a++) {
        bench_result *result = &cell->results[a];
        double *times = times_of(run, a);

        result->spec = run->runners[a].spec;
        result->median_us = median_over_ranks(run, times, run->done);
        result->p10_us = quantile(times, run->done, 0.1);
        result->p90_us = quantile(times, run->done, 0.9);
        result->step_us =
            run->steps != NULL
                ? median_over_ranks(run, steps_of(run, a), run->done)
                : NAN;
        result->init_us = run->init_us[a];
        collect_parts(run, a, result);
        collect_switches(run, a, result);
        runner_describe(&run->runners[a], run->env->comm, &result->facts);
    }
    compare(cell, run->n);
}

static void tear_down(cell_run *run)
{
    for (int a = 0; a < run->n_ready; a++)
        runner_destroy(&run->runners[a]);
    exchange_destroy(&run->x);
    free(run->runners);
    free(run->init_us);
    free(run->times);
    free(run->steps);
    free(run->other);
    free(run->parts);
    free(run->switches);
}

static void make_room(cell_run *run)
{
    const options *opt = run->opt;
    const size_t n = (size_t)run->n, iters = (size_t)opt->iters;

    run->runners = bench_calloc(n, sizeof *run->runners);
    run->init_us = bench_calloc(n, sizeof *run->init_us);
    run->times = bench_calloc(n * iters, sizeof *run->times);
    if (opt->touch != TOUCH_NONE)
        run->steps = bench_calloc(n * iters, sizeof *run->steps);
    if (opt->between > 0)
        run->other = bench_calloc(opt->between, 1);
    if (opt->mem->copy != NULL)
        run->parts = bench_calloc(n * N_PARTS * iters, sizeof *run->parts);
    if (opt->switches)
        run->switches = bench_calloc(n * N_SWITCHES, sizeof *run->switches);
}

int measure_cell(bench_env *env, const dist *d, size_t max_bytes,
                 bench_cell *cell, char *error, size_t errlen)
{
    const options *opt = env->opt;
    const exchange_form form = options_form(opt);
    const uint64_t first_row = VERIFY_BEFORE;
    const uint64_t last = first_row + count_steps(env);
    cell_run run = {.env = env, .opt = opt, .n = opt->n_algos};
    int status;

    *cell = (bench_cell){.dist = d, .max_bytes = max_bytes};
    exchange_create(&run.x, env->comm, &form, d, max_bytes, last + 1);
    make_room(&run);
    status = set_up(&run, error, errlen);
    if (status == 0) {
        for (uint64_t step = 0; step < first_row; step++)
            verify_step(&run, step);
        run.began_us = sync_now_us();
        time_rows(&run, first_row);
        verify_step(&run, last);
        collect(&run, cell);
    }
    tear_down(&run);
    return status;
}
