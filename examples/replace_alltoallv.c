/* replace_alltoallv.c - what changes at a call site of MPI_Alltoallv: plan
 * once, start and wait as often as needed.
 *
 *   mpiexec -n P replace_alltoallv
 *
 * Rank r sends r + d + 1 numbers to rank d, in each of STEPS steps.
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 100 };

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

static int value(int step, int src, int dst, int i)
{
    return ((step * 31 + src) * 31 + dst) * 31 + i;
}

int main(int argc, char **argv)
{
    int P, me, total = 0, wrong = 0;
    rota_plan *plan;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    int *const counts = calloc((size_t)P, sizeof(int));
    int *const displs = calloc((size_t)P, sizeof(int));
    if (!counts || !displs)
        must(MPI_ERR_NO_MEM);
    for (int q = 0; q < P; q++) { /* as much from a rank as to it */
        counts[q] = me + q + 1;
        displs[q] = total;
        total += counts[q];
    }
    int *const sendbuf = calloc((size_t)total, sizeof(int));
    int *const recvbuf = calloc((size_t)total, sizeof(int));
    if (!sendbuf || !recvbuf)
        must(MPI_ERR_NO_MEM);

    must(rota_alltoallv_init(sendbuf, counts, displs, MPI_INT, recvbuf, counts,
                             displs, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &plan));
    for (int step = 0; step < STEPS; step++) {
        for (int q = 0; q < P; q++)
            for (int i = 0; i < counts[q]; i++)
                sendbuf[displs[q] + i] = value(step, me, q, i);
        must(rota_start(plan)); /* these two were MPI_Alltoallv */
        must(rota_wait(plan));
        for (int q = 0; q < P; q++)
            for (int i = 0; i < counts[q]; i++)
                wrong += recvbuf[displs[q] + i] != value(step, q, me, i);
    }
    must(rota_plan_free(&plan));

    must(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD));
    if (me == 0)
        printf("%d steps on %d ranks, %d wrong numbers\n", STEPS, P, wrong);
    free(counts);
    free(displs);
    free(sendbuf);
    free(recvbuf);
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
