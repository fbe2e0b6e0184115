/* fit.c - see fit.h.
 *
 * Minimised, by prices x[j], is the mean over samples of
 *
 *     weight (sum over j of n[j] x[j] / measured - 1)^2
 *
 * plus RIDGE times the squares of (x[j] - before[j]) / scale[j], where a scale
 * is the larger of the price before and the one now: a price is believed as far
 * as twice as much would change the times by more than about one per cent.
 * Coordinates are minimised in turn, none below zero, which for a positive
 * definite form converges to the one minimum.
 *
 * Weights come from the rounds before. With measured / predicted as the weight
 * twice the time is as wrong as half of it, where squares of relative errors
 * alone would draw all prices down; beyond FAR a sample counts in proportion
 * to its error, not to its square.
 */
#include "tune/fit.h"

#include "common/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RIDGE 1e-4

enum {
    ROUNDS = 30,      /* of weights */
    MOST_TURNS = 5000 /* of all coordinates */
};

#define FAR 0.25

typedef struct quadratic {
    double a[ROTA_N_TERMS][ROTA_N_TERMS], b[ROTA_N_TERMS];
} quadratic;

static double cost(const rota_machine *machine, const rota_terms *terms)
{
    double ns = 0;

    for (int t = 0; t < ROTA_N_TERMS; t++)
        ns += machine->ns[t] * terms->n[t];
    return ns;
}

/* Add terms of the part, times a factor. */
static void add_part(rota_terms *all, const rota_terms *terms, rota_part part,
                     double factor)
{
    for (int t = 0; t < ROTA_N_TERMS; t++)
        if (rota_part_of(t) == part)
            all->n[rota_term_priced_as(t)] += factor * terms->n[t];
}

/* Add the terms of a part that ranks share. Cores do what makes ranks busy. */
static void add_shared(rota_terms *all, const rota_terms *terms, rota_part part,
                       int P, double load)
{
    if (part == ROTA_PART_CORES)
        add_part(all, terms, ROTA_PART_BUSY, load / P);
    else if (part == ROTA_PART_CORES_MEANWHILE)
        add_part(all, terms, ROTA_PART_MEANWHILE, load / P);
    else
        add_part(all, terms, part, 1.0 / P);
}

/* Add what counts of one step: waits, turns and the parts that take longest. */
static void combine_step(const rota_terms rank[], const rota_cost cost[], int P,
                         double load, int step, unsigned longest,
                         rota_terms *terms)
{
    const unsigned parts =
        1u << ROTA_PART_WAIT | 1u << ROTA_PART_TURNS | longest;

    for (int i = 0; i < ROTA_N_PARTS; i++) {
        const rota_part part = (rota_part)i;
        int most = 0;
        for (int p = 0; p < P && parts & 1u << i; p++) {
            const rota_terms *const its = &rank[p * ROTA_STEPS + step];
            if (!rota_part_is_own(part))
                add_shared(terms, its, part, P, load);
            if (cost[p].ns[step][i] > cost[most].ns[step][i])
                most = p;
        }
        if (parts & 1u << i && rota_part_is_own(part))
            add_part(terms, &rank[most * ROTA_STEPS + step], part, 1);
    }
}

void fit_combine(const rota_terms rank[], int P, double load,
                 const rota_machine *machine, rota_terms *terms)
{
    rota_cost *const cost = bench_calloc((size_t)P, sizeof *cost);
    rota_cost all = {{{0}}};

    for (int p = 0; p < P; p++) {
        cost[p] = rota_cost_of(machine, load, &rank[p * ROTA_STEPS]);
        rota_cost_add(&all, &cost[p]);
    }
    *terms = (rota_terms){{0}};
    for (int i = 0; i < ROTA_STEPS; i++)
        combine_step(rank, cost, P, load, i, rota_cost_longest(all.ns[i], P),
                     terms);
    free(cost);
}

/* ---- least squares ------------------------------------------------------- */

/* Of a term without a price: what makes it matter in the mean. */
static double usual_scale(const fit_sample sample[], int n, int term)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += sample[i].terms.n[term] / sample[i].ns;
    return sum > 0 ? n / sum : 1;
}

static void add_sample(quadratic *q, const fit_sample *s, const double scale[],
                       double weight)
{
    double a[ROTA_N_TERMS];

    for (int j = 0; j < ROTA_N_TERMS; j++)
        a[j] = s->terms.n[j] * scale[j] / s->ns;
    for (int j = 0; j < ROTA_N_TERMS; j++) {
        for (int k = 0; k < ROTA_N_TERMS; k++)
            q->a[j][k] += weight * a[j] * a[k];
        q->b[j] += weight * a[j];
    }
}

static double residual(const quadratic *q, const double z[], int j)
{
    double r = q->b[j];

    for (int k = 0; k < ROTA_N_TERMS; k++)
        r -= q->a[j][k] * z[k];
    return r;
}

