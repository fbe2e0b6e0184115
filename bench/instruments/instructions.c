/* instructions.c - starts and waits for instructions.sh to count.
 *
 * usage: instructions STARTS [SLEEP_MS [KIND [BYTES [cold]]]]
 *
 * A plan of KIND (fixed, varying or exchange; default fixed) with blocks of BYTES
 * (default 8) by spread_out. With "+sum" behind KIND, a sum of one int64_t travels
 * with the messages (rota_plan_set_reduction). Every rank sleeps between start and
 * wait, so that the messages of all others are there when it waits. cold: before each
 * start it writes more memory than a core's caches hold in instructions.sh.
 */
#include <rota.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIXED, VARYING, EXCHANGE, KINDS };
static const char *const names[KINDS] = {"fixed", "varying", "exchange"};

typedef struct work {
    int kind;
    char *send, *recv;
    int *counts, *displs;         /* [P] of both sides */
    int *got_counts, *got_displs; /* [P] of an exchange */
    bool sums;
    int64_t value, sum;
    rota_plan *plan;
} work;

static void empty_caches(void)
{
    enum { BYTES = 1 << 20, LINE = 64 };
    static volatile char other[BYTES];

    for (int i = 0; i < BYTES; i += LINE)
        other[i]++;
}

static int find_kind(const char *name, bool *sums)
{
    const size_t n = strcspn(name, "+");
    int k = 0;

    *sums = strcmp(name + n, "+sum") == 0;
    while (k < KINDS && (strncmp(name, names[k], n) != 0 || names[k][n]))
        k++;
    return name[n] && !*sums ? KINDS : k;
}

static int make(work *w, int bytes)
{
    int err, P;
    MPI_Info info;

    MPI_Comm_size(MPI_COMM_WORLD, &P);
    const size_t n = (size_t)P;
    w->send = calloc(n, (size_t)bytes);
    w->recv = calloc(n, (size_t)bytes);
    w->counts = calloc(n, sizeof(int));
    w->displs = calloc(n, sizeof(int));
    w->got_counts = calloc(n, sizeof(int));
    w->got_displs = calloc(n, sizeof(int));
    if (!w->send || !w->recv || !w->counts || !w->displs || !w->got_counts ||
        !w->got_displs)
        return MPI_ERR_NO_MEM;
    for (int i = 0; i < P; i++) {
        w->counts[i] = bytes;
        w->displs[i] = i * bytes;
    }
    MPI_Info_create(&info);
    MPI_Info_set(info, "rota_algorithm", "spread_out");
    if (w->kind == FIXED)
        err = rota_alltoallv_init(w->send, w->counts, w->displs, MPI_BYTE,
                                  w->recv, w->counts, w->displs, MPI_BYTE,
                                  MPI_COMM_WORLD, info, &w->plan);
    else if (w->kind == VARYING)
        err = rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE,
                                          MPI_COMM_WORLD, info, &w->plan);
    else
        err = rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD, info,
                                 &w->plan);
    MPI_Info_free(&info);
    if (err == MPI_SUCCESS && w->sums)
        err = rota_plan_set_reduction(w->plan, &w->value, &w->sum, 1,
                                      MPI_INT64_T, MPI_SUM);
    return err;
}

static void start(const work *w)
{
    if (w->kind == FIXED)
        rota_start(w->plan);
    else if (w->kind == VARYING)
        rota_alltoallv_start(w->plan, w->send, w->counts, w->displs, w->recv,
                             w->counts, w->displs);
    else
        rota_exchange_start(w->plan, w->send, w->counts, w->displs);
}

static void wait(const work *w)
{
    void *found;

    if (w->kind == EXCHANGE)
        rota_exchange_wait(w->plan, &found, w->got_counts, w->got_displs);
    else
        rota_wait(w->plan);
}

int main(int argc, char **argv)
{
    const int starts = argc > 1 ? atoi(argv[1]) : 10;
    const long ms = argc > 2 ? atol(argv[2]) : 60;
    const int bytes = argc > 4 ? atoi(argv[4]) : 8;
    const bool cold = argc > 5;
    const struct timespec nap = {.tv_sec = ms / 1000,
                                 .tv_nsec = ms % 1000 * 1000000};
    work w = {.kind = FIXED};

    if (argc > 3)
        w.kind = find_kind(argv[3], &w.sums);
    if (w.kind == KINDS || bytes < 0) {
        fprintf(
            stderr,
            "usage: instructions STARTS [SLEEP_MS [KIND [BYTES [cold]]]]\n");
        return EXIT_FAILURE;
    }
    MPI_Init(&argc, &argv);
    if (make(&w, bytes) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < starts; i++) {
        if (cold)
            empty_caches();
        start(&w);
        nanosleep(&nap, NULL);
        wait(&w);
    }
    rota_plan_free(&w.plan);
    MPI_Finalize();
    free(w.send);
    free(w.recv);
    free(w.counts);
    free(w.displs);
    free(w.got_counts);
    free(w.got_displs);
    return EXIT_SUCCESS;
}
