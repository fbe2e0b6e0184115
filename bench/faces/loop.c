/* loop.c - what a start and a wait of a small plan cost, called from C. The
 * loops in other languages beside it are the same; faces.sh runs all.
 *
 *   mpiexec -n P loop [starts]
 *
 * Prints nanoseconds a start and wait, of the slowest rank, the median of 21
 * loops. Each rank sends one int to each.
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { LOOPS = 21 };

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const int starts = argc > 1 ? atoi(argv[1]) : 20000;
    double taken[LOOPS];
    int P, me;
    rota_plan *plan;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    int *const a = calloc((size_t)P, sizeof(int));
    int *const b = calloc((size_t)P, sizeof(int));
    rota_alltoall_init(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &plan);
    for (int k = 0; k < LOOPS; k++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        for (int i = 0; i < starts; i++) {
            rota_start(plan);
            rota_wait(plan);
        }
        taken[k] = (MPI_Wtime() - begin) / starts * 1e9;
    }
    MPI_Allreduce(MPI_IN_PLACE, taken, LOOPS, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    qsort(taken, LOOPS, sizeof *taken, compare);
    if (me == 0)
        printf("C        %8.1f\n", taken[LOOPS / 2]);
    rota_plan_free(&plan);
    free(a);
    free(b);
    MPI_Finalize();
    return 0;
}
