/* requests.c - what a run costs that is behind a request of MPI.
 *
 * usage: rota-requests [ROUNDS [BYTES]]
 *
 * Prints the medians, over ROUNDS (default 5001), of the slowest rank's time of
 * rota_start and rota_wait, of rota_start_request and MPI_Wait, and of
 * MPI_Ialltoallv and MPI_Wait, in turn, with blocks of BYTES (default 8), written
 * before and read after each exchange. And what another call of MPI costs on the
 * first rank, MPI_Test: before the process has had a request, once it has had
 * some, and while so many wait for ranks that have not started.
 */
#define _GNU_SOURCE /* for nanosleep */
#include "common/util.h"

#include <rota.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLAIN, REQUEST, MPI, FORMS };
static const char *const names[FORMS] = {"rota_start, rota_wait",
                                         "rota_start_request, MPI_Wait",
                                         "MPI_Ialltoallv, MPI_Wait"};

typedef struct work {
    int P, bytes, tests; /* tests: MPI_Test in a row, fewer in short runs */
    char *send, *recv;
    int *counts, *displs;
    rota_plan *plan;
    volatile char seen;
} work;

enum { WAITING = 4, MOST_TESTS = 2000 };

static void make_plan(const work *w, rota_plan **plan)
{
    bench_must(rota_alltoallv_init(w->send, w->counts, w->displs, MPI_BYTE,
                                   w->recv, w->counts, w->displs, MPI_BYTE,
                                   MPI_COMM_WORLD, MPI_INFO_NULL, plan),
               "rota_alltoallv_init");
}

static void prepare(work *w)
{
    MPI_Comm_size(MPI_COMM_WORLD, &w->P);
    const size_t n = (size_t)w->P;
    w->send = bench_calloc(n, (size_t)w->bytes);
    w->recv = bench_calloc(n, (size_t)w->bytes);
    w->counts = bench_calloc(n, sizeof(int));
    w->displs = bench_calloc(n, sizeof(int));
    for (int i = 0; i < w->P; i++) {
        w->counts[i] = w->bytes;
        w->displs[i] = i * w->bytes;
    }
    make_plan(w, &w->plan);
}

static void exchange(work *w, int form)
{
    MPI_Request request;

    if (form == PLAIN) {
        bench_must(rota_start(w->plan), "rota_start");
        bench_must(rota_wait(w->plan), "rota_wait");
        return;
    }
    if (form == REQUEST)
        bench_must(rota_start_request(w->plan, &request), "rota_start_request");
    else
        bench_must(MPI_Ialltoallv(w->send, w->counts, w->displs, MPI_BYTE,
                                  w->recv, w->counts, w->displs, MPI_BYTE,
                                  MPI_COMM_WORLD, &request),
                   "MPI_Ialltoallv");
    bench_must(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

/* Seconds that the slowest rank takes. */
static double time_one(work *w, int form, int round)
{
    const size_t n = (size_t)w->P * (size_t)w->bytes;
    double mine, most;

    memset(w->send, round, n);
    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    exchange(w, form);
    mine = MPI_Wtime() - mine;
    for (size_t i = 0; i < n; i += 64)
        w->seen = w->recv[i];
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* Of one MPI_Test that finds nothing: the median of the means of some in a row. */
static double time_test(const work *w)
{
    enum { MEANS = 51 };
    MPI_Request request;
    double means[MEANS];
    char byte;
    int flag;

    MPI_Irecv(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);

    for (int i = 0; i < MEANS; i++) {
        const double begin = MPI_Wtime();
        for (int k = 0; k < w->tests; k++)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        means[i] = (MPI_Wtime() - begin) / w->tests;
    }
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return bench_median(means, MEANS);
}

static void sleep_until_told(void)
{
    const struct timespec nap = {.tv_nsec = 1000000};

    for (int flag = 0; !flag; nanosleep(&nap, NULL))
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* The same with n requests that wait: the other ranks start when the first one has
 * told them, and do not poll until then. */
static double time_test_beside(const work *w, int n, int me)
{
    rota_plan *plan[WAITING];
    MPI_Request request[WAITING];
    MPI_Status status[WAITING];
    int told = 0;
    double time = 0;

    for (int i = 0; i < n; i++)
        make_plan(w, &plan[i]);
    for (int i = 0; i < n && me == 0; i++)
        bench_must(rota_start_request(plan[i], &request[i]),
                   "rota_start_request");
    if (me == 0) {
        time = time_test(w);
        for (int d = 1; d < w->P; d++)
            MPI_Send(&told, 1, MPI_INT, d, 2, MPI_COMM_WORLD);
    } else {
        sleep_until_told();
        MPI_Recv(&told, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            bench_must(rota_start_request(plan[i], &request[i]),
                       "rota_start_request");
    }
    bench_must(MPI_Waitall(n, request, status), "MPI_Waitall");
    for (int i = 0; i < n; i++)
        bench_must(rota_plan_free(&plan[i]), "rota_plan_free");
    return time;
}

static void time_tests(const work *w, int me, double before)
{
    double beside[WAITING + 1];

    for (int n = 0; n <= WAITING; n++)
        beside[n] = time_test_beside(w, n, me);
    if (me != 0)
        return;
    printf("MPI_Test: before requests %.1f ns, after them %.1f ns, beside",
           1e9 * before, 1e9 * beside[0]);
    for (int n = 1; n <= WAITING; n++)
        printf("%s %d: %.1f ns", n > 1 ? "," : "", n, 1e9 * beside[n]);
    printf("\n");
}

int main(int argc, char **argv)
{
    work w = {.bytes = argc > 2 ? atoi(argv[2]) : 8};
    const int rounds = argc > 1 ? atoi(argv[1]) : 5001;
    double *times[FORMS], before = 0;
    int me;

    bench_program = "rota-requests";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (rounds < 1 || w.bytes < 1)
        bench_die("ROUNDS and BYTES are not at least 1");
    w.tests = rounds < MOST_TESTS ? rounds : MOST_TESTS;
    prepare(&w);
    if (me == 0)
        before = time_test(&w);
    for (int f = 0; f < FORMS; f++)
        times[f] = bench_calloc((size_t)rounds, sizeof(double));
    for (int i = 0; i < rounds; i++)
        for (int f = 0; f < FORMS; f++)
            times[f][i] = time_one(&w, f, i);
    for (int f = 0; f < FORMS; f++) {
        const double median = bench_median(times[f], rounds); /* sorts them */
        if (me == 0)
            printf("%-30s %8.3f us, quartiles %.3f to %.3f\n", names[f],
                   1e6 * median, 1e6 * times[f][rounds / 4],
                   1e6 * times[f][3 * rounds / 4]);
        free(times[f]);
    }
    time_tests(&w, me, before);
    bench_must(rota_plan_free(&w.plan), "rota_plan_free");
    free(w.send);
    free(w.recv);
    free(w.counts);
    free(w.displs);
    return MPI_Finalize();
}
