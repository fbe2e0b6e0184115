/* lock.c - see lock.h. */
#include "exec/move/lock.h"

_Atomic int rota_lock_now = ROTA_LOCK_NONE;
_Atomic bool rota_lock_held;
pthread_mutex_t rota_lock_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Kinds are in the order of what they serve. Two threads may raise it at once. */
void rota_lock_need(rota_lock_kind kind)
{
    int now = rota_lock_now;

    while (now < (int)kind &&
           !atomic_compare_exchange_weak(&rota_lock_now, &now, kind))
        ;
}

static _Atomic bool multiple;

void rota_lock_set_multiple(bool is)
{
    rota_lock();
    multiple = is;
    rota_unlock();
}

bool rota_lock_is_multiple(void)
{
    return atomic_load_explicit(&multiple, memory_order_relaxed);
}
