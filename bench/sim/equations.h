/* equations.h - what authors expect of their algorithms, as they state it. */
#ifndef BENCH_SIM_EQUATIONS_H
#define BENCH_SIM_EQUATIONS_H

#include "sim/engine.h"

/* Microseconds by the equation for the case's form, blocks having mean bytes in
 * the mean; negative if there is none. *number receives the equation's number:
 * 1 and 2 of [Fan22], 6 to 10 of [Peng21].
 *
 * alpha is latency, posting and gap of a message between nodes, beta its time a
 * byte; L, o, g and G are these one by one. Within nodes T is a copy, and of A
 * copies at once by what the memory of the node gives, if that is longer. */
double sim_equation(const sim_case *c, const sim_machine *m, double mean,
                    int *number);

/* Inequality 3 of [Fan22]: is padding faster than telling sizes? */
bool sim_padding_pays(const sim_machine *m, int P, double largest);

#endif
