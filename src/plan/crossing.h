/* crossing.h - what the ranks of a node tell each other of their neighbours on
 * other nodes. */
#ifndef ROTA_PLAN_CROSSING_H
#define ROTA_PLAN_CROSSING_H

#include "plan/plan.h"

/* Set plan->crossing and let the problem have it. Collective; every failure is
 * agreed on. */
int rota_plan_find_crossing(rota_plan *plan);

#endif /* ROTA_PLAN_CROSSING_H */
