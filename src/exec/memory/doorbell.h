/* doorbell.h - wakes a process that sleeps until others of its node have
 * something for it.
 *
 * A process has one doorbell. Before it sleeps, the owner arms the doorbell
 * with the number of processes it waits for, sets an interest flag for each of
 * them, polls once more, and only then sleeps. A process that has written
 * something for the owner then looks at the doorbell. If the doorbell is armed
 * and the writer's interest flag is set, the writer clears the flag and
 * decrements the counter. The one that brings the counter to zero wakes the
 * owner. So a rank that waits for many peers is scheduled once, when the last
 * one has written.
 *
 * No wake-up is lost. There is a full fence between the writer's write and its
 * look at the doorbell, and another between the owner's flags and its last
 * poll. Either the writer sees the flag and the armed counter, or the owner
 * sees what was written.
 *
 * Arm before setting interest flags. A late writer may decrement a counter for
 * a flag of this sleep whose message the owner has long seen; storing the
 * counter afterwards would leave it one too high, and the owner would never
 * wake. The other way round is harmless: a counter that reaches zero early
 * wakes the owner early.
 *
 * Interest flags belong to pairs of processes, not to plans. They live as long
 * as the process, so a late writer never touches memory that was freed.
 *
 * Ranks that all sleep until the last of them writes may sleep on one shared
 * wake word, with a bit each. The last writer then wakes them with one system
 * call.
 */
#ifndef ROTA_DOORBELL_H
#define ROTA_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In memory that all its users map; begins as zeros. */
typedef struct rota_wake_word {
    _Alignas(64) _Atomic uint32_t wakes; /* number of wake-ups; the futex */
} rota_wake_word;

enum { ROTA_WAITER_BITS = 32 }; /* bits by which a futex tells sleepers apart */

/* In memory that all its users map; begins as zeros. */
typedef struct rota_doorbell {
    _Alignas(64) _Atomic int32_t left; /* flags to clear; armed while > 0 */
    _Atomic uint32_t wakes;            /* number of wake-ups; the futex */
    _Atomic uint64_t shared; /* name of the wake word that the owner sleeps on;
                                0: it sleeps on wakes */
} rota_doorbell;

typedef _Atomic uint8_t rota_interest; /* the owner's interest in one process */

/* Arm the doorbell. n > 0: the number of flags to be set next, before
 * rota_doorbell_fence. shared: the name of the wake word that the owner will
 * sleep on, or 0. The result is for rota_doorbell_sleep. */
uint32_t rota_doorbell_arm(rota_doorbell *bell, int n, uint64_t shared);

/* Sleep until the doorbell is rung or woken, or was since it was armed, and
 * return true; or until ns have passed. */
bool rota_doorbell_sleep(rota_doorbell *bell, uint32_t armed_at, long ns);

/* The same on a shared wake word, until the counter is zero. */
bool rota_wake_word_sleep(rota_wake_word *word, int bit, rota_doorbell *bell,
                          long ns);

static inline void rota_doorbell_fence(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

static inline bool rota_doorbell_is_armed(rota_doorbell *bell)
{
    return atomic_load_explicit(&bell->left, memory_order_relaxed) > 0;
}

/* Count down. Returns whether the caller must wake the owner. */
static inline bool rota_doorbell_count(rota_doorbell *bell)
{
    return rota_doorbell_is_armed(bell) &&
           atomic_fetch_sub(&bell->left, 1) == 1;
}

/* Call after writing something for the owner, and a fence: does the owner wait
 * for the caller? A doorbell may be left armed by an earlier sleep. */
static inline bool rota_doorbell_is_wanted(rota_doorbell *bell,
                                           rota_interest *flag)
{
    return rota_doorbell_is_armed(bell) &&
           atomic_load_explicit(flag, memory_order_relaxed);
}

/* If so, count down. Returns whether the caller must wake the owner. */
static inline bool rota_doorbell_ring(rota_doorbell *bell, rota_interest *flag)
{
    return rota_doorbell_is_wanted(bell, flag) && atomic_exchange(flag, 0) &&
           atomic_fetch_sub(&bell->left, 1) == 1;
}

static inline uint64_t rota_doorbell_shared(rota_doorbell *bell)
{
    return atomic_load_explicit(&bell->shared, memory_order_relaxed);
}

/* End a sleep on the doorbell's own word, whatever the counter. */
void rota_doorbell_wake(rota_doorbell *bell);

/* End the sleeps on a shared word of the ranks with these bits. */
void rota_wake_word_wake(rota_wake_word *word, uint32_t bits);

#endif /* ROTA_DOORBELL_H */
