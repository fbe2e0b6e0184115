/* request.c - see request.h; and MPI's functions for one request. */
#include "mpi/request.h"
#include "mpi/args.h"
#include "mpi/stats.h"

#include "plan/inside.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

atomic_int rota_mpi_n_requests;

static rota_mpi_request *table;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint n_changes; /* of the table */

/* ---- stand-ins ----------------------------------------------------------- */

/* Somebody else completed a stand-in. MPI prescribes the parameters. */
static int caught(void *unused, MPI_Status *status)
{
    (void)unused;
    (void)status;
    fprintf(stderr,
            "rota_mpi: a request of MPI_Alltoallv_init or its kin was "
            "completed by a function that librota_mpi does not see, such as "
            "another profiling library's. ROTA_MPI_ALLTOALLV_INIT=off leaves "
            "these requests to MPI.\n");
    return PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_REQUEST);
}

static int freed(void *unused)
{
    (void)unused;
    return MPI_SUCCESS;
}

static int cancelled(void *unused, int complete)
{
    (void)unused;
    (void)complete;
    return MPI_SUCCESS;
}

/* Not persistent, so nobody can start it, and complete, so that MPI asks for its
 * status wherever it is waited for. */
static int make_stand_in(MPI_Request *handle)
{
    ROTA_MPI_TRY(PMPI_Grequest_start(caught, freed, cancelled, NULL, handle));
    return PMPI_Grequest_complete(*handle);
}

/* ---- the table ----------------------------------------------------------- */

rota_mpi_request *rota_mpi_request_make(void)
{
    rota_mpi_request *const r = rota_mpi_alloc(1, sizeof *r);

    if (make_stand_in(&r->handle) != MPI_SUCCESS) {
        free(r);
        return NULL;
    }
    pthread_mutex_lock(&table_lock);
    HASH_ADD(hh, table, handle, sizeof r->handle, r);
    pthread_mutex_unlock(&table_lock);
    if (!r->hh.tbl)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    n_changes++;
    rota_mpi_n_requests++;
    return r;
}

void rota_mpi_request_destroy(rota_mpi_request *r)
{
    pthread_mutex_lock(&table_lock);
    HASH_DEL(table, r);
    pthread_mutex_unlock(&table_lock);
    n_changes++;
    rota_mpi_n_requests--;
    PMPI_Request_free(&r->handle);
    free(r);
}

static rota_mpi_request *look_up(MPI_Request handle)
{
    rota_mpi_request *r;

    pthread_mutex_lock(&table_lock);
    HASH_FIND(hh, table, &handle, sizeof handle, r);
    pthread_mutex_unlock(&table_lock);
    return r;
}

/* What a thread has looked up, as long as the table does not change: programs start
 * and wait for the same few requests. */
typedef struct known {
    MPI_Request handle;
    unsigned n_changes; /* before it was looked up */
    rota_mpi_request *r;
} known;

enum { PLACES = 16 };

static known *place_of(MPI_Request handle)
{
    static _Thread_local known places[PLACES];
    const uintptr_t number = (uintptr_t)handle; /* or an address */

    return &places[(number ^ number >> 7) % PLACES];
}

static __attribute__((noinline)) rota_mpi_request *
find_anew(known *k, MPI_Request handle, unsigned now)
{
    if (handle == MPI_REQUEST_NULL)
        return NULL;
    *k = (known){handle, now, look_up(handle)};
    return k->r;
}

/* No place has a handle that is null, unless MPI says so by 0: then no request has
 * it. */
rota_mpi_request *rota_mpi_request_find(MPI_Request handle)
{
    const unsigned now = atomic_load(&n_changes);
    known *const k = place_of(handle);

    return k->handle == handle && k->n_changes == now
               ? k->r
               : find_anew(k, handle, now);
}

static MPI_Request none = MPI_REQUEST_NULL; /* whose status is empty */

/* ---- life of a request --------------------------------------------------- */

