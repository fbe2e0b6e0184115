/* lock.h - the lock that guards all runs: the list of active executors, the
 * executors in it, and what they share within the process. */
#ifndef ROTA_LOCK_H
#define ROTA_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Who may come upon the lock while it is held. */
typedef enum rota_lock_kind {
    ROTA_LOCK_NONE,      /* nobody: locking is only a branch */
    ROTA_LOCK_CALLBACKS, /* functions that MPI calls while Rota does: a flag */
    ROTA_LOCK_THREADS    /* other threads: a mutex */
} rota_lock_kind;

/* Only for the functions here. */
extern _Atomic int rota_lock_now;
extern _Atomic bool rota_lock_held; /* with ROTA_LOCK_CALLBACKS */
extern pthread_mutex_t rota_lock_mutex;

/* From now on the lock serves this kind and all before it. Nobody holds it. */
void rota_lock_need(rota_lock_kind kind);

/* May any thread call MPI until MPI is finalised? If so, the progress thread
 * does. */
void rota_lock_set_multiple(bool multiple);
bool rota_lock_is_multiple(void);

static inline int rota_lock_kind_now(void)
{
    return atomic_load_explicit(&rota_lock_now, memory_order_relaxed);
}

static inline bool rota_lock_is_threaded(void)
{
    return rota_lock_kind_now() == ROTA_LOCK_THREADS;
}

static inline void rota_lock_hold(bool held)
{
    atomic_store_explicit(&rota_lock_held, held, memory_order_relaxed);
}

static inline void rota_lock(void)
{
    if (rota_lock_kind_now() == ROTA_LOCK_NONE)
        return;
    if (rota_lock_is_threaded())
        pthread_mutex_lock(&rota_lock_mutex);
    else
        rota_lock_hold(true);
}

/* Take the lock if it is free; not with ROTA_LOCK_NONE. */
static inline bool rota_lock_try(void)
{
    if (rota_lock_is_threaded())
        return pthread_mutex_trylock(&rota_lock_mutex) == 0;
    if (atomic_load_explicit(&rota_lock_held, memory_order_relaxed))
        return false;
    rota_lock_hold(true);
    return true;
}

static inline void rota_unlock(void)
{
    if (rota_lock_kind_now() == ROTA_LOCK_NONE)
        return;
    if (rota_lock_is_threaded())
        pthread_mutex_unlock(&rota_lock_mutex);
    else
        rota_lock_hold(false);
}

#endif /* ROTA_LOCK_H */
