/* polling.h - MPI's calls that test requests and look for messages.
 *
 * They make progress, which some MPIs must not do in a function that they call while
 * they make progress themselves (plan/api/request.c): there these do without.
 */
#ifndef ROTA_POLLING_H
#define ROTA_POLLING_H

#include <mpi.h>
#include <stdbool.h>

/* Says whether a request is complete, and makes no progress. */
typedef int rota_tells(MPI_Request request);

/* Set where MPI must not make progress. Guarded by the lock of runs (lock.h). */
extern rota_tells *rota_polling_tells;

static inline bool rota_polling_may_progress(void)
{
    return !rota_polling_tells;
}

/* May the request be complete? */
static inline bool rota_polling_finds(MPI_Request request)
{
    return !rota_polling_tells || request == MPI_REQUEST_NULL ||
           rota_polling_tells(request);
}

static inline int rota_polling_test(MPI_Request *request, int *flag,
                                    MPI_Status *status)
{
    if (rota_polling_finds(*request))
        return MPI_Test(request, flag, status);
    *flag = 0;
    return MPI_SUCCESS;
}

int rota_polling_testsome(int n, MPI_Request request[], int *n_done, int done[],
                          MPI_Status status[]);

/* Of a message that may be received. */
int rota_polling_improbe(int source, int tag, MPI_Comm comm, int *flag,
                         MPI_Message *message, MPI_Status *status);

#endif /* ROTA_POLLING_H */
