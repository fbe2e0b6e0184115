/* spec.h - what is to be timed: kinds of plan, and entries of --algos. */
#ifndef BENCH_SPEC_H
#define BENCH_SPEC_H

#include <stdbool.h>

/* Bits, so that a runner can serve several (runners.c). */
typedef enum bench_kind {
    KIND_FIXED = 1,
    KIND_VARYING = 2,
    KIND_EXCHANGE = 4
} bench_kind;

/* One entry of --algos. */
typedef struct algo_spec {
    char name[64];
    char params[128]; /* "key=value:key=value", "" if none */
} algo_spec;

/* Step over the next "key=value" of params. Returns false at the end; key and
 * value point into *rest, which is overwritten. */
bool spec_next_param(char **rest, char **key, char **value);

#endif
