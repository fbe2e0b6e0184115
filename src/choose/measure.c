/* measure.c - measures candidates: which, and how. */
#include "choose/measure.h"

#include <stdlib.h>

enum {
    IN_A_ROW = 4,    /* runs of a candidate in a row; the first is ignored */
    MOST_ROUNDS = 64 /* most rounds; every candidate has a turn in each */
};

/* Only candidates within this factor of the lowest price are measured. */
#define PROMISING 4.0

typedef struct probe {
    const rota_trials *trials;
    const rota_ranks *ranks;
    int n;
    int candidate[ROTA_MOST_TRIED]; /* index in the list */
    double *ns[ROTA_MOST_TRIED];    /* [MOST_ROUNDS * (IN_A_ROW - 1)] */
    int n_ns;
} probe;

static int make_probe(probe *t)
{
    for (int i = 0; i < ROTA_MOST_TRIED; i++) {
        t->ns[i] =
            malloc((size_t)MOST_ROUNDS * (IN_A_ROW - 1) * sizeof *t->ns[i]);
        if (!t->ns[i])
            return rota_fail_mem("times");
    }
    return t->trials->begin(t->trials->arg);
}

static void free_probe(probe *t)
{
    t->trials->end(t->trials->arg);
    for (int i = 0; i < ROTA_MOST_TRIED; i++)
        free(t->ns[i]);
}

/* ---- which candidates ---------------------------------------------------- */

static bool is_tried(const probe *t, int candidate)
{
    for (int i = 0; i < t->n; i++)
        if (t->candidate[i] == candidate)
            return true;
    return false;
}

/* The cheapest candidate not taken yet, or -1. */
static int cheapest(const probe *t, const rota_candidates *list)
{
    int best = -1;

    for (int i = 0; i < list->n; i++)
        if (!is_tried(t, i) &&
            (best < 0 || list->item[i].predicted < list->item[best].predicted))
            best = i;
    return best;
}

static void select_promising(probe *t, const rota_candidates *list)
{
    const double least = list->item[cheapest(t, list)].predicted;

    while (t->n < ROTA_MOST_TRIED - 1) {
        const int next = cheapest(t, list);
        if (next < 0 || list->item[next].predicted > PROMISING * least)
            break;
        t->candidate[t->n++] = next;
    }
    for (int i = 0; i < list->n && t->n < ROTA_MOST_TRIED; i++)
        if (list->item[i].choice.algo->native && !is_tried(t, i))
            t->candidate[t->n++] = i;
}

/* Make a plan for each candidate. One that cannot be made is dropped on all
 * ranks; if none can, the last error counts. Collective. */
static int make_plans(const rota_hints *hints, const rota_candidates *list,
                      probe *t)
{
    rota_hints wish = *hints;
    int err = MPI_SUCCESS, made = 0;

    wish.measure = false;
    for (int i = 0; i < t->n; i++) {
        const rota_choice *const choice = &list->item[t->candidate[i]].choice;
        wish.algo = choice->algo;
        wish.params = choice->params;
        err = t->trials->make(t->trials->arg, made, &wish);
        if (err != MPI_SUCCESS)
            continue;
        t->candidate[made++] = t->candidate[i];
        wish.check = false; /* counts are known to match */
    }
    t->n = made;
    if (made == 0)
        return err;
    rota_fail_clear();
    return MPI_SUCCESS;
}

/* ---- how long they take -------------------------------------------------- */

/* Run each candidate IN_A_ROW times. took: nanoseconds of all runs. */
static int run_round(probe *t, double *took)
{
    const rota_trials *const trials = t->trials;
    double first;

    *took = 0;
    for (int i = 0; i < t->n; i++) {
        ROTA_TRY(trials->run(trials->arg, i, &first));
        *took += first;
        for (int k = 0; k < IN_A_ROW - 1; k++) {
            double *const ns = &t->ns[i][t->n_ns + k];
            ROTA_TRY(trials->run(trials->arg, i, ns));
            *took += *ns;
        }
    }
    t->n_ns += IN_A_ROW - 1;
    return MPI_SUCCESS;
}

/* Run as many rounds as time allows. The first round tells how many, and does
 * not count. */
static int run_all(probe *t, int ms)
{
    double took, ignored;

    ROTA_TRY(run_round(t, &took));
    ROTA_TRY(t->ranks->agree_times(t->ranks->arg, 1, &took));
    const double room = 1e6 * ms / (took + 1);
    const int rounds = room < MOST_ROUNDS ? (int)room : MOST_ROUNDS;
    if (rounds > 1)
        t->n_ns = 0;
    for (int i = 1; i < rounds; i++)
        ROTA_TRY(run_round(t, &ignored));
    return MPI_SUCCESS;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Each candidate's time: the median run, on the slowest rank. */
static int conclude(probe *t, rota_candidates *list)
{
    double ns[ROTA_MAX_PRICES];

    for (int i = 0; i < t->n; i++) {
        qsort(t->ns[i], (size_t)t->n_ns, sizeof *t->ns[i], compare);
        ns[i] = t->ns[i][t->n_ns / 2];
    }
    ROTA_TRY(t->ranks->agree_times(t->ranks->arg, t->n, ns));
    for (int i = 0; i < t->n; i++)
        list->item[t->candidate[i]].measured = ns[i];
    return MPI_SUCCESS;
}

/* If a run fails, messages may be left over, and no rank waits for another any
 * more. */
static int try_out(const rota_hints *hints, probe *t, rota_candidates *list)
{
    select_promising(t, list);
    ROTA_TRY(make_plans(hints, list, t));
    ROTA_TRY(run_all(t, hints->measure_ms));
    return conclude(t, list);
}

int rota_measure(const rota_trials *trials, const rota_ranks *ranks,
                 const rota_hints *hints, rota_candidates *list)
{
    probe t = {.trials = trials, .ranks = ranks};
    int err = make_probe(&t);

    err = ranks->agree(ranks->arg, err);
    if (err == MPI_SUCCESS)
        err = try_out(hints, &t, list);
    free_probe(&t);
    return err;
}
