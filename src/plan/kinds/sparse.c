/* sparse.c - plans of sparse exchanges: each start says to whom a rank sends,
 * each end who has sent to it.
 */
#include "exec/transport/mailbox/mailbox.h"
#include "plan/kinds/counted.h"

#include <stdlib.h>

typedef struct lists {
    rota_counted counted;

    /* Of the last start; rooms in bytes. */
    char *sides; /* offsets, then bytes, then ranks in order */
    size_t sides_room;
    size_t *bytes; /* in sides */
    char *packed;  /* packed elements of a type */
    size_t packed_room;

    /* Of the last end. */
    char *found; /* sources, counts and displacements, in two forms */
    size_t found_room;
    char *out;
    size_t out_room;
} lists;

/* ---- making -------------------------------------------------------------- */

/* A step without messages: the mailbox binds none, whatever the choice says of
 * their sizes. No rank knows another's blocks; what ranks must have in common, who
 * leads whom and who tells whom, each derives from the two topologies, which are
 * the same on all. */
static int build(rota_built *b)
{
    const rota_comm *const c = b->task->comm;

    b->exec.sizing = NULL;
    ROTA_TRY(rota_sched_init(&b->sched, c->P, c->me));
    rota_sparse_begin(&b->sched);
    return rota_sched_end(&b->sched);
}

static void forget(rota_task *t)
{
    lists *const l = t->own;

    if (!l)
        return;
    free(l->sides);
    free(l->packed);
    free(l->found);
    free(l->out);
    rota_counted_forget(t);
}

/* ---- groups -------------------------------------------------------------- */

/* A group has the ranks of one node of the plan's topology that are on one real
 * node. List the leaders, the first rank of each. last: [real nodes] zeros. of: [P]
 * the group of each rank; size: the ranks of this rank's. Returns the number of
 * groups. */
static int find_leaders(const rota_built *b, int last[], int *leader, int of[],
                        int *size)
{
    const rota_topo *const t = b->task->topo, *real = &b->task->comm->topo;
    const int me = b->task->comm->me;
    int n = 0, before = 0;

    *size = 0;
    for (int i = 0; i < t->P; i++) {
        const int q = t->ranks[i];
        int *const group = &last[real->node[q]]; /* its last one, from 1 on */
        if (i == t->first[t->node[q]])
            before = n; /* groups of other nodes of the topology */
        if (*group <= before) {
            leader[n++] = q;
            *group = n;
        }
        of[q] = *group - 1;
        *size += t->node[q] == t->node[me] && real->node[q] == real->node[me];
    }
    return n;
}

/* Find the leaders that this rank's leader tells, and those that it hears from,
 * in each round of a dissemination barrier. */
static int find_partners(rota_groups *g, const int leader[])
{
    for (int d = 1; d < g->n; d *= 2)
        g->rounds++;
    g->to = malloc((2 * (size_t)g->rounds + 1) * sizeof *g->to);
    if (!g->to)
        return rota_fail_mem("groups of ranks");
    g->from = g->to + g->rounds;
    for (int i = 0, d = 1; d < g->n; i++, d *= 2) {
        const int to = (g->mine + d) % g->n, from = (g->mine + g->n - d) % g->n;
        g->to[i] = leader[to];
        g->from[i] = leader[from];
    }
    return MPI_SUCCESS;
}

/* List the ranks group by group; of: [P] each one's group. */
static int list_ranks(rota_groups *g, int P, const int of[])
{
    g->rank = calloc((size_t)P + (size_t)g->n + 2, sizeof *g->rank);
    if (!g->rank)
        return rota_fail_mem("groups of ranks");
    g->first = g->rank + P;
    for (int q = 0; q < P; q++)
        g->first[of[q] + 2]++;
    for (int i = 2; i <= g->n; i++)
        g->first[i] += g->first[i - 1];
    for (int q = 0; q < P; q++)
        g->rank[g->first[of[q] + 1]++] = q;
    return MPI_SUCCESS;
}

/* Let groups send bundles, if each node of the topology is one group: agents are
 * found by the topology. */
