/* consumer.c - a program of C or C++ that uses an installed Rota. */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

static void must(int code, const char *what)
{
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%s failed\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    int P, me, wrong = 0;
    rota_plan *plan = NULL;

    must(MPI_Init(&argc, &argv), "MPI_Init");
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    int *send = (int *)calloc((size_t)P, sizeof(int));
    int *recv = (int *)calloc((size_t)P, sizeof(int));
    if (send == NULL || recv == NULL || rota_version() != ROTA_VERSION_NUMBER)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int q = 0; q < P; q++)
        send[q] = 100 * me + q;
    must(rota_alltoall_init(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &plan),
         "rota_alltoall_init");
    must(rota_start(plan), "rota_start");
    must(rota_wait(plan), "rota_wait");
    must(rota_plan_free(&plan), "rota_plan_free");
    for (int q = 0; q < P; q++)
        wrong += recv[q] != 100 * q + me;
    free(send);
    free(recv);
    MPI_Finalize();
    return wrong != 0;
}
