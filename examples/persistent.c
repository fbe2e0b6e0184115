/* persistent.c - one plan, two pairs of buffers, computation while blocks are
 * under way, as in a pipeline of transposes.
 *
 *   mpiexec -n P persistent
 *
 * Each rank has N rows of P * N doubles; the plan moves N x N tiles.
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 16, TILE = N * N, STEPS = 20 };

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

static double value(int step, int src, int dst, int i)
{
    return 1e6 * step + 1e4 * src + 1e2 * dst + i / 256.0;
}

/* Tiles of a step for all ranks; calls the library now and then, as nothing
 * moves outside it. */
static void compute(double *tiles, int step, int P, int me, rota_plan *active)
{
    int done;

    for (int q = 0; q < P; q++) {
        for (int i = 0; i < TILE; i++)
            tiles[q * TILE + i] = value(step, me, q, i);
        must(rota_test(active, &done));
    }
}

int main(int argc, char **argv)
{
    int P, me, wrong = 0;
    double *send[2], *recv;
    rota_plan *plan;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    const size_t bytes = (size_t)P * TILE * sizeof(double);
    send[0] = malloc(bytes), send[1] = malloc(bytes), recv = malloc(bytes);
    if (!send[0] || !send[1] || !recv)
        must(MPI_ERR_NO_MEM);

    must(rota_alltoall_init(send[0], TILE, MPI_DOUBLE, recv, TILE, MPI_DOUBLE,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    compute(send[0], 0, P, me, plan); /* test on an inactive plan: no effect */
    for (int step = 0; step < STEPS; step++) {
        must(rota_plan_set_buffers(plan, send[step % 2], recv));
        must(rota_start(plan));
        compute(send[(step + 1) % 2], step + 1, P, me, plan);
        must(rota_wait(plan));
        for (int q = 0; q < P; q++)
            for (int i = 0; i < TILE; i++)
                wrong += recv[q * TILE + i] != value(step, q, me, i);
    }
    must(rota_plan_free(&plan));
    free(send[0]), free(send[1]), free(recv);
    must(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD));
    if (me == 0)
        printf("%d steps on %d ranks, %d wrong numbers\n", STEPS, P, wrong);
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
