/* sweep.h - parameters with several values, for entries of --algos that stand
 * for several. */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include <stddef.h>

/* Take one choice of values, "key=value:key=value", with context; 0 to go on. */
typedef int (*sweep_fn)(void *context, const char *params);

/* Call take for every choice of values in params, which is of the form
 * "key=values:key=values", the last key changing fastest. Values are one word,
 * several with a plus between them, or ranges of numbers, as in 2..8+16+P; P
 * is the number of ranks. What has characters of no word, as a path does, is
 * one value. Returns 0, what take returned if it was not 0, or -1 with the
 * reason in error [errlen]. Pure. */
int sweep_each(const char *params, int P, sweep_fn take, void *context,
               char *error, size_t errlen);

#endif
