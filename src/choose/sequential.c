/* sequential.c - see sequential.h. */
#include "choose/sequential.h"

#include <math.h>
#include <stdint.h>

/* Shares of pairs that the faster way may win: from times that differ by a twentieth,
 * with noise of a third, to times without noise. */
static const double share[] = {0.55, 0.6, 0.67, 0.75, 0.85, 0.97};

enum { SHARES = sizeof share / sizeof *share };

/* far_ratio: times of a pair that differ by this factor are far apart. One such pair
 * in ENOUGH is enough for these to decide. If LEAN more of them contradict the
 * verdict of all pairs than support it, there is no verdict. most_ratio: limits the
 * ratio of a single pair. */
static const double far_ratio = 4, most_ratio = 8;
enum { ENOUGH = 16, LEAN = 3 };

/* The top bit of a hash whose every bit depends on all of the number's. */
bool rota_sequential_second(long pair)
{
    uint64_t hash = ((uint64_t)pair + 1) * UINT64_C(0x9e3779b97f4a7c15);

    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash >> 63;
}

void rota_sequential_pair(rota_sequential *s, double first, double second)
{
    if (!(first > 0) || !(second > 0) || first == second)
        return;
    const double ratio = first / second;
    s->wins[ratio > 1]++;
    if (fmax(ratio, 1 / ratio) >= far_ratio)
        s->far[ratio > 1]++;
    s->logs += log(fmin(fmax(ratio, 1 / most_ratio), most_ratio));
}

/* The worth of the bets on a way that has won and lost so many pairs. */
static double worth_of(unsigned won, unsigned lost)
{
    double sum = 0;

    for (int i = 0; i < SHARES; i++)
        sum += exp(won * log(2 * share[i]) + lost * log(2 - 2 * share[i]));
    return sum / SHARES;
}

static int proved(const unsigned wins[2], double error)
{
    return worth_of(wins[0], wins[1]) * error >= 1   ? 0
           : worth_of(wins[1], wins[0]) * error >= 1 ? 1
                                                     : -1;
}

/* Each of the two tests may err with half the probability. */
int rota_sequential_verdict(const rota_sequential *s, double error)
{
    const int of_all = proved(s->wins, error / 2);
    const int of_far = proved(s->far, error / 2);
    const unsigned n = s->wins[0] + s->wins[1];

    if ((s->far[0] + s->far[1]) * ENOUGH < n)
        return of_all;
    if (of_far >= 0)
        return of_far;
    return of_all >= 0 && s->far[!of_all] >= s->far[of_all] + LEAN ? -1
                                                                   : of_all;
}

/* EQUAL pairs of equal times are added, so that few pairs give a ratio near
 * 1. */
double rota_sequential_ratio(const rota_sequential *s)
{
    enum { EQUAL = 4 };

    return exp(s->logs / (s->wins[0] + s->wins[1] + EQUAL));
}
