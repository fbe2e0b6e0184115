/* allocator.c - what memory that ranks share costs a program that has no exchanges.
 *
 *   mpiexec -n P rota-allocator [--no-huge] [--small] [ROUNDS]
 *   rota-run mpiexec -n P rota-allocator [--no-huge] [--small] [ROUNDS]
 *
 * The same work with the C library's malloc, with malloc as the program gets it,
 * which rota-run replaces, and with rota_malloc, in turn. Prints a row of a Markdown
 * table for each kind of work: the C library's median, and the medians of the ratios
 * of the rounds, of the slowest rank. Without rota-run the first ratio is the noise.
 * "resident" are the bytes at most in a round, and the mean of them. --no-huge: no
 * huge pages for anybody (PR_SET_THP_DISABLE). --small, to see that it runs: 4 MiB
 * instead of 64, and a sixteenth of the steps.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <mpi.h>
#include <rota.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { MOST = 201, PAGE = 4096, MIB = 1 << 20 };
enum { C, MALLOC, ROTA, ALLOCATORS };

typedef struct allocator {
    void *(*alloc)(size_t bytes);
    void *(*resize)(void *memory, size_t bytes);
    void (*release)(void *memory);
} allocator;

static allocator by[ALLOCATORS];
static int share = 1; /* work is divided by this */

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "rota-allocator: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static void find(void *library, const char *name, void *function)
{
    void *const at = dlsym(library, name);

    must(at, name);
    memcpy(function, &at, sizeof at);
}

static void find_allocators(void)
{
    void *const c = dlopen("libc.so.6", RTLD_NOW);

    must(c, "no libc.so.6");
    find(c, "malloc", &by[C].alloc);
    find(c, "realloc", &by[C].resize);
    find(c, "free", &by[C].release);
    by[MALLOC] = (allocator){malloc, realloc, free};
    by[ROTA] = (allocator){rota_malloc, rota_realloc, rota_free};
}

/* ---- resident memory ----------------------------------------------------- */

/* A value of /proc/self/status, in KiB. */
static long status_of(const char *key)
{
    FILE *const f = fopen("/proc/self/status", "r");
    char line[200];
    long kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            kib = atol(line + strlen(key));
    if (f)
        fclose(f);
    return kib;
}

static struct {
    long anonymous, shared; /* KiB at the beginning */
    double most, sum;
    int n;
} resident;

static void begin_resident(void)
{
    resident.anonymous = status_of("RssAnon:");
    resident.shared = status_of("RssShmem:");
}

/* What another allocator keeps is not this one's. */
static void look(int which)
{
    const long anonymous = status_of("RssAnon:") - resident.anonymous;
    const long shared = status_of("RssShmem:") - resident.shared;
    const double now = (double)(which == C      ? anonymous
                                : which == ROTA ? shared
                                                : anonymous + shared);

    if (now > resident.most)
        resident.most = now;
    resident.sum += now;
    resident.n++;
}

/* ---- work ---------------------------------------------------------------- */

static unsigned state;

static unsigned draw(unsigned bound)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % bound;
}

static void write_pages(char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE)
        memory[i] = 1;
}

/* Seconds of one round of each work. */

static double first_touch(int which, size_t bytes)
{
    const double begin = MPI_Wtime();
    char *const memory = by[which].alloc(bytes);

    must(memory, "no memory");
    write_pages(memory, bytes);
    const double seconds = MPI_Wtime() - begin;
    by[which].release(memory);
    return seconds;
}

static double come_and_go(int which, size_t bytes)
{
    const double begin = MPI_Wtime();

    for (int i = 0; i < 4; i++)
        first_touch(which, bytes);
    return MPI_Wtime() - begin;
}

/* rota_mem_alloc, which all ranks call at once, in rota_malloc's place. */
static double first_touch_of_all(int which, size_t bytes)
{
    char *memory;

    if (which != ROTA)
        return first_touch(which, bytes);
    const double begin = MPI_Wtime();
    must(rota_mem_alloc(bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &memory) ==
             MPI_SUCCESS,
         "no memory");
    write_pages(memory, bytes);
    const double seconds = MPI_Wtime() - begin;
    rota_mem_free(&memory);
    return seconds;
}

enum { HELD = 400 };

/* Blocks of `least` to `most` bytes at random, `held` at a time, all written. */
static double churn(int which, int steps, int held, size_t least, size_t most)
{
    char *all[HELD] = {NULL};
    double begin = MPI_Wtime(), looking = 0;

    state = 1;
    for (int i = 0; i < steps; i++) {
        const size_t bytes = least + draw((unsigned)(most - least));
        char **const p = &all[draw((unsigned)held)];
        if (draw(8) == 0) {
            *p = by[which].resize(*p, bytes);
        } else {
            by[which].release(*p);
            *p = by[which].alloc(bytes);
        }
        must(*p, "no memory");
        memset(*p, 1, bytes);
        if (most > MIB && i % 16 == 0) {
            const double since = MPI_Wtime();
            look(which);
            looking += MPI_Wtime() - since;
        }
    }
    for (int i = 0; i < held; i++)
        by[which].release(all[i]);
    return MPI_Wtime() - begin - looking;
}

