/* options.h - the command line. It is fixed: figures are remade from it. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "common/dist.h"
#include "common/exchange.h"
#include "common/memory.h"
#include "common/spec.h"
#include "common/touch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OPTIONS_MAX_LIST = 128 };

typedef struct options {
    int P; /* number of ranks */
    bench_kind kind;
    const char *kind_name;
    bool bounded; /* plans of kind varying or exchange are told --sizes */
    const char *bound_name; /* "" for kind fixed */
    const bench_mem *mem;
    size_t sizes[OPTIONS_MAX_LIST];
    int n_sizes;
    bool sizes_given; /* else they are the default, not for matrices */
    dist dists[OPTIONS_MAX_LIST];
    void *recorded[OPTIONS_MAX_LIST]; /* what is read of them; owned */
    int n_dists;
    algo_spec algos[OPTIONS_MAX_LIST];
    int n_algos;
    int iters, warmup;
    int inits;  /* timed pairs of init and free, of which the median counts */
    int block;  /* iterations in a row by one algorithm; 0: by the machine */
    int starts; /* exchanges of an iteration, without a barrier between them */
    bench_touch touch; /* of memory that the host may touch, else none */
    const char *touch_name;
    size_t between; /* bytes of other memory written between exchanges */
    uint64_t seed;
    double time_limit; /* seconds of a cell, 0 if there is none */
    const char *json, *csv, *check_json; /* paths or NULL */
    bool switches;                       /* are counted */
    bool help;
    char *storage; /* that texts of dists point into; owned */
} options;

/* Parse argv[1] to argv[argc-1], for P ranks, with defaults for what is not
 * given. Returns 0, or -1 with the reason in error [errlen]; options_free in
 * either case. Local, no MPI. */
int options_parse(int argc, char *argv[], int P, options *o, char *error,
                  size_t errlen);
void options_free(options *o);

void options_help(FILE *out);

/* What the buffers of a cell are made by. */
static inline exchange_form options_form(const options *o)
{
    return (exchange_form){o->kind, o->bounded, o->seed, o->mem};
}

#endif
