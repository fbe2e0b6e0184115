/* decide.c - decides between the candidates. */
#define _GNU_SOURCE
#include "choose/decide.h"
#include "base/crossing.h"
#include "choose/device_cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- earlier decisions --------------------------------------------------- */

/* Round to an exponent and the first bits of the fraction. This is exact, so
 * that machines that compute differently agree. */
static int rounded(double x)
{
    enum { STEPS = 4 };
    int exponent;
    const double fraction = frexp(x, &exponent); /* 0, or 0.5 <= fraction < 1 */

    return x > 0 ? exponent * STEPS + (int)((fraction - 0.5) * 2 * STEPS)
                 : INT32_MIN;
}

static rota_decision_key make_key(const rota_wanted *w,
                                  const rota_candidates *list)
{
    return (rota_decision_key){
        .hints = rota_hints_hash(w->hints),
        .kind = (int)w->what.kind,
        .how = 8 * (int)list->item[0].choice.metadata + 4 * w->what.neighbors +
               2 * w->what.ipc + w->what.native_free,
        .largest = rounded((double)w->stats.largest),
        .mean = rounded(w->stats.mean),
        .density = rounded(w->stats.density),
        .imbalance = rounded(w->stats.imbalance),
    };
}

static void remember(rota_learnt *l, const rota_decision_key *key,
                     const rota_decision *d)
{
    const unsigned i = l->n_before++ % ROTA_DECISIONS;

    l->before[i].key = *key;
    l->before[i].decision = *d;
}

static bool recall(const rota_learnt *l, const rota_decision_key *key,
                   rota_decision *d)
{
    for (unsigned i = 0; i < l->n_before && i < ROTA_DECISIONS; i++) {
        if (memcmp(&l->before[i].key, key, sizeof *key) != 0)
            continue;
        *d = l->before[i].decision;
        return true;
    }
    return false;
}

/* ---- by price ------------------------------------------------------------ */

/* The sizes of blocks: those that this rank knows, the mean for the rest. */
static double *expect_sizes(const rota_wanted *w, const rota_sched *s)
{
    const rota_problem *const problem = w->problem;
    double *const bytes = malloc(((size_t)s->n_blocks + 1) * sizeof *bytes);

    for (rota_block b = 0; bytes && b < s->n_blocks; b++)
        bytes[b] = rota_block_is_padded(s, b) ? (double)w->stats.largest
                                              : w->stats.mean;
    if (!bytes || w->what.kind != ROTA_FIXED)
        return bytes;
    for (rota_block b = rota_first_tmp(s); s->crossing && b < s->n_blocks; b++)
        bytes[b] =
            (double)rota_crossing_bytes(s->crossing, rota_block_slot(s, b));
    for (int i = 0; i < s->n_send; i++)
        bytes[rota_src(s, i)] = (double)rota_problem_sent(problem)[i];
    for (int i = 0; i < s->n_recv; i++)
        bytes[rota_dst(s, i)] = (double)problem->recv.bytes[i];
    return bytes;
}

static bool may_share(const rota_wanted *w, const rota_choice *choice)
{
    return w->shares && choice->intranode != ROTA_INTRANODE_P2P &&
           choice->device != ROTA_DEVICE_AWARE;
}

/* This rank's cost; HUGE_VAL if it cannot be found. */
static rota_cost price(const rota_wanted *w, const rota_machine *machine,
                       const rota_ranks *ranks, const rota_choice *choice)
{
    const rota_run_kind how = {.topo = w->what.topo,
                               .network = &machine->network,
                               .native = machine->native,
                               .metadata = choice->metadata,
                               .known = w->what.kind == ROTA_VARYING,
                               .exact = w->what.kind == ROTA_FIXED,
                               .leaders =
                                   rota_choice_leaders(choice, w->what.topo),
                               .shared = may_share(w, choice),
                               .load = w->load,
                               .density = w->stats.density};
    rota_cost cost = {{{HUGE_VAL}}};
    rota_terms step[ROTA_STEPS];
    double *bytes = NULL;
    rota_sched s;

    if (rota_sched_init_among(&s, ranks->P, ranks->me, w->problem->neighbors) ==
        MPI_SUCCESS) {
        rota_sched_set_crossing(&s, w->problem->crossing, choice->metadata);
        if (choice->algo->build(w->what.topo, &choice->params, &s) ==
            MPI_SUCCESS)
            bytes = expect_sizes(w, &s);
    }
    if (bytes && rota_choice_count(choice, w->what.ipc, &s, bytes, &how,
                                   step) == MPI_SUCCESS)
        cost = rota_cost_of(machine, w->load, step);
    free(bytes);
    rota_sched_free(&s);
    return cost;
}

