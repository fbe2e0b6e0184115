#include "util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
    fprintf(stderr, "rota-bench: rank %d: %s\n", me, text);
    fflush(stderr);
    if (initialised)
        MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
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
