/* progress.c - see progress.h. */
#define _GNU_SOURCE
#include "exec/run/progress.h"
#include "exec/memory/arena.h"
#include "exec/move/lock.h"
#include "exec/run/active.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static int holders;
static pthread_t thread;
static _Atomic bool ends;

/* A rank that called is likely to wait again soon. So the thread takes some
 * naps before it sleeps until the next call. */
enum { NAPS = 20, NAP_NS = 100000 };

/* Nobody calls the thread for messages that MPI carries, nor when there are
 * some again: it wakes by itself. */
enum { MPI_NAP_NS = 1000000, LOOK_NS = 4000000 };

/* Without an arena, nobody calls. */
static rota_doorbell own_bell;

static rota_doorbell *find_bell(void)
{
    return rota_arena_own() ? &rota_arena_own()->helper : &own_bell;
}

static long nap_of(rota_help left, int naps)
{
    if (left != ROTA_HELP_NONE && naps < NAPS)
        return NAP_NS;
    if (left == ROTA_HELP_SILENT)
        return MPI_NAP_NS;
    return rota_lock_is_multiple() ? LOOK_NS : LONG_MAX;
}

static void *help(void *unused)
{
    rota_doorbell *const bell = find_bell();
    int naps = 0;

    (void)unused;
    for (;;) {
        const uint32_t armed_at = rota_doorbell_arm(bell, 1, 0);
        bool moved = false;
        rota_doorbell_fence();
        if (atomic_load(&ends))
            return NULL;
        const long limit = nap_of(rota_active_help(&moved), naps);
        if (moved || rota_doorbell_sleep(bell, armed_at, limit))
            naps = 0;
        else
            naps += naps < NAPS;
    }
}

/* Block all signals: they are for the program's threads. */
static bool make_thread(void)
{
    sigset_t all, before;

    rota_lock_need(ROTA_LOCK_THREADS);
    atomic_store(&ends, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool made = pthread_create(&thread, NULL, help, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made)
        pthread_setname_np(thread, "rota-progress");
    return made;
}

bool rota_progress_hold(void)
{
    rota_arena_address address;

    if (rota_arena_open(&address) != MPI_SUCCESS)
        rota_fail_clear();
    pthread_mutex_lock(&hold_lock);
    const bool there = holders > 0 || make_thread();
    holders += there;
    pthread_mutex_unlock(&hold_lock);
    return there;
}

void rota_progress_let_go(void)
{
    pthread_mutex_lock(&hold_lock);
    if (--holders == 0) {
        atomic_store(&ends, true);
        rota_doorbell_wake(find_bell());
        pthread_join(thread, NULL);
    }
    pthread_mutex_unlock(&hold_lock);
}
