/* calibrate.c - see calibrate.h.
 *
 * Each case is an algorithm and a size. Its plan is timed from start to wait,
 * the median of the slowest rank, between exchanges that a host writes and reads as
 * programs do; the plan itself tells what each rank does, as counts of terms.
 */
#include "tune/calibrate.h"

#include "common/runners.h"
#include "common/touch.h"
#include "common/util.h"
#include "plan/kinds/describe.h"
#include "plan/ranks/comm.h"
#include "tune/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Between them, all terms that a single communicator has: direct and forwarded
 * blocks, one message at a time and many, large and small, by shared memory, by
 * MPI and in MPI's own collective, and messages of sizes. */
static const algo_spec specs[] = {
    {"spread_out", ""},
    {"pairwise", ""},
    {"scattered", "batch=4"},
    {"multi_pair", ""},
    {"parlogna", "radix=2"},
    {"parlogna", "radix=4"},
    {"parlogna", "radix=8"},
    {"parlogna", "radix=2:metadata=two_phase"},
    {"padded_bruck", ""},
    {"parlogna", "radix=32"},
    {"parlinna_coalesced", "radix=2"},
    {"parlinna_coalesced", "radix=8"},
    {"parlinna_coalesced", "radix=32"},
    {"parlinna_staggered", "radix=2"},
    {"mpml", "leaders=2"},
    {"shared_leaders", "leaders=4"},
    {"onmpml", "leaders=4"},
    {"rota_mpi", ""},
    {"spread_out", "intranode=shm"},
    {"spread_out", "intranode=p2p"},
    {"pairwise", "intranode=p2p"},
    {"parlogna", "radix=2:intranode=p2p"},
    {"parlogna", "radix=4:intranode=p2p"},
};

/* Few copies and many, from device to device and by way of the host. */
static const algo_spec device_specs[] = {
    {"spread_out", "device=cuda_ipc"},
    {"multi_pair", "device=cuda_ipc"},
    {"pairwise", "device=cuda_ipc"},
    {"spread_out", "device=copy_to_cpu"},
    {"multi_pair", "device=copy_to_cpu"},
    {"parlogna", "radix=2:device=copy_to_cpu"},
    {"parlogna", "radix=8:device=copy_to_cpu"},
};

/* What is run, and of which terms the prices are sought: from first on. */
typedef struct suite {
    const algo_spec *spec;
    int n, first;
} suite;
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))
static const suite host_suite = {specs, COUNT(specs), 0};
static const suite device_suite = {device_specs, COUNT(device_specs),
                                   ROTA_TERM_DEVICE_COPY};

enum { WARMUP = 3, LEAST = 7, PASSES = 6 };

/* A few runs ask for times that do not vary, which need no warming up. Times of
 * one case are taken for no longer than that, unless for fewer than
 * LEAST runs. */
static double case_us(const tune_env *env)
{
    return env->quick ? 2e4 : 2e5;
}

/* What ranks do is told by all of them or, if there are many, a sample. */
typedef struct results {
    const suite *of;
    int n;
    fit_sample *sample;              /* [n] */
    MPI_Comm telling;                /* MPI_COMM_NULL on the other ranks */
    int n_telling;                   /* ranks in it */
    rota_terms *rank;                /* [n][n_telling][ROTA_STEPS], on rank 0 */
    double load;                     /* ranks per core */
    const algo_spec **spec;          /* [n] */
    int begin[OPTIONS_MAX_LIST + 1]; /* of each size; the last is n */
} results;

/* ---- one case ------------------------------------------------------------ */

/* Read what came, and write what is sent next. */
static void touch(const exchange *x, uint64_t stamp)
{
    const touch_blocks received = {x->recvbuf, x->recvcounts, x->rdispls, x->P};
    const touch_blocks sent = {x->sendbuf, x->sendcounts, x->sdispls, x->P};

    touch_read(&received);
    touch_write(&sent, stamp);
}

