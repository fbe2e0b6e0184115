/* lock.h - the lock that guards all runs: the list of active executors, the
 * executors in it, and what they share within the process. */
#ifndef ROTA_LOCK_H
#define ROTA_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Only for the functions here. */
extern _Atomic bool rota_lock_threaded;
extern pthread_mutex_t rota_lock_mutex;

/* From now on several threads may take the lock: under MPI_THREAD_MULTIPLE, or
 * with the progress thread. Before that, locking is only a branch. */
static inline void rota_lock_set_threaded(void)
{
    rota_lock_threaded = true;
}

/* May any thread call MPI until MPI is finalised? If so, the progress thread
 * does. */
void rota_lock_set_multiple(bool multiple);
bool rota_lock_is_multiple(void);

static inline bool rota_lock_is_threaded(void)
{
    return atomic_load_explicit(&rota_lock_threaded, memory_order_relaxed);
}

static inline void rota_lock(void)
{
    if (rota_lock_is_threaded())
        pthread_mutex_lock(&rota_lock_mutex);
}

/* Take the lock if it is free; only once there are threads. */
static inline bool rota_lock_try(void)
{
    return pthread_mutex_trylock(&rota_lock_mutex) == 0;
}

static inline void rota_unlock(void)
{
    if (rota_lock_is_threaded())
        pthread_mutex_unlock(&rota_lock_mutex);
}

#endif /* ROTA_LOCK_H */
