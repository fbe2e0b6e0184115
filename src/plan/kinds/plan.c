/* plan.c - makes and destroys plans.
 *
 * After every step that can fail on one rank alone, the ranks agree before
 * anyone waits for a peer.
 */
#include "plan/kinds/plan.h"
#include "choose/decide.h"
#include "exec/move/blocks.h"
#include "exec/move/lock.h"
#include "exec/move/trace.h"
#include "exec/payload/parcels.h"
#include "exec/run/sizes.h"
#include "exec/step/steps.h"
#include "plan/args/neighbors.h"
#include "plan/kinds/device.h"
#include "plan/kinds/ipc.h"
#include "plan/kinds/sparse.h"
#include "plan/kinds/trial.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/crossing.h"
#include "plan/ranks/network.h"
#include "plan/ranks/node.h"

#include <stdlib.h>
#include <string.h>

/* ---- what must be the same on all ranks ---------------------------------- */

static rota_alike find_alike(const rota_plan *p, const rota_hints *hints)
{
    rota_alike a = {0};

    rota_alike_add(&a, "kind of plan",
                   p->kind + (p->problem.neighbors ? 2 * ROTA_N_KINDS : 0));
    rota_alike_add(&a, "use of MPI_IN_PLACE", p->problem.in_place);
    rota_alike_add(&a, "use of a type for each rank", p->problem.own_types);
    /* Counts that vary are in elements of one size. */
    rota_alike_add(&a, "size of type",
                   p->kind == ROTA_FIXED ? 0 : p->unit.element);
    rota_alike_add(&a, "max_block", p->max_block);
    rota_hints_alike(hints, &a);
    return a;
}

static uint64_t add_up(const size_t bytes[], int n)
{
    uint64_t all = 0;

    for (int q = 0; q < n; q++)
        all = all + bytes[q] < all ? UINT64_MAX : all + bytes[q];
    return all;
}

/* A digest of a block, so that a sum of many tells them all apart. Two sizes of
 * one pair of ranks never have the same. */
static uint64_t digest(int src, int dst, size_t bytes)
{
    const uint64_t pair = (uint64_t)src << 32 | (uint32_t)dst;

    return rota_scramble(rota_scramble(pair) ^ bytes);
}

/* The sum over all ranks is 0 if both ends of all blocks have the same sizes;
 * otherwise it is anything. */
static uint64_t find_unmatched(const rota_problem *problem)
{
    const size_t *const sent = rota_problem_sent(problem);
    uint64_t sum = 0;

    for (int q = 0; q < problem->P; q++)
        sum += digest(problem->me, q, sent[q]) -
               digest(q, problem->me, problem->recv.bytes[q]);
    return sum;
}

/* Add the sizes of this rank's blocks to the vote. */
static void measure_blocks(const rota_plan *p, rota_vote *vote)
{
    const rota_problem *const problem = &p->problem;
    const size_t *const bytes = rota_problem_sent(problem);
    const rota_neighbors *const among = problem->neighbors;
    const int n = among ? among->n_send : p->comm->P;

    vote->smallest = UINT64_MAX;
    vote->blocks = (uint64_t)(among ? among->n_sent : n);
    vote->unmatched = among ? rota_edges_unmatched(p) : 0;
    if (!bytes)
        return;
    for (int d = 0; d < n; d++) {
        vote->smallest = bytes[d] < vote->smallest ? bytes[d] : vote->smallest;
        vote->largest = bytes[d] > vote->largest ? bytes[d] : vote->largest;
        vote->filled += bytes[d] > 0;
    }
    const uint64_t received = add_up(problem->recv.bytes, problem->recv.n);
    vote->total = add_up(bytes, n);
    vote->busiest = vote->total > received ? vote->total : received;
    if (p->checked && !among)
        vote->unmatched = find_unmatched(problem);
}

/* Refuse blocks of different sizes where the algorithm needs one size; all
 * ranks find the same. */
static int check_uniform(const rota_plan *p, const rota_hints *hints,
                         const rota_vote *vote)
{
    if (p->kind != ROTA_FIXED || !hints->algo || !hints->algo->uniform ||
        vote->smallest == vote->largest)
        return MPI_SUCCESS;
    return rota_fail(MPI_ERR_ARG,
                     "algorithm %s is for blocks of one size; these have %llu "
                     "to %llu bytes",
                     hints->algo->name, (unsigned long long)vote->smallest,
                     (unsigned long long)vote->largest);
}

