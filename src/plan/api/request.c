/* request.c - see request.h. */
#include "plan/api/request.h"
#include "exec/move/lock.h"
#include "plan/ranks/comm.h"
#include "plan/ranks/error_code.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct request {
    rota_plan *plan;
    const char *function; /* that made it */
    MPI_Request handle;
    int code; /* of the run, once it is over */
    bool over;
    unsigned vain; /* how often it was looked at */
    struct request *next;
} request;

/* ---- the end of a run ---------------------------------------------------- */

/* The executor's run is over, with this status. An exchange stays started until
 * its blocks are collected. */
static void end(request *r, int err)
{
    rota_plan *const plan = r->plan;
    const rota_exec *const x = &plan->built.exec;
    bool quiet;

    r->over = true;
    err = rota_plan_outcome(plan, err, &quiet);
    plan->active =
        x->counts_unknown && err == MPI_SUCCESS ? ROTA_STARTED : ROTA_IDLE;
    if (err == MPI_SUCCESS)
        return;
    rota_fail_at(plan->comm->me);
    r->code = rota_error_code(r->function, err);
}

/* ---- what MPI calls ------------------------------------------------------ */

static int query(void *state, MPI_Status *status)
{
    const request *const r = state;

    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    MPI_Status_set_cancelled(status, 0);
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    return r->code;
}

static int release(void *state)
{
    free(state);
    return MPI_SUCCESS;
}

/* Collectives cannot be cancelled. */
static int cancel(void *state, int complete)
{
    (void)state;
    return complete ? MPI_SUCCESS : MPI_ERR_REQUEST;
}

#ifdef ROTA_MPI_HAS_POLLED_REQUESTS

/* Advance, and see whether the run is over. If memory has run out, the next call
 * tries again. */
static bool look(request *r)
{
    bool done;

    const int err = rota_exec_test(&r->plan->built.exec, &done);
    if (done)
        end(r, err);
    else if (err != MPI_SUCCESS)
        rota_fail_clear();
    return done;
}

/* MPI waits by calling this again and again: the processor is given up where
 * others may need it to get on. */
static int poll(void *state, MPI_Status *status)
{
    enum { VAIN = 64 };
    request *const r = state;

    (void)status;
    if (r->over)
        return MPI_SUCCESS;
    if (look(r))
        return MPI_Grequest_complete(r->handle);
    if (++r->vain % VAIN == 0)
        sched_yield();
    return MPI_SUCCESS;
}

static int wait(int n, void **states, double timeout, MPI_Status *status)
{
    (void)timeout;
    (void)status;
    for (int i = 0; i < n; i++) {
        request *const r = states[i];
        if (r->over)
            continue;
        end(r, rota_exec_wait(&r->plan->built.exec));
        ROTA_TRY(MPI_Grequest_complete(r->handle));
    }
    return MPI_SUCCESS;
}

int rota_request_check(void)
{
    return MPI_SUCCESS;
}

static int start(request *r)
{
    return MPIX_Grequest_start(query, release, cancel, poll, wait, r,
                               &r->handle);
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static request *list;
static atomic_int n_listed;

/* Take those whose run is over off the list, and return them. The lock of runs is
 * not needed: a run that is over stays so. */
static request *take_ended(void)
{
    request *ended = NULL, **at = &list;

    while (*at) {
        request *const r = *at;
        if (rota_exec_is_active(&r->plan->built.exec)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        r->next = ended;
        ended = r;
    }
    return ended;
}

/* Open MPI calls this whenever it makes progress, also where Rota called it. */
static int progress(void)
{
    int n = 0;

    if (atomic_load_explicit(&n_listed, memory_order_relaxed) == 0 ||
        !rota_exec_advance_all() || pthread_mutex_trylock(&list_lock) != 0)
        return 0;
    request *ended = take_ended();
    pthread_mutex_unlock(&list_lock);
    while (ended) {
        request *const r = ended;
        ended = r->next;
        n_listed--;
        n++;
        end(r, rota_status_result(&r->plan->built.exec.status));
        MPI_Grequest_complete(r->handle);
    }
    return n;
}

typedef int (*register_function)(int (*function)(void));

static register_function find_hook(void)
{
    register_function f = NULL;
    void *const symbol = dlsym(RTLD_DEFAULT, "opal_progress_register");

    memcpy(&f, &symbol, sizeof f);
    return f;
}

int rota_request_check(void)
{
    return find_hook() ? MPI_SUCCESS
                       : rota_fail(MPI_ERR_OTHER,
                                   "this MPI cannot advance plans while it "
                                   "waits for a request");
}

/* From the first request on: then the lock keeps progress out of what Rota itself
 * is doing when it calls MPI. */
static int register_once(void)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    static bool registered;

    pthread_mutex_lock(&once);
    if (!registered) {
        rota_lock_set_threaded();
        registered = find_hook()(progress) == 0;
    }
    const bool is = registered;
    pthread_mutex_unlock(&once);
    return is ? MPI_SUCCESS
              : rota_fail(MPI_ERR_OTHER, "opal_progress_register failed");
}

static int start(request *r)
{
    ROTA_TRY(register_once());
    ROTA_TRY(MPI_Grequest_start(query, release, cancel, r, &r->handle));
    pthread_mutex_lock(&list_lock);
    r->next = list;
    list = r;
    pthread_mutex_unlock(&list_lock);
    n_listed++;
    return MPI_SUCCESS;
}

#endif

/* ---- making -------------------------------------------------------------- */

int rota_request_make(rota_plan *plan, const char *function,
                      MPI_Request *handle)
{
    request *const r = calloc(1, sizeof *r);

    if (!r)
        return rota_fail_mem("a request");
    r->plan = plan;
    r->function = function;
    plan->active = ROTA_REQUESTED;
    const int err = start(r);
    if (err != MPI_SUCCESS) {
        plan->active = ROTA_STARTED;
        free(r);
        return err;
    }
    *handle = r->handle;
    return MPI_SUCCESS;
}
