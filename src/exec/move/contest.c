/* contest.c - see contest.h. */
#include "exec/move/contest.h"

/* A way is faster than the one that is gone if it saves a sixteenth of the step in
 * so many pairs. If they were equal, one would be ahead in as many in 1 contest of
 * 28. */
enum { MOST_PAIRS = ROTA_CONTEST_TIMES - 1, SAVED = 16 };

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

/* Does a run at the place find out what the other way takes once all pages have been
 * touched? */
static bool is_new(const rota_contest *c, int place)
{
    return !c->judged && place < 0 && place >= -ROTA_CONTEST_NEW;
}

/* May a rank enter a contest at the place? It has to go through all of it. */
static bool opens(const rota_contest *c, int place)
{
    return place <= (c->judged ? 0 : -ROTA_CONTEST_NEW);
}

/* In turns, but by the Thue-Morse sequence: programs may do every second step
 * differently, and drift. Of two places, one goes each way. */
static bool direct_at(int place)
{
    return __builtin_popcount((unsigned)place) % 2 == 1;
}

/* Steps end as the next begin. */
bool rota_contest_needs_time(const rota_contest *c, uint32_t run)
{
    const int place = place_of(c, run);

    return place >= 0 && place <= VOTE;
}

/* Pairs, not medians: what the program does between starts may take most of the time,
 * and changes slowly. */
static bool judge(const rota_contest *c)
{
    const int64_t *const gone = c->ns[c->won], *const other = c->ns[!c->won];
    int faster = 0;

    for (int i = 0; i < ROTA_CONTEST_TIMES; i++)
        faster += other[i] < gone[i] - gone[i] / SAVED;
    return faster >= MOST_PAIRS ? !c->won : c->won;
}

/* The last run is over, as is what the program did since. */
static void end(rota_contest *c, int64_t now_ns)
{
    if (is_timed(c->place))
        c->ns[c->direct][c->place / 2] = now_ns - c->begun_ns;
    if (c->place == VOTE - 1)
        c->won = judge(c);
    if (c->place == VOTE) {
        c->vote[c->direct]++;
        c->won = c->vote[1] > c->vote[0];
        c->judged = true;
    }
}

void rota_contest_begin(rota_contest *c, uint32_t run, int64_t now_ns)
{
    if (c->open)
        end(c, now_ns);
    c->place = place_of(c, run);
    c->open = c->open || opens(c, c->place);
    if (!c->open)
        return;
    c->direct =
        is_timed(c->place) ? direct_at(c->place) : c->won ^ is_new(c, c->place);
    c->votes = run % ROTA_CONTEST_OFFERED == ROTA_CONTEST_BEFORE + VOTE;
    c->vote[0] = c->vote[1] = 0;
    c->begun_ns = now_ns;
}