/* The expected bytes of a block if nothing is known of it. */
enum { USUAL_BLOCK = 1024 };

static void take_stats(rota_plan *p, const rota_vote *vote)
{
    const double P = p->comm->P;
    const double blocks = vote->blocks > 0 ? (double)vote->blocks : 1;
    rota_stats *const stats = &p->stats;

    *stats = (rota_stats){.kind = p->kind,
                          .neighbors = p->problem.neighbors != NULL,
                          .degree = (double)vote->blocks / P,
                          .P = p->comm->P,
                          .n_nodes = p->topo->n_nodes,
                          .node_size = rota_topo_largest_node(p->topo),
                          .cores = p->comm->cores,
                          .largest = vote->largest,
                          .mean = (double)vote->total / blocks,
                          .density = (double)vote->filled / blocks,
                          .imbalance = 1};
    if (vote->total > 0)
        stats->imbalance = (double)vote->busiest * P / (double)vote->total;
    if (p->kind == ROTA_FIXED)
        return;
    const bool bound = p->max_block != ROTA_UNBOUNDED;
    stats->largest = bound ? p->max_block : UINT64_MAX;
    stats->mean = bound ? (double)p->max_block / 2 : USUAL_BLOCK;
    stats->density = 1;
}

/* Agree that all ranks have got this far with the same plan; on its id; on a
 * free native communicator; on how much is to be moved, and in which ways it
 * may. */
static int agree_on_plan(rota_plan *p, const rota_hints *hints, int status,
                         rota_vote *vote)
{
    const rota_alike alike = find_alike(p, hints);
    rota_comm *const c = p->comm;
    rota_vote found;

    vote->alike = &alike;
    vote->used = c->native_used;
    measure_blocks(p, vote);
    p->id = c->next_id;
    for (;; p->id = rota_comm_id_after(c, p->id)) {
        found = *vote;
        found.clash = rota_comm_id_taken(c, p->id);
        ROTA_TRY(rota_agree(c, status, &found));
        if (!found.clash)
            break;
    }
    ROTA_TRY(check_uniform(p, hints, &found));
    p->largest = p->kind == ROTA_FIXED ? (size_t)found.largest : p->max_block;
    take_stats(p, &found);
    p->uniform = p->kind == ROTA_FIXED && found.smallest == found.largest;
    p->unmatched = found.unmatched != 0;
    if (p->unmatched && p->problem.neighbors)
        return rota_tell_mismatch(p);
    found.alike = NULL;
    *vote = found;
    return MPI_SUCCESS;
}

static int find_free_native(const rota_vote *vote)
{
    int i = 0;

    while (i < ROTA_MAX_NATIVE && vote->used >> i & 1)
        i++;
    return i;
}

static int choose(rota_plan *p, const rota_hints *hints, bool native_free)
{
    rota_comm *const c = p->comm;
    const rota_wanted wanted = {.hints = hints,
                                .what = {.topo = p->topo,
                                         .neighbors = p->stats.neighbors,
                                         .kind = p->kind,
                                         .max_block = p->max_block,
                                         .native_free = native_free,
                                         .ipc = p->ipc},
                                .stats = p->stats,
                                .uniform = p->uniform,
                                .shares = c->node != NULL,
                                .load = rota_comm_load(c),
                                .problem = &p->problem};
    rota_ranks ranks = rota_comm_ranks(c);
    rota_trial trial;
    const rota_trials trials = rota_trial_of(&trial, p);

    ranks.try_network = rota_network_try;
    if (p->kind == ROTA_SPARSE)
        return rota_decide_sparse(&wanted, &c->learnt, &ranks, &p->decision);
    return rota_decide(&wanted, &c->learnt, &ranks, &trials, &p->decision);
}

/* Might an algorithm combine the blocks between two nodes? */
static bool may_follow_nodes(const rota_plan *p, const rota_hints *hints)
{
    const rota_topo *const t = p->topo;

    if (!p->problem.neighbors)
        return false;
    return hints->algo ? hints->algo->nodes
                       : t->n_nodes > 1 && t->n_nodes < t->P;
}

