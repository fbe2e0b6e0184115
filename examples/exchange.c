/* exchange.c - send what there is, to whom it concerns, and find out what
 * came: no MPI_Alltoall of the counts before it.
 *
 *   mpiexec -n P exchange
 *
 * What goes to whom is decided by count(), with which receivers only check.
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 100, MOST = 50 };

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
    return (step * 7 + src * 5 + dst * 3) % 4 == 0 ? (step + src) % MOST : 0;
}

static long value(int step, int src, int dst, int i)
{
    return ((step * 31L + src) * 31 + dst) * 31 + i;
}

int main(int argc, char **argv)
{
    int P, me, wrong = 0;
    rota_plan *plan;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    int *const ints = calloc(4 * (size_t)P, sizeof(int));
    long *const send = malloc((size_t)P * MOST * sizeof(long));
    if (!ints || !send)
        must(MPI_ERR_NO_MEM);
    int *const sendcounts = ints, *const sdispls = sendcounts + P;
    int *const recvcounts = sdispls + P, *const rdispls = recvcounts + P;

    must(rota_exchange_init(ROTA_UNBOUNDED, MPI_LONG, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &plan));
    for (int step = 0; step < STEPS; step++) {
        void *recvbuf; /* the plan's, valid until the next start */
        for (int q = 0; q < P; q++) {
            sendcounts[q] = count(step, me, q);
            sdispls[q] = q * MOST;
            for (int i = 0; i < sendcounts[q]; i++)
                send[sdispls[q] + i] = value(step, me, q, i);
        }
        must(rota_exchange_start(plan, send, sendcounts, sdispls));
        must(rota_exchange_wait(plan, &recvbuf, recvcounts, rdispls));
        for (int q = 0; q < P; q++) {
            const long *const block = (const long *)recvbuf + rdispls[q];
            wrong += recvcounts[q] != count(step, q, me);
            for (int i = 0; i < recvcounts[q]; i++)
                wrong += block[i] != value(step, q, me, i);
        }
    }
    must(rota_plan_free(&plan));
    must(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD));
    if (me == 0)
        printf("%d steps on %d ranks, %d faults\n", STEPS, P, wrong);
    free(ints), free(send);
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
