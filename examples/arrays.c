/* arrays.c - an exchange of three arrays with counts and widths of their own.
 *
 *   mpiexec -n P arrays
 *
 * Each rank has the outputs of three rules: pairs, triples and single numbers, of
 * which some go to each other rank. Nobody knows beforehand how many come.
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { RULES = 3, STEPS = 10, MOST = 40 };

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

static int count(int step, int rule, int src, int dst)
{
    return (step * 7 + rule * 11 + src * 5 + dst * 3) % MOST;
}

int main(int argc, char **argv)
{
    static long found[3 * MOST]; /* as many as a rule may find for a rank */
    const int width[RULES] = {2, 3, 1};
    const void *send[RULES];
    void *recv[RULES];
    MPI_Datatype tuple[RULES];
    rota_plan *plan;
    int P, me, wrong = 0;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    const int n = RULES * P;
    int *counts = calloc(4 * (size_t)n, sizeof *counts);
    if (!counts)
        must(MPI_ERR_NO_MEM);
    int *displs = counts + n, *came = displs + n, *places = came + n;
    for (int r = 0; r < RULES; r++) {
        must(MPI_Type_contiguous(width[r], MPI_LONG, &tuple[r]));
        must(MPI_Type_commit(&tuple[r]));
        send[r] = found;
    }
    must(rota_exchange_init_arrays(ROTA_UNBOUNDED, RULES, tuple, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &plan));
    for (int i = 0; i < 3 * MOST; i++)
        found[i] = me;
    for (int step = 0; step < STEPS; step++) {
        for (int r = 0; r < RULES; r++)
            for (int q = 0; q < P; q++)
                counts[r * P + q] = count(step, r, me, q);
        must(rota_exchange_start_arrays(plan, send, counts, displs));
        must(rota_exchange_wait_arrays(plan, recv, came, places));
        for (int r = 0; r < RULES; r++) {
            const long *number = recv[r]; /* rank q has sent its own */
            for (int q = 0; q < P; q++) {
                wrong += came[r * P + q] != count(step, r, q, me);
                for (int i = 0; i < came[r * P + q] * width[r]; i++)
                    wrong += *number++ != q;
            }
        }
    }
    must(rota_plan_free(&plan));
    free(counts);
    printf("rank %d: %d steps, %s\n", me, STEPS, wrong ? "wrong" : "right");
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
