/* bell.c - see bell.h. A futex in shared memory, so not a private one. */
#define _GNU_SOURCE
#include "exec/bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t rota_bell_arm(rota_bell *bell, int n, bool heeds_taking)
{
    const uint32_t woken = atomic_load(&bell->woken);

    atomic_store_explicit(&bell->heeds_taking, heeds_taking,
                          memory_order_relaxed);
    atomic_store_explicit(&bell->left, n, memory_order_relaxed);
    return woken;
}

bool rota_bell_sleep(rota_bell *bell, uint32_t armed_at, long ns)
{
    const struct timespec limit = {.tv_sec = ns / 1000000000,
                                   .tv_nsec = ns % 1000000000};

    return syscall(SYS_futex, &bell->woken, FUTEX_WAIT, armed_at, &limit, NULL,
                   0) == 0 ||
           errno != ETIMEDOUT;
}

/* Who is late with this counts for the next sleep, which then ends early. */
void rota_bell_ring(rota_bell *bell)
{
    if (atomic_fetch_sub(&bell->left, 1) == 1)
        rota_bell_wake(bell);
}

void rota_bell_wake(rota_bell *bell)
{
    atomic_fetch_add(&bell->woken, 1);
    syscall(SYS_futex, &bell->woken, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
