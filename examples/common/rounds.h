/* rounds.h - to time several ways of doing the same thing: rounds go around the
 * ways, so that what else happens on the machine meets all of them alike, and
 * the median of the rounds counts. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <mpi.h>
#include <rota.h>
#include <stddef.h>

/* The way, of n, whose turn it is in a round: each round begins with another,
 * as what goes before may leave the machine in another state. */
static inline int round_turn(size_t round, int turn, int n)
{
    return (int)((round + (size_t)turn) % (size_t)n);
}

/* A barrier whose waits give the processor up. Where there are more ranks than
 * cores those of MPI_Barrier hold it, and what the last rank to leave is late
 * by would count as time of what follows. */
typedef struct {
    int *bell; /* [2P] to each rank, from each */
    rota_plan *plan;
} barrier;

void barrier_open(barrier *b, MPI_Comm comm);
void barrier_wait(barrier *b);
void barrier_close(barrier *b);

/* Seconds, by a clock that the ranks of a node have in common, which MPI_Wtime
 * need not be. */
double node_clock(void);

/* What the fraction q of the n values stays below; they are sorted for it. */
double quantile(double *at, size_t n, double q);

/* a / b, or 0 where b is not positive. */
double ratio(double a, double b);

#endif