/* Agree, map the node's memory, and choose. Collective; the ranks agree on
 * every failure. */
static int decide(rota_plan *p, const rota_hints *hints, int status,
                  int *free_native)
{
    const char *const why_no_ipc =
        status == MPI_SUCCESS ? rota_plan_why_no_ipc(p, hints) : NULL;
    rota_vote vote = {.no_ipc = why_no_ipc != NULL};

    ROTA_TRY(agree_on_plan(p, hints, status, &vote));
    *free_native = find_free_native(&vote);
    if (hints->intranode != ROTA_INTRANODE_P2P)
        ROTA_TRY(rota_comm_open_node(p->comm));
    p->device_asked = hints->device != ROTA_DEVICE_AUTO;
    rota_plan_settle_ipc(p, why_no_ipc, vote.no_ipc);
    if (may_follow_nodes(p, hints))
        ROTA_TRY(rota_plan_find_crossing(p));
    ROTA_TRY(choose(p, hints, *free_native < ROTA_MAX_NATIVE));
    p->choice = p->decision.choice;
    return MPI_SUCCESS;
}

static int take_native(rota_plan *p, int free_native)
{
    if (!p->choice.algo->native)
        return MPI_SUCCESS;
    if (free_native == ROTA_MAX_NATIVE)
        return rota_fail(MPI_ERR_OTHER,
                         "%d plans on this communicator use MPI's own "
                         "all-to-all; no more can",
                         ROTA_MAX_NATIVE);
    ROTA_TRY(rota_comm_native(p->comm, free_native, &p->exec.native));
    p->native = free_native;
    return MPI_SUCCESS;
}

/* Take the native communicator that was agreed on, last, since plans made to be
 * measured have used it meanwhile. Collective for a native phase; may fail on
 * one rank alone. */
static int take_agreed(rota_plan *p, int free_native)
{
    ROTA_TRY(take_native(p, free_native));
    ROTA_TRY(rota_comm_id_take(p->comm, p->id));
    p->has_id = true;
    return MPI_SUCCESS;
}

/* ---- learning and checking sizes ----------------------------------------- */

/* The radix of the run that finds differing counts, for plans whose schedule
 * carries no sizes: few phases of few messages. Eight messages at once cost
 * little more than one. */
enum { CHECK_RADIX = 8 };

static int compare_counts(const rota_plan *p, const size_t cell[])
{
    for (int i = 0; i < p->sched.n_recv; i++) {
        const size_t sent = cell[rota_dst(&p->sched, i)];
        const size_t expected = p->problem.recv.bytes[i];
        if (sent != expected)
            return rota_fail_mismatch(rota_from(&p->sched, i), p->comm->me,
                                      sent, expected);
    }
    return MPI_SUCCESS;
}

int rota_check_own(const rota_plan *p)
{
    const rota_sched *const s = &p->sched;

    for (int k = 0; k < rota_n_own(s); k++) {
        const rota_own own = rota_own_block(s, k);
        const size_t sent = p->bytes[rota_src(s, own.send)];
        const size_t expected = p->bytes[rota_dst(s, own.recv)];
        if (sent != expected)
            return rota_fail_mismatch(s->me, s->me, sent, expected);
    }
    return MPI_SUCCESS;
}

/* Run s on send_bytes. Collective: a rank that cannot take part must not leave
 * the others waiting, so all agree first. */
static int run_sizes(const rota_plan *p, const rota_sched *s, int status,
                     const size_t send_bytes[], rota_sizes *z)
{
    *z = (rota_sizes){0};
    if (status == MPI_SUCCESS)
        status =
            rota_sizes_init(z, s, p->comm->dup, ROTA_TAGS * p->id, send_bytes);
    status = rota_agree(p->comm, status, NULL);
    z->x.mates = p->comm->node;
    if (status == MPI_SUCCESS)
        status = rota_exec_start(&z->x);
    if (status == MPI_SUCCESS)
        status = rota_exec_wait(&z->x);
    return status;
}

