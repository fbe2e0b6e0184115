/* worth.c - decides when a plan pays, from what it costs to make and what it
 * saves.
 *
 * Calls go to MPI first, and some are timed. A plan is made when two things hold:
 *
 *   It pays. By now a plan would have saved as much of MPI's time as it costs to
 *   make. So at worst, as much is lost as could have been won.
 *
 *   It cannot hurt. All plans and trials of this process, with this one, stay
 *   within a share of the time since its first exchange.
 *
 * The first calls by Rota are on trial: they are timed too, and if MPI was faster
 * at the same size, calls go to MPI again. What they saved is expected of later
 * plans for calls of that size. Times differ among ranks, so ranks decide
 * together, at calls agreed on beforehand.
 */
#include "mpi/shim.h"

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
static _Atomic double known_gain[ROTA_MPI_BINS]; /* 0: not known */

/* What a plan takes: steps of all ranks, each as long as a barrier in which ranks
 * give up the processor, and seconds, once for each rank that shares a core. The
 * first plan of a process looks at the machine; the first of a group maps memory.
 * The seconds are those of 2 cores, and then those of this process, changed by at
 * most a factor of 2 each time, since single times are far off. */
enum { OF_PROCESS, OF_GROUP, OTHER, COSTS };
static const double steps[COSTS] = {18, 16, 2};
static _Atomic double seconds_of_plan[COSTS] = {4.5e-3, 1e-3, 1e-4};
static atomic_bool any_plan;

/* When the first exchange was, what plans and trials have cost, and how long the
 * last step took. */
static _Atomic double began = -1, spent, last_step;

static bool is_by_cost(void)
{
    return rota_mpi_settings_get()->after == ROTA_MPI_BY_COST;
}

rota_mpi_usage *rota_mpi_usage_make(rota_mpi_call call)
{
    const long after = rota_mpi_settings_get()->after;
    rota_mpi_usage *const u = calloc(1, sizeof *u);

    if (!u)
        return NULL;
    if (began < 0)
        began = rota_mpi_clock();
    u->call = call;
    u->next = is_by_cost() ? FIRST : after;
    return u;
}

void rota_mpi_usage_destroy(rota_mpi_usage *u)
{
    if (!u)
        return;
    for (int i = 0; i < ROTA_MPI_BINS; i++)
        free(u->bin[i]);
    rota_mpi_run_destroy(u->run);
    free(u);
}

/* ---- times --------------------------------------------------------------- */

