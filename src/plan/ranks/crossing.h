/* crossing.h - tells the ranks of a node each other's edges to other nodes. */
#ifndef ROTA_PLAN_CROSSING_H
#define ROTA_PLAN_CROSSING_H

#include "base/crossing.h"
#include "plan/ranks/comm.h"

/* Find the crossing, which is empty, for nodes of topo, and set
 * problem->crossing to it. Collective; the ranks agree on every failure. */
int rota_crossing_find(const rota_comm *c, const rota_topo *topo,
                       rota_problem *problem, rota_crossing *crossing);

#endif /* ROTA_PLAN_CROSSING_H */
