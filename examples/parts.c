/* parts.c - blocks of a transpose leave as they are packed; used as they arrive.
 *
 *   mpiexec -n P parts
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 64, STEPS = 5 };

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

static double value(int step, int row, int column)
{
    return step + 1000.0 * row + 0.5 * column;
}

static void pack(int step, int me, int q, double *to)
{
    for (int k = 0; k < N * N; k++)
        to[k] = value(step, me * N + k % N, q * N + k / N);
}

static int check(int step, int me, int q, const double *from)
{
    int wrong = 0;

    for (int k = 0; k < N * N; k++)
        wrong += from[k] != value(step, q * N + k % N, me * N + k / N);
    return wrong;
}

int main(int argc, char **argv)
{
    int P, me, source, wrong = 0;
    rota_plan *plan;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    const size_t block = (size_t)N * N;
    double *send = malloc((size_t)P * block * sizeof *send);
    double *recv = malloc((size_t)P * block * sizeof *recv);
    if (!send || !recv)
        must(MPI_ERR_NO_MEM);
    must(rota_alltoall_init(send, N * N, MPI_DOUBLE, recv, N * N, MPI_DOUBLE,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    must(rota_plan_set_partitioned(plan));
    for (int step = 0; step < STEPS; step++) {
        must(rota_start(plan));
        for (int i = 1; i <= P; i++) { /* the next rank first, this one last */
            const int q = (me + i) % P;
            pack(step, me, q, send + (size_t)q * block);
            must(rota_pready(plan, q));
        }
        must(rota_wait_arrival(plan, &source));
        while (source != MPI_UNDEFINED) {
            wrong += check(step, me, source, recv + (size_t)source * block);
            must(rota_wait_arrival(plan, &source));
        }
        must(rota_wait(plan));
    }
    must(rota_plan_free(&plan));
    free(send), free(recv);
    printf("rank %d: %d steps, %s\n", me, STEPS, wrong ? "wrong" : "right");
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
