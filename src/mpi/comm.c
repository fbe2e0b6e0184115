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

/* Nonblocking calls of one sort. */
typedef struct pool {
    long calls;
    bool wished;        /* for plans, at the next blocking collective */
    rota_mpi_run **run; /* [in_flight], or NULL */
    long next;
} pool;

struct rota_mpi_comm {
    MPI_Comm comm;
    int P;
    bool foreign;                /* to Rota: an intercommunicator */
    bool looked;                 /* for a topology */
    rota_mpi_topology *topology; /* or NULL */

    /* Of calls among all ranks, and among neighbours. */
    rota_mpi_group *group[2]; /* of blocking ones; NULL before the first */
    pool pool[2];
    verdict verdict; /* room for plans of others, agreed on when needed */
    rota_mpi_comm *before, *after; /* in the list */
};

atomic_int rota_mpi_n_wishes;
atomic_uint rota_mpi_n_freed;

static rota_mpi_comm *list; /* of all, the last one first */
static rota_mpi_comm
    *spare; /* of one that was freed, for the next one, or NULL */
static int n_taken;
static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

/* The communicator that this thread has used last, unless one was freed since. */
static _Thread_local struct {
    rota_mpi_comm *c;
    unsigned n_freed;
} last;

/* ---- pools --------------------------------------------------------------- */

/* A run that the program has not completed outlives its communicator. */
static void let_go(rota_mpi_run *run)
{
    if (run && run->request && run->request->state != ROTA_MPI_INACTIVE)
        run->orphan = true;
    else
        rota_mpi_run_destroy(run);
}

static void free_runs(rota_mpi_run **run, int n)
{
    if (!run)
        return;
    for (int i = 0; i < n; i++)
        let_go(run[i]);
    free(run);
}

/* NULL without memory. */
static rota_mpi_run **alloc_runs(int n, const rota_mpi_args *args)
{
    rota_mpi_run **const run = calloc((size_t)n, sizeof *run);
    bool ok = run != NULL;

    for (int i = 0; i < n && ok; i++) {
        run[i] = rota_mpi_run_make(args, false, true);
        ok = run[i] != NULL;
    }
    if (ok)
        return run;
    free_runs(run, n);
    return NULL;
}

/* ---- life ---------------------------------------------------------------- */