bool rota_mpi_usage_is_timed(const rota_mpi_usage *u)
{
    const long before = u->tally.calls - 1; /* this one */

    if (u->next == LONG_MAX || before < WARM_UP || !is_by_cost())
        return false;
    if (u->verdict == ROTA_MPI_TRIAL)
        return before >= u->trial + WARM_UP;
    return before < WARM_UP + DENSE || before % SPARSE == 0;
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

void rota_mpi_usage_time(rota_mpi_usage *u, bool rota, size_t bytes,
                         double seconds)
{
    const int i = bin_of(bytes);

    if (!u->bin[i])
        u->bin[i] = calloc(1, sizeof *u->bin[i]);
    if (u->bin[i]) /* without memory: not timed */
        u->bin[i]->seconds[rota][u->bin[i]->n[rota]++ % ROTA_MPI_SAMPLES] =
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
static double time_of_mpi(const rota_mpi_usage *u)
{
    double sum = 0;
    unsigned n = 0;

    for (int i = 0; i < ROTA_MPI_BINS; i++) {
        if (!u->bin[i])
            continue;
        sum += u->bin[i]->n[0] * median(u->bin[i], false);
        n += u->bin[i]->n[0];
    }
    return n > 0 ? sum / n : 0;
}

/* The time that this rank's calls by Rota would have taken by MPI, and the time
 * that they saved. Counts only sizes of which MPI had calls too. */
static void compare(const rota_mpi_usage *u, double *spent, double *saved)
{
    *spent = *saved = 0;
    for (int i = 0; i < ROTA_MPI_BINS; i++) {
        const rota_mpi_bin *const b = u->bin[i];
        if (!b || b->n[0] == 0 || b->n[1] == 0)
            continue;
        const double mpi = median(b, false), rota = median(b, true);
        *spent += b->n[1] * mpi;
        *saved += b->n[1] * (mpi - rota);
    }
}

/* The bin with most calls by MPI. */
static int usual_bin(const rota_mpi_usage *u)
{
    int most = 0;

    for (int i = 1; i < ROTA_MPI_BINS; i++)
        if (u->bin[i] &&
            (!u->bin[most] || u->bin[i]->n[0] > u->bin[most]->n[0]))
            most = i;
    return most;
}

static double gain_of(const rota_mpi_usage *u)
{
    const int bin = usual_bin(u);
    const double known = known_gain[bin];

    return known > 0 ? known : bin < LARGE ? usual_gain : large_gain;
}

static void learn_gain(const rota_mpi_usage *u, double gain)
{
    known_gain[usual_bin(u)] = gain > least_gain ? gain : least_gain;
}

/* ---- costs --------------------------------------------------------------- */

static int kind_of_plan(const rota_mpi_group *group)
{
    return !any_plan                          ? OF_PROCESS
           : !rota_mpi_group_has_plans(group) ? OF_GROUP
                                              : OTHER;
}

static double expected_cost(int kind, double step)
{
    return seconds_of_plan[kind] * rota_ranks_per_core() + steps[kind] * step;
}

static void learn_cost(int kind, double seconds, double step)
{
    const double known = seconds_of_plan[kind];
    const double mine = (seconds - steps[kind] * step) / rota_ranks_per_core();

    any_plan = true;
    spent = spent + seconds;
    seconds_of_plan[kind] = mine > 2 * known   ? 2 * known
                            : mine < known / 2 ? known / 2
                                               : mine;
}

/* Seconds that may still be spent on plans and trials. */
static double spare(void)
{
    return share * (rota_mpi_clock() - began) - spent;
}

/* Seconds of a step that all ranks begin at the same time. */
static double time_step(MPI_Comm comm)
{
    rota_mpi_barrier(comm);
    const double begin = rota_mpi_clock();
    rota_mpi_barrier(comm);
    last_step = rota_mpi_clock() - begin;
    return last_step;
}

/* ---- deciding ------------------------------------------------------------ */

static void settle(rota_mpi_usage *u, rota_mpi_verdict verdict)
{
    u->verdict = verdict;
    u->next = LONG_MAX;
    if (verdict == ROTA_MPI_LEFT) {
        rota_mpi_run_destroy(u->run);
        u->run = NULL;
    }
}

static void begin_trial(rota_mpi_usage *u)
{
    u->verdict = ROTA_MPI_TRIAL;
    u->trial = u->next;
    u->next += EARLY;
    for (int i = 0; i < ROTA_MPI_BINS; i++)
        if (u->bin[i])
            u->bin[i]->n[1] = 0;
}

/* step: seconds of a step; 0 if there is no trial. */
static void make(rota_mpi_usage *u, rota_mpi_group *group,
                 const rota_mpi_args *args, double step)
{
    const int kind = kind_of_plan(group);
    const double begin = rota_mpi_clock();
    const int err = u->run ? MPI_SUCCESS : rota_mpi_group_make(group, u, args);

    if (err != MPI_SUCCESS) {
        rota_mpi_explain(args->comm, err);
        settle(u, ROTA_MPI_LEFT);
    } else if (!is_by_cost()) {
        settle(u, ROTA_MPI_TAKEN);
    } else {
        if (u->trials == 0)
            learn_cost(kind, rota_mpi_clock() - begin, step);
        begin_trial(u);
    }
}

/* Decide again at this call, but neither soon nor much later. */
static void postpone(rota_mpi_usage *u, double call)
{
    const long least = u->next + u->next / 4, most = PATIENCE * u->next;

    if (u->next > LONG_MAX / PATIENCE)
        settle(u, ROTA_MPI_LEFT);
    else
        u->next = !(call > (double)least) ? least
                  : call < (double)most   ? (long)call
                                          : most;
}

/* What ranks agree on, by the smallest value of each. The rank that came last to
 * a call waited for nobody, so the smallest time is that of the call. */
enum { ROOM, TIME, SAVING, NOT_COST, SPARE, GROWTH, N_TERMS };

static bool agree(const rota_mpi_usage *u, const rota_mpi_group *group,
                  MPI_Comm comm, double step, double out[N_TERMS])
{
    const int kind = kind_of_plan(group);
    const double time = time_of_mpi(u);
    const double plan = expected_cost(kind, step);
    const double in[N_TERMS] = {
        [ROOM] = rota_mpi_group_has_room(group),
        [TIME] = time,
        [SAVING] = time * gain_of(u),
        [NOT_COST] = u->run ? 0 : -plan,
        [SPARE] = spare(),
        [GROWTH] = share * (rota_mpi_clock() - began) / (double)u->next,
    };

    return rota_mpi_reduce(in, out, N_TERMS, MPI_DOUBLE, MPI_MIN, comm) ==
               MPI_SUCCESS &&
           out[ROOM] >= 1;
}

/* The call at which a plan pays and cannot hurt, as far as known now. */
static double when(const rota_mpi_usage *u, const double out[N_TERMS])
{
    const double cost = -out[NOT_COST],
                 lacks = cost + risk * out[TIME] - out[SPARE];
    const double pays = cost / out[SAVING];
    const double harmless =
        lacks > 0 ? (double)u->next + lacks / out[GROWTH] : 0;

    return pays > harmless ? pays : harmless;
}

static void consider(rota_mpi_usage *u, rota_mpi_group *group,
                     const rota_mpi_args *args)
{
    const bool by_cost = is_by_cost();
    double step = last_step, out[N_TERMS];
    bool room = agree(u, group, args->comm, step, out);

    if (room && by_cost && when(u, out) <= (double)u->next) {
        step = time_step(args->comm);
        room = agree(u, group, args->comm, step, out);
    }
    if (!room)
        settle(u, ROTA_MPI_LEFT);
    else if (!by_cost || when(u, out) <= (double)u->next)
        make(u, group, args, step);
    else
        postpone(u, when(u, out));
}

/* MPI was faster, perhaps by chance: try again later; the plan is kept. Calls on
 * trial that were not timed count like the others. */
static void try_later(rota_mpi_usage *u, double lost)
{
    const double on_trial = (double)(u->next - u->trial);

    if (lost > 0)
        spent = spent + lost * on_trial / (on_trial - WARM_UP);
    u->verdict = ROTA_MPI_OPEN;
    postpone(u, 2.0 * (double)u->next);
    if (++u->trials == TRIALS)
        settle(u, ROTA_MPI_LEFT);
}

/* Seconds that a trial may lose up to this look; of: MPI's time for the same
 * calls. A single call says little. */
static double may_lose(long on_trial, double of, double spare_of_all)
{
    const double most = slack_at_first * of;

    return on_trial >= TRIAL                          ? slack * of
           : on_trial <= EARLY || most > spare_of_all ? spare_of_all
                                                      : most;
}

/* Judge a trial. One that loses too much ends early. */
static void judge(rota_mpi_usage *u, MPI_Comm comm)
{
    enum { SPENT, SAVED, SPARE_OF_ALL, N };
    const long on_trial = u->next - u->trial;
    double in[N], out[N] = {0};

    compare(u, &in[SPENT], &in[SAVED]);
    in[SPARE_OF_ALL] = spare();
    const bool agreed =
        rota_mpi_reduce(in, out, N, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS;
    const bool ends = on_trial >= TRIAL;
    if (agreed && ends && out[SPENT] > 0)
        learn_gain(u, out[SAVED] / out[SPENT]);
    if (!agreed ||
        -out[SAVED] > may_lose(on_trial, out[SPENT], out[SPARE_OF_ALL]))
        try_later(u, -in[SAVED]);
    else if (ends)
        settle(u, ROTA_MPI_TAKEN);
    else
        u->next = u->trial + (on_trial / LOOK + 1) * LOOK;
}

/* The next call at which to decide or to time. */
static long next_to_look_at(const rota_mpi_usage *u)
{
    const long calls = u->tally.calls;
    const long rest = calls % SPARSE;
    const long timed = rest ? calls + SPARSE - rest : calls;

    if (u->verdict == ROTA_MPI_TRIAL || u->verdict == ROTA_MPI_TAKEN)
        return calls;
    if (!is_by_cost() || u->next == LONG_MAX)
        return u->next;
    if (calls < WARM_UP + DENSE)
        return calls;
    return timed < u->next ? timed : u->next;
}

bool rota_mpi_usage_takes(rota_mpi_usage *u, rota_mpi_group *group,
                          const rota_mpi_args *args)
{
    if (u->tally.calls++ == u->next) {
        if (u->verdict == ROTA_MPI_OPEN)
            consider(u, group, args);
        else
            judge(u, args->comm);
    }
    u->tally.plain = next_to_look_at(u);
    return u->verdict == ROTA_MPI_TRIAL || u->verdict == ROTA_MPI_TAKEN;
}
