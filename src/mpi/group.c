/* group.c - see group.h. */
#include "mpi/group.h"
#include "mpi/plans.h"
#include "mpi/settings.h"
#include "mpi/sync.h"

#include "plan/inside.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Groups with plans, at a time. Each has a communicator, and MPICH has about 2,000
 * in all, which are the program's. */
enum { MOST_GROUPS = 256 };

static rota_mpi_group *table;
static atomic_int n_with_plans;
static bool sharing; /* one thread at a time calls MPI, on all ranks */
static MPI_Group world = MPI_GROUP_NULL;
static int keyval = MPI_KEYVAL_INVALID; /* of a communicator: its group */

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

/* Duplicate MPI_COMM_WORLD before the program can give it attributes, whose
 * functions would be called. */
static void begin_world(void)
{
    rota_mpi_group *const g = rota_mpi_group_of(MPI_COMM_WORLD);

    if (g && rota_mpi_duplicate(MPI_COMM_WORLD, &g->comm) == MPI_SUCCESS)
        PMPI_Comm_set_errhandler(g->comm, MPI_ERRORS_RETURN);
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
    rota_mpi_group *const g = rota_mpi_alloc(1, sizeof *g);

    g->P = P;
    g->comm = MPI_COMM_NULL;
    return g;
}

static void destroy_usage(rota_mpi_usage *u)
{
    if (!u)
        return;
    rota_mpi_usage_drop(u);
    rota_mpi_worth_end(&u->worth);
    free(u);
}

static void destroy(rota_mpi_group *g)
{
    for (int i = 0; i < g->n_sizes; i++)
        destroy_usage(g->size[i]);
    for (int call = 0; call < ROTA_MPI_CALLS; call++)
        destroy_usage(g->other[call]);
    for (int i = 0; i < ROTA_MPI_TOPOLOGIES; i++)
        if (g->with[i])
            destroy(g->with[i]);
    rota_mpi_topology_free(g->topology);
    if (g->comm != MPI_COMM_NULL)
        PMPI_Comm_free(&g->comm);
    n_with_plans -= g->has_place;
    free(g);
}

static void destroy_unused(rota_mpi_group *g)
{
    if (!g->shared && g->users == 0)
        destroy(g);
}

