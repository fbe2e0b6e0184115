/* worth.c - see worth.h. */
#include "mpi/worth.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* FIRST: calls before the first decision. The very first of all makes connections
 * and touches pages: it is not timed. DENSE: all calls below this are timed. */
enum { FIRST = 2, WARM_UP = 1, DENSE = 4 };

/* Later calls are timed once in `look_every` seconds of calls, but at least once in
 * SPARSE calls. A call that is timed is looked at in full: that takes 0.3 us, as long
 * as a small exchange, and 4 us of MPI_Alltoallw with 16 derived types, for each rank
 * of a core. */
enum { SPARSE = 256 };
static const double look_every = 1e-3;

/* Beyond this many times the typical time, the time of a call stands for no
 * other calls. */
static const double most_typical = 4;

/* The number of calls grows at most by this factor between decisions to make a plan:
 * what a rank knows may be far off, if it was interrupted. */
enum { PATIENCE = 4 };

/* SWITCH: first calls of a trial, which go the way that calls did not go before, to
 * warm it up; they are not counted. FEW: pairs before the first look; between looks
 * their number doubles. MOST: pairs after which, without a verdict, there is no
 * difference to speak of. */
enum { SWITCH = 2, FEW = 2, MOST = 512 };

/* The highest probability that a trial's verdict is for the slower one. */
static const double error = 1e-3;

/* share: the part of all calls that trials may lose. If they lose more and one way
 * leads by CLEAR pairs, it has all calls until their number has grown by a factor of
 * up to REST: not more, since the loss is an estimate. A verdict is tested again when
 * their number has grown by AGAIN. */
static const double share = 1.0 / 200;
enum { CLEAR = 2, REST = 16, AGAIN = 4 };

/* Plans may take this part of a process's time until they have been proved to gain:
 * a process ends some time, and what they took must not be noticed then. */
static const double share_of_time = 1.0 / 64;

/* The part of MPI's time that Rota is assumed to save: a third (rota-dropin-cost
 * on 2 cores), less in exchanges so large that memory limits both, and most of it
 * where ranks share cores, which MPI's waits keep from each other. After the first
 * trial, what it saved in calls of that size. */
static const size_t large = (size_t)2 << 20; /* bytes a rank */
static const double usual_gain = 1.0 / 3, large_gain = 0.05,
                    crowded_gain = 0.75;
static const double least_gain = 0.02;

/* A plan takes so many steps of all ranks, each as long as a barrier in which ranks
 * give up the processor. Before one was measured, ranks that share cores take a step
 * for as long as a call: to measure it takes four steps. A plan also takes seconds
 * (rota_mpi_purse.plan) for each rank that shares a core. A measured time changes
 * these by at most a factor of 2, since single times are far off. */
static const double steps[ROTA_MPI_COSTS] = {7, 8, 3};

void rota_mpi_worth_begin(rota_mpi_worth *w, bool by_cost, long after)
{
    w->by_cost = by_cost;
    w->next = by_cost ? FIRST : after;
}

void rota_mpi_worth_end(rota_mpi_worth *w)
{
    free(w->trial);
}

/* ---- calls --------------------------------------------------------------- */

/* In a trial. Calls before its first pair warm up the way that calls before the
 * trial did not go. */
static bool takes_turn(const rota_mpi_trial *t, long call)
{
    const long at = call - t->first;

    if (at < 0)
        return t->off;
    return rota_sequential_second(call - at % 2) == (at % 2 == 0);
}

bool rota_mpi_worth_takes(const rota_mpi_worth *w, long call)
{
    return w->verdict == ROTA_MPI_TRIAL
               ? call != w->next && takes_turn(w->trial, call)
               : w->verdict == ROTA_MPI_TAKEN;
}

/* While OPEN: the next call to time, from here on. */
static long next_timed(const rota_mpi_worth *w, long call)
{
    const double every = w->typical > 0 ? look_every / w->typical : 1;
    const long then = w->timed + (long)fmin(every, SPARSE);

    return call < DENSE || then < call ? call : then;
}

long rota_mpi_worth_look(const rota_mpi_worth *w, long call)
{
    if (w->verdict == ROTA_MPI_TRIAL)
        return call;
    if (w->verdict != ROTA_MPI_OPEN || !w->by_cost)
        return w->next;
    return next_timed(w, call) < w->next ? next_timed(w, call) : w->next;
}

bool rota_mpi_worth_is_timed(const rota_mpi_worth *w, long call)
{
    if (w->verdict == ROTA_MPI_TRIAL)
        return call >= w->trial->first && call < w->next;
    return w->verdict == ROTA_MPI_OPEN && w->by_cost && call >= WARM_UP &&
           call == next_timed(w, call);
}

