/* sequential.h - a sequential test of which of two ways is faster, from times in
 * pairs. It has no clock and calls no MPI.
 *
 * A pair has a time of each way, taken one after the other in random order
 * (rota_sequential_second). So drift, other programs and sizes that change slow both
 * ways alike. If neither way is faster, each wins a pair with probability one half,
 * whatever the distribution of times. It does not count by how much it wins, since a
 * rank may have been interrupted.
 *
 * But one way may itself cause more interruptions, which cost more than it wins
 * otherwise. So pairs whose times are far apart are also counted alone, by the same
 * rule. If there are enough of them, they decide.
 *
 * The test bets against a fair coin. A bet that one way wins a share p of pairs is
 * worth (2 p)^wins (2 - 2 p)^losses times the stake. If that way is not faster, this
 * has an expected value of at most 1. So the mean over several p ever reaches 1 /
 * error with a probability of at most error (Ville's inequality), however often one
 * looks. That is the probability of calling the slower way the faster one.
 */
#ifndef ROTA_SEQUENTIAL_H
#define ROTA_SEQUENTIAL_H

#include <stdbool.h>

/* Begins cleared. */
typedef struct rota_sequential {
    unsigned wins[2]; /* pairs in which the first way was faster, the second */
    unsigned far[2];  /* of these, by far */
    double logs;      /* of first time over second; single ones are limited */
} rota_sequential;

/* Does the second way come first in this pair? By lot, alike on all ranks. */
bool rota_sequential_second(long pair);

/* Times of the first way and the second. */
void rota_sequential_pair(rota_sequential *s, double first, double second);

/* The faster way, 0 or 1, or -1: not known. It is the slower one with a chance of at
 * most error. */
int rota_sequential_verdict(const rota_sequential *s, double error);

/* How many times as long the first way takes as the second, as far as known. */
double rota_sequential_ratio(const rota_sequential *s);

#endif /* ROTA_SEQUENTIAL_H */