/* Of the slowest rank; nanoseconds. */
static double time_runs(tune_env *env, runner *r, const exchange *x)
{
    const double stop = sync_now_us() + case_us(env);
    double us[TUNE_RUNS];
    int n = 0;

    for (int i = env->runs > LEAST ? -WARMUP : 0; i < env->runs; i++) {
        if (!env->opt.mem->copy)
            touch(x, (uint64_t)(i + WARMUP));
        if (sync_barrier(&env->sync, i >= LEAST && sync_now_us() > stop))
            break;
        const double began = sync_now_us();
        bench_must(r->ops->run(r, x), r->spec->name);
        if (i >= 0)
            us[n++] = sync_now_us() - began;
    }
    bench_must(
        MPI_Allreduce(MPI_IN_PLACE, us, n, MPI_DOUBLE, MPI_MAX, env->comm),
        "MPI_Allreduce");
    return 1e3 * bench_median(us, n);
}

/* Of case i, [n_telling][ROTA_STEPS]; NULL but on rank 0. */
static rota_terms *terms_of(const results *all, int i)
{
    return all->rank
               ? all->rank + (size_t)i * (size_t)all->n_telling * ROTA_STEPS
               : NULL;
}

static void count_terms(const runner *r, results *all)
{
    enum { N = ROTA_STEPS * ROTA_N_TERMS };
    rota_terms step[ROTA_STEPS];

    if (all->telling == MPI_COMM_NULL)
        return;
    rota_plan_terms(r->plan, step);
    all->load = rota_comm_load(r->plan->comm);
    bench_must(MPI_Gather(step, N, MPI_DOUBLE, terms_of(all, all->n), N,
                          MPI_DOUBLE, 0, all->telling),
               "MPI_Gather");
}

/* The next one of all, if the algorithm is for this number of ranks. */
static void run_case(tune_env *env, const algo_spec *spec, size_t size,
                     results *all)
{
    const exchange_form form = options_form(&env->opt);
    fit_sample *const sample = &all->sample[all->n];
    exchange x;
    runner r;

    exchange_create(&x, env->comm, &form, &env->opt.dists[0], size, 1);
    exchange_fill_send(&x, 1);
    runner_create(&r, spec, KIND_FIXED, env->opt.mem);
    if (r.ops->init(&r, &x) == MPI_SUCCESS) {
        sample->ns = time_runs(env, &r, &x);
        count_terms(&r, all);
        if (sample->ns > 0)
            all->spec[all->n++] = spec;
        runner_destroy(&r);
    } else {
        runner_abandon(&r);
    }
    exchange_destroy(&x);
}

/* ---- all of them --------------------------------------------------------- */

static void report_part(const char *what, const results *all, int begin,
                        int end, const rota_machine *machine)
{
    const fit_sample *const sample = all->sample + begin;
    int worst;

    if (begin == end)
        return;
    const double median = fit_errors(sample, end - begin, machine, &worst);
    printf("%10s %5d %11.1f %% %9.1f %% %6.2f   %s %s\n", what, end - begin,
           100 * median, 100 * fit_error(&sample[worst], machine),
           fit_order(sample, end - begin, machine),
           all->spec[begin + worst]->name, all->spec[begin + worst]->params);
}

static void report(const tune_env *env, const results *all,
                   const rota_machine *machine)
{
    char size[24];

    printf("size bytes  runs error, median       worst  order   worst is\n");
    for (int s = 0; s < env->opt.n_sizes; s++) {
        snprintf(size, sizeof size, "%zu", env->opt.sizes[s]);
        report_part(size, all, all->begin[s], all->begin[s + 1], machine);
    }
    report_part("all", all, 0, all->n, machine);
}

/* Of one size: that the fast ones are told apart is worth most. */
static void weigh(fit_sample sample[], int n)
{
    double least = HUGE_VAL;

    for (int i = 0; i < n; i++)
        least = fmin(least, sample[i].ns);
    for (int i = 0; i < n; i++)
        sample[i].weight = least / sample[i].ns;
}

