/* borrow.c - read what has come where its senders have it.
 *
 *   mpiexec -n P borrow
 *
 * Each rank adds up numbers of all ranks. It reads them once, so within a node
 * nothing is copied.
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 10, MOST = 5000 };

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

static int count(int step, int src, int dst)
{
    return (step * 701 + src * 53 + dst * 37) % MOST;
}

int main(int argc, char **argv)
{
    int P, me, wrong = 0;
    rota_plan *plan;
    long *send;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    int *counts = malloc(3 * (size_t)P * sizeof *counts);
    const void **block = malloc((size_t)P * sizeof *block);
    if (!counts || !block)
        must(MPI_ERR_NO_MEM);
    int *displs = counts + P, *came = displs + P;
    must(rota_exchange_init_borrow(ROTA_UNBOUNDED, MPI_LONG, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &plan));
    for (int step = 0; step < STEPS; step++) {
        const size_t room = (size_t)P * MOST * sizeof *send;
        must(rota_exchange_get_sendbuf(plan, room, &send));
        for (int q = 0; q < P; q++) {
            counts[q] = count(step, me, q);
            displs[q] = q * MOST;
            for (int i = 0; i < counts[q]; i++)
                send[displs[q] + i] = me + step;
        }
        must(rota_exchange_start(plan, send, counts, displs));
        must(rota_exchange_wait_borrow(plan, block, came));
        for (int q = 0; q < P; q++) {
            const long *const number = block[q];
            long sum = 0;
            for (int i = 0; i < came[q]; i++)
                sum += number[i];
            wrong += sum != (long)(q + step) * count(step, q, me);
        }
    }
    must(rota_plan_free(&plan)); /* others may still read this rank's numbers */
    free(counts);
    free((void *)block);
    printf("rank %d: %d steps, %s\n", me, STEPS, wrong ? "wrong" : "right");
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
