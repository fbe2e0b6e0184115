/* contest.c - see contest.h. */
#include "exec/move/contest.h"

#include <stdlib.h>

/* How the second way is known to be faster: by a tenth. Less may be chance, and the
 * first leaves memory that is written sooner afterwards. */
enum { FEWER = 9, OF = 10 };

/* Places of runs in a contest: first come those that are timed. */
enum { VOTE = 2 * ROTA_CONTEST_TIMES };

static int place_of(const rota_contest *c, uint32_t run)
{
    const uint32_t every =
        c->judged ? ROTA_CONTEST_EVERY : ROTA_CONTEST_OFFERED;

    return (int)(run % every) - ROTA_CONTEST_BEFORE;
}

static bool is_timed(int place)
{
    return place >= 0 && place < VOTE;
}

/* In turns, but by the Thue-Morse sequence: programs may do every second step
 * differently, and drift. Of two places, one goes each way. */
static bool second_at(int place)
{
    return __builtin_popcount((unsigned)place) % 2 == 1;
}

/* All its runs must be timed. */
bool rota_contest_opens(const rota_contest *c, uint32_t run)
{
    return place_of(c, run) <= 0;
}

void rota_contest_begin(rota_contest *c, uint32_t run, int64_t now_ns)
{
    c->place = place_of(c, run);
    c->second = is_timed(c->place) ? second_at(c->place) : c->won;
    c->votes = run % ROTA_CONTEST_OFFERED == ROTA_CONTEST_BEFORE + VOTE;
    c->vote[0] = c->vote[1] = 0;
    c->begun_ns = now_ns;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t median(int64_t ns[ROTA_CONTEST_TIMES])
{
    qsort(ns, ROTA_CONTEST_TIMES, sizeof *ns, compare);
    return (ns[ROTA_CONTEST_TIMES / 2 - 1] + ns[ROTA_CONTEST_TIMES / 2]) / 2;
}

static bool second_wins(rota_contest *c)
{
    return median(c->ns[1]) < median(c->ns[0]) / OF * FEWER;
}

void rota_contest_end(rota_contest *c, int64_t now_ns)
{
    if (is_timed(c->place))
        c->ns[c->second][c->place / 2] = now_ns - c->begun_ns;
    if (c->place == VOTE - 1)
        c->won = second_wins(c);
    if (c->place == VOTE) {
        c->vote[c->second]++;
        c->won = c->vote[1] > c->vote[0];
        c->judged = true;
    }
}