/* Collective; the ranks agree on every failure. */
static int learn_from(rota_plan *p, const rota_sched *s, int status)
{
    rota_sizes z;

    status = run_sizes(p, s, status, rota_problem_sent(&p->problem), &z);
    if (status == MPI_SUCCESS && p->checked)
        status = compare_counts(p, z.cell);
    if (status == MPI_SUCCESS && s == &p->sched) {
        const size_t first_tmp = rota_first_tmp(s);
        memcpy(p->bytes + first_tmp, z.cell + first_tmp,
               (s->n_blocks - first_tmp) * sizeof *p->bytes);
    }
    if (z.cell)
        rota_sizes_free(&z);
    return rota_agree(p->comm, status, NULL);
}

static bool learns_by_itself(const rota_plan *p)
{
    return p->choice.algo->sizes == ROTA_SIZES_LEARNT &&
           p->choice.metadata == ROTA_META_ONCE;
}

/* Learn the sizes of blocks in transit, and find counts that differ, if any, by
 * one run on sizes: of the plan's schedule or, if that needs none or carries
 * them, of another with few messages. Collective; the ranks agree on every
 * failure. */
static int learn_sizes(rota_plan *p, int status)
{
    const rota_params params = {.radix = CHECK_RADIX};
    rota_sched s;

    if (learns_by_itself(p))
        return learn_from(p, &p->sched, status);
    int err = rota_sched_init(&s, p->comm->P, p->comm->me);
    if (err == MPI_SUCCESS)
        err = rota_algo_parlogna.build(p->topo, &params, &s);
    err = learn_from(p, &s, status == MPI_SUCCESS ? err : status);
    rota_sched_free(&s);
    return err;
}

/* Where counts vary but are known: find the blocks in messages with sizes that
 * need none. Collective; the ranks agree on every failure. */
static int learn_landing(rota_plan *p, int status)
{
    const int P = p->comm->P;
    size_t *const label = malloc((size_t)P * sizeof *label);
    rota_sizes z;

    if (status == MPI_SUCCESS && !label)
        status = rota_fail_mem("which blocks land");
    if (label)
        rota_sizes_label(P, p->comm->me, label);
    status = run_sizes(p, &p->sched, status, label, &z);
    if (status == MPI_SUCCESS)
        status = rota_sizes_landing(&z, p->exec.landing);
    if (z.cell)
        rota_sizes_free(&z);
    free(label);
    return rota_agree(p->comm, status, NULL);
}

/* ---- binding ------------------------------------------------------------- */

static int allocate(char **memory, size_t bytes, const char *what)
{
    *memory = bytes ? malloc(bytes) : NULL;
    return *memory || !bytes ? MPI_SUCCESS : rota_fail_mem(what);
}

/* In place, send blocks are moved out of the way first, except the rank's own,
 * which only MPI's own all-to-all needs. */
static int make_stage(rota_plan *p)
{
    size_t at = 0;

    for (int d = 0; d < p->comm->P; d++) {
        const bool stays = d == p->comm->me && !p->choice.algo->native;
        p->bytes[d] = stays ? 0 : p->problem.recv.bytes[d];
        p->offset[d] = (ptrdiff_t)at;
        at += p->bytes[d];
    }
    p->stage_bytes = at;
    return allocate(&p->stage, at, "staging what is sent in place");
}

/* Set what depends on the arguments of this rank. */
static int set_sides(rota_plan *p)
{
    const size_t S = (size_t)p->sched.n_send, R = (size_t)p->sched.n_recv;
    const rota_problem *const problem = &p->problem;

    memcpy(p->bytes + S, problem->recv.bytes, R * sizeof *p->bytes);
    memcpy(p->offset + S, problem->recv.offset, R * sizeof *p->offset);
    if (problem->in_place)
        return make_stage(p);
    memcpy(p->bytes, problem->send.bytes, S * sizeof *p->bytes);
    memcpy(p->offset, problem->send.offset, S * sizeof *p->offset);
    return rota_check_own(p);
}

/* Messages from this length on are copied from the sender's arena, unless a
 * hint or a measurement (rota-tune) says otherwise. If the sender has just
 * written them, that takes as long as the way through an entry from the first
 * value to 4 KiB, and less above; if not, it is 1.3 to 1.7 times as fast. It
 * takes one synchronisation more, which is a process switch where ranks share
 * cores: there it pays from 8 to 16 KiB on (docs/measurements.md). */
