/* plan.h - a plan: makes and destroys it. */
#ifndef ROTA_PLAN_H
#define ROTA_PLAN_H

#include "plan/kinds/built.h"

/* REQUESTED: started, and a request of MPI stands for the run. */
typedef enum rota_activity {
    ROTA_IDLE,
    ROTA_STARTED,
    ROTA_REQUESTED
} rota_activity;

struct rota_plan {
    rota_comm *comm;   /* held until the plan is destroyed; as is */
    rota_graph *graph; /* that of its neighbours; NULL: the communicator's, or
                          the plan has none */
    uint8_t active;    /* a rota_activity: one byte is one comparison */
    rota_task task;
    rota_built built;       /* of decision's choice */
    rota_topo pretended;    /* what rota_node_size asks for; else zero */
    rota_decision decision; /* what was chosen, among what, and why */
};

_Static_assert(offsetof(rota_plan, task.use) + sizeof(void *) <= 64,
               "what a start looks at is together");

/* Make a plan. neighbors: the communicator's or a graph's; NULL: an all-to-all.
 * Collective; the ranks agree on every failure. */
int rota_plan_make(rota_comm *c, const rota_neighbors *neighbors,
                   const rota_kind_table *kind, const rota_args *args,
                   const rota_hints *hints, int status, rota_plan **plan);
void rota_plan_destroy(rota_plan *plan);

/* Build the plan anew, by the same choice, because its task has changed. Collective;
 * the ranks agree on every failure, after which what was built is as it was. */
int rota_plan_rebuild(rota_plan *plan, rota_claim claim);

/* How a run ended whose executor gives err: the status, with its text. *quiet: a
 * block was above the bound; all others have arrived and the plan may be started
 * again, so no error handler is called. */
int rota_plan_outcome(const rota_plan *plan, int err, bool *quiet);

#endif /* ROTA_PLAN_H */
