/* array.c - functions that take arrays of requests, which may be Rota's or MPI's.
 *
 * While MPI works on an array, MPI_REQUEST_NULL takes the place of ours; to MPI
 * that is the same as an inactive request.
 */
#include "mpi/request.h"

#include "plan/inside.h"

#include <sched.h>

static MPI_Request none = MPI_REQUEST_NULL;

static void show(rota_mpi_request *ours, MPI_Request requests[])
{
    for (; ours; ours = ours->next) {
        requests[ours->index] = ours->handle;
        ours->hidden = false;
    }
}

/* List our requests in the order of the array. If one occurs twice, fail and hide
 * none. */
static int hide(int n, MPI_Request requests[], rota_mpi_request **list)
{
    rota_mpi_request *ours = NULL;

    *list = NULL;
    for (int i = requests ? n - 1 : -1; i >= 0; i--) {
        rota_mpi_request *const r = rota_mpi_request_find(requests[i]);
        if (!r)
            continue;
        if (r->hidden) {
            show(ours, requests);
            return rota_error_raise(MPI_COMM_NULL, MPI_ERR_REQUEST,
                                    "a request of a collective comes twice in "
                                    "the array");
        }
        r->index = i;
        r->next = ours;
        r->hidden = true;
        ours = r;
        requests[i] = MPI_REQUEST_NULL;
    }
    *list = ours;
    return MPI_SUCCESS;
}

static void poll_ours(rota_mpi_request *ours)
{
    for (; ours; ours = ours->next)
        rota_mpi_request_poll(ours);
}

/* The first of ours in this state, or NULL. */
static rota_mpi_request *first(rota_mpi_request *ours, rota_mpi_state state)
{
    while (ours && ours->state != state)
        ours = ours->next;
    return ours;
}

static MPI_Status *at(MPI_Status statuses[], int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

static void set_error(MPI_Status *status, int err)
{
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = err;
}

/* Conclude r, whose status goes to place i. err: the result of the call so far,
 * with n statuses. Once one has failed, MPI fills in MPI_ERROR of all. */
static int conclude(rota_mpi_request *r, int n, MPI_Status statuses[], int i,
                    int err)
{
    const int its = rota_mpi_request_conclude(r, at(statuses, i));

    if (its != MPI_SUCCESS && err == MPI_SUCCESS) {
        for (int k = 0; k < n; k++)
            set_error(at(statuses, k), MPI_SUCCESS);
        err = MPI_ERR_IN_STATUS;
    }
    if (err != MPI_SUCCESS)
        set_error(at(statuses, i), its);
    return err;
}

/* Conclude all; err: what MPI returned for the others. */
static int conclude_all(rota_mpi_request *ours, int n, MPI_Request requests[],
                        MPI_Status statuses[], int err)
{
    show(ours, requests);
    for (rota_mpi_request *r = ours; r; r = r->next)
        err = conclude(r, n, statuses, r->index, err);
    return err;
}

/* Start them one by one, because MPI would start a stand-in. */
int rota_mpi_startall(int n, MPI_Request requests[])
{
    rota_mpi_request *ours;

    ROTA_MPI_TRY(hide(n, requests, &ours));
    if (!ours)
        return PMPI_Startall(n, requests);
    show(ours, requests);
    for (int i = 0; i < n; i++)
        ROTA_MPI_TRY(rota_mpi_start(&requests[i]));
    return MPI_SUCCESS;
}

int rota_mpi_waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    rota_mpi_request *ours;

    if (rota_mpi_refuses(statuses)) /* but not on a stand-in */
        return PMPI_Waitall(1, &none, statuses);
    ROTA_MPI_TRY(hide(n, requests, &ours));
    for (rota_mpi_request *r = ours; r; r = r->next)
        rota_mpi_request_wait(r);
    const int err = PMPI_Waitall(n, requests, statuses);
    return conclude_all(ours, n, requests, statuses, err);
}

int rota_mpi_testall(int n, MPI_Request requests[], int *flag,
                     MPI_Status statuses[])
{
    rota_mpi_request *ours;
    int err = MPI_SUCCESS;

    if (!flag || rota_mpi_refuses(statuses))
        return PMPI_Testall(1, &none, flag, statuses);
    ROTA_MPI_TRY(hide(n, requests, &ours));
    poll_ours(ours);
    const bool waits = first(ours, ROTA_MPI_ACTIVE);
    if (waits)
        *flag = 0;
    else
        err = PMPI_Testall(n, requests, flag, statuses);
    if (waits || (err == MPI_SUCCESS && !*flag)) {
        show(ours, requests);
        return MPI_SUCCESS;
    }
    return conclude_all(ours, n, requests, statuses, err);
}

