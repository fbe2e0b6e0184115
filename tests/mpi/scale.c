/* scale.c - many plans and communicators at once, and many one after the other.
 *
 * usage: scale [PLANS COMMUNICATORS MAKINGS]
 *
 * So many plans are open at once on a few communicators, then one on each of so many
 * communicators, then so many are made, started and freed, some with their
 * communicator. All data are checked. What the process has of descriptors, mappings
 * and memory of its own must not grow from a tenth of the makings to their end, but
 * for what MPI keeps of each. Small without arguments; 1000 200 10000 on 64 and 128
 * ranks take hours on two cores:
 *
 *   mpiexec -n 64 build/tests/mpi/mpi_scale 1000 200 10000
 */
#include "harness.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- plans --------------------------------------------------------------- */

typedef struct ints {
    rota_plan *plan;
    int *send, *recv;
    int salt;
} ints;

static const char *const algorithms[] = {"spread_out", "parlogna", "scattered"};

static void open_ints(ints *x, MPI_Comm comm, int salt)
{
    MPI_Info info =
        test_info("rota_algorithm", algorithms[salt % 3], NULL, NULL);

    x->send = malloc((size_t)test_P * sizeof(int));
    x->recv = malloc((size_t)test_P * sizeof(int));
    x->salt = salt;
    MUST(rota_alltoall_init(x->send, 1, MPI_INT, x->recv, 1, MPI_INT, comm,
                            info, &x->plan));
    MPI_Info_free(&info);
}

static void start(ints *x)
{
    for (int q = 0; q < test_P; q++)
        x->send[q] = x->salt + 1000 * test_me + q;
    MUST(rota_start(x->plan));
}

static void finish(ints *x)
{
    MUST(rota_wait(x->plan));
    for (int q = 0; q < test_P; q++)
        CHECK(x->recv[q] == x->salt + 1000 * q + test_me);
}

static void close_ints(ints *x)
{
    MUST(rota_plan_free(&x->plan));
    free(x->send);
    free(x->recv);
}

/* ---- what a process has -------------------------------------------------- */

typedef struct stock {
    long descriptors, mappings, kib;
} stock;

static long count_lines(const char *path)
{
    FILE *const f = fopen(path, "r");
    long n = 0;

    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static stock take_stock(void)
{
    DIR *const d = opendir("/proc/self/fd");
    FILE *f;
    long size, pages = 0, shared = 0;
    stock s = {0};

    test_barrier();
    malloc_trim(0);
    while (d && readdir(d))
        s.descriptors++;
    if (d)
        closedir(d);
    s.mappings = count_lines("/proc/self/maps");
    f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld %ld", &size, &pages, &shared) == 3)
        s.kib = (pages - shared) * (sysconf(_SC_PAGESIZE) / 1024);
    if (f)
        fclose(f);
    return s;
}

/* MPICH 4.0 keeps some hundred bytes of each communicator and datatype; memory that
 * is shared grows by segments, which others map. */
static void compare(const stock *a, const stock *b, int makings)
{
    enum { KEPT = 1024, SLACK_KIB = 2048, SEGMENTS = 4 };

    if (test_me == 0)
        printf("%d makings: %ld to %ld descriptors, %ld to %ld mappings, %ld "
               "to %ld KiB\n",
               makings, a->descriptors, b->descriptors, a->mappings,
               b->mappings, a->kib, b->kib);
    CHECK(b->descriptors == a->descriptors);
    CHECK(b->mappings <= a->mappings + SEGMENTS * test_P);
    CHECK(b->kib <= a->kib + SLACK_KIB + (long)makings * KEPT / 1024);
}

/* ---- parts --------------------------------------------------------------- */

static void say(const char *what, int n, time_t begin)
{
    if (test_me == 0)
        printf("%d %s: %ld s\n", n, what, (long)(time(NULL) - begin));
    fflush(stdout);
}

/* All in flight, on a few communicators. */
static void many_plans(int n)
{
    enum { COMMS = 4 };
    ints *const x = calloc((size_t)n, sizeof *x);
    const time_t begin = time(NULL);
    MPI_Comm comm[COMMS];

    test_case = "plans";
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    for (int i = 0; i < n; i++)
        open_ints(&x[i], comm[i % COMMS], i);
    for (int i = 0; i < n; i++)
        start(&x[(i + test_me) % n]);
    for (int i = n - 1; i >= 0; i--)
        finish(&x[i]);
    for (int i = 0; i < n; i++)
        close_ints(&x[i]);
    test_barrier();
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comm[i]);
    free(x);
    say("plans at once", n, begin);
}

static void many_communicators(int n)
{
    MPI_Comm *const comm = calloc((size_t)n, sizeof *comm);
    ints *const x = calloc((size_t)n, sizeof *x);
    const time_t begin = time(NULL);

    test_case = "communicators";
    for (int i = 0; i < n; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
        open_ints(&x[i], comm[i], i);
    }
    for (int i = 0; i < n; i++)
        start(&x[i]);
    for (int i = 0; i < n; i++)
        finish(&x[i]);
    for (int i = 0; i < n; i++) {
        close_ints(&x[i]);
        MPI_Comm_free(&comm[i]);
    }
    free(comm);
    free(x);
    say("communicators at once", n, begin);
}

/* One after the other; a communicator lasts for twenty. */
static void many_makings(int n)
{
    enum { PLANS_OF_ONE = 20 };
    const int warm = n / 10 - n / 10 % PLANS_OF_ONE;
    const time_t begin = time(NULL);
    MPI_Comm comm = MPI_COMM_NULL;
    stock first = {0};
    ints x;

    test_case = "makings";
    for (int i = 0; i < n; i++) {
        if (i % PLANS_OF_ONE == 0 && comm != MPI_COMM_NULL)
            MPI_Comm_free(&comm);
        if (i == warm)
            first = take_stock();
        if (i % PLANS_OF_ONE == 0)
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        open_ints(&x, comm, i);
        start(&x);
        finish(&x);
        close_ints(&x);
    }
    MPI_Comm_free(&comm);
    const stock last = take_stock();
    compare(&first, &last, n - warm);
    say("made and freed", n, begin);
}

int main(int argc, char **argv)
{
    const int plans = argc > 3 ? atoi(argv[1]) : 30;
    const int communicators = argc > 3 ? atoi(argv[2]) : 5;
    const int makings = argc > 3 ? atoi(argv[3]) : 200;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    many_plans(plans);
    many_communicators(communicators);
    many_makings(makings);
    return test_end();
}
