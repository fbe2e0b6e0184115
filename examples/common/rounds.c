/* rounds.c - see rounds.h. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "rounds.h"

#include "must.h"

#include <stdlib.h>
#include <time.h>

void barrier_open(barrier *b, MPI_Comm comm)
{
    int P;

    MUST(MPI_Comm_size(comm, &P));
    b->bell = must_realloc(NULL, 2 * (size_t)P, sizeof(int));
    for (int q = 0; q < P; q++)
        b->bell[q] = 0;
    MUST(rota_alltoall_init(b->bell, 1, MPI_INT, b->bell + P, 1, MPI_INT, comm,
                            MPI_INFO_NULL, &b->plan));
}

void barrier_wait(barrier *b)
{
    MUST(rota_start(b->plan));
    MUST(rota_wait(b->plan));
}

void barrier_close(barrier *b)
{
    MUST(rota_plan_free(&b->plan));
    free(b->bell);
}

double node_clock(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        die("no clock");
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double quantile(double *at, size_t n, double q)
{
    const double place = q * (double)(n - 1);
    const size_t below = (size_t)place,
                 above = below + 1 < n ? below + 1 : below;

    qsort(at, n, sizeof *at, compare);
    return at[below] + (place - (double)below) * (at[above] - at[below]);
}

double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}
