/* group.c - processes that call together: what is known of their calls, and
 * their plans, whatever communicator they use. For calls among neighbours there
 * is a group for each topology that these processes have.
 *
 * Programs make a communicator, exchange on it once and free it again. So
 * nothing here belongs to a communicator: plans are made on one of ours.
 * Nothing is forgotten before MPI_Finalize, as ranks would have to forget
 * alike; a group takes 150 bytes, and 350 for each size that it exchanges.
 */
#include "mpi/shim.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* uthash would end the program where it cannot allocate. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Groups with plans, at a time. Each has a communicator, and MPICH has about 2,000
 * in all, which are the program's. */
enum { MOST_GROUPS = 256 };

/* Sizes that a group is known for; then the one that was exchanged longest ago
 * is forgotten, with its plan. */
enum { MOST_SIZES = 32 };

/* Topologies that are known of the same processes; then the one that came first
 * is forgotten. */
enum { MOST_TOPOLOGIES = 16 };

/* Which processes, in which order: two hashes of their ranks in
 * MPI_COMM_WORLD. */
typedef struct members {
    uint64_t hash[2];
    uint64_t P;
} members;

struct rota_mpi_group {
    members key;
    bool shared; /* by communicators, and in the table */
    int P;
    MPI_Comm comm;  /* ours, for plans; MPI_COMM_NULL before the first */
    bool adopted;   /* comm is Rota's to use */
    bool has_place; /* of MOST_GROUPS */
    rota_mpi_usage *size[MOST_SIZES]; /* of calls with one, the last first */
    int n_sizes;
    rota_mpi_usage *other[ROTA_MPI_CALLS]; /* or NULL */
    rota_mpi_group *with[MOST_TOPOLOGIES]; /* groups of neighbours, or NULL */
    long n_with;                           /* that there have been */
    UT_hash_handle hh;

    /* Of neighbours. */
    rota_mpi_topology *topology; /* else NULL */
    rota_mpi_group *whole;       /* the same processes without a topology */
    int users;                   /* communicators that have it */
};

static rota_mpi_group *table;
static int n_with_plans;
static bool sharing; /* one thread at a time calls MPI, on all ranks */
static MPI_Group world = MPI_GROUP_NULL;
static int keyval = MPI_KEYVAL_INVALID; /* of a communicator: its group */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- life ---------------------------------------------------------------- */

static int on_free(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    atomic_fetch_add_explicit(&rota_mpi_n_freed, 1, memory_order_relaxed);
    return MPI_SUCCESS;
}

/* Now a duplicate has no attributes of the program's, whose functions would be
 * called. */
static void begin_world(void)
{
    MPI_Comm comm = MPI_COMM_NULL;
    const bool made = rota_mpi_duplicate(MPI_COMM_WORLD, &comm) == MPI_SUCCESS;
    rota_mpi_group *const g = rota_mpi_group_of(MPI_COMM_WORLD);

    if (made)
        PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (g && made)
        g->comm = comm;
    else if (made)
        PMPI_Comm_free(&comm);
}

/* A duplicate has the same group, which it is given at once: most communicators
 * that live for one call are duplicates. */
void rota_mpi_group_begin(void)
{
    int level = MPI_THREAD_MULTIPLE, cannot;

    PMPI_Query_thread(&level);
    cannot = level == MPI_THREAD_MULTIPLE ||
             PMPI_Comm_group(MPI_COMM_WORLD, &world) != MPI_SUCCESS ||
             PMPI_Comm_create_keyval(MPI_COMM_DUP_FN, on_free, &keyval, NULL) !=
                 MPI_SUCCESS;
    sharing = rota_mpi_all(MPI_COMM_WORLD, !cannot);
    if (sharing)
        begin_world();
}

static rota_mpi_group *make(int P)
{
    rota_mpi_group *const g = calloc(1, sizeof *g);

    /* Beyond agreement, as MPI itself would find a moment later. */
    if (!g)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    g->P = P;
    g->comm = MPI_COMM_NULL;
    return g;
}

static void destroy(rota_mpi_group *g)
{
    for (int i = 0; i < g->n_sizes; i++)
        rota_mpi_usage_destroy(g->size[i]);
    for (int call = 0; call < ROTA_MPI_CALLS; call++)
        rota_mpi_usage_destroy(g->other[call]);
    for (int i = 0; i < MOST_TOPOLOGIES; i++)
        if (g->with[i])
            destroy(g->with[i]);
    rota_mpi_topology_free(g->topology);
    if (g->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&g->comm);
    pthread_mutex_lock(&table_lock);
    n_with_plans -= g->has_place;
    pthread_mutex_unlock(&table_lock);
    free(g);
}

