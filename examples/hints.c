/* hints.c - choose an algorithm by an MPI_Info, see what a plan will do, and
 * what a misspelt hint gives. Without hints Rota chooses; a program that cannot
 * be changed takes them from the environment, as in ROTA_ALGORITHM=pairwise.
 *
 *   mpiexec -n P hints [ALGORITHM]
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

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

/* A plan for one int from each to each, by the algorithm named. */
static int init(const char *algorithm, int *send, int *recv, rota_plan **plan)
{
    MPI_Info info;

    must(MPI_Info_create(&info));
    must(MPI_Info_set(info, "rota_algorithm", algorithm));
    const int code = rota_alltoall_init(send, 1, MPI_INT, recv, 1, MPI_INT,
                                        MPI_COMM_WORLD, info, plan);
    must(MPI_Info_free(&info));
    return code;
}

int main(int argc, char **argv)
{
    char description[4096], text[MPI_MAX_ERROR_STRING];
    size_t bytes = sizeof description;
    int P, me, wrong = 0, errorclass, length;
    rota_plan *plan;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    /* Errors are to be returned here, not to end the program. */
    must(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int *const send = calloc((size_t)P, sizeof(int));
    int *const recv = calloc((size_t)P, sizeof(int));
    if (!send || !recv)
        must(MPI_ERR_NO_MEM);
    for (int q = 0; q < P; q++)
        send[q] = me * P + q;

    must(init(argc > 1 ? argv[1] : "parlogna", send, recv, &plan));
    must(rota_plan_describe(plan, ROTA_DESCRIBE_TEXT, description, &bytes));
    must(rota_start(plan));
    must(rota_wait(plan));
    must(rota_plan_free(&plan));
    for (int q = 0; q < P; q++)
        wrong += recv[q] != q * P + me;

    const int code = init("parlogn", send, recv, &plan);
    must(rota_error_class(code, &errorclass));
    must(MPI_Error_string(code, text, &length));
    wrong += errorclass != MPI_ERR_ARG;
    must(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM,
                       MPI_COMM_WORLD));
    if (me == 0)
        printf("%s\nmisspelt: %s\n\n%d faults\n", description, text, wrong);
    free(send);
    free(recv);
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
