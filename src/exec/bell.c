/* bell.c - see bell.h. A futex in shared memory, so not a private one. */
#define _GNU_SOURCE
#include "exec/bell.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

uint32_t rota_bell_arm(rota_bell *bell)
{
    const uint32_t rung = atomic_load(&bell->rung);

    atomic_store(&bell->armed, 1);
    rota_bell_fence();
    return rung;
}

void rota_bell_sleep(rota_bell *bell, uint32_t armed_at, long ns)
{
    const struct timespec limit = {.tv_sec = 0, .tv_nsec = ns};

    syscall(SYS_futex, &bell->rung, FUTEX_WAIT, armed_at, &limit, NULL, 0);
}

void rota_bell_wake(rota_bell *bell)
{
    atomic_store(&bell->armed, 0);
    atomic_fetch_add(&bell->rung, 1);
    syscall(SYS_futex, &bell->rung, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
