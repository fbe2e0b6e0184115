/* check.h - numbers to transform, and how far off a result may be. */
#ifndef CHECK_H
#define CHECK_H

#include "contest.h"

#include <stdint.h>

/* A complex number, both parts in [-1, 1) and different for every i; its mean
 * square over many is CHECK_SQUARE. */
#define CHECK_SQUARE (2.0 / 3)
double complex check_input(uint64_t i);

/* What a transform of that many points may be off by rounding, relative to the
 * root mean square of its result. */
double check_tolerance(double points);

/* The greater of an error and the size of a difference, where a NaN counts as
 * infinite. */
double check_worse(double error, double complex difference);

/* Rank 0 prints the greatest error of all ranks and how much is allowed; 0, or
 * EXIT_WRONG where it is more. Collective over all processes. */
int check_verdict(const char *what, const entrant *e, double error,
                  double allowed);

#endif
