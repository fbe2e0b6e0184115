/* arrays.c - what an exchange of several arrays costs, each with counts of its own
 * that receivers do not know, as an engine for rules has in every iteration.
 *
 * usage: rota-arrays [--blocks K] [STEPS [TUPLES...]]
 *
 * There are four arrays, of tuples of 8, 16, 24 and 16 bytes. Of each, a rank has up
 * to TUPLES (default 4, 64, 1,024 and 16,384) for each rank, at random. Printed are
 * medians over STEPS (default 201) of the slowest rank's time, from the arrays of the
 * sender to those of the receiver. The forms take turns:
 *
 * in turn   MPI_Alltoall of counts and MPI_Alltoallv, array after array
 * at once   MPI_Alltoall of all counts, MPI_Alltoallv of what was gathered
 * plans     an exchange of Rota for each array, started together
 * arrays    one exchange of arrays
 *
 * --blocks: K arrays, 1 to 4, of tuples of 8 bytes, of each of which a rank has
 * TUPLES for each rank.
 */
#include "common/util.h"

#include <rota.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 4, IN_TURN = 0, AT_ONCE, PLANS, TOGETHER, FORMS };
static const char *const names[FORMS] = {"in turn", "at once", "plans",
                                         "arrays"};
static int width[ARRAYS] = {8, 16, 24, 16};
static int n_arrays = ARRAYS;
static bool alike; /* all blocks have as many tuples */

typedef struct work {
    int P, me, most;
    char *send[ARRAYS], *recv[ARRAYS];    /* of each array, for all ranks */
    char *out, *in;                       /* gathered */
    int *counts, *displs, *came, *places; /* [ARRAYS * P] elements */
    int *by_rank, *there;                 /* [ARRAYS * P] the same by rank */
    int *bytes, *at, *in_bytes, *in_at;   /* [P] */
    void *found[ARRAYS];
    MPI_Datatype tuple[ARRAYS];
    rota_plan *plan[ARRAYS], *arrays;
    unsigned seed;
} work;

static void prepare(work *w)
{
    const size_t P = (size_t)w->P, all = P * (size_t)w->most;
    int *const ints = bench_calloc((6 * ARRAYS + 4) * P, sizeof(int));
    int **const list[] = {&w->counts, &w->displs,  &w->came,
                          &w->places, &w->by_rank, &w->there};
    int **const of_rank[] = {&w->bytes, &w->at, &w->in_bytes, &w->in_at};
    size_t tuple_bytes = 0;

    for (size_t i = 0; i < 6; i++)
        *list[i] = ints + i * ARRAYS * P;
    for (size_t i = 0; i < 4; i++)
        *of_rank[i] = ints + (6 * ARRAYS + i) * P;
    for (int a = 0; a < n_arrays; a++) {
        w->send[a] = bench_calloc(all, (size_t)width[a]);
        w->recv[a] = bench_calloc(all, (size_t)width[a]);
        tuple_bytes += (size_t)width[a];
        bench_must(MPI_Type_contiguous(width[a], MPI_BYTE, &w->tuple[a]),
                   "a type");
        bench_must(MPI_Type_commit(&w->tuple[a]), "a type");
        bench_must(rota_exchange_init(ROTA_UNBOUNDED, w->tuple[a],
                                      MPI_COMM_WORLD, MPI_INFO_NULL,
                                      &w->plan[a]),
                   "rota_exchange_init");
    }
    w->out = bench_calloc(all, tuple_bytes);
    w->in = bench_calloc(all, tuple_bytes);
    bench_must(rota_exchange_init_arrays(ROTA_UNBOUNDED, n_arrays, w->tuple,
                                         MPI_COMM_WORLD, MPI_INFO_NULL,
                                         &w->arrays),
               "rota_exchange_init_arrays");
}

static void clean(work *w)
{
    for (int a = 0; a < n_arrays; a++) {
        bench_must(rota_plan_free(&w->plan[a]), "rota_plan_free");
        bench_must(MPI_Type_free(&w->tuple[a]), "freeing a type");
        free(w->send[a]);
        free(w->recv[a]);
    }
    bench_must(rota_plan_free(&w->arrays), "rota_plan_free");
    free(w->out);
    free(w->in);
    free(w->counts);
}

/* New counts, and what is sent. */
static void fill(work *w)
{
    for (int k = 0; k < n_arrays * w->P; k++) {
        w->seed = w->seed * 1103515245u + 12345u;
        w->counts[k] = alike ? w->most : (int)(w->seed >> 8) % (w->most + 1);
        w->displs[k] = k % w->P * w->most;
    }
    for (int a = 0; a < n_arrays; a++)
        for (int q = 0; q < w->P; q++)
            memset(w->send[a] + (size_t)(w->displs[a * w->P + q] * width[a]),
                   w->me * 16 + a * 4 + q,
                   (size_t)(w->counts[a * w->P + q] * width[a]));
}

static int lay_out(const int counts[], int displs[], int n)
{
    int at = 0;

    for (int q = 0; q < n; q++) {
        displs[q] = at;
        at += counts[q];
    }
    return at;
}

static void in_turn(work *w)
{
    for (int a = 0; a < n_arrays; a++) {
        const int row = a * w->P;
        bench_must(MPI_Alltoall(w->counts + row, 1, MPI_INT, w->came + row, 1,
                                MPI_INT, MPI_COMM_WORLD),
                   "MPI_Alltoall");
        lay_out(w->came + row, w->places + row, w->P);
        bench_must(MPI_Alltoallv(w->send[a], w->counts + row, w->displs + row,
                                 w->tuple[a], w->recv[a], w->came + row,
                                 w->places + row, w->tuple[a], MPI_COMM_WORLD),
                   "MPI_Alltoallv");
        w->found[a] = w->recv[a];
    }
}