/* It stands for the calls since the last that was timed. */
static void add_to_total(rota_mpi_worth *w, long call, double seconds)
{
    const double most = w->typical > 0 ? most_typical * w->typical : seconds;
    const double usual = fmin(seconds, most);

    w->total += (double)(call + 1 - w->timed) * usual + (seconds - usual);
    w->typical += (usual - w->typical) / (w->typical > 0 ? 8 : 1);
    w->timed = call + 1;
}

void rota_mpi_worth_time(rota_mpi_worth *w, long call, size_t bytes,
                         double seconds)
{
    w->bytes = bytes;
    if (w->verdict == ROTA_MPI_OPEN) {
        add_to_total(w, call, seconds);
        return;
    }
    double *const result = w->trial->result + 2 * (call - w->trial->first);
    result[0] = seconds;
    result[1] = (double)bytes;
}

/* ---- costs --------------------------------------------------------------- */

static int bin_of(double bytes)
{
    int bin = 0;

    while (bytes >= 4096 && bin < ROTA_MPI_BINS - 1) {
        bytes /= 4;
        bin++;
    }
    return bin;
}

static double gain_of(const rota_mpi_worth *w, const rota_mpi_purse *p,
                      const rota_mpi_moment *m)
{
    const double known = p->gain[bin_of((double)w->bytes)];

    return known > 0          ? known
           : m->spins         ? crowded_gain
           : w->bytes < large ? usual_gain
                              : large_gain;
}

static double expected_cost(const rota_mpi_worth *w, const rota_mpi_purse *p,
                            const rota_mpi_moment *m, int kind)
{
    const bool unknown = m->step == 0 && m->ranks_per_core > 1 && !m->spins;

    return p->plan[kind] * m->ranks_per_core +
           steps[kind] * (unknown ? w->typical : m->step);
}

static void learn_cost(rota_mpi_purse *p, const rota_mpi_moment *m,
                       double seconds)
{
    const double known = p->plan[m->kind];
    const double mine =
        (seconds - steps[m->kind] * m->step) / m->ranks_per_core;

    p->any_plan = true;
    p->spent = p->spent + seconds;
    p->plan[m->kind] = fmin(fmax(mine, known / 2), 2 * known);
}

/* ---- to make a plan ------------------------------------------------------ */

/* For what only the first plan of a process takes counts what plans would have saved
 * in calls of all sorts; for the rest, in calls of this sort: else the first plan may
 * be that of a sort with few calls. */
enum { NO_ROOM, SAVED, COST, OWN_SAVED, OWN_COST, TIME };

/* How long this plan may take. */
static double time_for_plan(const rota_mpi_worth *w, const rota_mpi_purse *p,
                            const rota_mpi_moment *m)
{
    const bool proved = p->gain[bin_of((double)w->bytes)] > least_gain;

    return proved || m->spins ? INFINITY
                              : fmax(share_of_time * m->age - p->spent, 0);
}

void rota_mpi_worth_terms(rota_mpi_worth *w, rota_mpi_purse *p,
                          const rota_mpi_moment *m, double out[ROTA_MPI_TERMS])
{
    const double saved = w->total * gain_of(w, p, m);

    p->saved = p->saved + saved - w->saved;
    w->saved = saved;
    out[NO_ROOM] = !m->room;
    out[SAVED] = p->saved;
    out[COST] = expected_cost(w, p, m, m->kind);
    out[OWN_SAVED] = saved;
    out[OWN_COST] = expected_cost(
        w, p, m, m->kind == ROTA_MPI_OF_PROCESS ? ROTA_MPI_OTHER : m->kind);
    out[TIME] = time_for_plan(w, p, m);
}

void rota_mpi_worth_stop(rota_mpi_worth *w)
{
    free(w->trial);
    w->trial = NULL;
    w->verdict = ROTA_MPI_LEFT;
    w->next = LONG_MAX;
}

/* The number of calls grown by a factor, and by at least one. */
static long grown(long calls, double factor)
{
    const double then = fmax(factor * (double)calls, (double)calls + 1);

    return then < (double)(LONG_MAX / 2) ? (long)then : LONG_MAX;
}

rota_mpi_answer rota_mpi_worth_consider(rota_mpi_worth *w,
                                        const double agreed[], bool measured)
{
    if (!agreed || agreed[NO_ROOM] > 0) {
        rota_mpi_worth_stop(w);
        return ROTA_MPI_WAIT;
    }
    enum { TWICE = 2 }; /* time grows with calls, and what was spent is in it */
    const double by_gain =
        fmax(agreed[COST] / fmax(agreed[SAVED], 1e-12),
             agreed[OWN_COST] / fmax(agreed[OWN_SAVED], 1e-12));
    const double by_time = agreed[COST] / fmax(agreed[TIME], 1e-12);
    const double lacks = fmax(by_gain, by_time);

    if (!w->by_cost || (lacks <= 1 && measured))
        return ROTA_MPI_MAKE;
    if (lacks <= 1)
        return ROTA_MPI_MEASURE;
    const double more = fmax(by_gain, fmin(by_time, TWICE));
    w->next = grown(w->next, fmin(fmax(more, 1.25), PATIENCE));
    return ROTA_MPI_WAIT;
}

