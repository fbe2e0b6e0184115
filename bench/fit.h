/* fit.h - the prices of a machine, from counted terms and measured times. */
#ifndef BENCH_FIT_H
#define BENCH_FIT_H

#include "plan/cost.h"

typedef struct fit_sample {
    rota_terms terms;
    double ns;     /* measured, > 0 */
    double weight; /* how much it matters; > 0 */
} fit_sample;

/* Terms [P] of all ranks of a run as they count under some prices: those of the
 * rank that has most to do by itself, and the mean of what is shared. */
void fit_combine(const rota_terms rank[], int P, const rota_machine *machine,
                 rota_terms *terms);

/* Prices that make the relative errors of all samples small: least squares,
 * none negative, single samples far off counting less. What the samples say
 * little about stays near to before. */
void fit_machine(const fit_sample sample[], int n, const rota_machine *before,
                 rota_machine *machine);

/* (predicted - measured) / measured. */
double fit_error(const fit_sample *sample, const rota_machine *machine);

/* The median of the errors without their signs, and which sample has the
 * largest; n > 0. */
double fit_errors(const fit_sample sample[], int n, const rota_machine *machine,
                  int *worst);

/* Spearman's: 1 if the samples have one order by measured and by predicted
 * times, -1 if they have opposite ones; NAN for less than two. */
double fit_order(const fit_sample sample[], int n, const rota_machine *machine);

#endif