static void run_size(tune_env *env, int s, results *all)
{
    const size_t size = env->opt.sizes[s];

    for (int i = 0; i < all->of->n && tune_has_time(env); i++) {
        const algo_spec *const spec = &all->of->spec[i];
        if (env->me == 0)
            tune_progress("calibrating %d of %d: %zu bytes, %s %s",
                          s * all->of->n + i + 1, env->opt.n_sizes * all->of->n,
                          size, spec->name, spec->params);
        run_case(env, spec, size, all);
    }
    all->begin[s + 1] = all->n;
    weigh(all->sample + all->begin[s], all->n - all->begin[s]);
}

static void combine(const results *all, const rota_machine *machine)
{
    for (int i = 0; i < all->n; i++)
        fit_combine(terms_of(all, i), all->n_telling, all->load, machine,
                    &all->sample[i].terms);
}

/* What takes longest in a phase depends on the prices sought, so that they are
 * fitted several times; of all, those that fit best are kept. They stay in the
 * neighbourhood of where they start. */
static void fit_from(const results *all, const rota_machine *before,
                     rota_machine now, double *least, rota_machine *machine)
{
    combine(all, &now);
    for (int pass = 0; pass < PASSES; pass++) {
        fit_machine(all->sample, all->n, all->of->first, before, &now);
        combine(all, &now);
        const double loss = fit_loss(all->sample, all->n, &now);
        if (loss < *least)
            *machine = now;
        *least = fmin(*least, loss);
    }
}

/* Prices of a host are sought where paths between nodes hold nothing up, and
 * where they do. */
static void fit(const results *all, const rota_machine *before,
                rota_machine *machine)
{
    const double path[] = {0, 4}; /* by the price of a byte at the port */
    const bool host = all->of == &host_suite;
    double least = HUGE_VAL;

    for (int i = 0; i < (host ? COUNT(path) : 1); i++) {
        rota_machine start = *before;
        if (host)
            start.ns[ROTA_TERM_PATH_BYTE] =
                path[i] * before->ns[rota_term(ROTA_LINK_NET, ROTA_PER_BYTE)];
        fit_from(all, before, start, &least, machine);
    }
    combine(all, machine);
}

/* Collective, as free_results is for the ranks that tell. */
static void make_results(const tune_env *env, results *all)
{
    const suite *const of = env->opt.mem->copy ? &device_suite : &host_suite;
    const size_t most = (size_t)env->opt.n_sizes * (size_t)of->n;
    const int stride = bench_stride(env->P);
    const bool tells = env->me % stride == 0;

    *all = (results){
        .of = of,
        .sample = bench_calloc(most, sizeof *all->sample),
        .n_telling = (env->P - 1) / stride + 1,
        .spec = bench_calloc(most, sizeof *all->spec),
    };
    if (env->me == 0)
        all->rank = bench_calloc(most * (size_t)all->n_telling * ROTA_STEPS,
                                 sizeof *all->rank);
    bench_must(MPI_Comm_split(env->comm, tells ? 0 : MPI_UNDEFINED, env->me,
                              &all->telling),
               "MPI_Comm_split");
}

static void free_results(results *all)
{
    if (all->telling != MPI_COMM_NULL)
        bench_must(MPI_Comm_free(&all->telling), "MPI_Comm_free");
    free(all->sample);
    free(all->rank);
    free(all->spec);
}

bool calibrate(tune_env *env, const rota_machine *before, rota_machine *machine)
{
    results all;

    make_results(env, &all);
    *machine = *before;
    for (int s = 0; s < env->opt.n_sizes; s++)
        run_size(env, s, &all);
    if (all.n > 0 && env->me == 0) {
        fit(&all, before, machine);
        report(env, &all, machine);
    }
    bench_must(MPI_Bcast(machine->ns, ROTA_N_TERMS, MPI_DOUBLE, 0, env->comm),
               "MPI_Bcast");
    free_results(&all);
    return all.n > 0;
}
