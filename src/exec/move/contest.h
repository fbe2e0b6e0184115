/* contest.h - which of two ways is faster for long messages, found out as a plan
 * runs.
 *
 * A long message goes directly, so that the receiver reads it where it lies (in
 * shared memory) or has the kernel read it there (memory/attach.h), or else by the
 * pool, as pieces that are copied twice. What is faster depends on the caches that
 * they fit in, on the distance between the ranks' cores, which changes while virtual
 * machines run, and on whether those who share a core have other work. And what the
 * receiver has read where it lies has to be taken back from its caches when the
 * program next writes there, which is no part of an exchange. Only runs of the plan
 * itself tell, from the start of one to the start of the next. So now and then a plan
 * goes both ways in turn, and then the faster one.
 *
 * Of each way there are as many runs as one needs to tell, and no test that ends when
 * it is sure: all ranks have to change ways in the same run.
 *
 * How a rank writes pieces of the pool is found out likewise: through its caches, or
 * directly to memory, past them. In the first way a line moves from the reader's
 * cache to the writer's and back, which takes longer the farther apart the two
 * cores are, and in the second it leaves the caches in between. No rank has to know
 * how others write, so there are no votes but its own.
 *
 * Runs are collective, and numbered: so all ranks that contest change ways in the
 * same run, and feel each other's. Each judges by its own runs and goes, in the
 * next run, the way that it found to be faster. Others see which one that is. So
 * each rank has the votes of all that send to it, and the way of most is the way
 * of all. A rank whose first long message comes later than others' enters a
 * contest as one begins, and ranks that have been in one show the way that they
 * go.
 */
#ifndef ROTA_CONTEST_H
#define ROTA_CONTEST_H

#include <stdbool.h>
#include <stdint.h>

/* Runs each way; runs before, the first of which may be the one that asks for a
 * contest, and others find caches and pages as they are when nothing changes; the
 * last of them, which go the other way before a rank's first contest, since they
 * touch new pages, as each entry of a queue gets its piece of the pool; runs from
 * one contest to the next, of which those that went the slower way are 1 %; runs from
 * one that a rank may enter to the next, until it has been in one; and runs from one
 * contest of a plan to its other one, so that each is alone. */
enum {
    ROTA_CONTEST_TIMES = 8,
    ROTA_CONTEST_BEFORE = 6,
    ROTA_CONTEST_NEW = 4,
    ROTA_CONTEST_EVERY = 1024,
    ROTA_CONTEST_OFFERED = 64,
    ROTA_CONTEST_APART = 32,
};

_Static_assert(ROTA_CONTEST_EVERY % ROTA_CONTEST_OFFERED == 0,
               "ranks vote in the same runs");
_Static_assert(ROTA_CONTEST_BEFORE + 2 * ROTA_CONTEST_TIMES <
                       ROTA_CONTEST_APART &&
                   2 * ROTA_CONTEST_APART <= ROTA_CONTEST_OFFERED,
               "each is alone");

/* Begins as zeros. */
typedef struct rota_contest {
    bool asked;       /* a message could have gone either way */
    bool first;       /* the way until judged: directly, if memory is shared */
    bool open;        /* runs are timed */
    bool direct;      /* the way of this run, if asked */
    bool votes;       /* others read it in this run */
    bool won;         /* the direct way won the last contest */
    bool judged;      /* there has been one */
    int place;        /* of the run in a contest: contest.c */
    uint32_t vote[2]; /* messages of this run that came by the pool, directly */
    int64_t begun_ns; /* when the run began */
    int64_t ns[2][ROTA_CONTEST_TIMES]; /* of steps by the pool, directly */
} rota_contest;

/* A message of this run could go either way, and goes the first one. */
static inline void rota_contest_ask(rota_contest *c, bool first)
{
    c->asked = true;
    c->first = c->direct = c->won = first;
}

/* A run begins of a plan that has asked for a contest. They are numbered from 0, on
 * all ranks alike. now_ns: from rota_now_ns, if the contest needs it. */
bool rota_contest_needs_time(const rota_contest *c, uint32_t run);
void rota_contest_begin(rota_contest *c, uint32_t run, int64_t now_ns);

/* A message that could have gone either way has come, in a run in which its sender
 * votes. */
static inline void rota_contest_note(rota_contest *c, bool direct)
{
    c->vote[direct]++;
}

#endif /* ROTA_CONTEST_H */