/* The plan is complete. */
static void settle(rota_mpi_request *r, int err)
{
    r->state = ROTA_MPI_DONE;
    r->err = err;
}

void rota_mpi_request_wait(rota_mpi_request *r)
{
    if (r->state != ROTA_MPI_ACTIVE)
        return;
    const double begin = rota_mpi_time_begin();
    settle(r, rota_wait(r->plan));
    rota_mpi_time_end(begin, true);
}

void rota_mpi_request_poll(rota_mpi_request *r)
{
    int done = 1;

    if (r->state != ROTA_MPI_ACTIVE)
        return;
    const int err = rota_test(r->plan, &done);
    if (done || err != MPI_SUCCESS)
        settle(r, err);
}

int rota_mpi_request_conclude(rota_mpi_request *r, MPI_Status *status)
{
    const int err = r->state == ROTA_MPI_DONE ? r->err : MPI_SUCCESS;

    r->state = ROTA_MPI_INACTIVE;
    if (status != MPI_STATUS_IGNORE)
        PMPI_Wait(&none, status);
    return err;
}

/* ---- MPI's functions for one request ------------------------------------- */

static int refuse(const char *why)
{
    return rota_error_raise(MPI_COMM_NULL, MPI_ERR_REQUEST, why);
}

static rota_mpi_request *find_at(const MPI_Request *request)
{
    return request ? rota_mpi_request_find(*request) : NULL;
}

int rota_mpi_start(MPI_Request *request)
{
    rota_mpi_request *const r = find_at(request);

    if (!r)
        return PMPI_Start(request);
    if (r->state != ROTA_MPI_INACTIVE)
        return refuse("the request is active");
    const double begin = rota_mpi_time_begin();
    ROTA_MPI_TRY(rota_start(r->plan));
    r->state = ROTA_MPI_ACTIVE;
    rota_mpi_count_start(r->bytes);
    rota_mpi_time_end(begin, true);
    return MPI_SUCCESS;
}

int rota_mpi_wait(MPI_Request *request, MPI_Status *status)
{
    rota_mpi_request *const r = find_at(request);

    if (!r)
        return PMPI_Wait(request, status);
    if (rota_mpi_refuses(status)) /* which MPI refuses, but not on a stand-in */
        return PMPI_Wait(&none, status);
    rota_mpi_request_wait(r);
    return rota_mpi_request_conclude(r, status);
}

int rota_mpi_test(MPI_Request *request, int *flag, MPI_Status *status)
{
    rota_mpi_request *const r = find_at(request);

    if (!r)
        return PMPI_Test(request, flag, status);
    if (!flag || rota_mpi_refuses(status))
        return PMPI_Test(&none, flag, status);
    rota_mpi_request_poll(r);
    *flag = r->state != ROTA_MPI_ACTIVE;
    return *flag ? rota_mpi_request_conclude(r, status) : MPI_SUCCESS;
}

int rota_mpi_request_get_status(MPI_Request request, int *flag,
                                MPI_Status *status)
{
    rota_mpi_request *const r = rota_mpi_request_find(request);

    if (!r || !flag || rota_mpi_refuses(status))
        return PMPI_Request_get_status(r ? none : request, flag, status);
    rota_mpi_request_poll(r);
    *flag = r->state != ROTA_MPI_ACTIVE;
    return *flag ? PMPI_Wait(&none, status) : MPI_SUCCESS;
}

/* Rota refuses to free an active request. */
int rota_mpi_request_free(MPI_Request *request)
{
    rota_mpi_request *const r = find_at(request);

    if (!r)
        return PMPI_Request_free(request);
    if (r->state == ROTA_MPI_ACTIVE)
        return refuse("the request is active");
    ROTA_MPI_TRY(rota_plan_free(&r->plan));
    rota_mpi_request_destroy(r);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* Collectives cannot be cancelled. */
int rota_mpi_cancel(MPI_Request *request)
{
    return find_at(request) ? refuse("collectives cannot be cancelled")
                            : PMPI_Cancel(request);
}
