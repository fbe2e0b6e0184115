/* plan.h - a plan: makes and destroys it. */
#ifndef ROTA_PLAN_H
#define ROTA_PLAN_H

#include "plan/kinds/built.h"

struct rota_plan {
    rota_comm *comm;   /* held until the plan is destroyed; as is */
    rota_graph *graph; /* that of its neighbours; NULL: the communicator's, or
                          the plan has none */
    rota_task task;
    rota_topo pretended;    /* what rota_node_size asks for; else zero */
    rota_decision decision; /* what was chosen, among what, and why */
    rota_built built;       /* of that choice */
    bool active;            /* started, and not yet completed */
};

/* Make a plan. neighbors: the communicator's or a graph's; NULL: an all-to-all.
 * Collective; the ranks agree on every failure. */
int rota_plan_make(rota_comm *c, const rota_neighbors *neighbors,
                   const rota_kind_table *kind, const rota_args *args,
                   const rota_hints *hints, int status, rota_plan **plan);
void rota_plan_destroy(rota_plan *plan);

#endif /* ROTA_PLAN_H */
