/* request.c - see request.h. */
#include "plan/api/request.h"
#include "exec/move/lock.h"
#include "plan/ranks/comm.h"
#include "plan/ranks/error_code.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    rota_plan *plan;
    const char *function; /* that made it */
    MPI_Request handle;
    int code;      /* of the run, once it is over */
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

/* ---- requests under way -------------------------------------------------- */

static request *list;     /* guarded by the lock of runs */
static atomic_int n_open; /* in the list, or about to be */

static void enlist(request *r)
{
    rota_lock();
    r->next = list;
    list = r;
    rota_unlock();
}

/* Take off the list those whose run is over, and return them. */
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
        n_open--;
    }
    return ended;
}

/* Of taken ones. Once a request is complete, another thread may have MPI free it. */
static int complete(request *r)
{
    int first = MPI_SUCCESS;

    for (request *next; r; r = next) {
        next = r->next;
        end(r, rota_status_result(&r->plan->built.exec.status));
        const int err = MPI_Grequest_complete(r->handle);
        if (first == MPI_SUCCESS)
            first = err;
    }
    return first;
}

/* ---- progress in every call of MPI --------------------------------------- */

/* A function of MPI that has it call one of ours whenever it makes progress, also
 * where Rota called it. */
typedef struct hook {
    const char *symbol; /* found when the program runs */
    /* Says whether a request is complete, and makes no progress. NULL: what MPI
     * calls while it makes progress may make progress, too. */
    const char *tells;
    int (*set)(void *function); /* by this function; may be set already */
} hook;

static rota_tells *tells;

static void progress(void)
{
    if (atomic_load_explicit(&n_open, memory_order_relaxed) == 0 ||
        !rota_lock_try())
        return;
    rota_exec_advance_within_mpi(tells);
    request *const ended = take_ended();
    rota_unlock();
    complete(ended);
}

/* Open MPI calls it for good. */
static int poll_in_open_mpi(void)
{
    progress();
    return 0;
}

static int set_in_open_mpi(void *function)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    static bool is_set;
    int (*set)(int (*poll)(void));

    memcpy(&set, &function, sizeof set);
    pthread_mutex_lock(&once);
    is_set = is_set || set(poll_in_open_mpi) == 0;
    const bool done = is_set;
    pthread_mutex_unlock(&once);
    return done ? MPI_SUCCESS : MPI_ERR_OTHER;
}

#ifdef ROTA_MPI_HAS_ASYNC

static bool is_set_in_mpich; /* guarded by the lock of runs */

/* MPICH calls it until it says that it is done; so does MPI_Finalize, before it says
 * that MPI ends. */
static int poll_in_mpich(MPIX_Async_thing unused)
{
    (void)unused;
    progress();
    if (n_open > 0 || !rota_lock_try())
        return MPIX_ASYNC_NOPROGRESS;
    is_set_in_mpich = n_open > 0;
    const bool goes_on = is_set_in_mpich;
    rota_unlock();
    return goes_on ? MPIX_ASYNC_NOPROGRESS : MPIX_ASYNC_DONE;
}

static int set_in_mpich(void *function)
{
    int (*set)(MPIX_Async_poll_function *, void *, MPIX_Stream);

    memcpy(&set, &function, sizeof set);
    rota_lock();
    const bool was_set = is_set_in_mpich;
    is_set_in_mpich = true;
    rota_unlock();
    return was_set ? MPI_SUCCESS : set(poll_in_mpich, NULL, MPIX_STREAM_NULL);
}

#endif

static const hook hooks[] = {
    {"opal_progress_register", NULL, set_in_open_mpi},
#ifdef ROTA_MPI_HAS_ASYNC
    {"MPIX_Async_start", "MPIX_Request_is_complete", set_in_mpich},
#endif
};

static int (*set_hook)(void *function);
static void *hook_function;

static void find_hook(void)
{
    for (size_t i = 0; !set_hook && i < sizeof hooks / sizeof *hooks; i++) {
        const hook *const h = &hooks[i];
        void *const said = h->tells ? dlsym(RTLD_DEFAULT, h->tells) : NULL;
        hook_function = dlsym(RTLD_DEFAULT, h->symbol);
        if (!hook_function || (h->tells && !said))
            continue;
        memcpy(&tells, &said, sizeof said);
        set_hook = h->set;
        rota_lock_need(ROTA_LOCK_CALLBACKS);
    }
}

static bool has_hook(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_hook);
    return set_hook;
}

/* ---- MPI's own looking ----------------------------------------------------- */

#ifdef ROTA_MPI_HAS_POLLED_REQUESTS

/* Its run is over: complete it, unless somebody else does. */
static int finish(const request *r)
{
    request **at = &list, *mine;

    rota_lock();
    while (*at && *at != r)
        at = &(*at)->next;
    mine = *at;
    if (mine) {
        *at = mine->next;
        mine->next = NULL;
        n_open--;
    }
    rota_unlock();
    return complete(mine);
}

/* Advance, and see whether the run is over. If memory has run out, the next call
 * tries again. MPI waits by calling this again and again: the processor is given up
 * where others may need it to get on. */
static int poll(void *state, MPI_Status *status)
{
    enum { VAIN = 64 };
    request *const r = state;
    bool done;

    (void)status;
    if (rota_exec_test(&r->plan->built.exec, &done) != MPI_SUCCESS)
        rota_fail_clear();
    if (done)
        return finish(r);
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
        if (rota_exec_wait(&r->plan->built.exec) != MPI_SUCCESS)
            rota_fail_clear();
        ROTA_TRY(finish(r));
    }
    return MPI_SUCCESS;
}

int rota_request_check(void)
{
    return MPI_SUCCESS;
}

static int make(request *r)
{
    return MPIX_Grequest_start(query, release, cancel, poll, wait, r,
                               &r->handle);
}

#else

int rota_request_check(void)
{
    return has_hook() ? MPI_SUCCESS
                      : rota_fail(MPI_ERR_OTHER,
                                  "this MPI cannot advance plans while it "
                                  "waits for a request");
}

static int make(request *r)
{
    return MPI_Grequest_start(query, release, cancel, r, &r->handle);
}

#endif

/* ---- making -------------------------------------------------------------- */

static int start(request *r)
{
    int err = MPI_SUCCESS;

    n_open++;
    if (has_hook() && set_hook(hook_function) != MPI_SUCCESS)
        err = rota_fail(MPI_ERR_OTHER, "MPI takes no function of progress");
    if (err == MPI_SUCCESS)
        err = make(r);
    if (err == MPI_SUCCESS)
        enlist(r);
    else
        n_open--;
    return err;
}

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
