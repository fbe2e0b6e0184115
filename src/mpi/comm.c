/* comm.c - what is known of a communicator, and its plans.
 *
 * All decisions here are the same on all ranks of the communicator: see the
 * rules in shim.h.
 */
#include "mpi/shim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* uthash would end the program where it cannot allocate. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Communicators with plans, at a time. Rota duplicates each, and MPICH has
 * about 2,000 in all, which are the program's. */
enum { MOST_TAKEN = 256 };

/* Plans of communicators that were freed, for the next ones of their groups. */
enum { MOST_RETIRED = 16 };

typedef enum verdict { OPEN, TAKEN, LEFT } verdict;

typedef struct comm_state {
    MPI_Comm comm;
    int P;
    bool foreign;    /* to Rota: an intercommunicator, or no MPI_Init */
    verdict verdict; /* agreed on when first needed */
    long calls[ROTA_MPI_FUNCTIONS];
    bool wishing;           /* for a pool, at the next blocking collective */
    bool tried;             /* to make the plan of MPI_Alltoallv */
    rota_mpi_run *blocking; /* of MPI_Alltoallv, or NULL */
    rota_mpi_run **pool;    /* [in_flight] of MPI_Ialltoallv, or NULL */
    long next;              /* in pool */
    MPI_Group group;        /* once taken; else MPI_GROUP_NULL */
    int64_t name;           /* of the plan, see retired */
    UT_hash_handle hh;
} comm_state;

/* A plan outlives its communicator, since Rota has one of its own under it. Its
 * name is the same on all ranks of the group, and no other of theirs has it. */
typedef struct retired {
    MPI_Group group;
    int64_t name;
    rota_mpi_run *run;
} retired;

atomic_int rota_mpi_n_wishes;

static comm_state *table;
static int n_taken;
static retired rest[MOST_RETIRED]; /* the newest last */
static int n_retired;
static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

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
static rota_mpi_run **make_pool(int n, int P, bool with_requests)
{
    rota_mpi_run **const pool = calloc((size_t)n, sizeof *pool);
    bool ok = pool != NULL;

    for (int i = 0; i < n && ok; i++) {
        pool[i] = rota_mpi_run_make(P, with_requests);
        ok = pool[i] != NULL;
    }
    if (ok)
        return pool;
    free_pool(pool, n);
    return NULL;
}

/* ---- plans of communicators that are gone ------------------------------------- */

static void drop(retired *r)
{
    rota_mpi_run_destroy(r->run);
    PMPI_Group_free(&r->group);
}

/* The run and the group of c, which is being freed. */
static void retire(comm_state *c)
{
    retired oldest = {0};

    pthread_mutex_lock(&table_lock);
    if (n_retired == MOST_RETIRED) {
        oldest = rest[0];
        n_retired--;
        memmove(rest, rest + 1, (size_t)n_retired * sizeof *rest);
    }
    rest[n_retired++] =
        (retired){.group = c->group, .name = c->name, .run = c->blocking};
    pthread_mutex_unlock(&table_lock);
    if (oldest.run)
        drop(&oldest);
}

static bool is_same(MPI_Group a, MPI_Group b)
{
    int result = MPI_UNEQUAL;

    return PMPI_Group_compare(a, b, &result) == MPI_SUCCESS &&
           result == MPI_IDENT;
}

/* The name of the newest plan of the group; 0: there is none. */
static int64_t find_retired(MPI_Group group)
{
    int64_t name = 0;

    pthread_mutex_lock(&table_lock);
    for (int i = n_retired - 1; i >= 0 && !name; i--)
        if (is_same(rest[i].group, group))
            name = rest[i].name;
    pthread_mutex_unlock(&table_lock);
    return name;
}

/* All ranks have found this one. */
static void take_retired(comm_state *c, int64_t name)
{
    int i = 0;

    pthread_mutex_lock(&table_lock);
    while (rest[i].name != name || !is_same(rest[i].group, c->group))
        i++;
    retired found = rest[i];
    n_retired--;
    memmove(rest + i, rest + i + 1, (size_t)(n_retired - i) * sizeof *rest);
    pthread_mutex_unlock(&table_lock);
    c->name = name;
    c->blocking = found.run;
    c->tried = true;
    PMPI_Group_free(&found.group);
    if (rota_plan_move(found.run->plan, c->comm) != MPI_SUCCESS)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
}

/* ---- life ------------------------------------------------------------------- */

static void set_wishing(comm_state *c, bool wishing)
{
    atomic_fetch_add(&rota_mpi_n_wishes, wishing - c->wishing);
    c->wishing = wishing;
}

/* The program frees the communicator. */
static int on_free(MPI_Comm comm, int key, void *value, void *extra)
{
    comm_state *const c = value;

    (void)comm;
    (void)key;
    (void)extra;
    set_wishing(c, false);
    pthread_mutex_lock(&table_lock);
    HASH_DEL(table, c);
    n_taken -= c->verdict == TAKEN;
    pthread_mutex_unlock(&table_lock);
    if (c->blocking)
        retire(c);
    else if (c->group != MPI_GROUP_NULL)
        PMPI_Group_free(&c->group);
    free_pool(c->pool, rota_mpi_settings_get()->in_flight);
    free(c);
    return MPI_SUCCESS;
}

