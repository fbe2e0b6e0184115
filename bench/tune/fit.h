/* fit.h - the prices of a machine, from counted terms and measured times. */
#ifndef BENCH_FIT_H
#define BENCH_FIT_H

#include "choose/cost.h"

typedef struct fit_sample {
    rota_terms terms;
    double ns;     /* measured, > 0 */
    double weight; /* how much it matters; > 0 */
} fit_sample;

/* Terms [P][ROTA_STEPS] of ranks of a run, all or a sample, as they count under
 * some prices: in each step waits, and of what has most to do the terms of the
 * rank that has most of it or, if ranks share it, their mean. load: ranks per
 * core, at least 1. */
void fit_combine(const rota_terms rank[], int P, double load,
                 const rota_machine *machine, rota_terms *terms);

/* Prices that make the relative errors of all samples small: least squares,
 * none negative, single samples far off counting less. What the samples say
 * little about stays near to before, and terms before first as they are. */
void fit_machine(const fit_sample sample[], int n, int first,
                 const rota_machine *before, rota_machine *machine);

/* (predicted - measured) / measured. */
double fit_error(const fit_sample *sample, const rota_machine *machine);

/* The weighted sum of the logarithms, without their signs, of predicted by
 * measured times. */
double fit_loss(const fit_sample sample[], int n, const rota_machine *machine);

/* The median of the errors without their signs, and which sample has the
 * largest; n > 0. */
double fit_errors(const fit_sample sample[], int n, const rota_machine *machine,
                  int *worst);

/* Spearman's: 1 if the samples have one order by measured and by predicted
 * times, -1 if they have opposite ones; NAN for less than two. */
double fit_order(const fit_sample sample[], int n, const rota_machine *machine);

#endif
