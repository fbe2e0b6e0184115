/* worth.c - see worth.h. */
#include "mpi/worth.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The first call is slow because connections are made and pages touched. */
enum { WARM_UP = 1 };

/* FIRST: calls before the first decision. TRIAL: calls on trial. LOOK: calls from
 * one look at a trial to the next. EARLY: calls before the first look. TRIALS:
 * number of trials, since one may be disturbed. */
enum { FIRST = 16, TRIAL = 12, LOOK = 3, EARLY = WARM_UP + 1, TRIALS = 3 };

/* Of calls that go to MPI, the first few are timed, and then every SPARSE-th.
 * Looking at the clock takes 50 ns, and a small exchange 1 us. */
enum { DENSE = 4, SPARSE = 256 };

/* The number of calls grows at most by this factor between decisions. */
enum { PATIENCE = 32 };

/* share: of the time since the first exchange, for plans and trials. risk: calls
 * of MPI's time that a trial is assumed to lose. */
static const double share = 1.0 / 64, risk = 0.5;

/* Rota may be slower by this at the end of a trial, and before: it is noise. */
static const double slack = 0.02, slack_at_first = 0.25;

/* The part of MPI's time that Rota is assumed to save: a third (rota-dropin-cost
 * on 2 cores), or less in exchanges so large that memory limits both. After the
 * first trial, what it saved in calls of that size. */
enum { LARGE = 6 }; /* bin: from 2 MiB a rank */
static const double usual_gain = 1.0 / 3, large_gain = 0.05;
static const double least_gain = 0.02;

/* A plan takes steps of all ranks, each as long as a barrier in which ranks give up
 * the processor, and seconds, once for each rank that shares a core. What is known of
 * these changes by at most a factor of 2 each time, since single times are far
 * off. */
static const double steps[ROTA_MPI_COSTS] = {18, 16, 2};

void rota_mpi_worth_begin(rota_mpi_worth *w, bool by_cost, long after)
{
    w->by_cost = by_cost;
    w->next = by_cost ? FIRST : after;
}

void rota_mpi_worth_end(rota_mpi_worth *w)
{
    for (int i = 0; i < ROTA_MPI_BINS; i++)
        free(w->bin[i]);
}

long rota_mpi_worth_look(const rota_mpi_worth *w, long call)
{
    const long rest = call % SPARSE;
    const long timed = rest ? call + SPARSE - rest : call;

    if (rota_mpi_worth_takes(w))
        return call;
    if (!w->by_cost || w->next == LONG_MAX)
        return w->next;
    if (call < WARM_UP + DENSE)
        return call;
    return timed < w->next ? timed : w->next;
}

/* ---- times --------------------------------------------------------------- */

bool rota_mpi_worth_is_timed(const rota_mpi_worth *w, long call)
{
    if (w->next == LONG_MAX || call < WARM_UP || !w->by_cost)
        return false;
    if (w->verdict == ROTA_MPI_TRIAL)
        return call >= w->trial + WARM_UP;
    return call < WARM_UP + DENSE || call % SPARSE == 0;
}

/* Sizes are sorted into bins by powers of 8. */
static int bin_of(size_t bytes)
{
    int bin = 0;

    while (bytes >= 64 && bin < ROTA_MPI_BINS - 1) {
        bytes /= 8;
        bin++;
    }
    return bin;
}

