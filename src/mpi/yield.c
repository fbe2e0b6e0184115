/* yield.c - librota_yield: MPICH that gives way while it waits, where ranks share
 * cores.
 *
 * MPICH 4 polls without end while it waits, so that with more ranks than cores a
 * rank hands over when the scheduler's tick comes, some 4 ms later. By UCX each
 * look at the network is a call of ucp_worker_progress; this one, found before
 * UCX's own where it is preloaded, yields after a call in vain. Who waits longer
 * sleeps, so that all others have the processors. No part of librota_mpi, since it
 * serves programs without that library, too, and tests.
 */
#define _GNU_SOURCE
#include "mpi/yield.h"

#include "plan/inside.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROTA_EXPORT __attribute__((visibility("default")))

ROTA_EXPORT unsigned ucp_worker_progress(void *worker);

static _Atomic(unsigned (*)(void *)) progress; /* UCX's; NULL: not looked for */
static bool yields;

/* ROTA_YIELD: on, off; else where the launcher tells of more ranks than cores. */
static void read_wish(void)
{
    const char *const wish = getenv("ROTA_YIELD");

    yields = wish && strcmp(wish, "on") == 0    ? true
             : wish && strcmp(wish, "off") == 0 ? false
                                                : rota_ranks_per_core() > 1;
}

ROTA_EXPORT bool rota_yield_is_on(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_wish);
    return yields;
}

/* MPICH and UCX may have been loaded as a module's, for nobody else to see. */
static void find(void)
{
    void *const ucx = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);

    unsigned (*found)(void *);
    *(void **)&found = dlsym(ucx ? ucx : RTLD_NEXT, "ucp_worker_progress");
    if (!found)
        abort();
    rota_yield_is_on();
    progress = found;
}

static void give_way(bool in_vain)
{
    /* With more yields ranks that compute wait for those that do not: of the
     * exchanges of rota-taken datalog 4 ranks on 2 cores take 50 ms with 20, 100 with
     * 200 and 340 with 1000 (Linux 6.18), and 3,000 if MPICH spins. With 5 more ranks
     * sleep than need to: mpi_reduction takes 8 ranks 9.9 s of processors in place of
     * 7.1. */
    enum { YIELDS = 20 };
    static const struct timespec nap = {.tv_nsec = 50000};
    static _Thread_local int times;

    times = in_vain ? times + (times <= YIELDS) : 0;
    if (times > YIELDS)
        nanosleep(&nap, NULL);
    else if (in_vain)
        sched_yield();
}

unsigned ucp_worker_progress(void *worker)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (!atomic_load_explicit(&progress, memory_order_acquire))
        pthread_once(&once, find);
    const unsigned n =
        atomic_load_explicit(&progress, memory_order_relaxed)(worker);
    if (yields)
        give_way(n == 0);
    return n;
}
