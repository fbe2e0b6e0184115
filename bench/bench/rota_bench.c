/* rota_bench.c - times all-to-all exchanges side by side.
 *
 *   mpiexec -n P rota-bench --sizes 8,512 --algos auto,mpi,mpi_persistent
 *
 * What is measured and how it is verified: measure.c. Options: --help.
 * Exit status: 0; 2 for a command line or an algorithm that cannot be used;
 * a wrong byte or an error in an exchange aborts all ranks.
 */
#define _DEFAULT_SOURCE /* getloadavg, sysconf */

#include "bench/measure.h"
#include "bench/report.h"
#include "common/nodes.h"
#include "common/options.h"
#include "common/replay.h"
#include "common/util.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

/* --block where ranks share cores. After an exchange that spins for a core the
 * scheduler holds the time it took against some of the ranks, and what comes
 * next waits for milliseconds in all until that is settled: on 2 cores 8 ranks
 * took up to 5 ms for an exchange of 0.03 ms after one by MPI, 1 ms for the
 * next. Here the first of many in a row does not count, and the others weigh
 * little in a median. */
#define BLOCK_SHARED_CORES 50

/* ---- where it runs ------------------------------------------------------- */

static void find_nodes(bench_env *env)
{
    const bench_nodes at = nodes_find(env->comm);

    env->nodes = at.nodes;
    env->ranks_per_node = at.ranks_per_node;
    env->oversubscribed = at.oversubscribed;
    env->cores = at.cores;
    env->block = env->opt->block;
    if (env->block == 0)
        env->block = env->oversubscribed ? BLOCK_SHARED_CORES : 1;
}

static void env_create(bench_env *env, const options *opt)
{
    *env = (bench_env){.opt = opt};
    if (getloadavg(&env->load, 1) != 1)
        env->load = -1;
    bench_must(MPI_Comm_dup(MPI_COMM_WORLD, &env->comm), "MPI_Comm_dup");
    bench_must(MPI_Comm_set_errhandler(env->comm, MPI_ERRORS_RETURN),
               "MPI_Comm_set_errhandler");
    bench_must(MPI_Comm_size(env->comm, &env->P), "MPI_Comm_size");
    bench_must(MPI_Comm_rank(env->comm, &env->me), "MPI_Comm_rank");
    find_nodes(env);
    sync_create(&env->sync, env->comm, env->oversubscribed, env->nodes == 1);
}

static void env_destroy(bench_env *env)
{
    sync_destroy(&env->sync);
    bench_must(MPI_Comm_free(&env->comm), "MPI_Comm_free");
}

/* ---- what only rank 0 can find out --------------------------------------- */

/* Rank 0's status and error, on all ranks. */
static int agree(const bench_env *env, int status, char *error, size_t errlen)
{
    bench_must(MPI_Bcast(&status, 1, MPI_INT, 0, env->comm), "MPI_Bcast");
    bench_must(MPI_Bcast(error, (int)errlen, MPI_CHAR, 0, env->comm),
               "MPI_Bcast");
    return status;
}

/* Rank 0 reads the file, since others may not see it. */
static int load_matrix(const bench_env *env, dist *d, char *error,
                       size_t errlen)
{
    const size_t cells = (size_t)env->P * (size_t)env->P;
    int status = 0;

    if (env->me == 0)
        status = dist_read_matrix(d, env->P, error, errlen);
    if (agree(env, status, error, errlen) != 0)
        return -1;
    if (env->me != 0)
        d->matrix = bench_calloc(cells, sizeof *d->matrix);
    bench_must(
        MPI_Bcast(&d->matrix_max, sizeof d->matrix_max, MPI_BYTE, 0, env->comm),
        "MPI_Bcast");
    /* Row by row: the whole may exceed an int. */
    for (size_t i = 0; i < cells; i += (size_t)env->P)
        bench_must(MPI_Bcast(d->matrix + i,
                             (int)((size_t)env->P * sizeof *d->matrix),
                             MPI_BYTE, 0, env->comm),
                   "MPI_Bcast");
    return 0;
}

static int load_matrices(const bench_env *env, options *opt, char *error,
                         size_t errlen)
{
    for (int i = 0; i < opt->n_dists; i++)
        if (opt->dists[i].type == DIST_RECORDED
                ? replay_load(&opt->dists[i], env->comm,
                              opt->kind == KIND_FIXED, &opt->recorded[i], error,
                              errlen) != 0
                : opt->dists[i].path != NULL &&
                      load_matrix(env, &opt->dists[i], error, errlen) != 0)
            return -1;
    return 0;
}

/* ---- the run ------------------------------------------------------------- */

static int run_dist(bench_env *env, report *out, const dist *d, char *error,
                    size_t errlen)
{
    const options *opt = env->opt;
    const bool as_it_is =
        d->recorded != NULL || (d->matrix != NULL && !opt->sizes_given);
    const int n = as_it_is ? 1 : opt->n_sizes;
    bench_cell cell;

    for (int i = 0; i < n; i++) {
        const size_t max_bytes = as_it_is ? d->matrix_max : opt->sizes[i];

        if (measure_cell(env, d, max_bytes, &cell, error, errlen) != 0)
            return -1;
        if (env->me == 0)
            report_cell(out, env, &cell);
    }
    return 0;
}

static int run_all(bench_env *env, report *out, char *error, size_t errlen)
{
    if (env->me == 0)
        report_heading(env);
    for (int i = 0; i < env->opt->n_dists; i++)
        if (run_dist(env, out, &env->opt->dists[i], error, errlen) != 0)
            return -1;
    return 0;
}

/* Returns 0, or -1 on all ranks with rank 0's reason in error. */
static int bench(options *opt, char *error, size_t errlen)
{
    bench_env env;
    report out = {0};
    int status = 0;

    env_create(&env, opt);
    if (env.me == 0)
        status = report_open(&out, opt, error, errlen);
    status = agree(&env, status, error, errlen);
    if (status == 0)
        status = load_matrices(&env, opt, error, errlen);
    if (status == 0)
        status = run_all(&env, &out, error, errlen);
    if (env.me == 0 && report_close(&out, error, errlen) != 0)
        status = -1;
    status = agree(&env, status, error, errlen);
    env_destroy(&env);
    return status;
}

/* What the command line asks for, after it was understood. */
static int act(options *opt, int rank, char *error, size_t errlen)
{
    if (opt->help) {
        if (rank == 0)
            options_help(stdout);
        return 0;
    }
    if (opt->check_json != NULL)
        return rank == 0 ? report_check_json(opt->check_json, error, errlen)
                         : 0;
    return bench(opt, error, errlen);
}

int main(int argc, char *argv[])
{
    char error[1024] = "";
    options opt;
    int P, rank, status;

    if (bench_only_help(argc, argv)) {
        options_help(stdout);
        return EXIT_SUCCESS;
    }
    bench_must(MPI_Init(&argc, &argv), "MPI_Init");
    bench_must(MPI_Comm_size(MPI_COMM_WORLD, &P), "MPI_Comm_size");
    bench_must(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    status = options_parse(argc, argv, P, &opt, error, sizeof error);
    if (status == 0)
        status = act(&opt, rank, error, sizeof error);
    if (status != 0 && rank == 0)
        fprintf(stderr, "rota-bench: %s\n", error);
    options_free(&opt);
    bench_must(MPI_Finalize(), "MPI_Finalize");
    return status == 0 ? EXIT_SUCCESS : EXIT_USAGE;
}
