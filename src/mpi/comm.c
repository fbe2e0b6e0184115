/* comm.c - what is known of a communicator, and its plans for nonblocking
 * exchanges.
 *
 * All decisions here are the same on all ranks of the communicator: see the
 * rules in shim.h.
 */
#include "mpi/shim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Communicators with plans of their own, at a time. Rota duplicates each, and
 * MPICH has about 2,000 in all, which are the program's. */
enum { MOST_TAKEN = 256 };

/* Nonblocking calls that go to MPI before plans for them are wished for, if
 * ROTA_MPI_AFTER does not say. */
enum { AFTER = 64 };

typedef enum verdict { OPEN, TAKEN, LEFT } verdict;

struct rota_mpi_comm {
    MPI_Comm comm;
    int P;
    bool foreign;          /* to Rota: an intercommunicator */
    rota_mpi_group *group; /* of blocking calls; NULL before the first */
    verdict verdict;       /* room for other plans, agreed on when needed */
    long nonblocking;      /* calls */
    bool wishing;          /* for a pool, at the next blocking collective */
    rota_mpi_run **pool;   /* [in_flight] of nonblocking exchanges, or NULL */
    long next;             /* in pool */
    rota_mpi_comm *before, *after; /* in the list */
};

atomic_int rota_mpi_n_wishes;

static rota_mpi_comm *list; /* of all, the last one first */
static int n_taken;
static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* The communicator that this thread has used last, unless one was freed since:
 * n_freed tells. */
static _Thread_local struct {
    rota_mpi_comm *c;
    unsigned n_freed;
} last;
static atomic_uint n_freed;

/* ---- pools ------------------------------------------------------------------ */

/* A run that the program has not completed outlives its communicator. */
static void let_go(rota_mpi_run *run)
{
    if (run && run->request && run->request->state != ROTA_MPI_INACTIVE)
        run->orphan = true;
    else
        rota_mpi_run_destroy(run);
}

static void free_pool(rota_mpi_run **pool, int n)
{
    for (int i = 0; pool && i < n; i++)
        let_go(pool[i]);
    free(pool);
}

/* NULL without memory. */
static rota_mpi_run **make_pool(int n, int P)
{
    rota_mpi_run **const pool = calloc((size_t)n, sizeof *pool);
    bool ok = pool != NULL;

    for (int i = 0; i < n && ok; i++) {
        pool[i] = rota_mpi_run_make(P, false, true);
        ok = pool[i] != NULL;
    }
    if (ok)
        return pool;
    free_pool(pool, n);
    return NULL;
}

/* ---- life ------------------------------------------------------------------- */

static void set_wishing(rota_mpi_comm *c, bool wishing)
{
    atomic_fetch_add(&rota_mpi_n_wishes, wishing - c->wishing);
    c->wishing = wishing;
}

static void add_to_list(rota_mpi_comm *c)
{
    pthread_mutex_lock(&list_lock);
    c->after = list;
    if (list)
        list->before = c;
    list = c;
    pthread_mutex_unlock(&list_lock);
}

/* With the lock. */
static void remove_from_list(rota_mpi_comm *c)
{
    if (c->before)
        c->before->after = c->after;
    else
        list = c->after;
    if (c->after)
        c->after->before = c->before;
}

/* The program frees the communicator. */
static int on_free(MPI_Comm comm, int key, void *value, void *extra)
{
    rota_mpi_comm *const c = value;

    (void)comm;
    (void)key;
    (void)extra;
    set_wishing(c, false);
    pthread_mutex_lock(&list_lock);
    remove_from_list(c);
    n_taken -= c->verdict == TAKEN;
    atomic_fetch_add(&n_freed, 1);
    pthread_mutex_unlock(&list_lock);
    if (c->group)
        rota_mpi_group_leave(c->group);
    free_pool(c->pool, rota_mpi_settings_get()->in_flight);
    free(c);
    return MPI_SUCCESS;
}