static void set_bundles(const rota_built *b, rota_groups *g)
{
    const rota_topo *const t = b->task->topo;
    const int most = b->choice.params.bundle;

    if (b->choice.algo != &rota_algo_consensus_node || g->n != t->n_nodes ||
        g->n == 1 || g->n == t->P)
        return;
    g->nodes = t;
    g->bundled = most > 0 ? (size_t)most : SIZE_MAX;
}

/* Ranks that share memory or, if MPI carries messages within the node, one rank
 * each. May fail on one rank alone. */
static int make_groups(const rota_built *b, rota_groups *g)
{
    const int P = b->task->comm->P;
    int *const leader = calloc(3 * (size_t)P, sizeof *leader);
    int *const of = leader + 2 * (size_t)P;

    *g = (rota_groups){.n = P, .size = 1};
    if (!leader)
        return rota_fail_mem("groups of ranks");
    for (int q = 0; b->node_why && q < P; q++)
        leader[q] = of[q] = q;
    if (!b->node_why) {
        g->of = b->task->topo->node;
        g->n = find_leaders(b, leader + P, leader, of, &g->size);
        set_bundles(b, g);
    }
    g->mine = of[b->task->comm->me];
    g->leader = leader[g->mine];
    int err = find_partners(g, leader);
    if (err == MPI_SUCCESS && b->exec.carried)
        err = list_ranks(g, P, of);
    if (err != MPI_SUCCESS)
        free(g->to);
    free(leader);
    return err;
}

static int group(rota_built *b)
{
    rota_groups g;

    ROTA_TRY(make_groups(b, &g));
    return rota_sparse_make(&b->exec, &g,
                            b->node_why ? NULL : b->task->comm->node);
}

/* ---- starting ------------------------------------------------------------ */

static int compare_ints(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* Check that every destination is a rank and none occurs twice. rank: room for
 * n. */
static int check_dests(const rota_built *b, int n, const int dests[],
                       int rank[])
{
    bool ascending = true;

    for (int i = 0; i < n; i++) {
        rank[i] = dests[i];
        ascending = ascending && (i == 0 || dests[i - 1] < dests[i]);
        if (dests[i] < 0 || dests[i] >= b->task->comm->P)
            return rota_fail(MPI_ERR_ARG,
                             "dests[%d] = %d is no rank of the %d of the "
                             "communicator",
                             i, dests[i], b->task->comm->P);
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
static int pack(rota_built *b, int n, rota_sparse_block block[])
{
    lists *const l = b->task->own;
    const rota_type *const type = b->task->problem.recv.types.type;
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
                                    b->task->comm->dup));
        block[i].data = to;
        to += block[i].bytes;
    }
    return MPI_SUCCESS;
}

static int check_place(const rota_built *b, const rota_sparse_block *block)
{
    return b->task->use.device && block->bytes > 0 &&
                   b->task->use.device->holds(block->data)
               ? rota_fail(MPI_ERR_BUFFER, "sendbuf is memory of a device, and "
                                           "a sparse exchange takes that of "
                                           "the host")
               : MPI_SUCCESS;
}

static int fill_blocks(rota_built *b, const rota_start_args *args,
                       rota_sparse_block block[])
{
    lists *const l = b->task->own;
    const size_t n = (size_t)args->n_dests;
    const rota_side_args side = {.form = args->form,
                                 .base = args->send.base,
                                 .counts = args->send.counts,
                                 .displs = args->send.displs,
                                 .name = "send",
                                 .n = args->n_dests,
                                 .unit = &rota_counted_of(b)->unit};

    ROTA_TRY(rota_grow(&l->sides, &l->sides_room,
                       n * (sizeof(ptrdiff_t) + sizeof(size_t) + sizeof(int)),
                       "counts and displacements"));
    ptrdiff_t *const offset = (ptrdiff_t *)(void *)l->sides;
    size_t *const bytes = l->bytes = (size_t *)(void *)(offset + n);
    ROTA_TRY(check_dests(b, args->n_dests, args->dests, (int *)(bytes + n)));
    ROTA_TRY(rota_side_fill(&side, bytes, offset));
    for (size_t i = 0; i < n; i++) /* MPI's const: it is not written */
        block[i] = (rota_sparse_block){
            .rank = args->dests[i],
            .bytes = bytes[i],
            .data = bytes[i] ? (char *)args->send.base + offset[i] : NULL};
    for (size_t i = 0; i < n; i++)
        ROTA_TRY(check_place(b, &block[i]));
    return MPI_SUCCESS;
}

