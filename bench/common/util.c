#include "common/util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *bench_program = "rota-bench";

_Noreturn void bench_die(const char *format, ...)
{
    char text[1024];
    int me = 0, initialised = 0;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    MPI_Initialized(&initialised);
    if (initialised)
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
    fflush(stdout);
    /* One call, so that lines of several failing ranks do not mix. */
    fprintf(stderr, "%s: rank %d: %s\n", bench_program, me, text);
    fflush(stderr);
    if (initialised)
        MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

bool bench_only_help(int argc, char *argv[])
{
    return argc == 2 && strcmp(argv[1], "--help") == 0;
}

void bench_must(int err, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    if (err == MPI_SUCCESS)
        return;
    MPI_Error_string(err, text, &length);
    bench_die("%s: %s", what, text);
}

void *bench_calloc(size_t n, size_t size)
{
    void *memory = calloc(n > 0 ? n : 1, size);

    if (memory == NULL)
        bench_die("out of memory: %zu times %zu bytes", n, size);
    return memory;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double values[], int n)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

int bench_stride(int P)
{
    return ((P - 1) / BENCH_SAMPLE + 1) | 1;
}
