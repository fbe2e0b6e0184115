/* util.h - failing early, so that no caller needs an error path for what a
 * benchmark cannot recover from. */
#ifndef BENCH_UTIL_H
#define BENCH_UTIL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__)
#define BENCH_LIKE_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define BENCH_LIKE_PRINTF
#endif

/* The name that messages begin with; "rota-bench" unless it is set. */
extern const char *bench_program;

/* Print to stderr after "<program>: rank <r>: " and abort all ranks. */
BENCH_LIKE_PRINTF _Noreturn void bench_die(const char *format, ...);

/* Die with the text of err, unless it is MPI_SUCCESS; what names the call. */
void bench_must(int err, const char *what);

/* Is nothing asked but --help? Asked before MPI_Init, which fails in places where
 * programs are built but not run. */
bool bench_only_help(int argc, char *argv[]);

/* calloc that dies; n == 0 gives a pointer that can be freed. */
void *bench_calloc(size_t n, size_t size);

/* Sorts the values; n > 0. */
double bench_median(double values[], int n);

/* Of P ranks, from one to the next of a sample of at most BENCH_SAMPLE that
 * begins with rank 0: odd, so that all places in a node have their turn where
 * nodes have an even number of ranks. */
enum { BENCH_SAMPLE = 128 };
int bench_stride(int P);

#endif
