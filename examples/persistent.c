/* persistent.c - one plan, many starts, on buffers that change places: a matrix
 * is transposed to and fro, as between the passes of a Fourier transform. It
 * has P x P tiles of N x N numbers, and each rank a row of tiles.
 *
 *   mpiexec -n P persistent
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 16, TILE = N * N, STEPS = 100 };

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

static void transpose_tile(double *tile)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            const double keep = tile[i * N + j];
            tile[i * N + j] = tile[j * N + i];
            tile[j * N + i] = keep;
        }
}

/* What element k of this rank's row of tiles is at first, or if transposed. */
static double value(int me, int k, int transposed)
{
    const int down = N * me + k % TILE / N, across = k / TILE * N + k % N;
    return transposed ? 1e4 * across + down : 1e4 * down + across;
}

int main(int argc, char **argv)
{
    int P, me, wrong = 0;
    rota_plan *plan;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    const size_t n = (size_t)P * TILE;
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    if (!a || !b)
        must(MPI_ERR_NO_MEM);
    for (int k = 0; k < P * TILE; k++)
        a[k] = value(me, k, 0);

    must(rota_alltoall_init(a, TILE, MPI_DOUBLE, b, TILE, MPI_DOUBLE,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    for (int step = 0; step < STEPS; step++) {
        double *const from = step % 2 ? b : a, *const to = step % 2 ? a : b;

        must(rota_plan_set_buffers(plan, from, to));
        must(rota_start(plan));
        must(rota_wait(plan));
        for (int q = 0; q < P; q++)
            transpose_tile(to + q * TILE);
        for (int k = 0; k < P * TILE; k++)
            wrong += to[k] != value(me, k, step % 2 == 0);
    }
    must(rota_plan_free(&plan));
    free(a), free(b);
    must(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD));
    if (me == 0)
        printf("%d steps on %d ranks, %d wrong numbers\n", STEPS, P, wrong);
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
