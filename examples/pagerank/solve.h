/* solve.h - PageRank by repeated products.
 *
 *     y = d (A x + s t) + (1 - d) t
 *
 * x has the rank of each vertex, A divides that of u among the targets of u, s
 * is the rank of vertices without targets, t is where a reader begins anew, and
 * d the probability of reading on. From t the product is repeated until the sum
 * of changes is at most the tolerance.
 *
 * Other ranks' numbers are the only communication: s and the sum of changes
 * ride at the head of the blocks, so there is no reduction. Changes are thus
 * known a product late, and the last one is thrown away. */
#ifndef SOLVE_H
#define SOLVE_H

#include "matrix.h"

/* Products after which a vector is given up. */
enum { SOLVE_STEPS = 100000 };

typedef struct {
    double damping, tolerance;
    size_t products; /* of a vector at most, whether it is done or not */
} solve_options;

#define SOLVE_TO_THE_END SIZE_MAX /* products where there is no limit */

/* Where readers begin in vector number i: in all vertices alike for 0, else in
 * one, of n. */
#define SOLVE_EVERYWHERE UINT64_MAX
uint64_t solve_begin(uint64_t i, uint64_t n);
double solve_weight(uint64_t begin, uint64_t v, uint64_t n);

/* Compute this rank's part of vector number i into x [n_rows]. Collective;
 * blocks. */
void solve(const matrix *m, halo *h, const solve_options *o, uint64_t i,
           double *x);

/* The same by one process with the whole graph (serial.c); x [n_vertices]. */
void solve_serial(const graph *g, const solve_options *o, uint64_t i,
                  double *x);

#endif
