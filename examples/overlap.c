/* overlap.c - compute while blocks are under way: the tiles of the next step
 * are made while those of this step travel, in a second send buffer.
 *
 *   mpiexec -n P overlap
 *
 * Plans move only inside Rota calls, so the computation is cut into pieces with
 * a rota_test after each. */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { TILE = 256, STEPS = 20 };

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

/* Make the tiles of a step, for all ranks, while the plan is active or not. */
static void compute(double *tiles, int step, int P, int me, rota_plan *plan)
{
    int done;

    for (int q = 0; q < P; q++) {
        for (int i = 0; i < TILE; i++)
            tiles[q * TILE + i] = value(step, me, q, i);
        must(rota_test(plan, &done)); /* local; does not wait */
    }
}

int main(int argc, char **argv)
{
    int P, me, wrong = 0;
    rota_plan *plan;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    const size_t bytes = (size_t)P * TILE * sizeof(double);
    double *send[2] = {malloc(bytes), malloc(bytes)}, *recv = malloc(bytes);
    if (!send[0] || !send[1] || !recv)
        must(MPI_ERR_NO_MEM);

    must(rota_alltoall_init(send[0], TILE, MPI_DOUBLE, recv, TILE, MPI_DOUBLE,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    compute(send[0], 0, P, me, plan); /* nothing is under way yet */
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
