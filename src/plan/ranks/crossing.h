/* crossing.h - tells the ranks of a node each other's edges to other nodes. */
#ifndef ROTA_PLAN_CROSSING_H
#define ROTA_PLAN_CROSSING_H

#include "plan/kinds/plan.h"

/* Set plan->crossing, and plan->problem.crossing to it. Collective; the ranks
 * agree on every failure. */
int rota_plan_find_crossing(rota_plan *plan);

#endif /* ROTA_PLAN_CROSSING_H */
