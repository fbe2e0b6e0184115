/* fixed_point.c - work moves between ranks until there is none, with one call a
 * step: how much is left travels with the exchange.
 *
 *   mpiexec -n P fixed_point
 *
 * Rank v % P has the number v. In each step v becomes v - 1. At 0 it ends.
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 200 };

static void must(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "%s\n", text);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* All of a rank's numbers go to the rank before it. Returns how many do. */
static int move(int n, const long number[], int to, long send[], int counts[])
{
    counts[to] = 0;
    for (int i = 0; i < n; i++)
        if (number[i] > 0)
            send[counts[to]++] = number[i] - 1;
    return counts[to];
}

int main(int argc, char **argv)
{
    int P, me, n = 0;
    long left, all_left, moves = 0, most = NUMBERS * (NUMBERS + 1L) / 2;
    long first[NUMBERS], send[NUMBERS];
    void *number = first; /* then the plan's, until the next start */
    rota_plan *plan;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    int *const ints = calloc(4 * (size_t)P, sizeof(int));
    if (!ints)
        must(MPI_ERR_NO_MEM);
    int *const sendcounts = ints, *const sdispls = sendcounts + P;
    int *const recvcounts = sdispls + P, *const rdispls = recvcounts + P;
    for (long v = 1; v <= NUMBERS; v++)
        if (v % P == me)
            first[n++] = v;

    must(rota_exchange_init(ROTA_UNBOUNDED, MPI_LONG, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &plan));
    must(rota_plan_set_reduction(plan, &left, &all_left, 1, MPI_LONG, MPI_SUM));
    do {
        left = move(n, number, (me + P - 1) % P, send, sendcounts);
        must(rota_exchange_start(plan, send, sendcounts, sdispls));
        must(rota_exchange_wait(plan, &number, recvcounts, rdispls));
        n = rdispls[P - 1] + recvcounts[P - 1];
        moves += all_left;
    } while (all_left > 0);
    must(rota_plan_free(&plan));
    if (me == 0)
        printf("%ld moves of %ld on %d ranks\n", moves, most, P);
    free(ints);
    must(MPI_Finalize());
    return moves == most ? EXIT_SUCCESS : EXIT_FAILURE;
}