enum { USUAL_ARENA_FROM = 1536, CROWDED_ARENA_FROM = 8192 };

static size_t find_arena_threshold(const rota_plan *p)
{
    const rota_comm *const c = p->comm;
    const int wish = p->copied_once_from > 0
                         ? p->copied_once_from
                         : c->learnt.tuning.copied_once_from;

    if (wish > 0)
        return (size_t)wish;
    return c->crowded ? CROWDED_ARENA_FROM : USUAL_ARENA_FROM;
}

static rota_reach find_reach(const rota_plan *p)
{
    return (rota_reach){.node = p->comm->node,
                        .arena_threshold = find_arena_threshold(p)};
}

static void set_exec(rota_plan *p)
{
    static const char *const title[] = {"a plan with fixed counts",
                                        "a plan with varying counts",
                                        "an exchange", "a sparse exchange"};
    rota_exec *const x = &p->exec;

    x->blocks.s = &p->sched;
    x->title = title[p->kind];
    x->algorithm = p->choice.algo->name;
    x->comm = p->comm->dup;
    x->mates = p->comm->node;
    x->tag = ROTA_TAGS * p->id;
    x->blocks.bytes = p->bytes;
    x->blocks.offset = p->offset;
    x->by_datatype = p->choice.params.by_datatype;
    x->metadata = /* a sparse exchange binds no messages */
        p->kind == ROTA_SPARSE ? ROTA_META_ONCE : p->choice.metadata;
    x->fixed = p->kind == ROTA_FIXED && x->metadata == ROTA_META_ONCE;
    x->max_block = p->max_block;
    x->parcels = p->choice.params.parcels;
    x->counts_unknown = p->kind >= ROTA_EXCHANGE;
    x->stage_in = p->problem.in_place;
    x->blocks.base[ROTA_SRC] =
        p->problem.in_place ? p->stage : p->problem.send.base;
    x->blocks.base[ROTA_DST] = p->problem.recv.base;
    x->blocks.base[ROTA_TMP] = p->scratch;
    x->blocks.types[ROTA_SRC] = p->problem.in_place
                                    ? rota_types_bytes
                                    : *rota_problem_sent_types(&p->problem);
    x->blocks.types[ROTA_DST] = p->problem.recv.types;
    x->blocks.types[ROTA_TMP] = rota_types_bytes;
    x->blocks.own_types = p->problem.own_types;
}

/* What keeps shared memory from carrying messages, on any rank. If plans are to
 * progress outside Rota's calls, also what keeps the progress thread from it:
 * then MPI carries them, and progresses in its calls. */
typedef enum obstacle {
    NO_OBSTACLE,
    NO_ROOM,
    THREAD_TYPE,
    THREAD_DEVICE,
    NO_THREAD
} obstacle;

static const char *const obstacle_text[] = {
    [NO_ROOM] = "no room in shared memory",
    [THREAD_TYPE] = "rota_progress = thread, and MPI packs elements of a type",
    [THREAD_DEVICE] = "rota_progress = thread, and a device may be in use",
    [NO_THREAD] = "rota_progress = thread, and the system gives no thread",
};

static obstacle find_obstacle(const rota_plan *p)
{
    if (p->progress != ROTA_PROGRESS_THREAD)
        return NO_OBSTACLE;
    if (!rota_lock_is_multiple() &&
        (!rota_types_are_bytes(&p->problem.recv.types) ||
         !rota_types_are_bytes(&p->exec.blocks.types[ROTA_SRC])))
        return THREAD_TYPE;
    if (p->device)
        return THREAD_DEVICE;
    return rota_comm_hold_thread(p->comm) ? NO_OBSTACLE : NO_THREAD;
}

const char *rota_plan_needs_calls(const rota_plan *p)
{
    const rota_exec *const x = &p->exec;

    if (p->progress == ROTA_PROGRESS_CALLS)
        return "no hint asks for more";
    if (p->progress == ROTA_PROGRESS_THREAD)
        return x->by_thread ? NULL
                            : "MPI carries messages or the algorithm needs "
                              "calls";
    if (!p->node_why && !x->shared)
        return NULL; /* a rank alone */
    if (!p->node_why)
        return "not all messages go by MPI";
    if (x->program.n_steps > 1 ||
        (x->program.n_steps == 1 && !rota_step_is_at_once(x->program.step)))
        return "the algorithm has more than one round";
    return x->counts_unknown && (p->max_block == ROTA_UNBOUNDED ||
                                 p->choice.metadata != ROTA_META_FUSED)
               ? "receives wait for sizes: there is no bound"
               : NULL;
}

