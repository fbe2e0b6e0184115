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
 * it if it is known. One exchange an iteration does all communication. */
#ifndef CLOSURE_H
#define CLOSURE_H

#include "exchange.h"
#include "partition.h"

typedef struct {
    uint64_t delta; /* pairs joined in this iteration, on all ranks */
    uint64_t bytes; /* sent to other ranks, on all ranks */
    double total_s, exchange_s; /* each the greatest over the ranks */
} closure_step;

/* The same on all ranks, but for what the steps say of other ranks. */
typedef struct {
    uint64_t iterations, pairs, bytes;
    uint64_t fingerprint; /* of the pairs: see pair_set_fingerprint */
    /* Each the greatest over the ranks; total_s has the other two in it.
     * Set-up is what a form does once: make plans. */
    double total_s, setup_s, exchange_s;
    closure_step *steps; /* [iterations] right on rank 0; the caller frees */
} closure_result;

/* Compute the closure of the graph in p. With progress, rank 0 reports on
 * stderr now and then. Collective; blocks. */
void closure_run(const partition *p, const exchange_form *form, MPI_Comm comm,
                 int progress, closure_result *result);

#endif
