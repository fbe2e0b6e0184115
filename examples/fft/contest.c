/* contest.c - see contest.h. */
#include "contest.h"

#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is measured in a round, in this order in arrays. */
enum { STEP, EXCHANGE, PACK, MEASURES };

/* ---- Who takes part ------------------------------------------------------ */

/* Whether --exchange WHICH takes a way. */
static int takes(const char *which, contest_kinds kinds, const traffic_way *way)
{
    return (way->memory == MEMORY_DEVICE) == kinds.on_device &&
           (!way->typed || kinds.types) &&
           (strcmp(which, "all") == 0 || option_lists(which, way->name));
}

static void enter(const traffic_way *way, int overlap, entrant **e, int *n)
{
    *e = must_realloc(*e, (size_t)*n + 2, sizeof **e);
    (*e)[(*n)++] = (entrant){.way = way};
    if (overlap && way->overlaps)
        (*e)[(*n)++] = (entrant){.way = way, .overlapped = 1};
}

int contest_enter(const char *which, contest_kinds kinds, entrant **e, int *n)
{
    int known = 0;

    *n = 0;
    *e = NULL;
    for (int i = 0; traffic_ways[i] != NULL; i++) {
        const traffic_way *way = traffic_ways[i];

        if (!takes(which, kinds, way))
            continue;
        known++;
        if (way->available)
            enter(way, kinds.overlap, e, n);
        else
            complain("no %s: this MPI library is older than MPI 4", way->name);
    }
    if (strcmp(which, "all") != 0 && known != option_words(which))
        return usage_error("unknown exchange: %s", which);
    return *n > 0 ? 0 : EXIT_USAGE;
}

void contest_close(entrant e[], int n)
{
    for (int i = 0; i < n; i++) {
        e[i].close(e[i].state);
        free(e[i].state);
    }
    free(e);
}

/* ---- Timing -------------------------------------------------------------- */

/* One round of one entrant, in seconds a step. */
static void time_round(entrant *e, size_t steps, barrier *b,
                       double measured[MEASURES])
{
    const traffic_cost before = e->cost;
    double began;

    barrier_wait(b);
    began = MPI_Wtime();
    for (size_t i = 0; i < steps; i++)
        e->step(e->state);
    measured[STEP] = (MPI_Wtime() - began) / (double)steps;
    measured[EXCHANGE] =
        (e->cost.exchange_s - before.exchange_s) / (double)steps;
    measured[PACK] = (e->cost.pack_s - before.pack_s) / (double)steps;
    e->starts = (double)(e->cost.starts - before.starts) / (double)steps;
}

/* Of all n rounds, what the fraction q stayed below. */
static double of_rounds(const double *rounds, size_t n, int what, double q,
                        double *sorted)
{
    for (size_t i = 0; i < n; i++)
        sorted[i] = rounds[i * MEASURES + (size_t)what];
    return quantile(sorted, n, q);
}

static void conclude(entrant *e, double *rounds, size_t n, MPI_Comm comm)
{
    double *sorted = must_realloc(NULL, n, sizeof *sorted);

    MUST(MPI_Allreduce(MPI_IN_PLACE, rounds, (int)n * MEASURES, MPI_DOUBLE,
                       MPI_MAX, comm));
    e->step_s = of_rounds(rounds, n, STEP, 0.5, sorted);
    e->exchange_s = of_rounds(rounds, n, EXCHANGE, 0.5, sorted);
    e->fast_s = of_rounds(rounds, n, EXCHANGE, 0.1, sorted);
    e->pack_s = of_rounds(rounds, n, PACK, 0.5, sorted);
    MUST(MPI_Allreduce(&e->cost.plan_s, &e->plan_s, 1, MPI_DOUBLE, MPI_MAX,
                       comm));
    free(sorted);
}

void contest_run(entrant e[], int n, const contest_options *o, MPI_Comm comm)
{
    const size_t rounds = o->rounds;
    double *times =
        must_realloc(NULL, (size_t)n * rounds * MEASURES, sizeof *times);
    double unused[MEASURES];
    barrier b;

    barrier_open(&b, comm);
    for (int i = 0; i < n; i++)
        time_round(&e[i], o->steps, &b, unused);
    for (size_t k = 0; k < rounds; k++)
        for (int turn = 0; turn < n; turn++) {
            const int i = round_turn(k, turn, n);

            time_round(&e[i], o->steps, &b,
                       times + ((size_t)i * rounds + k) * MEASURES);
        }
    for (int i = 0; i < n; i++)
        conclude(&e[i], times + (size_t)i * rounds * MEASURES, rounds, comm);
    barrier_close(&b);
    free(times);
}

/* ---- Table --------------------------------------------------------------- */

/* Starts until plans have paid, against the first entrant if that is MPI's
 * call without a plan. One that is typed saves packing, too. */
static void print_break_even(const entrant e[], int i)
{
    const double saved =
        e[0].exchange_s - e[i].exchange_s + (e[i].way->typed ? e[0].pack_s : 0);

    if (!e[0].way->baseline)
        printf(" %12s", "-");
    else if (saved > 0)
        printf(" %12.0f", e[i].plan_s / saved * e[i].starts + 0.5);
    else
        printf(" %12s", "never");
}

static void print_entrant(const entrant e[], int i)
{
    char name[64];

    snprintf(name, sizeof name, "%s%s", e[i].way->name,
             e[i].overlapped ? ", overlap" : "");
    printf("%-23s %10.1f %11.1f %10.1f %10.1f %10.1f", name, e[i].step_s * 1e6,
           e[i].exchange_s * 1e6, e[i].fast_s * 1e6, e[i].pack_s * 1e6,
           e[i].plan_s * 1e6);
    if (i == 0)
        printf(" %12s", "-");
    else
        print_break_even(e, i);
    printf("  %s\n", e[i].way->calls);
}

static void print_ratio(const char *name, const entrant *slow,
                        const entrant *fast)
{
    printf("%-30s %3.2f %11.2f %10.2f\n", name,
           ratio(slow->step_s, fast->step_s),
           ratio(slow->exchange_s, fast->exchange_s),
           ratio(slow->fast_s, fast->fast_s));
}

/* How often faster: the first entrant over each, and without over with
 * overlap. */
static void print_ratios(const entrant e[], int n)
{
    for (int i = 1; i < n; i++) {
        char name[64];

        snprintf(name, sizeof name, "%s/%s%s", e[0].way->name, e[i].way->name,
                 e[i].overlapped ? ", overlap" : "");
        print_ratio(name, &e[0], &e[i]);
    }
    for (int i = 1; i < n; i++) {
        char name[64];

        if (!e[i].overlapped)
            continue;
        snprintf(name, sizeof name, "%s, gain of overlap", e[i].way->name);
        print_ratio(name, &e[i - 1], &e[i]);
    }
}

void contest_print(const entrant e[], int n)
{
    printf("%-23s %10s %11s %10s %10s %10s %12s  %s\n", "", "step us",
           "exchange us", "fast us", "packing us", "plans us", "break-even",
           "by");
    for (int i = 0; i < n; i++)
        print_entrant(e, i);
    print_ratios(e, n);
    fflush(stdout);
}