static int make_keyval(void)
{
    int err = MPI_SUCCESS;

    pthread_mutex_lock(&table_lock);
    if (keyval == MPI_KEYVAL_INVALID)
        err = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &keyval,
                                      NULL);
    pthread_mutex_unlock(&table_lock);
    return err;
}

static int describe(comm_state *c)
{
    int inter = 0, world = 0; /* or sessions, which have no MPI_COMM_SELF */

    ROTA_MPI_TRY(PMPI_Comm_test_inter(c->comm, &inter));
    ROTA_MPI_TRY(PMPI_Comm_size(c->comm, &c->P));
    ROTA_MPI_TRY(PMPI_Initialized(&world));
    c->foreign = inter || !world;
    return make_keyval();
}

static comm_state *find(MPI_Comm comm)
{
    comm_state *c;

    pthread_mutex_lock(&table_lock);
    HASH_FIND(hh, table, &comm, sizeof comm, c);
    pthread_mutex_unlock(&table_lock);
    return c;
}

/* Local: MPI_Ialltoallv may be first. NULL for what is no communicator, and
 * then MPI says so. No memory here would be beyond agreement, as MPI itself
 * would find a moment later: it ends the program. */
static comm_state *find_or_make(MPI_Comm comm)
{
    comm_state *c = comm == MPI_COMM_NULL ? NULL : find(comm);

    if (c || comm == MPI_COMM_NULL)
        return c;
    c = calloc(1, sizeof *c);
    if (!c)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    c->comm = comm;
    c->group = MPI_GROUP_NULL;
    if (describe(c) != MPI_SUCCESS) {
        free(c);
        return NULL;
    }
    pthread_mutex_lock(&table_lock);
    HASH_ADD(hh, table, comm, sizeof c->comm, c);
    pthread_mutex_unlock(&table_lock);
    if (!c->hh.tbl || PMPI_Comm_set_attr(comm, keyval, c) != MPI_SUCCESS)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return c;
}

void rota_mpi_comm_end(void)
{
    comm_state *c, *next;

    HASH_ITER(hh, table, c, next)
    {
        PMPI_Comm_delete_attr(c->comm, keyval);
    }
    while (n_retired > 0)
        drop(&rest[--n_retired]);
    if (keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&keyval);
}

/* ---- agreeing --------------------------------------------------------------- */

/* Is it true on all ranks? Collective. */
static bool all(MPI_Comm comm, bool mine)
{
    int in = mine, out = 0;

    return PMPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MIN, comm) ==
               MPI_SUCCESS &&
           out;
}

static bool take_room(void)
{
    pthread_mutex_lock(&table_lock);
    const bool room = n_taken < MOST_TAKEN;
    n_taken += room;
    pthread_mutex_unlock(&table_lock);
    return room;
}

static void give_room_back(void)
{
    pthread_mutex_lock(&table_lock);
    n_taken--;
    pthread_mutex_unlock(&table_lock);
}

/* The next free name on this rank, which is to be at least this one. */
static int64_t look_at_name(int64_t least)
{
    static int64_t next = 1;

    pthread_mutex_lock(&table_lock);
    next = next > least ? next : least;
    const int64_t name = next;
    pthread_mutex_unlock(&table_lock);
    return name;
}

/* The first time: is there room on all ranks, and do all have the same plan of
 * a communicator that is gone? */
static void judge(comm_state *c)
{
    enum { ROOM, OFFER, NOT_OFFER, NOT_NAME, N };
    int64_t in[N] = {0}, out[N];

    if (PMPI_Comm_group(c->comm, &c->group) != MPI_SUCCESS)
        c->group = MPI_GROUP_NULL;
    in[ROOM] = c->group != MPI_GROUP_NULL && take_room();
    in[OFFER] = in[ROOM] ? find_retired(c->group) : 0;
    in[NOT_OFFER] = -in[OFFER];
    in[NOT_NAME] = -look_at_name(0);
    const bool agreed = PMPI_Allreduce(in, out, N, MPI_INT64_T, MPI_MIN,
                                       c->comm) == MPI_SUCCESS;
    c->verdict = agreed && out[ROOM] ? TAKEN : LEFT;
    if (in[ROOM] && c->verdict == LEFT)
        give_room_back();
    if (c->verdict == LEFT)
        return;
    c->name = -out[NOT_NAME];
    look_at_name(c->name + 1);
    if (out[OFFER] > 0 && out[OFFER] == -out[NOT_OFFER])
        take_retired(c, out[OFFER]);
}

/* Is there room for plans on this communicator? Collective the first time. */
static bool takes(comm_state *c)
{
    if (c->verdict == OPEN)
        judge(c);
    return c->verdict == TAKEN;
}

