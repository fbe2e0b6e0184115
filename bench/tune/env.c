#include "tune/env.h"

#include "common/nodes.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void tune_env_create(tune_env *env, double budget_s)
{
    bench_must(MPI_Comm_dup(MPI_COMM_WORLD, &env->comm), "MPI_Comm_dup");
    bench_must(MPI_Comm_set_errhandler(env->comm, MPI_ERRORS_RETURN),
               "MPI_Comm_set_errhandler");
    bench_must(MPI_Comm_size(env->comm, &env->P), "MPI_Comm_size");
    bench_must(MPI_Comm_rank(env->comm, &env->me), "MPI_Comm_rank");
    const bench_nodes at = nodes_find(env->comm);
    sync_create(&env->sync, env->comm, at.oversubscribed, at.nodes == 1);
    env->until_us = budget_s > 0 ? sync_now_us() + 1e6 * budget_s : HUGE_VAL;
}

void tune_env_destroy(tune_env *env)
{
    sync_destroy(&env->sync);
    bench_must(MPI_Comm_free(&env->comm), "MPI_Comm_free");
}

bool tune_has_time(tune_env *env)
{
    return !sync_barrier(&env->sync, sync_now_us() > env->until_us);
}

void tune_progress(const char *format, ...)
{
    const bool terminal = isatty(STDERR_FILENO);
    va_list args;

    va_start(args, format);
    fputs(terminal ? "\r\033[K" : "", stderr);
    vfprintf(stderr, format, args);
    fputs(terminal ? "" : "\n", stderr);
    fflush(stderr);
    va_end(args);
}
