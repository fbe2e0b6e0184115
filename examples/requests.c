/* requests.c - one MPI_Waitall for two exchanges of plans and for messages of the
 * program: a run of a plan as a request of MPI.
 *
 *   mpiexec -n P requests
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 4, STEPS = 10 };

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

static double value(int step, int from, int to, int i)
{
    return 1000.0 * step + 100.0 * from + 10.0 * to + i;
}

int main(int argc, char **argv)
{
    int P, me, wrong = 0;
    rota_plan *there, *back;
    MPI_Request requests[4];
    MPI_Status statuses[4];

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    const size_t n = (size_t)P * N;
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    double *c = malloc(n * sizeof *c), *d = malloc(n * sizeof *d);
    if (!a || !b || !c || !d)
        must(MPI_ERR_NO_MEM);
    must(rota_alltoall_init(a, N, MPI_DOUBLE, b, N, MPI_DOUBLE, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &there));
    must(rota_alltoall_init(c, N, MPI_DOUBLE, d, N, MPI_DOUBLE, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &back));
    for (int step = 0; step < STEPS; step++) {
        const int next = (me + 1) % P, before = (me + P - 1) % P;
        int token = -1;

        for (int k = 0; k < P * N; k++) {
            a[k] = value(step, me, k / N, k % N);
            c[k] = -a[k];
        }
        must(rota_start_request(there, &requests[0]));
        must(rota_start_request(back, &requests[1]));
        must(MPI_Irecv(&token, 1, MPI_INT, before, 0, MPI_COMM_WORLD,
                       &requests[2]));
        must(MPI_Isend(&me, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[3]));
        must(MPI_Waitall(4, requests, statuses));
        wrong += token != before;
        for (int k = 0; k < P * N; k++)
            wrong += b[k] != value(step, k / N, me, k % N) || d[k] != -b[k];
    }
    must(rota_plan_free(&there));
    must(rota_plan_free(&back));
    free(a);
    free(b);
    free(c);
    free(d);
    if (me == 0)
        printf("%d steps, %s\n", STEPS, wrong ? "wrong" : "right");
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