static void set_wished(pool *p, bool wished)
{
    atomic_fetch_add(&rota_mpi_n_wishes, wished - p->wished);
    p->wished = wished;
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

/* Cleared. Programs make communicators that live for one call. */
static rota_mpi_comm *take_record(void)
{
    pthread_mutex_lock(&list_lock);
    rota_mpi_comm *const c = spare;
    spare = NULL;
    pthread_mutex_unlock(&list_lock);
    if (!c)
        return calloc(1, sizeof *c);
    *c = (rota_mpi_comm){0};
    return c;
}

/* With the lock. */
static void put_record(rota_mpi_comm *c)
{
    if (spare)
        free(c);
    else
        spare = c;
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
    pthread_mutex_lock(&list_lock);
    remove_from_list(c);
    n_taken -= c->verdict == TAKEN;
    atomic_fetch_add(&rota_mpi_n_freed, 1);
    const rota_mpi_comm gone = *c;
    put_record(c);
    pthread_mutex_unlock(&list_lock);
    for (int among = 1; among >= 0; among--) { /* neighbours first */
        if (gone.group[among])
            rota_mpi_group_leave(gone.group[among]);
        if (gone.pool[among].wished)
            atomic_fetch_sub(&rota_mpi_n_wishes, 1);
        free_runs(gone.pool[among].run, rota_mpi_settings_get()->in_flight);
    }
    rota_mpi_topology_free(gone.topology);
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
    const unsigned freed = atomic_load(&rota_mpi_n_freed);
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
    c = take_record();
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
    free(spare);
    spare = NULL;
    if (keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&keyval);
}

/* ---- agreeing ------------------------------------------------------------ */

int rota_mpi_reduce(const void *in, void *out, int n, MPI_Datatype type,
                    MPI_Op op, MPI_Comm comm)
{
    MPI_Request request;

    ROTA_MPI_TRY(PMPI_Iallreduce(in, out, n, type, op, comm, &request));
    return rota_wait_request(comm, &request);
}

int rota_mpi_barrier(MPI_Comm comm)
{
    MPI_Request request;

    ROTA_MPI_TRY(PMPI_Ibarrier(comm, &request));
    return rota_wait_request(comm, &request);
}

int rota_mpi_duplicate(MPI_Comm ours, MPI_Comm *comm)
{
    MPI_Request request;

    ROTA_MPI_TRY(PMPI_Comm_idup(ours, comm, &request));
    return rota_wait_request(ours, &request);
}

bool rota_mpi_all(MPI_Comm comm, bool mine)
{
    int in = mine, out = 0;

    return rota_mpi_reduce(&in, &out, 1, MPI_INT, MPI_MIN, comm) ==
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

/* Set the numbers of blocks. False: there are no neighbours for them. Where
 * there are none, on no rank there are. */
static bool set_blocks(rota_mpi_comm *c, rota_mpi_args *args)
{
    if (!args->neighbors) {
        args->send.n = args->recv.n = c->P;
        return true;
    }
    if (!c->looked)
        c->topology = rota_mpi_topology_get(c->comm);
    c->looked = true;
    if (!c->topology)
        return false;
    args->send.n = c->topology->n_to;
    args->send.peers = c->topology->to;
    args->recv.n = c->topology->n_from;
    args->recv.peers = c->topology->from;
    args->recv.slots = c->topology->slot[args->shape == ROTA_MPI_ONE];
    return true;
}

bool rota_mpi_comm_takes_init(rota_mpi_args *args)
{
    rota_mpi_comm *const c = find_or_make(args->comm);

    return c && !c->foreign && set_blocks(c, args) && takes(c);
}

/* ---- making plans -------------------------------------------------------- */

int rota_mpi_hint_at_once(MPI_Info user, bool neighbors, MPI_Info *info)
{
    ROTA_MPI_TRY(user == MPI_INFO_NULL ? PMPI_Info_create(info)
                                       : PMPI_Info_dup(user, info));
    ROTA_MPI_TRY(PMPI_Info_set(*info, "rota_progress", "thread"));
    return PMPI_Info_set(*info, "rota_algorithm",
                         neighbors ? "neighbor" : "spread_out");
}

int rota_mpi_make_varying(MPI_Comm comm, bool neighbors, MPI_Info info,
                          rota_plan **plan)
{
    return neighbors ? rota_neighbor_alltoallv_varying_init(
                           ROTA_UNBOUNDED, MPI_BYTE, comm, info, plan)
                     : rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE,
                                                   comm, info, plan);
}

static int make_plans(const rota_mpi_args *args, rota_mpi_run **run, int n,
                      MPI_Info info)
{
    for (int i = 0; i < n; i++) {
        ROTA_MPI_TRY(rota_mpi_make_varying(args->comm, args->neighbors, info,
                                           &run[i]->plan));
        rota_mpi_count_plan(run[i]->plan);
        run[i]->request->plan = run[i]->plan;
    }
    return MPI_SUCCESS;
}

/* Rota says the same on all ranks. What it says is no error of the program's:
 * the error handler is not to hear of it. */
static int make_plans_quietly(const rota_mpi_args *args, rota_mpi_run **run,
                              int n, MPI_Info info)
{
    const MPI_Comm comm = args->comm;
    MPI_Errhandler handler;

    ROTA_MPI_TRY(PMPI_Comm_get_errhandler(comm, &handler));
    ROTA_MPI_TRY(PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    const int err = make_plans(args, run, n, info);
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
static rota_mpi_run **make_runs(rota_mpi_comm *c, bool neighbors, int n,
                                MPI_Info info)
{
    rota_mpi_args args = {.neighbors = neighbors, .comm = c->comm};

    if (!set_blocks(c, &args) || !takes(c))
        return NULL;
    rota_mpi_run **const run = alloc_runs(n, &args);
    int err = rota_mpi_all(c->comm, run != NULL) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (err == MPI_SUCCESS)
        err = make_plans_quietly(&args, run, n, info);
    if (err == MPI_SUCCESS)
        return run;
    rota_mpi_explain(c->comm, err);
    free_runs(run, n);
    return NULL;
}

static void make_pool(rota_mpi_comm *c, bool neighbors)
{
    pool *const p = &c->pool[neighbors];
    MPI_Info info = MPI_INFO_NULL;

    set_wished(p, false);
    if (rota_mpi_all(c->comm, rota_mpi_hint_at_once(MPI_INFO_NULL, neighbors,
                                                    &info) == MPI_SUCCESS &&
                                  PMPI_Info_set(info, "rota_check", "off") ==
                                      MPI_SUCCESS))
        p->run =
            make_runs(c, neighbors, rota_mpi_settings_get()->in_flight, info);
    if (info != MPI_INFO_NULL)
        PMPI_Info_free(&info);
}

static void make_wished(rota_mpi_comm *c)
{
    for (int among = 0; among < 2; among++)
        if (c->pool[among].wished)
            make_pool(c, among);
}

/* ---- what a call uses ---------------------------------------------------- */

/* Alone on a communicator MPI only copies. */
rota_mpi_comm *rota_mpi_comm_get(rota_mpi_args *args, bool *known)
{
    rota_mpi_comm *const c = find_or_make(args->comm);

    *known = c != NULL;
    return c && !c->foreign && set_blocks(c, args) && c->P > 1 ? c : NULL;
}

bool rota_mpi_comm_takes(rota_mpi_args *args, bool *known)
{
    const rota_mpi_group *const g =
        args->neighbors ? NULL : rota_mpi_group_of(args->comm);

    if (!g)
        return rota_mpi_comm_get(args, known) != NULL;
    *known = true;
    args->send.n = args->recv.n = rota_mpi_group_size(g);
    return true;
}

rota_mpi_group *rota_mpi_comm_blocking(const rota_mpi_args *args)
{
    rota_mpi_meet(args->comm);
    rota_mpi_group *const shared =
        args->neighbors ? NULL : rota_mpi_group_of(args->comm);
    if (shared)
        return shared;
    rota_mpi_comm *const c = find(args->comm);
    rota_mpi_group **const group = c->group;
    if (!group[0])
        group[0] = rota_mpi_group_get(c->comm, c->P);
    if (args->neighbors && !group[1])
        group[1] = rota_mpi_group_with(group[0], c->comm, c->topology);
    return group[args->neighbors];
}

rota_mpi_run *rota_mpi_comm_nonblocking(rota_mpi_comm *c,
                                        const rota_mpi_args *args)
{
    const rota_mpi_settings *const s = rota_mpi_settings_get();
    const long after = s->after == ROTA_MPI_BY_COST ? AFTER : s->after;
    pool *const p = &c->pool[args->neighbors];

    if (p->run)
        return p->run[p->next++ % s->in_flight];
    if (++p->calls == (after > 0 ? after : 1))
        set_wished(p, true);
    return NULL;
}

void rota_mpi_comm_meet(MPI_Comm comm)
{
    rota_mpi_comm *const c = find(comm);

    if (c)
        make_wished(c);
}
