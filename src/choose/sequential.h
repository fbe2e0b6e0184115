/* sequential.h - which of two ways is faster, from times in pairs, as soon as they
 * say so. There is no clock here and no MPI.
 *
 * A pair is a time of each way, taken one after the other in an order drawn by lot
 * (rota_sequential_second), so that whatever slows both hits either alike: drift,
 * other programs, sizes that change. If neither way is faster, each wins a pair with
 * a chance of one half, whatever the times are like; by how much it wins does not
 * count, since a rank that was interrupted says nothing about the way.
 *
 * Unless a way is interrupted more than the other, by itself: then that takes more
 * time than what is won else. So pairs that are far apart are also counted alone, by
 * the same rule, and if there are enough of them, they have the last word.
 *
 * The verdict is a bet against that. Somebody who bets that one way wins a share p of
 * pairs owns (2 p)^wins (2 - 2 p)^losses times the stake, and nobody can expect to
 * win against a fair coin, or one that falls the other way. So the mean over several
 * p ever reaches 1 / error with a chance of at most error (Ville's inequality),
 * however often one looks: the slower way is called the faster one in so many cases
 * at most.
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
