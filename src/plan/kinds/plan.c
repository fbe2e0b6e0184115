/* plan.c - makes and destroys plans.
 *
 * After every step that can fail on one rank alone, the ranks agree before
 * anyone waits for a peer. What decides which step is next is the same on all
 * ranks: a hint or a result of an agreement, or derived from these and the
 * topology. What a rank knows alone goes into a vote first.
 */
#include "plan/kinds/plan.h"
#include "choose/candidates.h"
#include "choose/decide.h"
#include "plan/args/graph.h"
#include "plan/args/neighbors.h"
#include "plan/kinds/device.h"
#include "plan/kinds/ipc.h"
#include "plan/kinds/trial.h"
#include "plan/ranks/attaching.h"
#include "plan/ranks/crossing.h"
#include "plan/ranks/network.h"
#include "plan/ranks/node.h"
#include "plan/ranks/sharers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what must be the same on all ranks ---------------------------------- */

/* What this rank adds to the first vote, and what must be alike. */
static rota_vote make_vote(const rota_task *t, const rota_hints *hints,
                           rota_alike *a)
{
    const rota_neighbors *const among = t->problem.neighbors;
    rota_vote vote = {
        .alike = a,
        .smallest = UINT64_MAX,
        .blocks = (uint64_t)(among ? among->n_sent : t->comm->P),
        .unmatched = rota_edges_unmatched(t->comm, &t->problem, t->checked)};

    rota_alike_add(a, "kind of plan",
                   t->kind->kind + (among ? 2 * ROTA_N_KINDS : 0) +
                       (t->kind->borrows ? 4 * ROTA_N_KINDS : 0));
    rota_alike_add(a, "use of MPI_IN_PLACE", t->problem.in_place);
    rota_alike_add(a, "use of a type for each rank", t->problem.own_types);
    t->kind->vote(t, a, &vote);
    rota_alike_add(a, "max_block", t->max_block);
    rota_hints_alike(hints, a);
    return vote;
}

/* Refuse blocks of different sizes where the algorithm needs one size; all
 * ranks find the same. */