bool rota_mpi_comm_takes_init(MPI_Comm comm)
{
    if (!rota_mpi_settings_get()->on[ROTA_MPI_INIT] || rota_mpi_in_f08())
        return false;
    comm_state *const c = find_or_make(comm);
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

/* Rota says the same on all ranks. What it says is no error of the program's:
 * the error handler is not to hear of it. */
static int make_plan(MPI_Comm comm, MPI_Info info, rota_plan **plan)
{
    MPI_Errhandler handler;

    ROTA_MPI_TRY(PMPI_Comm_get_errhandler(comm, &handler));
    ROTA_MPI_TRY(PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    const int err =
        rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE, comm, info, plan);
    PMPI_Comm_set_errhandler(comm, handler);
    PMPI_Errhandler_free(&handler);
    if (err == MPI_SUCCESS)
        rota_mpi_count_plan(*plan);
    return err;
}

static int make_plans(MPI_Comm comm, rota_mpi_run **pool, int n, MPI_Info info)
{
    for (int i = 0; i < n; i++) {
        ROTA_MPI_TRY(make_plan(comm, info, &pool[i]->plan));
        if (pool[i]->request)
            pool[i]->request->plan = pool[i]->plan;
    }
    return MPI_SUCCESS;
}

/* Why Rota does not take a communicator whose turn has come; once is enough. */
static void explain(MPI_Comm comm, int code)
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
static rota_mpi_run **make_runs(comm_state *c, int n, bool with_requests,
                                MPI_Info info)
{
    if (!takes(c))
        return NULL;
    rota_mpi_run **const pool = make_pool(n, c->P, with_requests);
    int err = all(c->comm, pool != NULL) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (err == MPI_SUCCESS)
        err = make_plans(c->comm, pool, n, info);
    if (err == MPI_SUCCESS)
        return pool;
    explain(c->comm, err);
    free_pool(pool, n);
    return NULL;
}

/* What overlaps and MPI takes is taken. */
static int hint_unchecked(MPI_Info *info)
{
    ROTA_MPI_TRY(PMPI_Info_create(info));
    return PMPI_Info_set(*info, "rota_check", "off");
}

static void make_blocking(comm_state *c)
{
    if (!takes(c) || c->blocking) { /* of a communicator that is gone */
        c->tried = true;
        return;
    }
    MPI_Info info = MPI_INFO_NULL;
    rota_mpi_run **one = NULL;

    if (all(c->comm, hint_unchecked(&info) == MPI_SUCCESS))
        one = make_runs(c, 1, false, info);
    if (info != MPI_INFO_NULL)
        PMPI_Info_free(&info);

    c->tried = true;
    c->blocking = one ? *one : NULL;
    free(one);
}

static void make_nonblocking(comm_state *c)
{
    MPI_Info info = MPI_INFO_NULL;

    set_wishing(c, false);
    if (all(c->comm,
            rota_mpi_hint_at_once(MPI_INFO_NULL, &info) == MPI_SUCCESS &&
                PMPI_Info_set(info, "rota_check", "off") == MPI_SUCCESS))
        c->pool = make_runs(c, rota_mpi_settings_get()->in_flight, true, info);
    if (info != MPI_INFO_NULL)
        PMPI_Info_free(&info);
}

/* ---- what a call uses ------------------------------------------------------- */

/* Alone on a communicator MPI only copies. */
static comm_state *count(MPI_Comm comm, rota_mpi_function function)
{
    if (!rota_mpi_settings_get()->on[function])
        return NULL;
    comm_state *const c = find_or_make(comm);
    if (!c || c->foreign || c->P == 1)
        return NULL;
    c->calls[function]++;
    return c;
}

rota_mpi_run *rota_mpi_comm_blocking(MPI_Comm comm)
{
    comm_state *const c = count(comm, ROTA_MPI_BLOCKING);

    if (!c)
        return NULL;
    if (c->wishing)
        make_nonblocking(c);
    if (!c->tried &&
        c->calls[ROTA_MPI_BLOCKING] > rota_mpi_settings_get()->after)
        make_blocking(c);
    return c->blocking;
}

rota_mpi_run *rota_mpi_comm_nonblocking(MPI_Comm comm)
{
    if (rota_mpi_in_f08())
        return NULL;
    comm_state *const c = count(comm, ROTA_MPI_NONBLOCKING);
    if (!c)
        return NULL;
    if (c->pool)
        return c->pool[c->next++ % rota_mpi_settings_get()->in_flight];
    const long after = rota_mpi_settings_get()->after;
    if (c->calls[ROTA_MPI_NONBLOCKING] == (after > 0 ? after : 1))
        set_wishing(c, true);
    return NULL;
}

void rota_mpi_comm_meet(MPI_Comm comm)
{
    comm_state *const c = find(comm);

    if (c && c->wishing)
        make_nonblocking(c);
}
