/* bell.h - waking a process that sleeps until others of its node have something
 * for it.
 *
 * Who is about to sleep arms its bell with how many marks there will be, marks
 * what it waits for, looks once more, and only then sleeps. Who has written
 * something for another looks at its bell afterwards and, if it is armed, at
 * the mark, which it takes off; the one that takes the last mark off wakes the
 * sleeper. Either the writer sees the mark and the bell armed, or the sleeper
 * sees what was written: between the two steps of each lies a full fence. So a
 * rank that waits for many is scheduled once, when all are done. It is the
 * price of this that a sender whose message is taken by the sleeper may wait for
 * other senders, too, if the message was to be copied from where it lies.
 *
 * A bell is armed before marks are set, since who is late, with something that
 * the sleeper has long seen, may take the mark off at once, by a count that was
 * left from an earlier sleep. Were the count stored only then, it would be one
 * too high, and the sleep would not end.
 *
 * Marks are where the writer knows them to be (ring.h). What others have taken
 * has none: each time counts for one, as long as the sleeper heeds that.
 *
 * Where many sleep until the last one comes, it is the last one that wakes them
 * all. That takes one call of the system if they sleep by one gong, each in a
 * seat: less than half the time of one each.
 */
#ifndef ROTA_BELL_H
#define ROTA_BELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In memory that all who use it map; begins as zeros. */
typedef struct rota_gong {
    _Alignas(64) _Atomic uint32_t struck; /* how often; the futex */
} rota_gong;

enum { ROTA_SEATS = 32 }; /* bits that a futex has for sleepers */

/* Likewise. */
typedef struct rota_bell {
    _Alignas(64) _Atomic int32_t left; /* marks; armed while more than 0 */
    _Atomic bool heeds_taking;
    _Atomic uint32_t woken; /* how often; the futex */
    _Atomic uint64_t gong;  /* by which its owner sleeps; 0: by woken */
} rota_bell;

/* n > 0: how often it is to be rung. gong: what those who ring it know the gong
 * by, if its owner is going to sleep by one, else 0. Marks are set next, and then
 * comes a fence. The result is for rota_bell_sleep. */
uint32_t rota_bell_arm(rota_bell *bell, int n, bool heeds_taking,
                       uint64_t gong);

/* Sleep until it has been rung or woken since it was armed, which returns true,
 * or ns have passed. */
bool rota_bell_sleep(rota_bell *bell, uint32_t armed_at, long ns);

/* The same by the gong, until all marks are off. */
bool rota_gong_sleep(rota_gong *gong, int seat, rota_bell *bell, long ns);

/* Between what was written and looking at the bells of its readers, and
 * between setting marks and looking what was written. */
static inline void rota_bell_fence(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

static inline bool rota_bell_is_armed(rota_bell *bell)
{
    return atomic_load_explicit(&bell->left, memory_order_relaxed) > 0;
}

static inline bool rota_bell_heeds_taking(rota_bell *bell)
{
    return atomic_load_explicit(&bell->heeds_taking, memory_order_relaxed);
}

/* A mark has been taken off, or something taken. Returns whether it was the last,
 * so that the owner is to be woken. Who is late with this counts for the next
 * sleep, which then ends early. */
static inline bool rota_bell_count(rota_bell *bell)
{
    return atomic_fetch_sub(&bell->left, 1) == 1;
}

/* The gong by which the owner sleeps. */
static inline uint64_t rota_bell_gong(rota_bell *bell)
{
    return atomic_load_explicit(&bell->gong, memory_order_relaxed);
}

/* End the sleep that is not by a gong, whatever is left. */
void rota_bell_wake(rota_bell *bell);

/* That of those in the seats, a bit for each. */
void rota_gong_strike(rota_gong *gong, uint32_t seats);

#endif /* ROTA_BELL_H */
