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

#include "joins.h"
#include "loop.h"

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

#endif
