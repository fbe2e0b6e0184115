/* must.c - see must.h. */
#include "must.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char *program = "example";
static uint64_t limit_mib; /* 0 is none */

/* Requests from 1 MiB on are held against the limit: few enough for the look at
 * /proc, some microseconds, not to be felt. */
#define LOOK_BYTES ((size_t)1 << 20)

void must_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    program = slash != NULL ? slash + 1 : path;
}

/* In one piece, or lines of several ranks would be mixed. */
static void print(const char *who, const char *format, va_list args)
{
    char text[1024];

    vsnprintf(text, sizeof text, format, args);
    fprintf(stderr, "%s: %s%s\n", program, who, text);
    fflush(stderr);
}

_Noreturn void die(const char *format, ...)
{
    const struct timespec read_s = {0, 100000000};
    char who[32];
    int rank = 0;
    va_list args;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(who, sizeof who, "rank %d: ", rank);
    va_start(args, format);
    print(who, format, args);
    va_end(args);
    /* mpiexec may end the job before it has read what was written. */
    (void)nanosleep(&read_s, NULL);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort(); /* MPI_Abort does not return, but is not declared so */
}

void complain(const char *format, ...)
{
    int rank = 0;
    va_list args;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0)
        return;
    va_start(args, format);
    print("", format, args);
    va_end(args);
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

/* Bytes of memory this process has now; 0 where the system does not say. */
static uint64_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long long pages = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*s %llu", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int within_limit(size_t bytes)
{
    return bytes < LOOK_BYTES || limit_mib == 0 ||
           (resident() + bytes) >> 20 < limit_mib;
}

/* p, unless that is NULL. */
static void *must_have(void *p, size_t n, size_t bytes_each)
{
    if (p == NULL && limit_mib == 0)
        die("out of memory: no room for %zu x %zu bytes; use more nodes or a "
            "smaller problem",
            n, bytes_each);
    if (p == NULL)
        die("out of memory: no room for %zu x %zu bytes; a rank may have %llu "
            "MiB (--memory); use more nodes or a smaller problem",
            n, bytes_each, (unsigned long long)limit_mib);
    return p;
}

void *must_realloc(void *old, size_t n, size_t bytes_each)
{
    void *p = NULL;

    if (n <= SIZE_MAX / bytes_each && within_limit(n * bytes_each))
        p = realloc(old, n > 0 ? n * bytes_each : 1);
    return must_have(p, n, bytes_each);
}

void *must_pages(size_t n, size_t bytes_each)
{
    enum { PAGE = 4096 };
    void *p = NULL;

    if (n <= (SIZE_MAX - PAGE) / bytes_each && within_limit(n * bytes_each))
        p = aligned_alloc(PAGE, (n * bytes_each / PAGE + 1) * PAGE);
    return must_have(p, n, bytes_each);
}

void memory_limit(uint64_t mib)
{
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    MPI_Comm node;
    int n_ranks;

    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                             MPI_INFO_NULL, &node));
    MUST(MPI_Comm_size(node, &n_ranks));
    MUST(MPI_Comm_free(&node));
    limit_mib = mib;
    if (mib == 0 && pages > 0 && bytes > 0)
        limit_mib = (uint64_t)pages / (uint64_t)n_ranks * (uint64_t)bytes >> 20;
}

uint64_t memory_peak(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return (uint64_t)usage.ru_maxrss >> 10; /* KiB on Linux */
}
