/* yield.c - MPICH that gives way, for tests with more ranks than cores.
 *
 * MPICH 4 polls without end while it waits, so that with more ranks than cores a
 * rank hands over when the scheduler's tick comes, some 4 ms later. By UCX each
 * look at the network is a call of ucp_worker_progress; this one, found before
 * UCX's own where it is preloaded, yields after a call in vain. Who waits longer, for
 * a rank that has stopped, sleeps, so that other tests have the processors.
 * ROTA_TEST_SPIN in the environment leaves MPICH as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

unsigned ucp_worker_progress(void *worker);

static unsigned (*progress)(void *worker);
static int spins;

/* MPICH and UCX may have been loaded as a module's, for nobody else to see. */
static void find(void)
{
    void *const ucx = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);

    *(void **)&progress = dlsym(ucx ? ucx : RTLD_NEXT, "ucp_worker_progress");
    if (!progress)
        abort();
    spins = getenv("ROTA_TEST_SPIN") != NULL;
}

static void give_way(bool in_vain)
{
    enum { YIELDS = 1000 };
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
    if (!progress)
        find();
    const unsigned n = progress(worker);
    if (!spins)
        give_way(n == 0);
    return n;
}