void rota_mpi_group_leave(rota_mpi_group *g)
{
    if (g->topology)
        g->users--;
    if (!g->shared && g->users == 0)
        destroy(g);
}

void rota_mpi_group_end(void)
{
    rota_mpi_group *g, *next;

    HASH_ITER(hh, table, g, next)
    {
        HASH_DEL(table, g);
        destroy(g);
    }
    /* Callbacks of MPI_Finalize may call once more. */
    sharing = false;
    atomic_fetch_add_explicit(&rota_mpi_n_freed, 1, memory_order_relaxed);
    if (keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&keyval);
    if (world != MPI_GROUP_NULL)
        PMPI_Group_free(&world);
}

/* ---- finding ------------------------------------------------------------- */

/* One step of a hash whose every bit depends on all before. */
static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ hash >> 29;
}

static int rank_in_world(MPI_Group group, int P, int *ranks, int *there)
{
    for (int i = 0; i < P; i++)
        ranks[i] = i;
    return PMPI_Group_translate_ranks(group, P, ranks, world, there);
}

/* False where a process is of another world: it has no number here. */
static bool number(MPI_Comm comm, int P, members *m)
{
    enum { FEW = 64 };
    int few[2 * FEW], *const ranks =
                          P > FEW ? malloc(2 * (size_t)P * sizeof *ranks) : few;
    MPI_Group group = MPI_GROUP_NULL;

    *m = (members){.hash = {1, 2}, .P = (uint64_t)P};
    if (!ranks)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    bool known = PMPI_Comm_group(comm, &group) == MPI_SUCCESS &&
                 rank_in_world(group, P, ranks, ranks + P) == MPI_SUCCESS;
    for (int i = 0; i < P && known; i++) {
        known = ranks[P + i] != MPI_UNDEFINED;
        m->hash[0] = mixed(m->hash[0], (uint64_t)ranks[P + i]);
        m->hash[1] = mixed(m->hash[1], (uint64_t)ranks[P + i]);
    }
    if (ranks != few)
        free(ranks);
    if (group != MPI_GROUP_NULL)
        PMPI_Group_free(&group);
    return known;
}

/* NULL where a process is of another world. */
static rota_mpi_group *find_shared(MPI_Comm comm, int P)
{
    rota_mpi_group *g;
    members m;

    if (!number(comm, P, &m))
        return NULL;
    const unsigned hash = (unsigned)m.hash[0]; /* which is one already */
    HASH_FIND_BYHASHVALUE(hh, table, &m, sizeof m, hash, g);
    if (g)
        return g;
    g = make(P);
    g->key = m;
    g->shared = true;
    HASH_ADD_BYHASHVALUE(hh, table, key, sizeof m, hash, g);
    if (!g->hh.tbl)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return g;
}

rota_mpi_group *rota_mpi_group_of(MPI_Comm comm)
{
    rota_mpi_group *g = NULL;
    int found = 0, inter = 1, P = 0;

    if (!sharing || comm == MPI_COMM_NULL)
        return NULL;
    if (PMPI_Comm_get_attr(comm, keyval, &g, &found) != MPI_SUCCESS || found)
        return g;
    if (PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter &&
        PMPI_Comm_size(comm, &P) == MPI_SUCCESS && P > 1)
        g = find_shared(comm, P);
    if (PMPI_Comm_set_attr(comm, keyval, g) != MPI_SUCCESS && g)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return g;
}

rota_mpi_group *rota_mpi_group_get(MPI_Comm comm, int P)
{
    rota_mpi_group *const shared = rota_mpi_group_of(comm);

    return shared ? shared : make(P);
}

int rota_mpi_group_size(const rota_mpi_group *g)
{
    return g->P;
}

/* ---- neighbours ---------------------------------------------------------- */

/* Those that are the same to this rank: a bit each. */
static unsigned same_here(const rota_mpi_group *g, const rota_mpi_topology *t)
{
    unsigned same = 0;

    for (int i = 0; i < MOST_TOPOLOGIES; i++)
        if (g->with[i] && rota_mpi_topology_same(g->with[i]->topology, t))
            same |= 1u << i;
    return same;
}

/* One that is the same to all ranks, or -1. A rank sees only its own neighbours,
 * which may be the same where those of other ranks are not. */
