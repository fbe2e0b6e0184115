/* lock.c - see lock.h. */
#include "exec/move/lock.h"

_Atomic bool rota_lock_threaded;
pthread_mutex_t rota_lock_mutex = PTHREAD_MUTEX_INITIALIZER;

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
