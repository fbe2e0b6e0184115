/* reduction.h - a reduction that travels with a plan's messages. */
#ifndef ROTA_PLAN_REDUCTION_H
#define ROTA_PLAN_REDUCTION_H

#include "plan/kinds/plan.h"

/* Let the inactive plan carry a reduction from the next start on, in place of any
 * other; op MPI_OP_NULL: none. Only wanted's arguments count. The plan is built anew,
 * by the same choice. Collective; the ranks agree on every failure, after which the
 * plan is as it was. */
int rota_plan_reduce(rota_plan *plan, const rota_reduction *wanted);

#endif /* ROTA_PLAN_REDUCTION_H */
