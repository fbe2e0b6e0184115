/* calibrate.h - what this machine's messages and copies cost. */
#ifndef BENCH_CALIBRATE_H
#define BENCH_CALIBRATE_H

#include "choose/cost.h"
#include "common/exchange.h"
#include "common/sync.h"
#include "common/util.h"

#include <stdbool.h>
#include <stdio.h>

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

/* Is there time for another case? Collective. */
bool tune_has_time(tune_env *env);

/* On rank 0: a line that takes the place of the one before, if stderr is a
 * terminal; text is a whole line otherwise. */
BENCH_LIKE_PRINTF void tune_progress(const char *format, ...);

/* Run fixed plans of several algorithms at env's sizes, and fit prices to what
 * they took: with memory of a device those of its copies, else all others. Rank
 * 0 prints how well they fit. before: what is kept where measurements tell
 * nothing. False if nothing could be run. Collective. */
bool calibrate(tune_env *env, const rota_machine *before,
               rota_machine *machine);

#endif