static void minimise(const quadratic *q, int first, double z[])
{
    for (int turn = 0; turn < MOST_TURNS; turn++) {
        double moved = 0;
        for (int j = first; j < ROTA_N_TERMS; j++) {
            const double to = fmax(0, z[j] + residual(q, z, j) / q->a[j][j]);
            moved = fmax(moved, fabs(to - z[j]));
            z[j] = to;
        }
        if (moved < 1e-9)
            return;
    }
}

static double weight_of(const fit_sample *s, const rota_machine *now)
{
    const double ratio = fmax(1e-4, 1 + fit_error(s, now));
    const double error = fabs(ratio - 1) / sqrt(ratio);

    return (error > FAR ? FAR / error : 1) / ratio;
}

static void add_samples(quadratic *q, const fit_sample sample[], int n,
                        const double weight[], const double scale[],
                        const rota_machine *before)
{
    memset(q, 0, sizeof *q);
    for (int i = 0; i < n; i++)
        add_sample(q, &sample[i], scale, sample[i].weight * weight[i] / n);
    for (int j = 0; j < ROTA_N_TERMS; j++) {
        q->a[j][j] += RIDGE;
        q->b[j] += RIDGE * before->ns[j] / scale[j];
    }
}

static void fit_round(const fit_sample sample[], int n, int first,
                      const double weight[], const rota_machine *before,
                      rota_machine *machine)
{
    double z[ROTA_N_TERMS], scale[ROTA_N_TERMS];
    quadratic q;

    for (int j = 0; j < ROTA_N_TERMS; j++) {
        scale[j] = fmax(machine->ns[j], before->ns[j]);
        if (!(scale[j] > 0))
            scale[j] = usual_scale(sample, n, j);
        z[j] = machine->ns[j] / scale[j];
    }
    add_samples(&q, sample, n, weight, scale, before);
    minimise(&q, first, z);
    for (int j = first; j < ROTA_N_TERMS; j++)
        machine->ns[j] = z[j] * scale[j];
}

void fit_machine(const fit_sample sample[], int n, int first,
                 const rota_machine *before, rota_machine *machine)
{
    double *const weight = bench_calloc((size_t)n, sizeof *weight);

    *machine = *before;
    for (int i = 0; i < n; i++)
        weight[i] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        fit_round(sample, n, first, weight, before, machine);
        for (int i = 0; i < n; i++) /* no swinging to and fro */
            weight[i] = sqrt(weight[i] * weight_of(&sample[i], machine));
    }
    free(weight);
}

/* ---- how good it is ------------------------------------------------------ */

double fit_error(const fit_sample *s, const rota_machine *machine)
{
    return cost(machine, &s->terms) / s->ns - 1;
}

double fit_loss(const fit_sample sample[], int n, const rota_machine *machine)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += sample[i].weight * fabs(log(1 + fit_error(&sample[i], machine)));
    return sum;
}

double fit_errors(const fit_sample sample[], int n, const rota_machine *machine,
                  int *worst)
{
    double *const error = bench_calloc((size_t)n, sizeof *error);

    *worst = 0;
    for (int i = 0; i < n; i++) {
        error[i] = fabs(fit_error(&sample[i], machine));
        if (error[i] > error[*worst])
            *worst = i;
    }
    const double median = bench_median(error, n);
    free(error);
    return median;
}

/* The place of each value among all, the mean of places for equal ones. */
static void rank_values(const double value[], int n, double place[])
{
    for (int i = 0; i < n; i++) {
        place[i] = 0;
        for (int k = 0; k < n; k++)
            place[i] += value[k] < value[i] ? 1 : value[k] > value[i] ? 0 : 0.5;
    }
}

static double correlation(const double a[], const double b[], int n)
{
    const double mean = n / 2.0; /* of places counted as above */
    double ab = 0, aa = 0, bb = 0;

    for (int i = 0; i < n; i++) {
        ab += (a[i] - mean) * (b[i] - mean);
        aa += (a[i] - mean) * (a[i] - mean);
        bb += (b[i] - mean) * (b[i] - mean);
    }
    return ab / sqrt(aa * bb);
}

double fit_order(const fit_sample sample[], int n, const rota_machine *machine)
{
    double *const all = bench_calloc((size_t)n * 4, sizeof *all);
    double *const measured = all, *const expected = all + n;

    for (int i = 0; i < n; i++) {
        measured[i] = sample[i].ns;
        expected[i] = cost(machine, &sample[i].terms);
    }
    rank_values(measured, n, all + 2 * n);
    rank_values(expected, n, all + 3 * n);
    const double order = n < 2 ? NAN : correlation(all + 2 * n, all + 3 * n, n);
    free(all);
    return order;
}