static int find_on_all(const rota_mpi_group *g, MPI_Comm comm,
                       const rota_mpi_topology *t)
{
    const unsigned mine = same_here(g, t);
    unsigned all = 0;
    int i = 0;

    if (g->n_with == 0 || rota_mpi_reduce(&mine, &all, 1, MPI_UNSIGNED,
                                          MPI_BAND, comm) != MPI_SUCCESS)
        return -1;
    while (i < MOST_TOPOLOGIES && !(all >> i & 1))
        i++;
    return i < MOST_TOPOLOGIES ? i : -1;
}

/* One that is used goes with the last communicator that has it. */
static void forget(rota_mpi_group *g)
{
    g->shared = false;
    if (g->users == 0)
        destroy(g);
}

static rota_mpi_group *add(rota_mpi_group *g, const rota_mpi_topology *t)
{
    rota_mpi_group **const place = &g->with[g->n_with++ % MOST_TOPOLOGIES];

    if (*place)
        forget(*place);
    *place = make(g->P);
    (*place)->topology = rota_mpi_topology_copy(t);
    (*place)->whole = g;
    (*place)->shared = true;
    return *place;
}

rota_mpi_group *rota_mpi_group_with(rota_mpi_group *g, MPI_Comm comm,
                                    const rota_mpi_topology *t)
{
    const int i = find_on_all(g, comm, t);
    rota_mpi_group *const with = i >= 0 ? g->with[i] : add(g, t);

    with->users++;
    return with;
}

/* ---- usages -------------------------------------------------------------- */

static rota_mpi_usage *make_usage(rota_mpi_call call)
{
    rota_mpi_usage *const u = rota_mpi_usage_make(call);

    if (!u)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    return u;
}

static void add_size(rota_mpi_group *g, rota_mpi_call call, MPI_Count bytes,
                     bool in_place)
{
    rota_mpi_usage *const u = make_usage(call);

    u->bytes = bytes;
    u->in_place = in_place;
    if (g->n_sizes == MOST_SIZES)
        rota_mpi_usage_destroy(g->size[--g->n_sizes]);
    g->size[g->n_sizes++] = u;
}

/* The i-th becomes the first. */
static rota_mpi_usage *to_front(rota_mpi_group *g, int i)
{
    rota_mpi_usage *const u = g->size[i];

    memmove(g->size + 1, g->size, (size_t)i * sizeof *g->size);
    g->size[0] = u;
    return u;
}

static rota_mpi_usage *of_size(rota_mpi_group *g, const rota_mpi_args *args)
{
    const MPI_Count bytes = rota_mpi_block_bytes(args);
    const bool in_place = args->send.buffer == MPI_IN_PLACE;
    int i = 0;

    if (bytes <= 0)
        return NULL;
    while (i < g->n_sizes &&
           (g->size[i]->call != args->call || g->size[i]->bytes != bytes ||
            g->size[i]->in_place != in_place))
        i++;
    if (i == g->n_sizes) {
        add_size(g, args->call, bytes, in_place);
        i = g->n_sizes - 1;
    }
    return i == 0 ? g->size[0] : to_front(g, i);
}

rota_mpi_usage *rota_mpi_group_usage(rota_mpi_group *g,
                                     const rota_mpi_args *args)
{
    if (args->shape == ROTA_MPI_ONE && !args->neighbors)
        return of_size(g, args);
    if (!g->other[args->call])
        g->other[args->call] = make_usage(args->call);
    return g->other[args->call];
}

rota_mpi_tally *rota_mpi_group_tally(const rota_mpi_group *g,
                                     rota_mpi_call call)
{
    return g->other[call] ? &g->other[call]->tally : NULL;
}

rota_mpi_usage *const *rota_mpi_group_last_size(const rota_mpi_group *g)
{
    return g->n_sizes > 0 ? &g->size[0] : NULL;
}

/* ---- plans --------------------------------------------------------------- */

bool rota_mpi_group_has_room(const rota_mpi_group *g)
{
    pthread_mutex_lock(&table_lock);
    const bool room = g->has_place || n_with_plans < MOST_GROUPS;
    pthread_mutex_unlock(&table_lock);
    return room;
}

bool rota_mpi_group_has_plans(const rota_mpi_group *g)
{
    return g->adopted;
}

MPI_Comm rota_mpi_group_comm(const rota_mpi_group *g)
{
    return g->comm;
}

static void take_place(rota_mpi_group *g)
{
    pthread_mutex_lock(&table_lock);
    n_with_plans += !g->has_place;
    g->has_place = true;
    pthread_mutex_unlock(&table_lock);
}

/* Without what the program keeps with its communicator: attributes, hints, names,
 * topology. */
static int make_bare(MPI_Comm from, MPI_Comm *comm)
{
    MPI_Group group;

    ROTA_MPI_TRY(PMPI_Comm_group(from, &group));
    const int err = PMPI_Comm_create(from, group, comm);
    PMPI_Group_free(&group);
    return err;
}