/* Gather what goes to each rank, array after array. */
static void gather(work *w)
{
    char *to = w->out;

    for (int q = 0; q < w->P; q++) {
        w->at[q] = (int)(to - w->out);
        for (int a = 0; a < n_arrays; a++) {
            const int k = a * w->P + q, bytes = w->counts[k] * width[a];
            memcpy(to, w->send[a] + (size_t)(w->displs[k] * width[a]),
                   (size_t)bytes);
            w->by_rank[q * n_arrays + a] = w->counts[k];
            to += bytes;
        }
        w->bytes[q] = (int)(to - w->out) - w->at[q];
    }
}

static void scatter(work *w)
{
    const char *from = w->in;
    char *to[ARRAYS];

    for (int a = 0; a < n_arrays; a++)
        to[a] = w->found[a] = w->recv[a];
    for (int q = 0; q < w->P; q++)
        for (int a = 0; a < n_arrays; a++) {
            const size_t bytes =
                (size_t)(w->there[q * n_arrays + a] * width[a]);
            memcpy(to[a], from, bytes);
            to[a] += bytes;
            from += bytes;
            w->came[a * w->P + q] = w->there[q * n_arrays + a];
        }
}

static void at_once(work *w)
{
    gather(w);
    bench_must(MPI_Alltoall(w->by_rank, n_arrays, MPI_INT, w->there, n_arrays,
                            MPI_INT, MPI_COMM_WORLD),
               "MPI_Alltoall");
    for (int q = 0; q < w->P; q++) {
        w->in_bytes[q] = 0;
        for (int a = 0; a < n_arrays; a++)
            w->in_bytes[q] += w->there[q * n_arrays + a] * width[a];
    }
    lay_out(w->in_bytes, w->in_at, w->P);
    bench_must(MPI_Alltoallv(w->out, w->bytes, w->at, MPI_BYTE, w->in,
                             w->in_bytes, w->in_at, MPI_BYTE, MPI_COMM_WORLD),
               "MPI_Alltoallv");
    scatter(w);
}

static void by_plans(work *w)
{
    for (int a = 0; a < n_arrays; a++)
        bench_must(rota_exchange_start(w->plan[a], w->send[a],
                                       w->counts + a * w->P,
                                       w->displs + a * w->P),
                   "rota_exchange_start");
    for (int a = 0; a < n_arrays; a++)
        bench_must(rota_exchange_wait(w->plan[a], &w->found[a],
                                      w->came + a * w->P, w->places + a * w->P),
                   "rota_exchange_wait");
}

static void together(work *w)
{
    bench_must(rota_exchange_start_arrays(w->arrays,
                                          (const void *const *)w->send,
                                          w->counts, w->displs),
               "rota_exchange_start_arrays");
    bench_must(
        rota_exchange_wait_arrays(w->arrays, w->found, w->came, w->places),
        "rota_exchange_wait_arrays");
}

/* The first and the last byte from each rank. */
static void check(const work *w)
{
    for (int a = 0; a < n_arrays; a++) {
        const char *from = w->found[a];
        for (int q = 0; q < w->P; q++) {
            const int bytes = w->came[a * w->P + q] * width[a];
            const char is = (char)(q * 16 + a * 4 + w->me);
            if (bytes > 0 && (from[0] != is || from[bytes - 1] != is))
                bench_die("what has come is wrong");
            from += bytes;
        }
    }
}

static double run(work *w, int form)
{
    static void (*const by[FORMS])(work *) = {in_turn, at_once, by_plans,
                                              together};
    double most;

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    by[form](w);
    const double time = MPI_Wtime() - begin;
    check(w);
    MPI_Allreduce(&time, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static void compare_forms(work *w, int steps)
{
    double *const times = bench_calloc(FORMS * (size_t)steps, sizeof *times);

    prepare(w);
    for (int i = 0; i < steps; i++) {
        fill(w);
        for (int f = 0; f < FORMS; f++)
            times[f * steps + i] = run(w, f);
    }
    if (w->me == 0)
        printf("%8d", w->most);
    for (int f = 0; f < FORMS; f++) {
        const double median = bench_median(times + f * steps, steps);
        if (w->me == 0)
            printf("  %s %.1f", names[f], 1e6 * median);
    }
    if (w->me == 0)
        printf("\n");
    clean(w);
    free(times);
}

int main(int argc, char **argv)
{
    static const int usual[] = {4, 64, 1024, 16384};
    if (argc > 2 && strcmp(argv[1], "--blocks") == 0) {
        n_arrays = atoi(argv[2]);
        alike = true;
        for (int a = 0; a < ARRAYS; a++)
            width[a] = 8;
        argc -= 2;
        argv += 2;
    }
    const int steps = argc > 1 ? atoi(argv[1]) : 201;
    const int n = argc > 2 ? argc - 2 : (int)(sizeof usual / sizeof *usual);
    int me, P;

    bench_program = "rota-arrays";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    if (steps < 1)
        bench_die("STEPS is not at least 1");
    if (n_arrays < 1 || n_arrays > ARRAYS)
        bench_die("K is not 1 to 4");
    if (me == 0)
        printf("tuples at most, and us of each form\n");
    for (int i = 0; i < n; i++) {
        const int most = argc > 2 ? atoi(argv[2 + i]) : usual[i];
        if (most < 1 || most > (1 << 24) / P)
            bench_die("TUPLES are none or too many");
        compare_forms(
            &(work){.P = P, .me = me, .most = most, .seed = (unsigned)me + 1},
            steps);
    }
    return MPI_Finalize();
}
