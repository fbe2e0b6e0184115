/* doorbell.h - waking a process that sleeps until others of its node have
 * something for it.
 *
 * A process has one doorbell. Before it sleeps, the owner arms the doorbell with
 * the number of processes it waits for, sets an interest flag for each of them,
 * looks once more whether anything has come, and only then sleeps. A process
 * that has written something for the owner looks at the doorbell afterwards. If
 * it is armed and the writer's interest flag is set, the writer clears the flag
 * and decrements the counter. The one that brings the counter to zero wakes the
 * owner. So a rank that waits for many peers is scheduled once, when the last
 * one has written.
 *
 * No wake-up is lost: a full fence lies between what the writer writes and its
 * look at the doorbell, and another one between the flags and the owner's last
 * look. Either the writer sees the flag and the armed counter, or the owner sees
 * what was written.
 *
 * Arm before setting interest flags. A late writer may decrement a counter for a
 * flag of this sleep whose message the owner has long seen; storing the counter
 * afterwards would leave it one too high, and the owner would never wake. The
 * other way round is harmless: a counter that reaches zero early wakes the owner
 * early.
 *
 * Interest flags belong to pairs of processes, not to plans: they live as long
 * as the process does, so a late writer never touches memory that was freed.
 *
 * Ranks that all sleep until the last of them writes can sleep on one shared
 * wake word, with a bit each: the last writer then wakes them with one system
 * call.
 */
#ifndef ROTA_DOORBELL_H
#define ROTA_DOORBELL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In memory that all its users map; starts as zeros. */
typedef struct rota_wake_word {
    _Alignas(64) _Atomic uint32_t wakes; /* how often; the futex */
} rota_wake_word;

enum { ROTA_WAITER_BITS = 32 }; /* bits that a futex has for sleepers */

/* Likewise. */
typedef struct rota_doorbell {
    _Alignas(64) _Atomic int32_t left; /* flags to clear; armed while > 0 */
    _Atomic uint32_t wakes;            /* how often; the futex */
    _Atomic uint64_t shared; /* name of the wake word that its owner sleeps on;
                                0: on wakes */
} rota_doorbell;

typedef _Atomic uint8_t rota_interest; /* of the owner in one process */

/* n > 0: flags that are set next, followed by rota_doorbell_fence. shared: the
 * name of the wake word that the owner will sleep on, or 0. The result is for
 * rota_doorbell_sleep. */
uint32_t rota_doorbell_arm(rota_doorbell *bell, int n, uint64_t shared);

/* Sleep until the doorbell has been rung or woken since it was armed, which
 * returns true, or ns have passed. */
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

/* Is the caller to wake the owner, which waits for anybody? */
static inline bool rota_doorbell_count(rota_doorbell *bell)
{
    return rota_doorbell_is_armed(bell) &&
           atomic_fetch_sub(&bell->left, 1) == 1;
}

/* After a fence: something has been written for the owner. Returns whether the
 * caller is to wake it. */
static inline bool rota_doorbell_ring(rota_doorbell *bell, rota_interest *flag)
{
    return rota_doorbell_is_armed(bell) &&
           atomic_load_explicit(flag, memory_order_relaxed) &&
           atomic_exchange(flag, 0) && atomic_fetch_sub(&bell->left, 1) == 1;
}

static inline uint64_t rota_doorbell_shared(rota_doorbell *bell)
{
    return atomic_load_explicit(&bell->shared, memory_order_relaxed);
}

/* End a sleep that is not on a shared word, whatever is left. */
void rota_doorbell_wake(rota_doorbell *bell);

/* End the sleeps on a shared word of those who have the bits. */
void rota_wake_word_wake(rota_wake_word *word, uint32_t bits);

#endif /* ROTA_DOORBELL_H */