/* What Rota says while plans are made is no error of the program's: the error
 * handler is not to hear of it. */
static int make_quietly(MPI_Comm from, MPI_Comm *comm)
{
    MPI_Errhandler handler;

    ROTA_MPI_TRY(PMPI_Comm_get_errhandler(from, &handler));
    ROTA_MPI_TRY(PMPI_Comm_set_errhandler(from, MPI_ERRORS_RETURN));
    const int err = make_bare(from, comm);
    PMPI_Comm_set_errhandler(from, handler);
    PMPI_Errhandler_free(&handler);
    return err;
}

/* Only what is made from the program's communicator keeps the processor from ranks
 * that are late; MPI_COMM_WORLD has one of ours from the start. */
static int make_comm(rota_mpi_group *g, MPI_Comm from)
{
    rota_mpi_group *const whole = g->topology ? g->whole : g;
    MPI_Comm made = MPI_COMM_NULL;

    if (whole->comm == MPI_COMM_NULL) {
        ROTA_MPI_TRY(make_quietly(from, &made));
        PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
        whole->comm = made;
    }
    if (g->comm == MPI_COMM_NULL) {
        ROTA_MPI_TRY(rota_mpi_duplicate(whole->comm, &made));
        g->comm = made;
    }
    return MPI_SUCCESS;
}

/* Make the communicator of plans. Collective; fails on all ranks or none. */
static int adopt(rota_mpi_group *g, MPI_Comm from)
{
    const rota_mpi_topology *const t = g->topology;

    if (g->adopted)
        return MPI_SUCCESS;
    ROTA_MPI_TRY(make_comm(g, from));
    ROTA_MPI_TRY(rota_comm_adopt(g->comm));
    const int err = t ? rota_comm_set_neighbors(g->comm, t->grid, t->n_to,
                                                t->to, t->n_from, t->from)
                      : MPI_SUCCESS;
    g->adopted = rota_mpi_all(g->comm, err == MPI_SUCCESS);
    return g->adopted ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* A plan for blocks of one size gets its buffers when it is started: these may
 * be the program's and need to be some. */
static int make_uniform(MPI_Comm comm, MPI_Info info, const rota_mpi_args *args,
                        MPI_Count bytes, rota_plan **plan)
{
    static char some[1];
    void *const from = args->send.buffer ? args->send.buffer : some;
    void *const to = args->recv.buffer ? args->recv.buffer : some;

    return rota_alltoall_init_c(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE,
                                comm, info, plan);
}

int rota_mpi_hint_unchecked(MPI_Info *info)
{
    ROTA_MPI_TRY(PMPI_Info_create(info));
    return PMPI_Info_set(*info, "rota_check", "off");
}

static int make_plan(const rota_mpi_group *g, const rota_mpi_usage *u,
                     const rota_mpi_args *args, rota_plan **plan)
{
    MPI_Info info = MPI_INFO_NULL;
    const bool ready = rota_mpi_hint_unchecked(&info) == MPI_SUCCESS && plan;
    int err = MPI_ERR_NO_MEM;

    if (rota_mpi_all(g->comm, ready))
        err = u->bytes > 0 ? make_uniform(g->comm, info, args, u->bytes, plan)
                           : rota_mpi_make_varying(g->comm, g->topology != NULL,
                                                   info, plan);
    if (info != MPI_INFO_NULL)
        PMPI_Info_free(&info);
    if (err == MPI_SUCCESS)
        rota_mpi_count_plan(*plan);
    return err;
}

/* Plans are made when the arguments are known. */
static int make_same(rota_mpi_group *g, rota_mpi_run *run)
{
    if (run)
        run->same = rota_mpi_same_make(g->P);
    return rota_mpi_all(g->comm, run && run->same) ? MPI_SUCCESS
                                                   : MPI_ERR_NO_MEM;
}

int rota_mpi_group_make(rota_mpi_group *g, rota_mpi_usage *u,
                        const rota_mpi_args *args)
{
    take_place(g);
    ROTA_MPI_TRY(adopt(g, args->comm));
    rota_mpi_run *const run = rota_mpi_run_make(args, u->bytes > 0, false);
    const int err = args->shape == ROTA_MPI_W && !args->neighbors
                        ? make_same(g, run)
                        : make_plan(g, u, args, run ? &run->plan : NULL);
    if (err != MPI_SUCCESS) {
        rota_mpi_run_destroy(run);
        return err;
    }
    u->run = run;
    return MPI_SUCCESS;
}
