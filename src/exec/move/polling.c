/* polling.c - see polling.h. */
#include "exec/move/polling.h"

rota_tells *rota_polling_tells;

/* MPI makes none if one is complete. */
int rota_polling_testsome(int n, MPI_Request request[], int *n_done, int done[],
                          MPI_Status status[])
{
    bool some = rota_polling_may_progress();

    for (int i = 0; !some && i < n; i++)
        some = request[i] != MPI_REQUEST_NULL && rota_polling_finds(request[i]);
    if (some)
        return MPI_Testsome(n, request, n_done, done, status);
    *n_done = 0;
    return MPI_SUCCESS;
}

int rota_polling_improbe(int source, int tag, MPI_Comm comm, int *flag,
                         MPI_Message *message, MPI_Status *status)
{
    if (rota_polling_may_progress())
        return MPI_Improbe(source, tag, comm, flag, message, status);
    *flag = 0;
    return MPI_SUCCESS;
}
