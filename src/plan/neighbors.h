/* neighbors.h - the neighbours of a communicator, and whether both ends of each
 * edge agree. */
#ifndef ROTA_PLAN_NEIGHBORS_H
#define ROTA_PLAN_NEIGHBORS_H

#include "plan/plan.h"

/* Find the neighbours of the communicator's topology, unless that was done. Fails
 * with MPI_ERR_TOPOLOGY if there is none, on all ranks. Local. */
int rota_comm_find_neighbors(rota_comm *c);

/* Over all ranks this sums up to 0 if both ends of all edges agree, and otherwise
 * to anything. Local. */
uint64_t rota_edges_unmatched(const rota_plan *plan);

/* The two ends of some edge do not agree: say which. Collective; fails on all
 * ranks. */
int rota_tell_mismatch(const rota_plan *plan);

#endif /* ROTA_PLAN_NEIGHBORS_H */