void rota_mpi_group_leave(rota_mpi_group *g)
{
    if (g->topology)
        g->users--;
    destroy_unused(g);
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

/* False where a process is of another world: it has no number here. */
static bool number(MPI_Comm comm, int P, rota_mpi_members *m)
{
    int *const ranks = rota_mpi_alloc((size_t)P, sizeof *ranks);
    int *const there = rota_mpi_alloc((size_t)P, sizeof *there);
    MPI_Group group = MPI_GROUP_NULL;

    *m = (rota_mpi_members){.hash = {1, 2}, .P = (uint64_t)P};
    for (int i = 0; i < P; i++)
        ranks[i] = i;
    bool known = PMPI_Comm_group(comm, &group) == MPI_SUCCESS &&
                 PMPI_Group_translate_ranks(group, P, ranks, world, there) ==
                     MPI_SUCCESS;
    for (int i = 0; i < P && known; i++) {
        known = there[i] != MPI_UNDEFINED;
        m->hash[0] = mixed(m->hash[0], (uint64_t)there[i]);
        m->hash[1] = mixed(m->hash[1], (uint64_t)there[i]);
    }
    free(ranks);
    free(there);
    if (group != MPI_GROUP_NULL)
        PMPI_Group_free(&group);
    return known;
}

/* NULL where a process is of another world. */
static rota_mpi_group *find_shared(MPI_Comm comm, int P)
{
    rota_mpi_members m;
    rota_mpi_group *g;

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

/* ---- neighbours ---------------------------------------------------------- */

/* The topologies that are the same on this rank: a bit each. */
static unsigned same_here(const rota_mpi_group *g, const rota_mpi_topology *t)
{
    unsigned same = 0;

    for (int i = 0; i < ROTA_MPI_TOPOLOGIES; i++)
        if (g->with[i] && rota_mpi_topology_same(g->with[i]->topology, t))
            same |= 1u << i;
    return same;
}

/* A topology that is the same on all ranks, or -1. A rank sees only its own
 * neighbours, so ranks may differ about which are the same. */
static int find_on_all(const rota_mpi_group *g, MPI_Comm comm,
                       const rota_mpi_topology *t)
{
    const unsigned mine = same_here(g, t);
    unsigned all = 0;
    int i = 0;

    if (g->n_with == 0 || rota_mpi_reduce(&mine, &all, 1, MPI_UNSIGNED,
                                          MPI_BAND, comm) != MPI_SUCCESS)
        return -1;
    while (i < ROTA_MPI_TOPOLOGIES && !(all >> i & 1))
        i++;
    return i < ROTA_MPI_TOPOLOGIES ? i : -1;
}

static rota_mpi_group *add(rota_mpi_group *g, const rota_mpi_topology *t)
{
    rota_mpi_group **const place = &g->with[g->n_with++ % ROTA_MPI_TOPOLOGIES];

    if (*place) { /* one that is used goes with the last that has it */
        (*place)->shared = false;
        destroy_unused(*place);
    }
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

static rota_mpi_usage *make_usage(rota_mpi_tally tally)
{
    const long after = rota_mpi_settings_get()->after;
    rota_mpi_usage *const u = rota_mpi_alloc(1, sizeof *u);

    u->tally = tally;
    rota_mpi_worth_begin(&u->worth, after == ROTA_MPI_BY_COST, after);
    return u;
}

static bool is_same(const rota_mpi_tally *a, const rota_mpi_tally *b)
{
    return a->call == b->call && a->bytes == b->bytes &&
           a->in_place == b->in_place;
}

/* It becomes the first; the last one makes room. */
static rota_mpi_usage *of_size(rota_mpi_group *g, rota_mpi_tally tally)
{
    int i = 0;

    while (i < g->n_sizes && !is_same(&g->size[i]->tally, &tally))
        i++;
    const bool known = i < g->n_sizes;
    if (i == ROTA_MPI_SIZES)
        destroy_usage(g->size[--i]);
    else if (!known)
        g->n_sizes++;
    rota_mpi_usage *const u = known ? g->size[i] : make_usage(tally);
    memmove(g->size + 1, g->size, (size_t)i * sizeof *g->size);
    u->tally.key = tally.key;
    u->tally.type = tally.type;
    g->size[0] = u;
    g->last = &u->tally;
    return u;
}

rota_mpi_usage *rota_mpi_group_usage(rota_mpi_group *g,
                                     const rota_mpi_args *args)
{
    rota_mpi_tally tally = {.call = args->call};

    if (rota_mpi_has_size(args)) {
        tally.bytes = rota_mpi_block_bytes(args, &tally.type);
        tally.in_place = rota_mpi_is_in_place(args);
        tally.key = rota_mpi_count_at(args, rota_mpi_sent(args), 0);
        if (tally.in_place)
            tally.key = -1 - tally.key;
        return tally.bytes > 0 ? of_size(g, tally) : NULL;
    }
    if (!g->other[args->call])
        g->other[args->call] = make_usage(tally);
    return g->other[args->call];
}

/* ---- plans --------------------------------------------------------------- */

bool rota_mpi_group_has_room(const rota_mpi_group *g)
{
    return g->has_place || n_with_plans < MOST_GROUPS;
}

/* Without what the program keeps with its communicator: attributes, hints, names,
 * topology. */
static int make_bare(MPI_Comm from, MPI_Comm *comm)
{
    MPI_Errhandler handler;
    MPI_Group group;

    rota_mpi_hush(from, &handler);
    int err = PMPI_Comm_group(from, &group);
    if (err == MPI_SUCCESS) {
        err = PMPI_Comm_create(from, group, comm);
        PMPI_Group_free(&group);
    }
    rota_mpi_unhush(from, &handler);
    return err;
}

/* To make a communicator from the program's keeps the processor from ranks that are
 * late. So that is done once for the same processes; those of MPI_COMM_WORLD have one
 * of ours from the start. */
static int make_comm(rota_mpi_group *g, MPI_Comm from)
{
    rota_mpi_group *const whole = g->topology ? g->whole : g;
    MPI_Comm made = MPI_COMM_NULL;

    if (whole->comm == MPI_COMM_NULL) {
        ROTA_MPI_TRY(make_bare(from, &made));
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
    g->adopted =
        !t || rota_mpi_all(g->comm, rota_comm_set_neighbors(
                                        g->comm, t->grid, t->n_to, t->to,
                                        t->n_from, t->from) == MPI_SUCCESS);
    return g->adopted ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

/* Mean bytes of a block from which it pays to agree on a plan that knows layouts in
 * each call, rather than to pack. */
enum { LONG_BLOCK = 1 << 12 };

/* Where ranks send fewer bytes, they do not ask each other whether the kernel may
 * copy blocks (plan/ranks/attaching.c): where they share cores, that takes as long as
 * a third of the first plan. */
enum { LITTLE = 1 << 19 };

/* Is the exchange of long blocks, some of which are no plain bytes? */
static bool has_layouts(const rota_mpi_group *g, const rota_mpi_args *args,
                        const rota_mpi_sample *s)
{
    return args->shape == ROTA_MPI_W && !args->neighbors && !s->plain &&
           s->bytes >= (double)LONG_BLOCK * g->P;
}

int rota_mpi_group_make(rota_mpi_group *g, rota_mpi_usage *u,
                        const rota_mpi_args *args,
                        const rota_mpi_sample *sample)
{
    n_with_plans += !g->has_place;
    g->has_place = true;
    ROTA_MPI_TRY(adopt(g, args->comm));
    if (has_layouts(g, args, sample)) {
        u->same = rota_mpi_same_make(g->P);
        return MPI_SUCCESS;
    }
    return rota_mpi_run_make(args, u->tally.bytes, sample->bytes < LITTLE,
                             g->comm, &u->run);
}

void rota_mpi_usage_drop(rota_mpi_usage *u)
{
    rota_mpi_repeat_drop(&u->repeat);
    rota_mpi_run_destroy(u->run);
    rota_mpi_same_destroy(u->same);
    u->run = NULL;
    u->same = NULL;
}