/* Price all candidates; every rank prices its own part of the run. */
static int price_all(const rota_wanted *w, const rota_machine *machine,
                     const rota_ranks *ranks, rota_candidates *list)
{
    rota_cost cost[ROTA_MAX_PRICES];

    for (int i = 0; i < list->n; i++)
        cost[i] = price(w, machine, ranks, &list->item[i].choice);
    rota_fail_clear();
    ROTA_TRY(ranks->agree_costs(ranks->arg, list->n, cost));
    for (int i = 0; i < list->n; i++)
        list->item[i].predicted = rota_cost_ns(&cost[i], ranks->P);
    return MPI_SUCCESS;
}

/* ---- deciding ------------------------------------------------------------ */

/* Do hints leave open all that a row decides? They may say how messages travel
 * within nodes. */
static bool leaves_all_open(const rota_hints *hints)
{
    for (int i = 0; i < ROTA_N_PARAMS; i++)
        if (rota_param_value(&hints->params, &rota_param_table[i]) > 0)
            return false;
    return !hints->algo && hints->metadata < 0 && !hints->by_datatype &&
           hints->device == ROTA_DEVICE_AUTO;
}

/* What is measured lies in memory of the host. */
static bool is_measurable(const rota_wanted *w)
{
    return !w->what.ipc && w->hints->device != ROTA_DEVICE_IPC;
}

/* The row's choice, as hints. */
static rota_hints wish_of(const rota_tuning_row *row, const rota_hints *hints)
{
    return (rota_hints){
        .algo = row->choice.algo,
        .params = row->choice.params,
        .by_datatype = row->choice.params.by_datatype,
        .metadata = (int)row->choice.metadata,
        .partners = hints->partners,
        .intranode = hints->intranode != ROTA_INTRANODE_AUTO
                         ? hints->intranode
                         : row->choice.intranode,
    };
}

/* Take a row of the tuning, if one matches and its algorithm can be used. */
static bool take_row(const rota_wanted *w, const rota_learnt *l,
                     rota_decision *d)
{
    const rota_tuning_row *const row =
        leaves_all_open(w->hints) && !w->hints->measure && is_measurable(w)
            ? rota_tuning_find(&l->tuning, &w->stats)
            : NULL;

    if (!row || (row->choice.algo->native && !w->what.native_free) ||
        (row->choice.algo->uniform && !w->uniform))
        return false;
    const rota_hints wish = wish_of(row, w->hints);
    rota_candidate only = {.predicted = -1, .measured = 1e3 * row->us};
    if (rota_choose(&wish, &w->what, &only.choice) != MPI_SUCCESS) {
        rota_fail_clear(); /* not for this kind of plan */
        return false;
    }
    *d = (rota_decision){.choice = only.choice,
                         .why = "a row of the tuning",
                         .candidates = {.item = {only}, .n = 1}};
    return true;
}

/* ---- what measuring teaches ---------------------------------------------- */

/* The sizes around x for which a row made for x should do. */
static rota_range around(double x)
{
    enum { ROOM = 2 }; /* largest / smallest */

    return (rota_range){x / sqrt(ROOM), x * sqrt(ROOM)};
}

static rota_range just(int x)
{
    return (rota_range){x, x};
}

static void describe_origin(char machine[], size_t n, char date[], size_t m)
{
    const time_t now = time(NULL);
    struct tm utc;

    if (gethostname(machine, n) != 0)
        snprintf(machine, n, "unknown");
    machine[n - 1] = '\0';
    if (!gmtime_r(&now, &utc) || strftime(date, m, "%Y-%m-%d", &utc) == 0)
        snprintf(date, m, "unknown");
}

/* Record a measured decision as a row. All ranks get the same rows or, if one
 * has no memory, none. */
static int record(rota_learnt *l, const rota_stats *s, const rota_ranks *ranks,
                  const rota_candidate *best)
{
    char machine[64], date[16], command[] = "rota_choose=measure";

    describe_origin(machine, sizeof machine, date, sizeof date);
    const rota_tuning_row row = {
        .kind = s->kind,
        .ranks = just(s->P),
        .nodes = just(s->n_nodes),
        .node_size = just(s->node_size),
        .cores = just(s->cores),
        .largest = around((double)s->largest),
        .mean = around(s->mean),
        .density = around(s->density),
        .imbalance = around(s->imbalance),
        .choice = best->choice,
        .us = best->measured / 1e3,
        .from = {machine, date, command},
    };
    const int agreed =
        ranks->agree(ranks->arg, rota_tuning_put(&l->tuning, &row));
    if (agreed != MPI_SUCCESS)
        rota_learnt_forget(l);
    return agreed;
}

/* Where ranks share a device by time, a copy within it waits until each of them has
 * had a turn, unless its price was measured so: then it is not the usual one. On one
 * H200, 2 ranks took 285 us a copy and 4 took 560 (bench/rota-bench --mem cuda). */