void rota_mpi_worth_time(rota_mpi_worth *w, bool rota, size_t bytes,
                         double seconds)
{
    const int i = bin_of(bytes);

    if (!w->bin[i])
        w->bin[i] = calloc(1, sizeof *w->bin[i]);
    if (w->bin[i]) /* without memory: not timed */
        w->bin[i]->seconds[rota][w->bin[i]->n[rota]++ % ROTA_MPI_SAMPLES] =
            (float)seconds;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* The median is not affected by calls that were interrupted. 0: no times. */
static double median(const rota_mpi_bin *bin, bool rota)
{
    const unsigned n =
        bin->n[rota] < ROTA_MPI_SAMPLES ? bin->n[rota] : ROTA_MPI_SAMPLES;
    float seconds[ROTA_MPI_SAMPLES];

    memcpy(seconds, bin->seconds[rota], n * sizeof *seconds);
    qsort(seconds, n, sizeof *seconds, by_value);
    return n > 0 ? seconds[(n - 1) / 2] : 0;
}

/* The mean time of a call by MPI, over all sizes. */
static double time_of_mpi(const rota_mpi_worth *w)
{
    double sum = 0;
    unsigned n = 0;

    for (int i = 0; i < ROTA_MPI_BINS; i++) {
        if (!w->bin[i])
            continue;
        sum += w->bin[i]->n[0] * median(w->bin[i], false);
        n += w->bin[i]->n[0];
    }
    return n > 0 ? sum / n : 0;
}

/* The bin with most calls by MPI. */
static int usual_bin(const rota_mpi_worth *w)
{
    int most = 0;

    for (int i = 1; i < ROTA_MPI_BINS; i++)
        if (w->bin[i] &&
            (!w->bin[most] || w->bin[i]->n[0] > w->bin[most]->n[0]))
            most = i;
    return most;
}

static double gain_of(const rota_mpi_worth *w, const rota_mpi_purse *p)
{
    const int bin = usual_bin(w);
    const double known = p->gain[bin];

    return known > 0 ? known : bin < LARGE ? usual_gain : large_gain;
}

/* ---- costs --------------------------------------------------------------- */

static double expected_cost(const rota_mpi_purse *p, const rota_mpi_moment *m)
{
    return p->plan[m->kind] * m->ranks_per_core + steps[m->kind] * m->step;
}

static void learn_cost(rota_mpi_purse *p, const rota_mpi_moment *m,
                       double seconds)
{
    const double known = p->plan[m->kind];
    const double mine =
        (seconds - steps[m->kind] * m->step) / m->ranks_per_core;

    p->any_plan = true;
    p->spent = p->spent + seconds;
    p->plan[m->kind] = mine > 2 * known   ? 2 * known
                       : mine < known / 2 ? known / 2
                                          : mine;
}

/* Seconds that may still be spent on plans and trials. */
static double spare(const rota_mpi_purse *p, double now)
{
    return share * (now - p->began) - p->spent;
}

/* ---- deciding ------------------------------------------------------------ */

void rota_mpi_worth_settle(rota_mpi_worth *w, rota_mpi_verdict verdict)
{
    w->verdict = verdict;
    w->next = LONG_MAX;
}

/* Decide again at this call, but neither soon nor much later. */
static void postpone(rota_mpi_worth *w, double call)
{
    const long least = w->next + w->next / 4, most = PATIENCE * w->next;

    if (w->next > LONG_MAX / PATIENCE)
        rota_mpi_worth_settle(w, ROTA_MPI_LEFT);
    else
        w->next = !(call > (double)least) ? least
                  : call < (double)most   ? (long)call
                                          : most;
}

/* The rank that came last to a call waited for nobody, so the smallest TIME is that of
 * the call. */
enum { ROOM, TIME, SAVING, NOT_COST, SPARE, GROWTH };

void rota_mpi_worth_terms(const rota_mpi_worth *w, const rota_mpi_purse *p,
                          const rota_mpi_moment *m, double out[ROTA_MPI_TERMS])
{
    const double time = time_of_mpi(w);

    out[ROOM] = m->room;
    out[TIME] = time;
    out[SAVING] = time * gain_of(w, p);
    out[NOT_COST] = m->has_plan ? 0 : -expected_cost(p, m);
    out[SPARE] = spare(p, m->now);
    out[GROWTH] = share * (m->now - p->began) / (double)w->next;
}

/* The call at which a plan pays and cannot hurt, as far as known now. */
static double when(const rota_mpi_worth *w, const double agreed[])
{
    const double cost = -agreed[NOT_COST],
                 lacks = cost + risk * agreed[TIME] - agreed[SPARE];
    const double pays = cost / agreed[SAVING];
    const double harmless =
        lacks > 0 ? (double)w->next + lacks / agreed[GROWTH] : 0;

    return pays > harmless ? pays : harmless;
}

rota_mpi_answer rota_mpi_worth_consider(rota_mpi_worth *w,
                                        const double agreed[], bool measured)
{
    if (!agreed || agreed[ROOM] < 1) {
        rota_mpi_worth_settle(w, ROTA_MPI_LEFT);
        return ROTA_MPI_WAIT;
    }
    if (!w->by_cost)
        return ROTA_MPI_MAKE;
    if (when(w, agreed) <= (double)w->next)
        return measured ? ROTA_MPI_MAKE : ROTA_MPI_MEASURE;
    postpone(w, when(w, agreed));
    return ROTA_MPI_WAIT;
}

void rota_mpi_worth_made(rota_mpi_worth *w, rota_mpi_purse *p,
                         const rota_mpi_moment *m, double seconds)
{
    if (!w->by_cost) {
        rota_mpi_worth_settle(w, ROTA_MPI_TAKEN);
        return;
    }
    if (w->trials == 0)
        learn_cost(p, m, seconds);
    w->verdict = ROTA_MPI_TRIAL;
    w->trial = w->next;
    w->next += EARLY;
    for (int i = 0; i < ROTA_MPI_BINS; i++)
        if (w->bin[i])
            w->bin[i]->n[1] = 0;
}

/* ---- judging ------------------------------------------------------------- */

/* BY_MPI: seconds that calls by Rota would have taken. */
enum { BY_MPI, SAVED, SPARE_OF_ALL };

/* Counts only sizes of which MPI had calls too. */
void rota_mpi_worth_results(const rota_mpi_worth *w, const rota_mpi_purse *p,
                            double now, double mine[ROTA_MPI_RESULTS])
{
    double by_mpi = 0, saved = 0;

    for (int i = 0; i < ROTA_MPI_BINS; i++) {
        const rota_mpi_bin *const b = w->bin[i];
        if (!b || b->n[0] == 0 || b->n[1] == 0)
            continue;
        const double mpi = median(b, false), rota = median(b, true);
        by_mpi += b->n[1] * mpi;
        saved += b->n[1] * (mpi - rota);
    }
    mine[BY_MPI] = by_mpi;
    mine[SAVED] = saved;
    mine[SPARE_OF_ALL] = spare(p, now);
}

/* MPI was faster, perhaps by chance: try again later; the plan is kept. Calls on
 * trial that were not timed count like the others. */
static void try_later(rota_mpi_worth *w, rota_mpi_purse *p, double lost)
{
    const double on_trial = (double)(w->next - w->trial);

    if (lost > 0)
        p->spent = p->spent + lost * on_trial / (on_trial - WARM_UP);
    w->verdict = ROTA_MPI_OPEN;
    postpone(w, 2.0 * (double)w->next);
    if (++w->trials == TRIALS)
        rota_mpi_worth_settle(w, ROTA_MPI_LEFT);
}

/* Seconds that a trial may lose up to this look. A single call says little. */
static double may_lose(long on_trial, const double all[])
{
    const double most = slack_at_first * all[BY_MPI];

    if (on_trial >= TRIAL)
        return slack * all[BY_MPI];
    return on_trial <= EARLY || most > all[SPARE_OF_ALL] ? all[SPARE_OF_ALL]
                                                         : most;
}

static void learn_gain(const rota_mpi_worth *w, rota_mpi_purse *p, double gain)
{
    p->gain[usual_bin(w)] = gain > least_gain ? gain : least_gain;
}

/* A trial that loses too much ends early. */
void rota_mpi_worth_judge(rota_mpi_worth *w, rota_mpi_purse *p,
                          const double mine[], const double all[])
{
    const long on_trial = w->next - w->trial;
    const bool ends = on_trial >= TRIAL;

    if (all && ends && all[BY_MPI] > 0)
        learn_gain(w, p, all[SAVED] / all[BY_MPI]);
    if (!all || -all[SAVED] > may_lose(on_trial, all))
        try_later(w, p, -mine[SAVED]);
    else if (ends)
        rota_mpi_worth_settle(w, ROTA_MPI_TAKEN);
    else
        w->next = w->trial + (on_trial / LOOK + 1) * LOOK;
}
