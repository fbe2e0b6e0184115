/* yield.c - MPICH that gives way, for tests with more ranks than cores.
 *
 * MPICH 4 polls without end while it waits, so that with more ranks than cores a
 * rank hands over when the scheduler's tick comes, some 4 ms later. By UCX each
 * look at the network is a call of ucp_worker_progress; this one, found before
 * UCX's own where it is preloaded, yields after a call in vain. Who waits longer
 * sleeps, so that the others, and other tests, have the processors.
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
    /* Beside two busy processes mpi_reduction takes 4.6 s of processors on 3 ranks
     * with 1000 yields, 3.4 with 100, 2.2 with 20; on idle cores 2.0 with any. With 5
     * more sleep than need to: on 8 ranks 9.9 s in place of 7.1. */
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
    if (!progress)
        find();
    const unsigned n = progress(worker);
    if (!spins)
        give_way(n == 0);
    return n;
}
