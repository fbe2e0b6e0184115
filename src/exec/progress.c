/* progress.c - see progress.h. */
#define _GNU_SOURCE
#include "exec/progress.h"
#include "exec/active.h"
#include "exec/transport/arena.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER;
static int holders;
static pthread_t thread;
static _Atomic bool ends;

/* Who has called is likely to wait for more: naps before it sleeps until it is
 * called again, and how long they are. */
enum { NAPS = 20, NAP_NS = 100000 };

static void *help(void *unused)
{
    rota_doorbell *const bell = &rota_arena_own()->helper;
    int naps = 0;

    (void)unused;
    for (;;) {
        const uint32_t armed_at = rota_doorbell_arm(bell, 1, 0);
        bool moved = false;
        rota_doorbell_fence();
        if (atomic_load(&ends))
            return NULL;
        const bool any = rota_active_help(&moved);
        const long limit = any && naps < NAPS ? NAP_NS : LONG_MAX;
        if (moved || rota_doorbell_sleep(bell, armed_at, limit))
            naps = 0;
        else
            naps++;
    }
}

/* Signals are for the program's threads. */
static bool make_thread(void)
{
    sigset_t all, before;

    rota_exec_set_threaded();
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
    pthread_mutex_lock(&hold_lock);
    const bool there = holders > 0 || (rota_arena_own() && make_thread());
    holders += there;
    pthread_mutex_unlock(&hold_lock);
    return there;
}

void rota_progress_let_go(void)
{
    pthread_mutex_lock(&hold_lock);
    if (--holders == 0) {
        atomic_store(&ends, true);
        rota_doorbell_wake(&rota_arena_own()->helper);
        pthread_join(thread, NULL);
    }
    pthread_mutex_unlock(&hold_lock);
}
