/* measure.h - one cell of the benchmark: a distribution and a size, all
 * algorithms side by side. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "common/dist.h"
#include "common/options.h"
#include "common/runners.h"
#include "common/sync.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Where it runs; the same on all ranks. */
typedef struct bench_env {
    const options *opt;
    MPI_Comm comm; /* returns errors; all exchanges run on it */
    bench_sync sync;
    int P, me;
    int nodes, ranks_per_node; /* the latter of the fullest node */
    int cores;                 /* of the smallest node */
    bool oversubscribed;       /* more ranks than cores on some node */
    int block; /* iterations of one algorithm before the next takes its turn */
    double load; /* runnable processes on rank 0's node before the run, mean
                    of a minute; negative if not known */
} bench_env;

/* Context switches, as the kernel counts them. */
typedef enum bench_switch {
    SWITCH_VOLUNTARY,   /* to sleep */
    SWITCH_INVOLUNTARY, /* a yield, or the end of a time slice */
    N_SWITCHES
} bench_switch;

/* Times are maxima over ranks; NAN where there is nothing to tell. */
typedef struct bench_result {
    const algo_spec *spec;
    double median_us, p10_us, p90_us;
    /* Median of an exchange, of reading what came and writing what is sent
     * next, less the latter two by themselves; NAN without --touch. */
    double step_us;
    double init_us;
    double break_even_starts;
    double ratio_to_mpi, ratio_to_mpi_persistent;
    double part_us[N_PARTS]; /* medians of runner_parts */
    double ratio_to_bound;   /* copies of stage_bound, over copies of this */
    double switches[N_SWITCHES]; /* of an exchange, mean over ranks */
    runner_facts facts;
} bench_result;

typedef struct bench_cell {
    const dist *dist;
    size_t max_bytes;
    double total_bytes; /* of all ranks, mean of the timed iterations */
    int iters;          /* that were measured */
    bench_result results[OPTIONS_MAX_LIST]; /* one per entry of --algos */
} bench_cell;

/* Verify, time, verify. Results are right on rank 0. Returns 0, or -1 on all
 * ranks with the reason in error [errlen] if an algorithm cannot be set up;
 * dies on a wrong byte. Collective over env->comm. */
int measure_cell(bench_env *env, const dist *d, size_t max_bytes,
                 bench_cell *cell, char *error, size_t errlen);

#endif
