/* borrow.c - what a step costs that fills a buffer, exchanges, and reads all that has
 * come, by whether blocks are copied to the receiver or read in place.
 *
 * usage: rota-borrow [STEPS [BYTES...]]
 *
 * For blocks of each of BYTES (default 8, 4 KiB, 64 KiB, 1 MiB, 4 MiB) and STEPS
 * (default 201) steps: medians of the slowest rank's time of a whole step, without
 * the barrier in front of the exchange, and of the exchange alone, up to the pointers
 * that may be read. The forms take turns:
 * MPI_Alltoall of counts and MPI_Alltoallv; an exchange from malloc's memory; one
 * from memory of rota_mem_alloc; and one with borrowed blocks.
 */
#include "common/util.h"

#include <rota.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MPI, COPIED, SHARED, BORROWED, FORMS };
static const char *const names[FORMS] = {"MPI's two calls", "exchange",
                                         "exchange, shared memory",
                                         "borrowed blocks"};

typedef struct work {
    int P;
    size_t bytes;
    char *send, *shared, *recv;
    int *counts, *displs, *came, *places;
    const void **block;
    rota_plan *exchange, *borrowing;
    volatile uint64_t seen;
    double whole, alone; /* seconds of a step, and of its exchange */
} work;

static void prepare(work *w)
{
    const size_t n = (size_t)w->P, all = n * w->bytes;

    w->send = bench_calloc(all, 1);
    w->recv = bench_calloc(all, 1);
    w->counts = bench_calloc(4 * n, sizeof(int));
    w->displs = w->counts + n;
    w->came = w->displs + n;
    w->places = w->came + n;
    w->block = bench_calloc(n, sizeof *w->block);
    bench_must(rota_mem_alloc(all, MPI_COMM_WORLD, MPI_INFO_NULL, &w->shared),
               "rota_mem_alloc");
    for (int i = 0; i < w->P; i++) {
        w->counts[i] = (int)w->bytes;
        w->displs[i] = i * (int)w->bytes;
    }
    bench_must(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, &w->exchange),
               "rota_exchange_init");
    bench_must(rota_exchange_init_borrow(ROTA_UNBOUNDED, MPI_BYTE,
                                         MPI_COMM_WORLD, MPI_INFO_NULL,
                                         &w->borrowing),
               "rota_exchange_init_borrow");
}

static void clean(work *w)
{
    bench_must(rota_plan_free(&w->exchange), "rota_plan_free");
    bench_must(rota_plan_free(&w->borrowing), "rota_plan_free");
    bench_must(rota_mem_free(&w->shared), "rota_mem_free");
    free(w->send);
    free(w->recv);
    free(w->counts);
    free((void *)w->block);
}

static void by_mpi(work *w, const char *send)
{
    int at = 0;

    bench_must(MPI_Alltoall(w->counts, 1, MPI_INT, w->came, 1, MPI_INT,
                            MPI_COMM_WORLD),
               "MPI_Alltoall");
    for (int q = 0; q < w->P; q++) {
        w->places[q] = at;
        at += w->came[q];
    }
    bench_must(MPI_Alltoallv(send, w->counts, w->displs, MPI_BYTE, w->recv,
                             w->came, w->places, MPI_BYTE, MPI_COMM_WORLD),
               "MPI_Alltoallv");
    for (int q = 0; q < w->P; q++)
        w->block[q] = w->recv + w->places[q];
}

static void by_exchange(work *w, const char *send)
{
    void *found;

    bench_must(rota_exchange_start(w->exchange, send, w->counts, w->displs),
               "rota_exchange_start");
    bench_must(rota_exchange_wait(w->exchange, &found, w->came, w->places),
               "rota_exchange_wait");
    for (int q = 0; q < w->P; q++)
        w->block[q] = (char *)found + w->places[q];
}

static void by_borrowing(work *w, const char *send)
{
    bench_must(rota_exchange_start(w->borrowing, send, w->counts, w->displs),
               "rota_exchange_start");
    bench_must(rota_exchange_wait_borrow(w->borrowing, w->block, w->came),
               "rota_exchange_wait_borrow");
}

/* Eight bytes at a time, as a program that adds up what has come. */
static uint64_t sum(const char *data, size_t bytes)
{
    uint64_t total = 0, word;

    for (size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
        memcpy(&word, data + i, sizeof word);
        total += word;
    }
    return total;
}

static char *buffer_of(work *w, int form)
{
    char *send = form == SHARED ? w->shared : w->send;

    if (form == BORROWED)
        bench_must(rota_exchange_get_sendbuf(w->borrowing,
                                             (size_t)w->P * w->bytes, &send),
                   "rota_exchange_get_sendbuf");
    return send;
}

static void step(work *w, int form, int round)
{
    uint64_t total = 0;
    double times[2], most[2];

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    char *const send = buffer_of(w, form);
    memset(send, round, (size_t)w->P * w->bytes);
    const double filled = MPI_Wtime() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    const double go = MPI_Wtime();
    if (form == MPI)
        by_mpi(w, send);
    else if (form == BORROWED)
        by_borrowing(w, send);
    else
        by_exchange(w, send);
    times[1] = MPI_Wtime() - go;
    for (int q = 0; q < w->P; q++)
        total += sum(w->block[q], (size_t)w->came[q]);
    times[0] = filled + MPI_Wtime() - go;
    w->seen = total;
    MPI_Allreduce(times, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    w->whole = most[0];
    w->alone = most[1];
}

static void compare_forms(work *w, int steps, int me)
{
    double *const whole = bench_calloc(FORMS * (size_t)steps, sizeof(double));
    double *const alone = bench_calloc(FORMS * (size_t)steps, sizeof(double));

    prepare(w);
    for (int i = 0; i < steps; i++)
        for (int f = 0; f < FORMS; f++) {
            step(w, f, i);
            whole[f * steps + i] = w->whole;
            alone[f * steps + i] = w->alone;
        }
    for (int f = 0; f < FORMS && me == 0; f++)
        printf("%9zu B  %-24s %10.2f %10.2f\n", w->bytes, names[f],
               1e6 * bench_median(whole + f * steps, steps),
               1e6 * bench_median(alone + f * steps, steps));
    clean(w);
    free(whole);
    free(alone);
}

int main(int argc, char **argv)
{
    static const size_t usual[] = {8, 4096, 65536, 1 << 20, 1 << 22};
    const int steps = argc > 1 ? atoi(argv[1]) : 201;
    const int n = argc > 2 ? argc - 2 : (int)(sizeof usual / sizeof *usual);
    int me, P;

    bench_program = "rota-borrow";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    if (steps < 1)
        bench_die("STEPS is not at least 1");
    if (me == 0)
        printf("%9s    %-24s %10s %10s\n", "a block", "us", "step", "exchange");
    for (int i = 0; i < n; i++) {
        const size_t bytes =
            argc > 2 ? strtoul(argv[2 + i], NULL, 10) : usual[i];
        if (bytes < 1 || bytes > (1 << 30) / (size_t)P)
            bench_die("BYTES are none, or all ranks' beyond 1 GiB");
        compare_forms(&(work){.P = P, .bytes = bytes}, steps, me);
    }
    return MPI_Finalize();
}
