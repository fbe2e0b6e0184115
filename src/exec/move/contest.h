/* contest.h - which of two ways is faster, found out as a plan runs.
 *
 * Whether the kernel copies long blocks faster (memory/attach.h) than they pass
 * through the pool depends on the caches that they fit in, on the distance between
 * the ranks' cores, which changes while virtual machines run, and on whether those
 * who share a core have other work. Only runs of the plan itself tell. So now and
 * then a plan goes both ways in turn, and then the faster one.
 *
 * Runs are collective: so all ranks that contest change ways in the same run, and
 * feel each other's. Each judges by its own runs and goes, in the next run, the way
 * that it found to be faster. Others see which one that is. So each rank has the
 * votes of all that send to it, and the way of most is the way of all.
 */
#ifndef ROTA_CONTEST_H
#define ROTA_CONTEST_H

#include <stdbool.h>
#include <stdint.h>

/* Runs each way; runs before, which find caches and pages as they are when nothing
 * changes; and runs from one contest to the next, of which those that went the
 * slower way are 1 %. */
enum {
    ROTA_CONTEST_TIMES = 8,
    ROTA_CONTEST_BEFORE = 2,
    ROTA_CONTEST_EVERY = 1024,
};

/* Begins as zeros. */
typedef struct rota_contest {
    int64_t begun_ns; /* when the run began */
    uint32_t runs;    /* complete ones since the last contest began */
    uint32_t vote[2]; /* messages of this run that came each way */
    bool second;      /* the way of this run, for others to read */
    bool open;        /* runs are timed; before, all go the first way */
    bool won;         /* the second way won the last contest */
    bool judged;      /* there has been one */
    int64_t ns[2][ROTA_CONTEST_TIMES]; /* of runs by the first, second way */
} rota_contest;

/* A run begins, and is over. Times are from rota_now_ns. A run that fails is not
 * over, and does not count. */
void rota_contest_begin(rota_contest *c, int64_t now_ns);
void rota_contest_end(rota_contest *c, int64_t now_ns);

/* A message that could have gone either way has come. */
static inline void rota_contest_note(rota_contest *c, bool second)
{
    c->vote[second]++;
}

#endif /* ROTA_CONTEST_H */
