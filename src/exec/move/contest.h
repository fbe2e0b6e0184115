/* contest.h - which of two ways is faster, found out as a plan runs.
 *
 * Whether the kernel copies long blocks faster (memory/attach.h) than they pass
 * through the pool depends on the caches that they fit in, on the distance between
 * the ranks' cores, which changes while virtual machines run, and on whether those
 * who share a core have other work. Only runs of the plan itself tell. So now and
 * then a plan goes both ways in turn, and then the faster one.
 *
 * Runs are collective, and numbered: so all ranks that contest change ways in the
 * same run, and feel each other's. Each judges by its own runs and goes, in the next
 * run, the way that it found to be faster. Others see which one that is. So each rank
 * has the votes of all that send to it, and the way of most is the way of all. A rank
 * whose first long message comes later than others' enters a contest as one begins,
 * and ranks that have been in one show the way that they go.
 */
#ifndef ROTA_CONTEST_H
#define ROTA_CONTEST_H

#include <stdbool.h>
#include <stdint.h>

/* Runs each way; runs before, the first of which may be the one that asks for a
 * contest, and others find caches and pages as they are when nothing changes; runs
 * from one contest to the next, of which those that went the slower way are 1 %; and
 * runs from one that a rank may enter to the next, until it has been in one. */
enum {
    ROTA_CONTEST_TIMES = 8,
    ROTA_CONTEST_BEFORE = 3,
    ROTA_CONTEST_EVERY = 1024,
    ROTA_CONTEST_OFFERED = 64,
};

_Static_assert(ROTA_CONTEST_EVERY % ROTA_CONTEST_OFFERED == 0,
               "ranks vote in the same runs");

/* Begins as zeros. */
typedef struct rota_contest {
    int64_t begun_ns; /* when the run began */
    int place;        /* of the run in a contest: contest.c */
    uint32_t vote[2]; /* messages of this run that came each way */
    bool asked;       /* a message could have gone either way */
    bool open;        /* runs are timed; before, all go the first way */
    bool second;      /* the way of this run */
    bool votes;       /* others read it in this run */
    bool won;         /* the second way won the last contest */
    bool judged;      /* there has been one */
    int64_t ns[2][ROTA_CONTEST_TIMES]; /* of runs by the first, second way */
} rota_contest;

/* May a contest that was asked for open with this run of the plan? They are numbered
 * from 0, on all ranks alike. */
bool rota_contest_opens(const rota_contest *c, uint32_t run);

/* A run of an open contest begins, and is over. Times are from rota_now_ns. */
void rota_contest_begin(rota_contest *c, uint32_t run, int64_t now_ns);
void rota_contest_end(rota_contest *c, int64_t now_ns);

/* A message that could have gone either way has come, in a run in which its sender
 * votes. */
static inline void rota_contest_note(rota_contest *c, bool second)
{
    c->vote[second]++;
}

#endif /* ROTA_CONTEST_H */
