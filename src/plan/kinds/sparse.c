/* sparse.c - see sparse.h. */
#include "plan/kinds/sparse.h"

#include "exec/move/blocks.h"
#include "exec/transport/mailbox/mailbox.h"

#include <limits.h>
#include <stdlib.h>

struct rota_sparse_lists {
    /* Of the last start; rooms in bytes. */
    char *sides; /* offsets, then bytes, then ranks in order */
    size_t sides_room;
    char *packed; /* packed elements of a type */
    size_t packed_room;

    /* Of the last end. */
    char *found; /* sources, counts and displacements, in two forms */
    size_t found_room;
    char *out;
    size_t out_room;
};

/* ---- groups -------------------------------------------------------------- */

/* A rank, its real node, and its node in the plan's topology. */
typedef struct spot {
    int seen, real, rank;
} spot;

static int compare_spots(const void *a, const void *b)
{
    const spot *const x = a, *const y = b;

    if (x->seen != y->seen)
        return x->seen < y->seen ? -1 : 1;
    if (x->real != y->real)
        return x->real < y->real ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool is_one_group(const spot *a, const spot *b)
{
    return a->seen == b->seen && a->real == b->real;
}

/* List the leaders in the order of their groups. mine: the index of this rank's
 * leader; size: the ranks of its group. Returns the number of groups. */
static int find_leaders(const rota_plan *p, spot *at, int *leader, int *mine,
                        int *size)
{
    const int P = p->comm->P, me = p->comm->me;
    int n = 0;

    for (int q = 0; q < P; q++)
        at[q] = (spot){p->topo->node[q], p->comm->topo.node[q], q};
    const spot own = at[me];
    qsort(at, (size_t)P, sizeof *at, compare_spots);
    *size = 0;
    for (int i = 0; i < P; i++) {
        if (i == 0 || !is_one_group(&at[i], &at[i - 1]))
            leader[n++] = at[i].rank;
        if (!is_one_group(&at[i], &own))
            continue;
        *mine = n - 1;
        ++*size;
    }
    return n;
}

/* Find the leaders that this rank's leader tells, and those that it hears from,
 * in each round of a dissemination barrier. */
static int find_partners(rota_groups *g, const int leader[], int mine)
{
    for (int d = 1; d < g->n; d *= 2)
        g->rounds++;
    g->to = malloc((2 * (size_t)g->rounds + 1) * sizeof *g->to);
    if (!g->to)
        return rota_fail_mem("groups of ranks");
    g->from = g->to + g->rounds;
    for (int i = 0, d = 1; d < g->n; i++, d *= 2) {
        const int to = (mine + d) % g->n, from = (mine + g->n - d) % g->n;
        g->to[i] = leader ? leader[to] : to;
        g->from[i] = leader ? leader[from] : from;
    }
    return MPI_SUCCESS;
}

/* Make each rank a group by itself. */
static int make_singles(const rota_plan *p, rota_groups *g)
{
    *g = (rota_groups){.n = p->comm->P, .size = 1, .leader = p->comm->me};
    return find_partners(g, NULL, p->comm->me);
}

/* Let groups send bundles, if each node of the topology is one group: agents are
 * found by the topology. */
static void set_bundles(const rota_plan *p, rota_groups *g)
{
    const rota_topo *const t = p->topo;
    const int most = p->choice.params.bundle;

    if (p->choice.algo != &rota_algo_consensus_node || g->n != t->n_nodes ||
        g->n == 1 || g->n == t->P)
        return;
    g->nodes = t;
    g->bundled = most > 0 ? (size_t)most : SIZE_MAX;
}

static int make_groups(const rota_plan *p, rota_groups *g)
{
    const size_t P = (size_t)p->comm->P;
    spot *const at = malloc(P * sizeof *at);
    int *const leader = malloc(P * sizeof *leader);
    int err = at && leader ? MPI_SUCCESS : rota_fail_mem("groups of ranks");
    int mine = 0;

    *g = (rota_groups){.of = p->topo->node};
    if (err == MPI_SUCCESS) {
        g->n = find_leaders(p, at, leader, &mine, &g->size);
        g->leader = leader[mine];
        set_bundles(p, g);
        err = find_partners(g, leader, mine);
    }
    free(at);
    free(leader);
    return err;
}

int rota_sparse_group(rota_plan *p)
{
    rota_groups g;

    ROTA_TRY(p->node_why ? make_singles(p, &g) : make_groups(p, &g));
    return rota_sparse_make(&p->exec, &g, p->node_why ? NULL : p->comm->node);
}

int rota_sparse_build(rota_plan *p)
{
    ROTA_TRY(rota_sched_init(&p->sched, p->comm->P, p->comm->me));
    rota_sparse_begin(&p->sched);
    ROTA_TRY(rota_sched_end(&p->sched));
    p->sparse = calloc(1, sizeof *p->sparse);
    return p->sparse ? MPI_SUCCESS : rota_fail_mem("a sparse exchange");
}

void rota_sparse_forget(rota_plan *p)
{
    if (!p->sparse)
        return;
    free(p->sparse->sides);
    free(p->sparse->packed);
    free(p->sparse->found);
    free(p->sparse->out);
    free(p->sparse);
    p->sparse = NULL;
}

/* ---- starting ------------------------------------------------------------ */

static int compare_ints(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* Check that every destination is a rank and none occurs twice. rank: room for
 * n. */
static int check_dests(const rota_plan *p, int n, const int dests[], int rank[])
{
    bool ascending = true;

    for (int i = 0; i < n; i++) {
        rank[i] = dests[i];
        ascending = ascending && (i == 0 || dests[i - 1] < dests[i]);
        if (dests[i] < 0 || dests[i] >= p->comm->P)
            return rota_fail(MPI_ERR_ARG,
                             "dests[%d] = %d is no rank of the %d of the "
                             "communicator",
                             i, dests[i], p->comm->P);
    }
    if (ascending)
        return MPI_SUCCESS;
    qsort(rank, (size_t)n, sizeof *rank, compare_ints);
    for (int i = 1; i < n; i++)
        if (rank[i] == rank[i - 1])
            return rota_fail(MPI_ERR_ARG, "dests has rank %d twice", rank[i]);
    return MPI_SUCCESS;
}

/* Pack blocks of elements that are not plain bytes; they share one buffer. */
static int pack(rota_plan *p, int n, rota_sparse_block block[])
{
    struct rota_sparse_lists *const l = p->sparse;
    const rota_type *const type = p->problem.recv.types.type;
    size_t total = 0;

    if (rota_type_is_bytes(type))
        return MPI_SUCCESS;
    for (int i = 0; i < n; i++)
        total += block[i].bytes;
    ROTA_TRY(
        rota_grow(&l->packed, &l->packed_room, total, "packing what is sent"));
    char *to = l->packed;
    for (int i = 0; i < n; i++) {
        if (block[i].bytes > 0)
            ROTA_TRY(rota_type_pack(type, block[i].data, block[i].bytes, to,
                                    p->comm->dup));
        block[i].data = to;
        to += block[i].bytes;
    }
    return MPI_SUCCESS;
}

static int check_place(const rota_plan *p, const rota_sparse_block *block)
{
    return p->device && block->bytes > 0 && p->device->holds(block->data)
               ? rota_fail(MPI_ERR_BUFFER, "sendbuf is memory of a device, and "
                                           "a sparse exchange takes that of "
                                           "the host")
               : MPI_SUCCESS;
}

static int fill_blocks(rota_plan *p, const rota_sparse_args *args,
                       rota_sparse_block block[])
{
    const rota_side_args side = {.name = "send",
                                 .base = args->sendbuf,
                                 .n = args->n,
                                 .counts = args->counts,
                                 .displs = args->displs,
                                 .unit = &p->unit};
    struct rota_sparse_lists *const l = p->sparse;
    const size_t n = (size_t)args->n;

    ROTA_TRY(rota_grow(&l->sides, &l->sides_room,
                       n * (sizeof(ptrdiff_t) + sizeof(size_t) + sizeof(int)),
                       "counts and displacements"));
    ptrdiff_t *const offset = (ptrdiff_t *)(void *)l->sides;
    size_t *const bytes = (size_t *)(void *)(offset + n);
    ROTA_TRY(check_dests(p, args->n, args->dests, (int *)(bytes + n)));
    ROTA_TRY(rota_side_fill(&side, bytes, offset));
    for (size_t i = 0; i < n; i++) /* MPI's const: it is not written */
        block[i] = (rota_sparse_block){
            .rank = args->dests[i],
            .bytes = bytes[i],
            .data = bytes[i] ? (char *)args->sendbuf + offset[i] : NULL};
    for (size_t i = 0; i < n; i++)
        ROTA_TRY(check_place(p, &block[i]));
    return MPI_SUCCESS;
}

static void record(const rota_plan *p, int n, const rota_sparse_block block[])
{
    if (!p->record)
        return;
    rota_record_begin(p->record);
    for (int i = 0; i < n; i++)
        rota_record_add(p->record, block[i].rank, block[i].bytes);
    rota_record_end(p->record);
}

int rota_sparse_start(rota_plan *p, const rota_sparse_args *args)
{
    rota_sparse_block *block;

    if (args->sendbuf == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE");
    if (args->n < 0)
        return rota_fail(MPI_ERR_COUNT, "n = %d is negative", args->n);
    if (args->n > 0 && !args->dests)
        return rota_fail(MPI_ERR_ARG, "dests is NULL");
    ROTA_TRY(rota_sparse_blocks(&p->exec, (size_t)args->n, &block));
    if (args->n > 0)
        ROTA_TRY(fill_blocks(p, args, block));
    ROTA_TRY(pack(p, args->n, block));
    record(p, args->n, block);
    return rota_exec_start(&p->exec);
}

/* ---- collecting ---------------------------------------------------------- */

static int no_int(void)
{
    return rota_fail(MPI_ERR_COUNT, "counts or displacements do not fit an "
                                    "int; call rota_exchange_wait_sparse_c");
}

/* Fill in sources, and counts and displacements in elements; *total: their
 * sum. */
static int tell_sources(rota_plan *p, const rota_sparse_block found[], size_t n,
                        rota_sparse_result *r, size_t *total)
{
    struct rota_sparse_lists *const l = p->sparse;
    const size_t element = p->unit.element ? p->unit.element : 1;
    size_t at = 0;

    ROTA_TRY(rota_grow(&l->found, &l->found_room,
                       n * (sizeof(MPI_Count) + sizeof(MPI_Aint) + sizeof(int)),
                       "the sources of a sparse exchange"));
    MPI_Count *const counts = (MPI_Count *)(void *)l->found;
    MPI_Aint *const displs = (MPI_Aint *)(void *)(counts + n);
    int *const sources = (int *)(void *)(displs + n);
    int *const small_counts = (int *)(void *)counts;
    int *const small_displs = (int *)(void *)displs;
    for (size_t i = 0; i < n; i++) {
        const size_t k = found[i].bytes / element;
        sources[i] = found[i].rank;
        if (!r->large && (k > INT_MAX || at > INT_MAX))
            return no_int();
        if (r->large) {
            counts[i] = (MPI_Count)k;
            displs[i] = (MPI_Aint)at;
        } else {
            small_counts[i] = (int)k;
            small_displs[i] = (int)at;
        }
        at += k;
    }
    *total = at;
    r->n = (int)n;
    r->sources = sources;
    r->counts = counts;
    r->displs = displs;
    return MPI_SUCCESS;
}

static int choose_buffer(rota_plan *p, size_t bytes, char **buffer)
{
    struct rota_sparse_lists *const l = p->sparse;

    *buffer = p->user_out;
    if (p->user_out)
        return bytes <= p->user_room
                   ? MPI_SUCCESS
                   : rota_fail(MPI_ERR_BUFFER,
                               "blocks of %zu bytes in all do not fit the "
                               "buffer of %zu",
                               bytes, p->user_room);
    ROTA_TRY(
        rota_grow(&l->out, &l->out_room, bytes, "what an exchange receives"));
    *buffer = l->out;
    return MPI_SUCCESS;
}

int rota_sparse_collect(rota_plan *p, rota_sparse_result *r)
{
    const rota_type *const type = p->problem.recv.types.type;
    const rota_sparse_block *found;
    size_t n, total = 0;
    char *buffer;

    ROTA_TRY(rota_sparse_found(&p->exec, &found, &n));
    ROTA_TRY(tell_sources(p, found, n, r, &total));
    ROTA_TRY(choose_buffer(p, total * (size_t)p->unit.spacing, &buffer));
    r->buffer = buffer;
    buffer += p->unit.true_lb;
    for (size_t i = 0; i < n; i++) {
        if (found[i].bytes == 0)
            continue;
        ROTA_TRY(rota_type_unpack(type, found[i].data, found[i].bytes, buffer,
                                  p->comm->dup));
        buffer +=
            (ptrdiff_t)(found[i].bytes / p->unit.element) * p->unit.spacing;
    }
    rota_sparse_finish(&p->exec);
    return MPI_SUCCESS;
}
