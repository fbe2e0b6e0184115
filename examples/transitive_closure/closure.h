/* closure.h - semi-naive transitive closure over the ranks of a communicator.
 *
 *     T(x,y) <- E(x,y)        T(x,z) <- dT(x,y), E(y,z)
 *
 * dT, the delta, holds the pairs that the iteration before found for the first
 * time; at the beginning it is E. Iteration i joins the pairs at distance i and
 * finds those at distance i+1, so the number of iterations is the greatest
 * distance between any two connected vertices (of a vertex from itself: the
 * length of the shortest cycle through it); the last one finds nothing new.
 *
 * T(x,y) and dT(x,y) lie with the owner of y, E(y,z) lies there too: the join
 * is local, and a found pair (x,z) goes straight to the owner of z, who drops
 * it if it is known. One exchange an iteration does all communication.
 *
 * Where few vertices have many pairs, the pairs of such a vertex are split over
 * all ranks, and its edges copied to all (partition.h, balance.h). */
#ifndef CLOSURE_H
#define CLOSURE_H

#include "loop.h"
#include "partition.h"

/* Compute the closure of the graph in p, which changes where vertices are
 * split, unless no_split is set. Collective; blocks. */
void closure_run(partition *p, int no_split, loop_entrant *e,
                 loop_result *result);

#endif
