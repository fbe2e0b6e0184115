/* case.h - one case of the simulator: two plans in flight at once on the same
 * communicator, one that is named and one drawn from its seed. Each rank starts
 * each of them RUNS times as it likes, on fresh data.
 */
#ifndef SIM_CASE_H
#define SIM_CASE_H

#include "sim/plan.h"

/* Draw from the seed how sizes travel and so on; a plan keeps of it what
 * applies. */
void sim_draw_form(spec *c);

/* Returns false after printing why and the options of sim_run that do it
 * again. Executors may then be active: the process is to end. */
bool sim_case_run(const spec *first);

/* Added to what decides chance and the order of the ranks, and nothing else. */
extern uint64_t sim_stir;

#endif /* SIM_CASE_H */