static int start(rota_built *b, const rota_start_args *args)
{
    const lists *const own = b->task->own;
    rota_sparse_block *block;

    if (args->send.base == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE");
    if (args->n_dests < 0)
        return rota_fail(MPI_ERR_COUNT, "n = %d is negative", args->n_dests);
    if (args->n_dests > 0 && !args->dests)
        return rota_fail(MPI_ERR_ARG, "dests is NULL");
    ROTA_TRY(rota_sparse_blocks(&b->exec, (size_t)args->n_dests, &block));
    if (args->n_dests > 0)
        ROTA_TRY(fill_blocks(b, args, block));
    ROTA_TRY(pack(b, args->n_dests, block));
    if (b->task->record)
        rota_record_blocks(b->task->record, args->n_dests, args->dests,
                           own->bytes);
    return rota_exec_start(&b->exec);
}

/* ---- collecting ---------------------------------------------------------- */

/* Fill in sources, and counts and displacements in elements; *total: their
 * sum. */
static int tell_sources(rota_built *b, const rota_sparse_block found[],
                        size_t n, rota_found *r, size_t *total)
{
    lists *const l = b->task->own;
    const rota_unit *const unit = &l->counted.unit;
    const size_t element = unit->element ? unit->element : 1;
    size_t at = 0;

    ROTA_TRY(rota_grow(&l->found, &l->found_room,
                       n * (sizeof(MPI_Count) + sizeof(MPI_Aint) + sizeof(int)),
                       "the sources of a sparse exchange"));
    MPI_Count *const counts = (MPI_Count *)(void *)l->found;
    MPI_Aint *const displs = (MPI_Aint *)(void *)(counts + n);
    int *const sources = (int *)(void *)(displs + n);
    rota_found all = {.large = r->large,
                      .counts = counts,
                      .displs = displs,
                      .sources = sources};
    for (; all.n_sources < (int)n; all.n_sources++) {
        const rota_sparse_block *const block = &found[all.n_sources];
        const size_t k = block->bytes / element;
        sources[all.n_sources] = block->rank;
        if (!rota_counted_note(&all, all.n_sources, k, at))
            return rota_fail(MPI_ERR_COUNT,
                             "counts or displacements do not fit an int; call "
                             "rota_exchange_wait_sparse_c");
        at += k;
    }
    *total = at;
    *r = all;
    return MPI_SUCCESS;
}

static int collect(rota_built *b, rota_found *r)
{
    lists *const l = b->task->own;
    const rota_type *const type = b->task->problem.recv.types.type;
    const rota_unit *const unit = &l->counted.unit;
    const rota_sparse_block *found;
    size_t n, total = 0;
    char *buffer;

    ROTA_TRY(rota_sparse_found(&b->exec, &found, &n));
    ROTA_TRY(tell_sources(b, found, n, r, &total));
    ROTA_TRY(rota_counted_buffer(b, total * (size_t)unit->spacing, &l->out,
                                 &l->out_room, &buffer));
    r->buffer = buffer;
    buffer += unit->true_lb;
    for (size_t i = 0; i < n; i++) {
        if (found[i].bytes == 0)
            continue;
        ROTA_TRY(rota_type_unpack(type, found[i].data, found[i].bytes, buffer,
                                  b->task->comm->dup));
        buffer += (ptrdiff_t)(found[i].bytes / unit->element) * unit->spacing;
    }
    rota_sparse_finish(&b->exec);
    return MPI_SUCCESS;
}

const rota_kind_table rota_kind_sparse = {
    .kind = ROTA_SPARSE,
    .is = "a sparse exchange",
    .wait = "rota_exchange_wait_sparse",
    .collects = true,
    .own_bytes = sizeof(lists),
    .prepare = rota_counted_prepare,
    .vote = rota_counted_vote,
    .forget = forget,
    .build = build,
    .group = group,
    .start = start,
    .collect = collect,
};