/* Why MPI carries messages within the node, as far as all ranks know it; NULL:
 * it need not. */
static const char *why_by_mpi(const rota_plan *p)
{
    if (p->choice.intranode == ROTA_INTRANODE_P2P)
        return "asked for by a hint";
    if (p->choice.device == ROTA_DEVICE_AWARE)
        return "rota_device = cuda_aware: MPI takes all messages";
    if (p->comm->node && p->kind == ROTA_SPARSE && p->comm->node->apart)
        return "some ranks of a node share no memory";
    return p->comm->node ? NULL : p->comm->node_why;
}

static int make_scratch(rota_plan *p);

/* Decide whether messages may be handed over, and lend scratch for it. Not with
 * devices, which cannot access the blocks of other ranks. */
static int lend_scratch(rota_plan *p)
{
    rota_exec *const x = &p->exec;

    x->loans.allowed = (x->fixed || x->parcels) && !p->device;
    if (!x->loans.allowed || !rota_sched_shares(x->blocks.s))
        return MPI_SUCCESS;
    x->loans.lends = true;
    return make_scratch(p);
}

/* Let shared memory carry messages within the node, unless something on any
 * rank prevents it. Collective; the ranks agree on every failure. */
static int use_node(rota_plan *p, int status)
{
    rota_exec *const x = &p->exec;
    rota_vote vote = {0};
    rota_refusal refusal = ROTA_REFUSED_NOTHING;

    const rota_reach reach = find_reach(p);
    if (status == MPI_SUCCESS)
        status = lend_scratch(p);
    if (status == MPI_SUCCESS)
        status = rota_exec_reserve(x, &reach, &refusal);
    vote.largest = refusal == ROTA_REFUSED_PLAN ? NO_ROOM : find_obstacle(p);
    ROTA_TRY(rota_agree(p->comm, status, &vote));
    p->no_room = refusal != ROTA_REFUSED_NOTHING;
    p->node_why = obstacle_text[vote.largest];
    x->by_thread = p->progress == ROTA_PROGRESS_THREAD && !p->node_why &&
                   !p->choice.algo->native && p->kind != ROTA_SPARSE;
    /* Attach before the last agreement: after it, another rank may already have
     * run and freed the plan, and the communicator with its endpoints. */
    if (p->node_why) {
        rota_exec_detach(x);
        return MPI_SUCCESS;
    }
    x->loans.scratch = x->loans.lends ? p->scratch : NULL;
    p->apart = !rota_exec_attach(x);
    return MPI_SUCCESS;
}

/* ---- making -------------------------------------------------------------- */

static rota_plan *new_plan(rota_comm *c, const rota_neighbors *neighbors,
                           const rota_args *args)
{
    rota_plan *const p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->comm = c;
    p->problem.neighbors = neighbors;
    p->topo = &c->topo;
    rota_comm_retain(c);
    p->kind = args->kind;
    p->native = -1;
    p->exec.native = MPI_COMM_NULL;
    p->max_block = p->kind == ROTA_FIXED ? ROTA_UNBOUNDED : args->max_block;
    p->device = rota_device_in_use();
    return p;
}

static int pretend(rota_plan *p, int node_size)
{
    if (node_size == 0)
        return MPI_SUCCESS;
    ROTA_TRY(rota_topo_make(&p->pretended, p->comm->P, node_size,
                            p->comm->topo.n_domains));
    p->topo = &p->pretended;
    return MPI_SUCCESS;
}

/* Build the schedule, and allocate arrays with an entry per block. */
static int build(rota_plan *p)
{
    if (p->kind == ROTA_SPARSE)
        return rota_sparse_build(p);
    ROTA_TRY(rota_plan_check_device(p));
    ROTA_TRY(rota_sched_init_among(&p->sched, p->comm->P, p->comm->me,
                                   p->problem.neighbors));
    rota_sched_set_crossing(&p->sched, p->problem.crossing, p->choice.metadata);
    ROTA_TRY(p->choice.algo->build(p->topo, &p->choice.params, &p->sched));
    const size_t n = (size_t)p->sched.n_blocks + 1;
    p->bytes = calloc(n, sizeof *p->bytes);
    p->offset = calloc(n, sizeof *p->offset);
    return p->bytes && p->offset ? MPI_SUCCESS
                                 : rota_fail_mem("sizes and places of blocks");
}