static double small(int which, size_t most)
{
    return churn(which, 400000 / share, HELD, 1, most);
}

static double middle(int which, size_t most)
{
    return churn(which, 4000 / share, HELD / 4, 16384, most);
}

static double large(int which, size_t most)
{
    return churn(which, 1000 / share, 16, 1 << 18, most);
}

static double grow(int which, size_t most)
{
    const double begin = MPI_Wtime();
    char *memory = NULL;
    size_t before = 0;

    for (size_t bytes = 1 << 16; bytes <= most; bytes += bytes / 2) {
        memory = by[which].resize(memory, bytes);
        must(memory, "no memory");
        write_pages(memory + before, bytes - before);
        before = bytes;
    }
    by[which].release(memory);
    return MPI_Wtime() - begin;
}

/* STREAM's triad, of arrays that exist. */
static double triad(int which, size_t bytes)
{
    double *const a = by[which].alloc(bytes), *const b = by[which].alloc(bytes),
                  *const c = by[which].alloc(bytes);
    const size_t n = bytes / sizeof *a;

    must(a && b && c, "no memory");
    for (size_t i = 0; i < n; i++) {
        a[i] = 0;
        b[i] = 1;
        c[i] = 2;
    }
    const double begin = MPI_Wtime();
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < n; i++)
            a[i] = b[i] + 3 * c[i] + k;
    const double seconds = MPI_Wtime() - begin;
    must(a[n - 1] == 9, "wrong sum");
    by[which].release(a);
    by[which].release(b);
    by[which].release(c);
    return seconds;
}

static double at_random(int which, size_t bytes)
{
    uint64_t *const a = by[which].alloc(bytes);
    const size_t n = bytes / sizeof *a; /* a power of two */
    uint64_t x = 1;

    must(a, "no memory");
    memset(a, 0, bytes);
    const double begin = MPI_Wtime();
    for (int i = 0; i < 1000000 / share; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        a[(x >> 24) & (n - 1)] ^= x;
    }
    const double seconds = MPI_Wtime() - begin;
    by[which].release(a);
    return seconds;
}

/* ---- in turn ------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of the slowest rank. */
static double median(double values[], int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    MPI_Allreduce(MPI_IN_PLACE, &values[n / 2], 1, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    return values[n / 2];
}

/* The first of values are the C library's. */
static void print(const char *name, const char *unit,
                  double values[ALLOCATORS][MOST], int rounds)
{
    double ratio[ALLOCATORS];
    int me;

    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int w = MALLOC; w < ALLOCATORS; w++) {
        for (int i = 0; i < rounds; i++)
            values[w][i] /= values[C][i];
        ratio[w] = median(values[w], rounds);
    }
    const double c = median(values[C], rounds);
    if (me == 0)
        printf("| %s | %.4g %s | %.2f | %.2f |\n", name, c, unit, ratio[MALLOC],
               ratio[ROTA]);
}

static void compare(const char *name, double (*work)(int, size_t), size_t bytes,
                    int rounds)
{
    static double ms[ALLOCATORS][MOST], most[ALLOCATORS][MOST],
        mean[ALLOCATORS][MOST];

    for (int i = -1; i < rounds; i++)
        for (int k = 0; k < ALLOCATORS; k++) {
            const int w = (k + i + 1) % ALLOCATORS;
            malloc_trim(0);
            resident.most = resident.sum = resident.n = 0;
            MPI_Barrier(MPI_COMM_WORLD);
            const double seconds = work(w, bytes);
            if (i < 0)
                continue; /* a round to begin with */
            ms[w][i] = seconds * 1e3;
            most[w][i] = resident.most / 1024;
            mean[w][i] = resident.n > 0 ? resident.sum / resident.n / 1024 : 0;
        }
    print(name, "ms", ms, rounds);
    if (resident.n > 0) {
        print("resident at most", "MiB", most, rounds);
        print("resident on average", "MiB", mean, rounds);
    }
}

int main(int argc, char **argv)
{
    int rounds = 21, me;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--no-huge") == 0)
            must(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0, "prctl");
        else if (strcmp(argv[i], "--small") == 0)
            share = 16;
        else
            rounds = atoi(argv[i]);
    const size_t long_block = (size_t)(64 * MIB / share);
    must(rounds >= 1 && rounds <= MOST, "rounds from 1 to 201");
    find_allocators();
    begin_resident();
    if (me == 0)
        printf("| work | C library | malloc | rota_malloc |\n"
               "| --- | ---: | ---: | ---: |\n");
    compare("first touch, 64 MiB", first_touch, long_block, rounds);
    compare("first touch, 4 MiB", first_touch, 4 * MIB, rounds);
    compare("the same of rota_mem_alloc", first_touch_of_all, long_block,
            rounds);
    compare("come and go, 64 MiB", come_and_go, long_block, rounds);
    compare("random sizes to 1 KiB", small, 1024, rounds);
    compare("16 to 256 KiB", middle, 1 << 18, rounds);
    compare("256 KiB to 8 MiB", large, 8 * MIB, rounds);
    compare("grown to 64 MiB", grow, long_block, rounds);
    compare("triad, 64 MiB", triad, long_block, rounds);
    compare("at random, 64 MiB", at_random, long_block, rounds);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
