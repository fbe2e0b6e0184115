/* env.h - where and for how long rota-tune measures. */
#ifndef BENCH_TUNE_ENV_H
#define BENCH_TUNE_ENV_H

#include "common/options.h"
#include "common/sync.h"
#include "common/util.h"

#include <mpi.h>
#include <stdbool.h>

enum { TUNE_RUNS = 100 };

/* Where rota-tune runs; the same on all ranks but for me. */
typedef struct tune_env {
    MPI_Comm comm; /* of P ranks; returns errors */
    bench_sync sync;
    int P, me;
    options opt; /* sizes, distributions and seed */
    bool quick;
    int runs;        /* of a case, at most TUNE_RUNS */
    double until_us; /* no case is begun later than that */
} tune_env;

/* Comm is a copy of MPI_COMM_WORLD; runs, quick and opt are the caller's.
 * budget_s: seconds, 0 if there is no limit. Collective, both. */
void tune_env_create(tune_env *env, double budget_s);
void tune_env_destroy(tune_env *env);

/* Is there time for another case? Collective. */
bool tune_has_time(tune_env *env);

/* On rank 0: a line that takes the place of the one before, if stderr is a
 * terminal; text is a whole line otherwise. */
BENCH_LIKE_PRINTF void tune_progress(const char *format, ...);

#endif