/* Keep the hints that matter after the choice. */
static void keep_hints(rota_plan *p, const rota_hints *hints)
{
    p->checked = hints->check;
    p->progress = hints->progress;
    p->copied_once_from = hints->copied_once_from;
}

/* May fail on one rank alone. */
static int build_fixed(rota_plan *p)
{
    ROTA_TRY(build(p));
    return set_sides(p);
}

static int place(rota_plan *p)
{
    return p->exec.parcels
               ? rota_parcels_place(&p->exec, &p->room.bytes)
               : rota_sched_place(&p->sched, p->choice.params.by_datatype,
                                  p->bytes, p->offset, &p->room);
}

/* Cleared, because padding travels. */
static int make_scratch(rota_plan *p)
{
    ROTA_TRY(place(p));
    if (p->room.bytes > 0 && p->exec.loans.lends)
        p->scratch = rota_arena_alloc(p->room.bytes);
    p->exec.loans.lends = p->scratch != NULL;
    if (p->room.bytes > 0 && !p->scratch)
        p->scratch = calloc(p->room.bytes, 1);
    p->exec.blocks.base[ROTA_TMP] = p->scratch;
    if (!p->scratch && p->room.bytes > 0)
        return rota_fail_mem("scratch");
    if (p->exec.parcels)
        rota_parcels_make(&p->exec);
    return MPI_SUCCESS;
}

/* May fail on one rank alone. */
static int bind_memory(rota_plan *p)
{
    if (p->kind == ROTA_FIXED)
        ROTA_TRY(rota_plan_stage_fixed(p));
    if ((p->choice.metadata == ROTA_META_ONCE || p->exec.parcels) &&
        !p->scratch)
        ROTA_TRY(make_scratch(p));
    ROTA_TRY(rota_trace_make(&p->exec.blocks, p->exec.tag / ROTA_TAGS,
                             &p->exec.trace));
    return rota_exec_bind(&p->exec);
}

static void fold(rota_plan *p)
{
    if (p->choice.metadata != ROTA_META_ONCE)
        return;
    rota_sched_pad(&p->sched, p->largest, p->bytes);
    if (p->kind == ROTA_FIXED)
        rota_sched_fold(&p->sched, p->bytes);
}

/* Fold the schedule and bind it to memory, the node's and this rank's.
 * Collective; the ranks agree on every failure. */
static int bind(rota_plan *p, int status)
{
    if (status == MPI_SUCCESS)
        fold(p);
    set_exec(p);
    if (p->choice.device == ROTA_DEVICE_IPC) {
        ROTA_TRY(rota_agree(p->comm, status, NULL));
        ROTA_TRY(rota_plan_use_ipc(p));
    }
    p->node_why = why_by_mpi(p);
    if (p->kind == ROTA_SPARSE && status == MPI_SUCCESS && !p->node_why)
        status = rota_sparse_group(p);
    if (!p->node_why)
        ROTA_TRY(use_node(p, status));
    if (p->exec.fetching && p->node_why && p->comm->P > 1)
        ROTA_TRY(rota_plan_give_up_ipc(p, p->node_why));
    if (p->kind == ROTA_SPARSE && status == MPI_SUCCESS && p->node_why)
        status = rota_sparse_group(p); /* every rank by itself */
    if (p->progress == ROTA_PROGRESS_THREAD && rota_lock_is_multiple())
        p->exec.by_thread = !p->device && rota_comm_hold_thread(p->comm);
    if (status == MPI_SUCCESS && !p->apart)
        status = bind_memory(p);
    rota_vote vote = {.clash = p->apart};
    ROTA_TRY(rota_agree(p->comm, status, &vote));
    p->apart = vote.clash; /* on any rank */
    return MPI_SUCCESS;
}

/* An exchange puts blocks end to end, so elements must not reach beyond their
 * extent. */
