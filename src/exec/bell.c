/* bell.c - see bell.h. A futex in shared memory, so not a private one. */
#define _GNU_SOURCE
#include "exec/bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000000000 };

/* Who counts a mark, or something taken, knows all that was stored before. */
uint32_t rota_bell_arm(rota_bell *bell, int n, bool heeds_taking, uint64_t gong)
{
    const uint32_t woken = atomic_load(&bell->woken);

    atomic_store_explicit(&bell->heeds_taking, heeds_taking,
                          memory_order_relaxed);
    atomic_store_explicit(&bell->gong, gong, memory_order_relaxed);
    atomic_store_explicit(&bell->left, n, memory_order_release);
    return woken;
}

bool rota_bell_sleep(rota_bell *bell, uint32_t armed_at, long ns)
{
    const struct timespec limit = {.tv_sec = ns / SECOND,
                                   .tv_nsec = ns % SECOND};

    return syscall(SYS_futex, &bell->woken, FUTEX_WAIT, armed_at, &limit, NULL,
                   0) == 0 ||
           errno != ETIMEDOUT;
}

/* With seats the limit is a time of the clock. */
static struct timespec after(long ns)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (t.tv_nsec + ns) / SECOND;
    t.tv_nsec = (t.tv_nsec + ns) % SECOND;
    return t;
}

/* It may be struck for others, before the owner sleeps or, where more have a
 * seat than there are, later. */
bool rota_gong_sleep(rota_gong *gong, int seat, rota_bell *bell, long ns)
{
    const struct timespec limit = after(ns);

    for (;;) {
        const uint32_t struck = atomic_load(&gong->struck);
        if (atomic_load(&bell->left) <= 0)
            return true;
        if (syscall(SYS_futex, &gong->struck, FUTEX_WAIT_BITSET, struck, &limit,
                    NULL, (uint32_t)1 << seat) != 0 &&
            errno != EAGAIN && errno != EINTR)
            return false;
    }
}

void rota_bell_wake(rota_bell *bell)
{
    atomic_fetch_add(&bell->woken, 1);
    syscall(SYS_futex, &bell->woken, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void rota_gong_strike(rota_gong *gong, uint32_t seats)
{
    atomic_fetch_add(&gong->struck, 1);
    syscall(SYS_futex, &gong->struck, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL,
            seats);
}
