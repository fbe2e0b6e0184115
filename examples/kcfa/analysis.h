/* analysis.h - k-CFA as relational algebra over the ranks of a communicator.
 *
 * Which closures may be called where, with environments that tell apart what
 * was bound after different calls, as far as the last k. Three relations
 * (facts.h) begin with the address of a variable and a contour,
 * and are joined on it:
 *
 *     call(a, s), value(a, c)  gives what entering c from s gives: the state of
 *                              the body of c, and for each argument a value or
 *                              a flow to the address of the parameter
 *     flow(a, b), value(a, c)  gives value(b, c)
 *
 * All facts of an address lie with one rank, so joins are local, and every fact
 * found goes to the owner of its address, who drops it if it is known. One
 * exchange an iteration does all communication. */
#ifndef ANALYSIS_H
#define ANALYSIS_H

#include "facts.h"
#include "loop.h"
#include "program.h"

/* Values of 64 bits in a fact about p. */
size_t analysis_width(const program *p);

/* What is found, on all ranks together. */
typedef struct {
    uint64_t values, states; /* facts of kinds FACT_VALUE and FACT_CALL */
    uint64_t innermost;      /* states of p->innermost */
    uint64_t fingerprint;    /* of values and states: the sum of fact_hash */
} analysis_counts;

analysis_counts analysis_count(const program *p, const fact_set *facts);

/* Analyse p. result's facts are of all three kinds, its fingerprint is that of
 * counts. Collective; blocks. */
void analysis_run(const program *p, loop_entrant *e, loop_result *result,
                  analysis_counts *counts);

/* The fact that lambda l is entered in env [n_env]. */
void state_fact(const program *p, int l, const uint64_t env[], uint64_t *fact);

/* The contours that a lambda written in the body of l captures from env. */
void capture(const program *p, int l, const uint64_t env[], int inner,
             uint64_t *to);

#endif