static int check_extent(MPI_Datatype type)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    ROTA_TRY(MPI_Type_get_extent(type, &lb, &extent));
    ROTA_TRY(MPI_Type_get_true_extent(type, &true_lb, &true_extent));
    if (true_lb < 0 || true_lb + true_extent > extent)
        return rota_fail(MPI_ERR_TYPE,
                         "type has data outside 0 to its extent, %lld bytes",
                         (long long)extent);
    return MPI_SUCCESS;
}

/* Read the arguments. May fail on one rank alone. */
static int prepare(rota_plan *p, const rota_args *args, const rota_hints *hints)
{
    keep_hints(p, hints);
    if (p->kind == ROTA_FIXED)
        ROTA_TRY(rota_problem_make(args, p->comm, p->problem.neighbors,
                                   hints->check, &p->problem));
    else
        ROTA_TRY(rota_types_make(args->recvtype, "type", p->comm->dup,
                                 &p->problem.recv.types, &p->unit));
    if (p->kind >= ROTA_EXCHANGE)
        ROTA_TRY(check_extent(args->recvtype));
    return pretend(p, hints->node_size);
}

/* Must blocks that land be found? Labels name pairs of ranks, but neighbours
 * may have several edges. */
static bool needs_landing(const rota_plan *p)
{
    return p->kind == ROTA_VARYING && p->choice.metadata != ROTA_META_ONCE &&
           !p->sched.neighbors;
}

/* Agree, choose, and learn what each end needs to know. Collective; the ranks
 * agree on every failure. */
static int settle(rota_plan *p, const rota_hints *hints, int status)
{
    int free_native;

    ROTA_TRY(decide(p, hints, status, &free_native));
    status = take_agreed(p, free_native);
    if (status == MPI_SUCCESS)
        status = p->kind == ROTA_FIXED ? build_fixed(p) : build(p);
    if (p->kind == ROTA_FIXED && (learns_by_itself(p) || p->unmatched))
        ROTA_TRY(learn_sizes(p, status));
    if (needs_landing(p))
        ROTA_TRY(learn_landing(p, status));
    return bind(p, status);
}

/* If memory of another rank turns out not to be there for all, make the plan
 * again without it. */
int rota_plan_make(rota_comm *c, const rota_neighbors *neighbors,
                   const rota_args *args, const rota_hints *hints, int status,
                   rota_plan **plan)
{
    rota_plan *const p = new_plan(c, neighbors, args);
    const int before = status;

    if (!p)
        return rota_agree(c, rota_fail_mem("a plan"), NULL);
    if (status == MPI_SUCCESS)
        status = prepare(p, args, hints);
    status = settle(p, hints, status);
    if (status == MPI_SUCCESS && !p->apart) {
        *plan = p;
        return MPI_SUCCESS;
    }
    const bool again = status == MPI_SUCCESS;
    rota_plan_destroy(p);
    if (!again)
        return status;
    ROTA_TRY(rota_comm_part_node(c));
    return rota_plan_make(c, neighbors, args, hints, before, plan);
}

void rota_plan_destroy(rota_plan *plan)
{
    if (!plan)
        return;
    /* After a failed run, MPI may still write to memory of its messages and
     * match its tag: leave both as they are. */
    if (plan->exec.status.broken)
        return;
    rota_trace_free(plan->exec.trace);
    const bool lent = plan->exec.loans.scratch != NULL;
    rota_record_close(plan->record);
    rota_exec_unbind(&plan->exec);
    rota_sparse_forget(plan);
    rota_sched_free(&plan->sched);
    rota_problem_free(&plan->problem);
    rota_topo_free(&plan->pretended);
    rota_crossing_free(&plan->crossing);
    free(plan->bytes);
    free(plan->offset);
    free(plan->exec.landing[ROTA_RECV]);
    free(plan->exec.landing[ROTA_SEND]);
    if (!plan->exec.loans.lends)
        free(plan->scratch);
    else if (!lent)
        rota_arena_free(plan->scratch);
    free(plan->stage);
    if (plan->has_id)
        rota_comm_id_drop(plan->comm, plan->id);
    if (plan->native >= 0)
        rota_comm_native_drop(plan->comm, plan->native);
    rota_comm_release(plan->comm);
    free(plan);
}