static void add_turns(int sharers, rota_machine *machine)
{
    const double turn = 140000;
    double *const copy = &machine->ns[ROTA_TERM_DEVICE_COPY];

    if (sharers > 1 && *copy == rota_machine_usual.ns[ROTA_TERM_DEVICE_COPY])
        *copy += turn * sharers;
}

/* This machine's prices or, where nobody has calibrated, the usual ones with
 * what a trial of the network says. */
static int find_machine(const rota_wanted *w, const rota_learnt *l,
                        const rota_ranks *ranks, rota_machine *machine)
{
    *machine = l->tuning.has_machine ? l->tuning.machine : rota_machine_usual;
    add_turns(w->device_sharers, machine);
    return l->tuning.has_machine ? MPI_SUCCESS
                                 : ranks->try_network(ranks->arg, machine);
}

static int weigh(const rota_wanted *w, rota_learnt *l, const rota_ranks *ranks,
                 const rota_trials *trials, rota_decision *d)
{
    const rota_hints *const hints = w->hints;
    const bool measure = hints->measure && is_measurable(w);
    rota_machine machine;

    ROTA_TRY(find_machine(w, l, ranks, &machine));
    ROTA_TRY(price_all(w, &machine, ranks, &d->candidates));
    d->why = l->tuning.has_machine ? "the cheapest by this machine's prices"
                                   : "the cheapest by the usual prices";
    if (measure) {
        ROTA_TRY(rota_measure(trials, ranks, hints, &d->candidates));
        d->why = "the fastest of those measured";
    }
    const rota_candidate *const best = rota_candidates_best(&d->candidates);
    d->choice = best->choice;
    return measure && leaves_all_open(hints) &&
                   hints->intranode == ROTA_INTRANODE_AUTO
               ? record(l, &w->stats, ranks, best)
               : MPI_SUCCESS;
}

/* ---- sparse exchanges ---------------------------------------------------- */

static int weigh_bundles(const rota_wanted *w, rota_learnt *l,
                         const rota_ranks *ranks, rota_decision *d)
{
    rota_machine machine;

    ROTA_TRY(rota_tuning_load(
        l, ranks, w->hints->tuning_file[0] ? w->hints->tuning_file : NULL));
    ROTA_TRY(find_machine(w, l, ranks, &machine));
    const size_t most = rota_cost_bundle(&machine);
    if (most == 0)
        return MPI_SUCCESS;
    d->choice.algo = &rota_algo_consensus_node;
    d->choice.params.bundle = (int)most;
    d->why = l->tuning.has_machine
                 ? "short blocks travel together, by this machine's prices"
                 : "short blocks travel together, by the usual prices";
    return MPI_SUCCESS;
}

/* Of a sparse exchange nothing is known but the ranks: shall short blocks travel
 * from node to node together? */
static int decide_sparse(const rota_wanted *w, rota_learnt *l,
                         const rota_ranks *ranks, rota_decision *d)
{
    const rota_hints *const hints = w->hints;
    const rota_topo *const t = w->what.topo;
    const bool asked = hints->algo == &rota_algo_consensus ||
                       hints->algo == &rota_algo_consensus_node;

    *d = (rota_decision){
        .why = asked ? "asked for by a hint"
                     : "for sparse exchanges there is no other",
        .choice = {.algo = asked ? hints->algo : &rota_algo_consensus,
                   .params = hints->params,
                   .metadata = ROTA_META_FUSED,
                   .intranode = hints->intranode,
                   .device = ROTA_DEVICE_COPY}};
    if (asked || !w->shares || hints->intranode == ROTA_INTRANODE_P2P ||
        t->n_nodes == 1 || t->n_nodes == t->P)
        return MPI_SUCCESS;
    return weigh_bundles(w, l, ranks, d);
}

/* ---- all of it ----------------------------------------------------------- */

int rota_decide(const rota_wanted *w, rota_learnt *l, const rota_ranks *ranks,
                const rota_trials *trials, rota_decision *d)
{
    const rota_hints *const hints = w->hints;

    if (w->what.kind == ROTA_SPARSE)
        return decide_sparse(w, l, ranks, d);
    ROTA_TRY(rota_candidates_find(hints, &w->what, &d->candidates));
    if (d->candidates.n == 1 && hints->algo) {
        d->choice = d->candidates.item[0].choice;
        d->why = "asked for by a hint";
        return MPI_SUCCESS;
    }
    ROTA_TRY(rota_tuning_load(
        l, ranks, hints->tuning_file[0] ? hints->tuning_file : NULL));
    const rota_decision_key key = make_key(w, &d->candidates);
    if (take_row(w, l, d) || recall(l, &key, d))
        return MPI_SUCCESS;
    ROTA_TRY(weigh(w, l, ranks, trials, d));
    remember(l, &key, d);
    return MPI_SUCCESS;
}
