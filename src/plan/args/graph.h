/* graph.h - a graph of partners, from which plans are made. */
#ifndef ROTA_PLAN_GRAPH_H
#define ROTA_PLAN_GRAPH_H

#include "choose/hints.h"
#include "plan/ranks/comm.h"
#include "rota.h"

#include <stdatomic.h>

struct rota_graph {
    rota_comm *comm; /* held */
    rota_neighbors lists;
    atomic_int refs; /* of handles, and of plans */
};

/* A rank's own partners, as a caller lists them. */
typedef struct rota_graph_args {
    int n_from, n_to;
    const int *from, *to; /* [n_from], [n_to] */
} rota_graph_args;

/* Make the graph of all ranks' lists or, if args is NULL on all of them, of the
 * communicator's topology. Collective; the ranks agree on every failure. */
int rota_graph_make(rota_comm *c, const rota_graph_args *args,
                    const rota_hints *hints, int status, rota_graph **graph);

/* Make the graph whose partners send to each other what those of lists receive.
 * May fail on one rank alone. */
int rota_graph_reverse(rota_comm *c, const rota_neighbors *lists,
                       rota_graph **graph);

void rota_graph_retain(rota_graph *graph);
void rota_graph_release(rota_graph *graph); /* may be NULL */

#endif /* ROTA_PLAN_GRAPH_H */
