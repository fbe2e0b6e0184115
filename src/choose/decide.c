/* decide.c - which of the candidates it is to be. */
#define _GNU_SOURCE
#include "choose/device_cost.h"
#include "exec/late.h"
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- what was decided before ------------------------------------------------ */

/* By exponent and the first bits of the fraction: exact, hence alike on
 * machines that compute differently. */
static int rounded(double x)
{
    enum { STEPS = 4 };
    int exponent;
    const double fraction = frexp(x, &exponent); /* 0 or 0.5 to 1 */

    return x > 0 ? exponent * STEPS + (int)((fraction - 0.5) * 2 * STEPS)
                 : INT32_MIN;
}

static rota_decision_key make_key(const rota_plan *p, const rota_hints *hints,
                                  bool native_free)
{
    return (rota_decision_key){
        .hints = rota_hints_hash(hints),
        .kind = (int)p->kind,
        .how = 4 * (int)p->candidates.item[0].choice.metadata + 2 * p->ipc +
               native_free,
        .largest = rounded((double)p->stats.largest),
        .mean = rounded(p->stats.mean),
        .density = rounded(p->stats.density),
        .imbalance = rounded(p->stats.imbalance),
    };
}

static void remember(const rota_plan *p, const rota_decision_key *key)
{
    rota_comm *const c = p->comm;
    rota_decision *const d = &c->decision[c->n_decisions % ROTA_DECISIONS];

    d->key = *key;
    d->choice = p->choice;
    d->why = p->why;
    d->candidates = p->candidates;
    c->n_decisions++;
}

static bool recall(rota_plan *p, const rota_decision_key *key)
{
    const rota_comm *const c = p->comm;

    for (unsigned i = 0; i < c->n_decisions && i < ROTA_DECISIONS; i++) {
        const rota_decision *const d = &c->decision[i];
        if (memcmp(&d->key, key, sizeof *key) != 0)
            continue;
        p->choice = d->choice;
        p->why = d->why;
        p->candidates = d->candidates;
        return true;
    }
    return false;
}

/* ---- by price --------------------------------------------------------------- */

/* Sizes of blocks, as far as this rank knows them; the rest is as on
 * average. */
static double *expect_sizes(const rota_plan *p, const rota_sched *s)
{
    const rota_problem *const problem = &p->problem;
    const size_t *const sent = rota_problem_sent(problem);
    double *const bytes = malloc(s->n_blocks * sizeof *bytes);

    for (rota_block b = 0; bytes && b < s->n_blocks; b++)
        bytes[b] = rota_block_is_padded(s, b) ? (double)p->stats.largest
                                              : p->stats.mean;
    for (int q = 0; bytes && p->kind == ROTA_FIXED && q < s->P; q++) {
        bytes[rota_src(s, q)] = (double)sent[q];
        bytes[rota_dst(s, q)] = (double)problem->recv.bytes[q];
    }
    return bytes;
}

static bool may_share(const rota_plan *p, const rota_choice *choice)
{
    return p->comm->node && choice->intranode != ROTA_INTRANODE_P2P &&
           choice->device != ROTA_DEVICE_AWARE;
}

/* Copies of devices, where all blocks are on one, go before the rest, and bytes
 * become those that are left to the host. */
static int count_terms(const rota_plan *p, const rota_choice *choice,
                       const rota_sched *s, double bytes[], bool shared,
                       double density, rota_terms step[])
{
    const double load =
        (double)rota_topo_largest_node(&p->comm->topo) / p->comm->cores;
    const rota_run_kind how = {.topo = p->topo,
                               .metadata = choice->metadata,
                               .shared = shared,
                               .load = load > 1 ? load : 1,
                               .density = density};
    rota_terms copies = {{0}};

    if (p->ipc)
        rota_device_count(s, bytes, choice->device, &copies);
    ROTA_TRY(rota_cost_count(s, bytes, &how, step));
    for (int t = 0; t < ROTA_N_TERMS; t++)
        step[0].n[t] += copies.n[t];
    return MPI_SUCCESS;
}

static const rota_machine *machine(const rota_plan *p)
{
    return p->comm->tuning.has_machine ? &p->comm->tuning.machine
                                       : &rota_machine_usual;
}

/* Of this rank; HUGE_VAL if it cannot be told. */
static rota_cost price(const rota_plan *p, const rota_choice *choice)
{
    rota_cost cost = {{{HUGE_VAL}}};
    rota_terms step[ROTA_STEPS];
    double *bytes = NULL;
    rota_sched s;

    if (rota_sched_init(&s, p->comm->P, p->comm->me) == MPI_SUCCESS &&
        choice->algo->build(p->topo, &choice->params, &s) == MPI_SUCCESS)
        bytes = expect_sizes(p, &s);
    if (bytes && count_terms(p, choice, &s, bytes, may_share(p, choice),
                             p->stats.density, step) == MPI_SUCCESS)
        cost = rota_cost_of(machine(p), step);
    free(bytes);
    rota_sched_free(&s);
    return cost;
}