static int check_uniform(const rota_hints *hints, const rota_vote *vote)
{
    if (!hints->algo || !hints->algo->uniform ||
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

static rota_stats find_stats(const rota_task *t, const rota_vote *vote)
{
    const double P = t->comm->P;
    const double blocks = vote->blocks > 0 ? (double)vote->blocks : 1;
    const bool bound = t->max_block != ROTA_UNBOUNDED;
    rota_stats stats = {.kind = t->kind->kind,
                        .neighbors = t->problem.neighbors != NULL,
                        .degree = (double)vote->blocks / P,
                        .P = t->comm->P,
                        .n_nodes = t->topo->n_nodes,
                        .node_size = rota_topo_largest_node(t->topo),
                        .cores = t->comm->cores,
                        .largest = vote->largest,
                        .mean = (double)vote->total / blocks,
                        .density = (double)vote->filled / blocks,
                        .imbalance = 1};

    if (vote->total > 0)
        stats.imbalance = (double)vote->busiest * P / (double)vote->total;
    if (t->kind->fixed)
        return stats;
    stats.largest = bound ? t->max_block : UINT64_MAX;
    stats.mean = bound ? (double)t->max_block / 2 : USUAL_BLOCK;
    stats.density = 1;
    return stats;
}

/* Agree that all ranks have got this far with the same plan; on a claim; on how
 * much is to be moved, and in which ways it may. The first agreement on a plan:
 * before it, no rank knows of the others. */
static int agree_on_plan(rota_task *t, const rota_hints *hints, int status,
                         bool no_ipc, rota_vote *vote, rota_claim *claim)
{
    rota_alike alike = {0};

    *vote = make_vote(t, hints, &alike);
    vote->no_ipc = no_ipc;
    vote->on_device = t->use.memory != NULL;
    ROTA_TRY(rota_agree_claim(t->comm, status, vote, claim));
    vote->alike = NULL;
    if (t->kind->bound)
        t->max_block = t->kind->bound(t, (size_t)vote->largest);
    t->largest = t->max_block != ROTA_UNBOUNDED || !t->kind->fixed
                     ? t->max_block
                     : (size_t)vote->largest;
    return vote->unmatched
               ? rota_edges_tell_mismatch(t->comm, &t->problem, t->checked)
               : MPI_SUCCESS;
}

/* ---- choosing ------------------------------------------------------------ */

static rota_plan_kind find_kind(const rota_task *t, bool native_free)
{
    return (rota_plan_kind){.topo = t->topo,
                            .neighbors = t->problem.neighbors != NULL,
                            .kind = t->kind->kind,
                            .max_block = t->max_block,
                            .native_free = native_free,
                            .ipc = t->use.ipc};
}

/* Is there an algorithm for the plan with these hints? */
static int check_hints(const rota_task *t, const rota_hints *hints,
                       const rota_vote *vote, bool native_free)
{
    const rota_plan_kind what = find_kind(t, native_free);
    rota_candidates list;

    if (t->kind->fixed)
        ROTA_TRY(check_uniform(hints, vote));
    return what.kind == ROTA_SPARSE || !hints->of_environment
               ? MPI_SUCCESS
               : rota_candidates_find(hints, &what, &list);
}

/* Leave out those hints of the environment that are not for such a plan. All ranks
 * find the same. */
static int fit_hints(const rota_task *t, const rota_hints *hints,
                     const rota_vote *vote, bool native_free,
                     rota_hints *fitting)
{
    char why[ROTA_ERR_TEXT];

    *fitting = *hints;
    const int err = check_hints(t, hints, vote, native_free);
    if (err == MPI_SUCCESS || !hints->of_environment)
        return err;
    snprintf(why, sizeof why, "%s", rota_fail_text());
    for (int i = 0; i < ROTA_LEAVE_OUT; i++)
        if (rota_hints_leave_out(hints, i, fitting) &&
            check_hints(t, fitting, vote, native_free) == MPI_SUCCESS) {
            rota_hints_tell_left_out(hints, fitting, why);
            rota_fail_clear();
            return MPI_SUCCESS;
        }
    return rota_fail(err, "%s", why);
}

/* The ranks have agreed on all that wanted has but for its problem, so all make
 * the same choice. Collective where something is measured; the ranks agree on
 * every failure. */
static int choose(rota_plan *p, const rota_hints *hints, const rota_vote *vote,
                  bool native_free)
{
    rota_comm *const c = p->comm;
    const rota_task *const t = &p->task;
    rota_hints wish =
        *hints; /* trials would send from memory that nobody reads */
    wish.measure = hints->measure && !t->kind->borrows;
    const rota_wanted wanted = {.hints = &wish,
                                .what = find_kind(t, native_free),
                                .stats = find_stats(t, vote),
                                .uniform = t->kind->fixed &&
                                           vote->smallest == vote->largest,
                                .shares = c->node != NULL,
                                .load = rota_comm_load(c),
                                .device_sharers = c->device_sharers,
                                .problem = &t->problem};
    rota_ranks ranks = rota_comm_ranks(c);
    rota_trial trial;
    const rota_trials trials = rota_trial_of(&trial, t, &wanted.stats);

    ranks.try_network = rota_network_try;
    return rota_decide(&wanted, &c->learnt, &ranks, &trials, &p->decision);
}

/* Might an algorithm combine the blocks between two nodes? */
static bool may_follow_nodes(const rota_task *t, const rota_hints *hints)
{
    if (!t->problem.neighbors)
        return false;
    return hints->algo ? hints->algo->nodes
                       : t->topo->n_nodes > 1 && t->topo->n_nodes < t->topo->P;
}

static int open_node(rota_comm *c, const rota_task *t, const rota_hints *hints)
{
    ROTA_TRY(rota_comm_open_node(c));
    return t->kind->gathers
               ? MPI_SUCCESS
               : rota_comm_ask_attaching(c, t->largest, hints->attached_from);
}

/* Agree, map the node's memory, choose, and build. status: of this rank so far.
 * Collective; the ranks agree on every failure.
 *
 * The first vote has compared hints, kind, place and bound; so from there on all
 * ranks take the same branches below. Until then a rank whose arguments are bad
 * goes along with its status, because the others wait in that vote. */
static int agree_and_build(rota_plan *p, const rota_hints *hints, int status)
{
    rota_task *const t = &p->task;
    const char *const why_no_ipc =
        status == MPI_SUCCESS ? rota_task_why_no_ipc(t, hints) : NULL;
    rota_vote vote;
    rota_claim claim;
    rota_hints fitting;

    ROTA_TRY(
        agree_on_plan(t, hints, status, why_no_ipc != NULL, &vote, &claim));
    if (hints->intranode != ROTA_INTRANODE_P2P)
        ROTA_TRY(open_node(p->comm, t, hints));
    rota_task_set_ipc(t, why_no_ipc, vote.no_ipc);
    if (vote.on_device)
        ROTA_TRY(rota_comm_find_sharers(p->comm, t->use.device, t->use.memory));
    const bool native_free = claim.native < ROTA_MAX_NATIVE;
    ROTA_TRY(fit_hints(t, hints, &vote, native_free, &fitting));
    if (may_follow_nodes(t, &fitting) && !t->problem.crossing)
        ROTA_TRY(
            rota_crossing_find(p->comm, t->topo, &t->problem, &t->crossing));
    ROTA_TRY(choose(p, &fitting, &vote, native_free));
    return rota_built_make(&p->built, t, &p->decision.choice, claim);
}

/* ---- making -------------------------------------------------------------- */

static rota_plan *new_plan(rota_comm *c, const rota_neighbors *neighbors,
                           const rota_kind_table *kind, const rota_args *args,
                           const rota_hints *hints)
{
    rota_plan *const p =
        aligned_alloc(ROTA_CACHE_LINE, (sizeof *p + ROTA_CACHE_LINE - 1) /
                                           ROTA_CACHE_LINE * ROTA_CACHE_LINE);

    if (!p)
        return NULL;
    *p = (rota_plan){.comm = c};
    rota_comm_retain(c);
    if (kind->fixed && hints->largest_unit > 0)
        kind = &rota_kind_scaled;
    p->task = (rota_task){
        .comm = c,
        .kind = kind,
        .problem = {.neighbors = neighbors},
        .topo = &c->topo,
        .max_block = kind->fixed ? ROTA_UNBOUNDED : args->max_block,
        .checked = hints->check,
        .leaves_own = hints->leaves_own,
        .largest_unit = kind->fixed ? (size_t)hints->largest_unit : 0,
        .progress = hints->progress,
        .copied_once_from = hints->copied_once_from,
        .attached_from = hints->attached_from,
        .use = {.device = rota_device_in_use(),
                .asked = hints->device != ROTA_DEVICE_AUTO},
    };
    return p;
}

/* Read the arguments. May fail on one rank alone. */
static int prepare(rota_plan *p, const rota_args *args, const rota_hints *hints)
{
    rota_task *const t = &p->task;

    ROTA_TRY(t->kind->prepare(t, args));
    t->use.memory = rota_task_memory_on_device(t);
    if (hints->node_size == 0)
        return MPI_SUCCESS;
    ROTA_TRY(rota_topo_make(&p->pretended, p->comm->P, hints->node_size,
                            p->comm->topo.n_domains));
    t->topo = &p->pretended;
    return MPI_SUCCESS;
}

/* A rank without memory for the plan takes part in the first agreement, in which all
 * fail with it. If some rank cannot map memory of another, on which the ranks agree
 * (b->apart), that pair shares none from then on and all begin again. Each time fewer
 * pairs share memory, so this ends. */
int rota_plan_make(rota_comm *c, const rota_neighbors *neighbors,
                   const rota_kind_table *kind, const rota_args *args,
                   const rota_hints *hints, int status, rota_plan **plan)
{
    rota_plan *const p = new_plan(c, neighbors, kind, args, hints);

    if (!p)
        return rota_agree(c, rota_fail_mem("a plan"), NULL);
    if (status == MPI_SUCCESS)
        status = prepare(p, args, hints);
    status = agree_and_build(p, hints, status);
    while (status == MPI_SUCCESS && p->built.apart) {
        rota_built_free(&p->built);
        status = rota_comm_part_node(c);
        if (status == MPI_SUCCESS)
            status = agree_and_build(p, hints, status);
    }
    if (status == MPI_SUCCESS)
        *plan = p;
    else
        rota_plan_destroy(p);
    return status;
}

/* ---- making anew --------------------------------------------------------- */

/* In place of the plan's own. If ranks of a node turn out to share no memory, all
 * begin anew without it. */
static int build_anew(rota_plan *p, rota_claim claim)
{
    rota_built *const b = &p->built;
    const rota_choice choice = b->choice;

    for (;;) {
        rota_vote vote = {0};
        ROTA_TRY(rota_built_make(b, &p->task, &choice, claim));
        if (!b->apart)
            return MPI_SUCCESS;
        rota_built_free(b);
        ROTA_TRY(rota_agree_claim(p->comm, rota_comm_part_node(p->comm), &vote,
                                  &claim));
    }
}

/* What was built knows its own address. So the old one is put aside while another
 * is made in its place, and put back there to be freed, or used. */
int rota_plan_rebuild(rota_plan *p, rota_claim claim)
{
    const rota_built old = p->built;
    const int err = build_anew(p, claim);
    const rota_built made = p->built;

    p->built = old;
    if (err != MPI_SUCCESS)
        return err;
    rota_built_free(&p->built);
    p->built = made;
    return MPI_SUCCESS;
}

/* ---- its end ------------------------------------------------------------- */

int rota_plan_outcome(const rota_plan *plan, int err, bool *quiet)
{
    const rota_status *const s = &plan->built.exec.status;

    *quiet = err == MPI_SUCCESS && s->note == ROTA_ABOVE_BOUND;
    if (err != MPI_SUCCESS || s->note == ROTA_NOTHING)
        return err;
    if (s->note == ROTA_MISMATCH)
        return rota_fail_mismatch(s->peer, plan->comm->me, s->sent,
                                  s->expected);
    if (s->note == ROTA_UNREADABLE)
        return rota_fail(MPI_ERR_OTHER,
                         "the memory of rank %d, which was readable when the "
                         "communicator's first long plan was made, cannot be "
                         "read any more: %s (rota_attached_from = %d does "
                         "without)",
                         s->peer, strerror((int)s->sent), 1 << 20);
    if (s->note == ROTA_PACK_FAILED || s->note == ROTA_UNPACK_FAILED)
        return rota_fail(MPI_ERR_OTHER,
                         "the program's %s function returned %d for block %d",
                         s->note == ROTA_PACK_FAILED ? "pack" : "unpack",
                         (int)s->sent, s->peer);
    return rota_fail(MPI_ERR_TRUNCATE,
                     "a block with rank %d has %zu bytes, more than max_block "
                     "= %zu",
                     s->peer, s->sent, plan->built.exec.max_block);
}

void rota_plan_destroy(rota_plan *plan)
{
    rota_task *const t = &plan->task;

    if (!rota_built_free(&plan->built))
        return;
    rota_record_close(t->record);
    if (t->kind->forget)
        t->kind->forget(t);
    rota_problem_free(&t->problem);
    rota_crossing_free(&t->crossing);
    rota_topo_free(&plan->pretended);
    rota_graph_release(plan->graph);
    rota_comm_release(plan->comm);
    free(plan);
}