static int make_keyval(void)
{
    int err = MPI_SUCCESS;

    pthread_mutex_lock(&list_lock);
    if (keyval == MPI_KEYVAL_INVALID)
        err = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &keyval,
                                      NULL);
    pthread_mutex_unlock(&list_lock);
    return err;
}

/* Not so before MPI_Init or where there is a session instead. */
static bool is_running(void)
{
    int begun = 0, ended = 0;

    PMPI_Initialized(&begun);
    PMPI_Finalized(&ended);
    return begun && !ended;
}

static int describe(rota_mpi_comm *c)
{
    int inter = 0;

    ROTA_MPI_TRY(PMPI_Comm_test_inter(c->comm, &inter));
    ROTA_MPI_TRY(PMPI_Comm_size(c->comm, &c->P));
    c->foreign = inter;
    return make_keyval();
}

static rota_mpi_comm *find(MPI_Comm comm)
{
    const unsigned freed = atomic_load(&n_freed);
    rota_mpi_comm *c = NULL;
    int found = 0;

    if (last.c && last.n_freed == freed && last.c->comm == comm)
        return last.c;
    if (keyval == MPI_KEYVAL_INVALID ||
        PMPI_Comm_get_attr(comm, keyval, &c, &found) != MPI_SUCCESS || !found)
        return NULL;
    last.c = c;
    last.n_freed = freed;
    return c;
}

/* Local: a nonblocking exchange may be first. NULL for what is no communicator,
 * and then MPI says so. No memory here would be beyond agreement, as MPI itself
 * would find a moment later: it ends the program. */
static rota_mpi_comm *find_or_make(MPI_Comm comm)
{
    rota_mpi_comm *c;

    if (comm == MPI_COMM_NULL || !is_running())
        return NULL;
    c = find(comm);
    if (c)
        return c;
    c = calloc(1, sizeof *c);
    if (!c)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    c->comm = comm;
    if (describe(c) != MPI_SUCCESS) {
        free(c);
        return NULL;
    }
    if (PMPI_Comm_set_attr(comm, keyval, c) != MPI_SUCCESS)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    add_to_list(c);
    return c;
}

void rota_mpi_comm_end(void)
{
    while (list)
        PMPI_Comm_delete_attr(list->comm, keyval); /* which removes it */
    if (keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&keyval);
}

/* ---- agreeing --------------------------------------------------------------- */

bool rota_mpi_all(MPI_Comm comm, bool mine)
{
    int in = mine, out = 0;

    return PMPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MIN, comm) ==
               MPI_SUCCESS &&
           out;
}

static bool take_room(void)
{
    pthread_mutex_lock(&list_lock);
    const bool room = n_taken < MOST_TAKEN;
    n_taken += room;
    pthread_mutex_unlock(&list_lock);
    return room;
}

static void give_room_back(void)
{
    pthread_mutex_lock(&list_lock);
    n_taken--;
    pthread_mutex_unlock(&list_lock);
}

/* Is there room for plans on this communicator? Collective the first time. */
static bool takes(rota_mpi_comm *c)
{
    if (c->verdict == OPEN) {
        const bool mine = take_room();
        c->verdict = rota_mpi_all(c->comm, mine) ? TAKEN : LEFT;
        if (mine && c->verdict == LEFT)
            give_room_back();
    }
    return c->verdict == TAKEN;
}

bool rota_mpi_comm_takes_init(MPI_Comm comm)
{
    rota_mpi_comm *const c = find_or_make(comm);

    return c && !c->foreign && takes(c);
}

/* ---- making plans ----------------------------------------------------------- */

int rota_mpi_hint_at_once(MPI_Info user, MPI_Info *info)
{
    ROTA_MPI_TRY(user == MPI_INFO_NULL ? PMPI_Info_create(info)
                                       : PMPI_Info_dup(user, info));
    ROTA_MPI_TRY(PMPI_Info_set(*info, "rota_progress", "thread"));
    return PMPI_Info_set(*info, "rota_algorithm", "spread_out");
}