/* ---- trials -------------------------------------------------------------- */

/* The next pairs begin with this call. */
static void look_after(rota_mpi_worth *w, long first, int pairs)
{
    w->trial->first = first;
    w->trial->pairs = pairs;
    w->next = first + 2L * pairs;
    memset(w->trial->result, 0, sizeof w->trial->result);
}

/* With this call. */
static void begin_trial(rota_mpi_worth *w, long call)
{
    w->trial->off = w->verdict != ROTA_MPI_TAKEN;
    w->verdict = ROTA_MPI_TRIAL;
    for (int i = 0; i < ROTA_MPI_BINS; i++)
        w->trial->bin[i].waits = 0;
    look_after(w, call + SWITCH, FEW);
}

void rota_mpi_worth_made(rota_mpi_worth *w, rota_mpi_purse *p,
                         const rota_mpi_moment *m, double seconds,
                         rota_mpi_trial *trial)
{
    w->trial = trial;
    if (w->by_cost) {
        learn_cost(p, m, seconds);
        begin_trial(w, w->next + 1);
    } else {
        w->verdict = ROTA_MPI_TAKEN;
        w->next = LONG_MAX;
    }
}

/* seconds: a rank's, on average. A call is paired with the next one that goes the
 * other way. */
static void add_call(rota_mpi_bin *b, bool rota, double seconds)
{
    if (b->waits > 0 && b->way != rota) {
        rota_sequential_pair(&b->test, rota ? b->waits : seconds,
                             rota ? seconds : b->waits);
        b->weight += fmin(seconds, b->waits);
        b->waits = 0;
    } else {
        b->way = rota;
        b->waits = seconds;
    }
}

static void add_calls(rota_mpi_trial *t, const double all[ROTA_MPI_RESULTS])
{
    for (int i = 0; i < 2 * t->pairs; i++)
        add_call(&t->bin[bin_of(all[2 * i + 1])], takes_turn(t, t->first + i),
                 all[2 * i]);
    t->tested += t->pairs;
}

/* The size that takes the most time. */
static int most_weight(const rota_mpi_trial *t)
{
    int most = 0;

    for (int i = 1; i < ROTA_MPI_BINS; i++)
        if (t->bin[i].weight > t->bin[most].weight)
            most = i;
    return most;
}

/* Until the number of calls has grown by this factor. */
static void give_to(rota_mpi_worth *w, bool rota, double factor)
{
    w->verdict = rota ? ROTA_MPI_TAKEN : ROTA_MPI_LEFT;
    w->next = grown(w->next, factor);
}

/* The trial is over: the next one is new. */
static void end_trial(rota_mpi_worth *w, rota_mpi_purse *p, int bin,
                      double ratio)
{
    p->gain[bin] = fmax(1 - 1 / ratio, least_gain);
    memset(w->trial->bin, 0, sizeof w->trial->bin);
    w->trial->tested = 0;
}

void rota_mpi_worth_try(rota_mpi_worth *w)
{
    begin_trial(w, w->next);
}

/* A verdict stands until another is proved. */
void rota_mpi_worth_judge(rota_mpi_worth *w, rota_mpi_purse *p,
                          const double all[ROTA_MPI_RESULTS])
{
    rota_mpi_trial *const t = w->trial;

    if (!all) {
        rota_mpi_worth_stop(w);
        return;
    }
    add_calls(t, all);
    const int bin = most_weight(t);
    const rota_sequential *const test = &t->bin[bin].test;
    const int proved = rota_sequential_verdict(test, error);
    const int lead = (int)test->wins[1] - (int)test->wins[0];
    const bool seems = w->sure ? !t->off : lead >= 0;
    const double ratio = rota_sequential_ratio(test);
    w->lost += t->pairs * (fmax(ratio, 1 / ratio) - 1);
    const double over = w->lost / (share * (double)w->next);

    if (proved >= 0 || t->tested >= MOST) {
        w->sure = w->sure || proved >= 0;
        give_to(w, proved >= 0 ? proved : seems, fmax(over, AGAIN));
        end_trial(w, p, bin, ratio);
    } else if (over > 1 && (w->sure || abs(lead) >= CLEAR)) {
        give_to(w, seems, fmin(2 * over, REST));
    } else {
        look_after(w, w->next + 1,
                   t->pairs < ROTA_MPI_PAIRS ? 2 * t->pairs : ROTA_MPI_PAIRS);
    }
}
