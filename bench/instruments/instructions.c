/* instructions.c - starts and waits for instructions.sh to count.
 *
 * usage: instructions STARTS [SLEEP_MS]
 *
 * A fixed plan of 8-byte blocks by spread_out. Every rank sleeps between start and
 * wait, so that the messages of all others are there when it waits.
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    const int starts = argc > 1 ? atoi(argv[1]) : 10;
    const long ms = argc > 2 ? atol(argv[2]) : 60;
    const struct timespec nap = {.tv_nsec = ms * 1000000};
    rota_plan *plan = NULL;
    MPI_Info info;
    int P;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    double *const send = calloc((size_t)P, sizeof *send);
    double *const recv = calloc((size_t)P, sizeof *recv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "rota_algorithm", "spread_out");
    if (!send || !recv ||
        rota_alltoall_init(send, 1, MPI_DOUBLE, recv, 1, MPI_DOUBLE,
                           MPI_COMM_WORLD, info, &plan) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Info_free(&info);
    for (int i = 0; i < starts; i++) {
        rota_start(plan);
        nanosleep(&nap, NULL);
        rota_wait(plan);
    }
    rota_plan_free(&plan);
    MPI_Finalize();
    free(send);
    free(recv);
    return EXIT_SUCCESS;
}