/* Every rank prices its own part. */
static int price_all(const rota_plan *p, rota_candidates *list)
{
    rota_cost cost[ROTA_MAX_PRICES];

    for (int i = 0; i < list->n; i++)
        cost[i] = price(p, &list->item[i].choice);
    rota_fail_clear();
    ROTA_TRY(rota_agree_costs(p->comm, list->n, cost));
    for (int i = 0; i < list->n; i++)
        list->item[i].predicted = rota_cost_ns(&cost[i], p->comm->P);
    return MPI_SUCCESS;
}

void rota_plan_terms(const rota_plan *p, rota_terms step[ROTA_STEPS])
{
    const rota_sched *const s = &p->sched;
    double *const bytes = malloc(s->n_blocks * sizeof *bytes);

    for (rota_block b = 0; bytes && b < s->n_blocks; b++)
        bytes[b] = (double)rota_late_bytes(p->bytes[b]);
    if (!bytes || count_terms(p, &p->choice, s, bytes, !p->node_why, 1, step) !=
                      MPI_SUCCESS)
        memset(step, 0, ROTA_STEPS * sizeof *step);
    free(bytes);
}

/* ---- deciding --------------------------------------------------------------- */

/* A row says all but by which way messages travel within nodes, if a hint does
 * that. */
static bool leaves_all_open(const rota_hints *hints)
{
    return !hints->algo && !hints->radix && !hints->batch && !hints->leaders &&
           hints->metadata < 0 && !hints->by_datatype &&
           hints->device == ROTA_DEVICE_AUTO;
}

/* What is measured lies in memory of the host. */
static bool is_measurable(const rota_plan *p, const rota_hints *hints)
{
    return !p->ipc && hints->device != ROTA_DEVICE_IPC;
}

/* A row of the tuning, if there is one and what it names can be had. */
static bool take_row(rota_plan *p, const rota_hints *hints,
                     const rota_plan_kind *what)
{
    const rota_tuning_row *const row =
        leaves_all_open(hints) && !hints->measure && is_measurable(p, hints)
            ? rota_tuning_find(&p->comm->tuning, &p->stats)
            : NULL;
    rota_hints wish = {0};

    if (!row || (row->choice.algo->native && !what->native_free) ||
        (row->choice.algo->uniform && !p->uniform))
        return false;
    wish.algo = row->choice.algo;
    wish.batch = row->choice.params.batch;
    wish.radix = row->choice.params.radix;
    wish.leaders = row->choice.params.leaders;
    wish.by_datatype = row->choice.params.by_datatype;
    wish.metadata = (int)row->choice.metadata;
    wish.intranode = hints->intranode != ROTA_INTRANODE_AUTO
                         ? hints->intranode
                         : row->choice.intranode;
    rota_candidate only = {.predicted = -1, .measured = 1e3 * row->us};
    if (rota_choose(&wish, what, &only.choice) != MPI_SUCCESS) {
        rota_fail_clear(); /* not for this kind of plan */
        return false;
    }
    p->candidates = (rota_candidates){.item = {only}, .n = 1};
    p->choice = only.choice;
    p->why = "a row of the tuning";
    return true;
}

/* ---- what measuring teaches -------------------------------------------------- */

/* Around a size, as far as the next row would be as good. */
static rota_range around(double x)
{
    enum { ROOM = 2 }; /* from one end to the other, as a factor */

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

/* All ranks have the same rows or, for want of memory on one, none. */
static int record(const rota_plan *p, const rota_candidate *best)
{
    const rota_stats *const s = &p->stats;
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
    const int err = rota_tuning_put(&p->comm->tuning, &row);
    const int agreed = rota_agree(p->comm, err, NULL);
    if (agreed != MPI_SUCCESS)
        rota_comm_forget_tuning(p->comm);
    return agreed;
}

static int weigh(rota_plan *p, const rota_hints *hints)
{
    rota_candidates *const list = &p->candidates;
    const bool measure = hints->measure && is_measurable(p, hints);

    ROTA_TRY(price_all(p, list));
    p->why = p->comm->tuning.has_machine
                 ? "the cheapest by this machine's prices"
                 : "the cheapest by the usual prices";
    if (measure) {
        ROTA_TRY(rota_measure(p, hints, list));
        p->why = "the fastest of those measured";
    }
    const rota_candidate *const best = rota_candidates_best(list);
    p->choice = best->choice;
    return measure && leaves_all_open(hints) &&
                   hints->intranode == ROTA_INTRANODE_AUTO
               ? record(p, best)
               : MPI_SUCCESS;
}

int rota_decide(rota_plan *p, const rota_hints *hints, bool native_free)
{
    const rota_plan_kind what = {.topo = p->topo,
                                 .kind = p->kind,
                                 .max_block = p->max_block,
                                 .native_free = native_free,
                                 .ipc = p->ipc};

    ROTA_TRY(rota_candidates_find(hints, &what, &p->candidates));
    if (p->candidates.n == 1 && hints->algo) {
        p->choice = p->candidates.item[0].choice;
        p->why = "asked for by a hint";
        return MPI_SUCCESS;
    }
    ROTA_TRY(rota_comm_load_tuning(
        p->comm, hints->tuning_file[0] ? hints->tuning_file : NULL));
    const rota_decision_key key = make_key(p, hints, native_free);
    if (take_row(p, hints, &what) || recall(p, &key))
        return MPI_SUCCESS;
    ROTA_TRY(weigh(p, hints));
    remember(p, &key);
    return MPI_SUCCESS;
}