int rota_mpi_make_varying(MPI_Comm comm, MPI_Info info, rota_plan **plan)
{
    return rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE, comm, info,
                                       plan);
}

static int make_plans(MPI_Comm comm, rota_mpi_run **pool, int n, MPI_Info info)
{
    for (int i = 0; i < n; i++) {
        ROTA_MPI_TRY(rota_mpi_make_varying(comm, info, &pool[i]->plan));
        rota_mpi_count_plan(pool[i]->plan);
        pool[i]->request->plan = pool[i]->plan;
    }
    return MPI_SUCCESS;
}

/* Rota says the same on all ranks. What it says is no error of the program's:
 * the error handler is not to hear of it. */
static int make_plans_quietly(MPI_Comm comm, rota_mpi_run **pool, int n,
                              MPI_Info info)
{
    MPI_Errhandler handler;

    ROTA_MPI_TRY(PMPI_Comm_get_errhandler(comm, &handler));
    ROTA_MPI_TRY(PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    const int err = make_plans(comm, pool, n, info);
    PMPI_Comm_set_errhandler(comm, handler);
    PMPI_Errhandler_free(&handler);
    return err;
}

void rota_mpi_explain(MPI_Comm comm, int code)
{
    static atomic_bool said;
    char text[MPI_MAX_ERROR_STRING] = "";
    int rank = 0, length;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Error_string(code, text, &length);
    if (!atomic_exchange(&said, true) && rank == 0)
        fprintf(stderr, "rota_mpi: exchanges go to MPI: %s\n", text);
}

/* n runs with plans; NULL on all ranks if one cannot. Collective. */
static rota_mpi_run **make_runs(rota_mpi_comm *c, int n, MPI_Info info)
{
    if (!takes(c))
        return NULL;
    rota_mpi_run **const pool = make_pool(n, c->P);
    int err =
        rota_mpi_all(c->comm, pool != NULL) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (err == MPI_SUCCESS)
        err = make_plans_quietly(c->comm, pool, n, info);
    if (err == MPI_SUCCESS)
        return pool;
    rota_mpi_explain(c->comm, err);
    free_pool(pool, n);
    return NULL;
}

static void make_nonblocking(rota_mpi_comm *c)
{
    MPI_Info info = MPI_INFO_NULL;

    set_wishing(c, false);
    if (rota_mpi_all(c->comm, rota_mpi_hint_at_once(MPI_INFO_NULL, &info) ==
                                      MPI_SUCCESS &&
                                  PMPI_Info_set(info, "rota_check", "off") ==
                                      MPI_SUCCESS))
        c->pool = make_runs(c, rota_mpi_settings_get()->in_flight, info);
    if (info != MPI_INFO_NULL)
        PMPI_Info_free(&info);
}

/* ---- what a call uses ------------------------------------------------------- */

/* Alone on a communicator MPI only copies. */
rota_mpi_comm *rota_mpi_comm_get(MPI_Comm comm, int *P)
{
    rota_mpi_comm *const c = find_or_make(comm);

    if (!c || c->foreign || c->P == 1)
        return NULL;
    *P = c->P;
    return c;
}

rota_mpi_group *rota_mpi_comm_blocking(rota_mpi_comm *c)
{
    if (c->wishing)
        make_nonblocking(c);
    if (!c->group)
        c->group = rota_mpi_group_get(c->comm, c->P);
    return c->group;
}

rota_mpi_run *rota_mpi_comm_nonblocking(rota_mpi_comm *c)
{
    const rota_mpi_settings *const s = rota_mpi_settings_get();
    const long after = s->after == ROTA_MPI_BY_COST ? AFTER : s->after;

    if (c->pool)
        return c->pool[c->next++ % s->in_flight];
    if (++c->nonblocking == (after > 0 ? after : 1))
        set_wishing(c, true);
    return NULL;
}

void rota_mpi_comm_meet(MPI_Comm comm)
{
    rota_mpi_comm *const c = find(comm);

    if (c && c->wishing)
        make_nonblocking(c);
}
