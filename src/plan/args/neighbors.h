/* neighbors.h - the neighbours of a communicator, and whether both ends of each
 * edge agree. */
#ifndef ROTA_PLAN_NEIGHBORS_H
#define ROTA_PLAN_NEIGHBORS_H

#include "base/problem.h"
#include "plan/ranks/comm.h"

/* The neighbours of the communicator's topology, or those that two lists name;
 * MPI_PROC_NULL is nobody. After a failure call rota_neighbors_free, too.
 * Local. */
int rota_neighbors_of_topology(const rota_comm *c, rota_neighbors *n);
int rota_neighbors_of_lists(int me, bool grid, int n_to, const int to[],
                            int n_from, const int from[], rota_neighbors *n);

/* Find the neighbours of the communicator's topology, unless they are known.
 * Fails on all ranks with MPI_ERR_TOPOLOGY if it has none. Local. */
int rota_comm_find_neighbors(rota_comm *c);

/* The sum over all ranks is 0 if both ends of all edges agree, on sizes too if
 * these are known and checked; otherwise it is anything. Local, and possible after
 * the problem could not be made. */
uint64_t rota_edges_unmatched(const rota_comm *c, const rota_problem *problem,
                              bool checked);

/* Fail with the edge whose two ends do not agree; all ranks know that there is
 * one. Collective; fails on all ranks. */
int rota_edges_tell_mismatch(const rota_comm *c, const rota_problem *problem,
                             bool checked);

#endif /* ROTA_PLAN_NEIGHBORS_H */
