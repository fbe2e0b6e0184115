/* worth.c - when a plan pays: what it costs to make, and what it gives.
 *
 * Some calls go to MPI first and are timed. When the time that MPI took in them
 * is so long that Rota might have saved what a plan costs, a plan is made: so
 * at the worst as much is lost as could have been won. The first calls by Rota
 * are timed too, and if they take longer than MPI's of the same size, calls go
 * to MPI from then on. Times differ among ranks, so ranks decide together, at
 * calls that were agreed on before.
 */
#include "mpi/shim.h"

#include <stdlib.h>
#include <string.h>

/* The first call is slow for reasons of its own, such as connections made and
 * pages touched. */
enum { WARM_UP = 1 };

/* Calls up to the first decision; on trial, and from one look at that to the
 * next; and to an early look, when one was timed. */
enum { FIRST = 3, TRIAL = 12, LOOK = 3, EARLY = WARM_UP + 1 };

/* Of calls that go to MPI the first few are timed and then every SPARSE-th: to
 * look at the clock takes 50 ns a call, a small exchange 1 us. */
enum { DENSE = 4, SPARSE = 256 };

/* No more calls than this factor from one decision to the next. */
enum { PATIENCE = 32 };

/* Rota saves a third of the time and more (rota-dropin-cost on 2 cores). */
static const double gain = 1.0 / 3;

/* Slower by less than this is noise, in the end and before. */
static const double slack = 0.02, slack_at_first = 0.25;

/* Seconds that a plan takes: the first of the process, which looks at the
 * machine, the first of a group, and others. On 2 cores these, later what it
 * took in this process, to a factor of 2 a time, as single times are far off. */
enum { OF_PROCESS, OF_GROUP, OTHER, COSTS };
static _Atomic double plan_cost[COSTS] = {2e-2, 1e-3, 2e-4};
static atomic_bool any_plan;

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

/* ---- times ------------------------------------------------------------------ */

bool rota_mpi_usage_is_timed(const rota_mpi_usage *u)
{
    const long before = u->tally.calls - 1; /* this one */

    if (u->next == LONG_MAX || before < WARM_UP || !is_by_cost())
        return false;
    if (u->verdict == ROTA_MPI_TRIAL)
        return before >= u->trial + WARM_UP;
    return before < WARM_UP + DENSE || before % SPARSE == 0;
}

/* By powers of 8. */
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

/* Of calls that were interrupted the median takes no notice. 0 without any. */
static double median(const rota_mpi_bin *bin, bool rota)
{
    const unsigned n =
        bin->n[rota] < ROTA_MPI_SAMPLES ? bin->n[rota] : ROTA_MPI_SAMPLES;
    float seconds[ROTA_MPI_SAMPLES];

    memcpy(seconds, bin->seconds[rota], n * sizeof *seconds);
    qsort(seconds, n, sizeof *seconds, by_value);
    return n > 0 ? seconds[(n - 1) / 2] : 0;
}

/* Of a call by MPI, from those of every size. */
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

/* What this rank's calls by Rota would have taken by MPI, and what they saved,
 * as far as there were calls of about their size. */
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

/* ---- deciding --------------------------------------------------------------- */

static void settle(rota_mpi_usage *u, rota_mpi_verdict verdict)
{
    u->verdict = verdict;
    u->next = LONG_MAX;
    if (verdict == ROTA_MPI_LEFT) {
        rota_mpi_run_destroy(u->run);
        u->run = NULL;
    }
}

static int cost_of(const rota_mpi_group *group)
{
    return !any_plan                          ? OF_PROCESS
           : !rota_mpi_group_has_plans(group) ? OF_GROUP
                                              : OTHER;
}

static void learn_cost(int which, double seconds)
{
    const double known = plan_cost[which];

    any_plan = true;
    plan_cost[which] = seconds > 2 * known   ? 2 * known
                       : seconds < known / 2 ? known / 2
                                             : seconds;
}

static void make(rota_mpi_usage *u, rota_mpi_group *group,
                 const rota_mpi_args *args, bool on_trial)
{
    const int which = cost_of(group);
    const double begin = PMPI_Wtime();
    const int err = rota_mpi_group_make(group, u, args);

    if (err != MPI_SUCCESS) {
        rota_mpi_explain(args->comm, err);
        settle(u, ROTA_MPI_LEFT);
    } else if (on_trial) {
        learn_cost(which, PMPI_Wtime() - begin);
        u->verdict = ROTA_MPI_TRIAL;
        u->trial = u->next;
        u->next += EARLY;
    } else {
        settle(u, ROTA_MPI_TAKEN);
    }
}

/* Decide again at this call, if neither at once nor much later. */
static void postpone(rota_mpi_usage *u, double call)
{
    const long least = 2 * u->next, most = PATIENCE * u->next;

    if (u->next > LONG_MAX / PATIENCE)
        settle(u, ROTA_MPI_LEFT);
    else
        u->next = call > (double)most    ? most
                  : call < (double)least ? least
                                         : (long)call;
}

/* The rank that came last to a call waited for nobody: its time is the call's. */
static void consider(rota_mpi_usage *u, rota_mpi_group *group,
                     const rota_mpi_args *args)
{
    enum { ROOM, TIME, NOT_COST, N };
    const bool by_cost = is_by_cost();
    double in[N] = {rota_mpi_group_has_room(group), time_of_mpi(u),
                    -plan_cost[cost_of(group)]};
    double out[N] = {0};

    if (PMPI_Allreduce(in, out, N, MPI_DOUBLE, MPI_MIN, args->comm) !=
            MPI_SUCCESS ||
        out[ROOM] < 1) {
        settle(u, ROTA_MPI_LEFT);
        return;
    }
    const double enough = -out[NOT_COST] / gain;
    if (!by_cost || (double)u->next * out[TIME] >= enough)
        make(u, group, args, by_cost);
    else
        postpone(u, enough / out[TIME]);
}

/* What may be lost, of what MPI would have taken. One call may have been
 * interrupted: it may lose what Rota would have won in all before. */
static double may_lose(const rota_mpi_usage *u)
{
    const long on_trial = u->next - u->trial;

    return on_trial == EARLY   ? gain * (double)u->trial
           : on_trial == TRIAL ? slack
                               : slack_at_first;
}

/* On trial: a plan that is far slower is dropped before others are lost by it. */
static void judge(rota_mpi_usage *u, MPI_Comm comm)
{
    enum { SPENT, SAVED, N };
    const long on_trial = u->next - u->trial;
    double in[N], out[N] = {0};

    compare(u, &in[SPENT], &in[SAVED]);
    if (PMPI_Allreduce(in, out, N, MPI_DOUBLE, MPI_SUM, comm) != MPI_SUCCESS ||
        out[SAVED] < -may_lose(u) * out[SPENT])
        settle(u, ROTA_MPI_LEFT);
    else if (on_trial == TRIAL)
        settle(u, ROTA_MPI_TAKEN);
    else
        u->next = u->trial + (on_trial / LOOK + 1) * LOOK;
}

/* The next call that is decided on or timed. */
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