/* If one is complete, or none is active: then *index is MPI_UNDEFINED. */
int rota_mpi_testany(int n, MPI_Request requests[], int *index, int *flag,
                     MPI_Status *status)
{
    rota_mpi_request *ours = NULL;
    int err = MPI_SUCCESS;

    if (!index || !flag || rota_mpi_refuses(status))
        return PMPI_Testany(1, &none, index, flag, status);
    ROTA_MPI_TRY(hide(n, requests, &ours));
    poll_ours(ours);
    rota_mpi_request *const done = first(ours, ROTA_MPI_DONE);
    if (!done)
        err = PMPI_Testany(n, requests, index, flag, status);
    show(ours, requests);
    if (done) {
        *flag = 1;
        *index = done->index;
        return rota_mpi_request_conclude(done, status);
    }
    if (err == MPI_SUCCESS && *index == MPI_UNDEFINED &&
        first(ours, ROTA_MPI_ACTIVE))
        *flag = 0;
    return err;
}

/* After this many tests in vain, yield after each. */
enum { SPINS = 1000 };

static void rest(int *looks)
{
    if ((*looks)++ >= SPINS)
        sched_yield();
}

static bool any_ours(int n, const MPI_Request requests[])
{
    for (int i = 0; requests && i < n; i++)
        if (rota_mpi_request_find(requests[i]))
            return true;
    return false;
}

int rota_mpi_waitany(int n, MPI_Request requests[], int *index,
                     MPI_Status *status)
{
    int err = MPI_SUCCESS, flag = 0, looks = 0;

    if (!index || rota_mpi_refuses(status))
        return PMPI_Waitany(1, &none, index, status);
    if (!any_ours(n, requests))
        return PMPI_Waitany(n, requests, index, status);
    for (; !flag && err == MPI_SUCCESS; rest(&looks))
        err = rota_mpi_testany(n, requests, index, &flag, status);
    return err;
}

/* Add our complete requests behind *outcount others. *outcount remains
 * MPI_UNDEFINED if no request was active. */
static int add_done(rota_mpi_request *ours, int *outcount, int indices[],
                    MPI_Status statuses[], int err)
{
    if (*outcount == MPI_UNDEFINED &&
        (first(ours, ROTA_MPI_DONE) || first(ours, ROTA_MPI_ACTIVE)))
        *outcount = 0;
    for (rota_mpi_request *r = ours; r; r = r->next) {
        if (r->state != ROTA_MPI_DONE)
            continue;
        indices[*outcount] = r->index;
        err = conclude(r, *outcount, statuses, *outcount, err);
        ++*outcount;
    }
    return err;
}

int rota_mpi_testsome(int n, MPI_Request requests[], int *outcount,
                      int indices[], MPI_Status statuses[])
{
    rota_mpi_request *ours;

    if (!outcount || !indices || rota_mpi_refuses(statuses))
        return PMPI_Testsome(1, &none, outcount, indices, statuses);
    ROTA_MPI_TRY(hide(n, requests, &ours));
    poll_ours(ours);
    const int err = PMPI_Testsome(n, requests, outcount, indices, statuses);
    show(ours, requests);
    if (err != MPI_SUCCESS && err != MPI_ERR_IN_STATUS)
        return err;
    return add_done(ours, outcount, indices, statuses, err);
}

int rota_mpi_waitsome(int n, MPI_Request requests[], int *outcount,
                      int indices[], MPI_Status statuses[])
{
    int err = MPI_SUCCESS, looks = 0;

    if (!outcount || !indices || rota_mpi_refuses(statuses))
        return PMPI_Waitsome(1, &none, outcount, indices, statuses);
    if (!any_ours(n, requests))
        return PMPI_Waitsome(n, requests, outcount, indices, statuses);
    *outcount = 0;
    for (; *outcount == 0 && err == MPI_SUCCESS; rest(&looks))
        err = rota_mpi_testsome(n, requests, outcount, indices, statuses);
    return err;
}
