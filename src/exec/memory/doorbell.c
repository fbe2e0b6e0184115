/* doorbell.c - see doorbell.h. Futexes in shared memory, so not private
 * ones. */
#define _GNU_SOURCE
#include "exec/memory/doorbell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000000 };

/* Release: a process that decrements the counter sees all that was stored
 * before. */
uint32_t rota_doorbell_arm(rota_doorbell *bell, int n, uint64_t shared)
{
    const uint32_t wakes = atomic_load(&bell->wakes);

    atomic_store_explicit(&bell->shared, shared, memory_order_relaxed);
    atomic_store_explicit(&bell->left, n, memory_order_release);
    return wakes;
}

bool rota_doorbell_sleep(rota_doorbell *bell, uint32_t armed_at, long ns)
{
    const struct timespec limit = {.tv_sec = ns / SECOND,
                                   .tv_nsec = ns % SECOND};

    return syscall(SYS_futex, &bell->wakes, FUTEX_WAIT, armed_at, &limit, NULL,
                   0) == 0 ||
           errno != ETIMEDOUT;
}

/* FUTEX_WAIT_BITSET takes a point in time, not a length. */
static struct timespec after(long ns)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (t.tv_nsec + ns) / SECOND;
    t.tv_nsec = (t.tv_nsec + ns) % SECOND;
    return t;
}

/* The shared word may be woken for other ranks, before the owner sleeps or, if
 * several ranks share its bit, later. */
bool rota_wake_word_sleep(rota_wake_word *word, int bit, rota_doorbell *bell,
                          long ns)
{
    const struct timespec limit = after(ns);

    for (;;) {
        const uint32_t wakes = atomic_load(&word->wakes);
        if (atomic_load(&bell->left) <= 0)
            return true;
        if (syscall(SYS_futex, &word->wakes, FUTEX_WAIT_BITSET, wakes, &limit,
                    NULL, (uint32_t)1 << bit) != 0 &&
            errno != EAGAIN && errno != EINTR)
            return false;
    }
}

void rota_doorbell_wake(rota_doorbell *bell)
{
    atomic_fetch_add(&bell->wakes, 1);
    syscall(SYS_futex, &bell->wakes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void rota_wake_word_wake(rota_wake_word *word, uint32_t bits)
{
    atomic_fetch_add(&word->wakes, 1);
    syscall(SYS_futex, &word->wakes, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL,
            bits);
}
