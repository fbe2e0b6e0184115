/* must.c - see must.h. */
#include "must.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void die(const char *format, ...)
{
    int rank = 0;
    va_list args;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "%s: rank %d: ", program_name, rank);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort(); /* MPI_Abort does not return, but is not declared so */
}

void must(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int len = 0;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &len);
    die("%.*s: %s", (int)strcspn(call, "("), call, text);
}

void *must_realloc(void *old, size_t n, size_t bytes_each)
{
    void *p = NULL;

    if (n <= SIZE_MAX / bytes_each)
        p = realloc(old, n > 0 ? n * bytes_each : 1);
    if (p == NULL)
        die("out of memory: no room for %zu x %zu bytes; use more nodes or a "
            "smaller problem",
            n, bytes_each);
    return p;
}
