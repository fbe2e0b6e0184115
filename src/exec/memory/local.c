/* local.c - see local.h.
 *
 * The process has one heap, whoever asks for it: librota, the drop-in, which
 * contains another librota, or librota_malloc. So it is in a library of its own.
 * Mostly that is there from the beginning. Its thread-local memory is more than
 * glibc keeps for libraries that are loaded later, so loading it then may fail.
 */
#define _GNU_SOURCE
#include "exec/memory/local.h"

#include "base/loaded.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static struct {
    pthread_once_t once;
    char why[400];
    rota_heap_open_function *open;
} loaded = {.once = PTHREAD_ONCE_INIT};

static _Atomic(const rota_heap *) found;

/* dlsym gives an object's address where a function's is wanted. */
static void look_up(void *library, const char *name, void *function)
{
    void *const at = dlsym(library, name);

    memcpy(function, &at, sizeof at);
}

static void load(void)
{
    void *const library = dlopen(ROTA_HEAP_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (library)
        look_up(library, "rota_heap_open", &loaded.open);
    else
        snprintf(loaded.why, sizeof loaded.why,
                 "%s; the program is neither linked with librota_heap, nor "
                 "preloads it, nor runs by rota-run",
                 dlerror());
}

/* Each rota_malloc asks. */
const rota_heap *rota_local_open(const char **why)
{
    const rota_heap *heap = atomic_load_explicit(&found, memory_order_acquire);

    if (heap)
        return heap;
    pthread_once(&loaded.once, load);
    *why = loaded.why;
    heap = loaded.open ? loaded.open(why) : NULL;
    atomic_store_explicit(&found, heap, memory_order_release);
    return heap;
}

/* Where that library is loaded, which it is for good. */
static rota_heap_find_function *look_for(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned long long looked_at;
    static rota_heap_find_function *find;

    pthread_mutex_lock(&lock);
    if (!find && rota_loaded_since(ROTA_HEAP_LIBRARY, &looked_at)) {
        void *const library =
            dlopen(ROTA_HEAP_LIBRARY, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
        if (library) {
            look_up(library, "rota_heap_find", &find);
            dlclose(library); /* it is never unloaded */
        }
    }
    pthread_mutex_unlock(&lock);
    return find;
}

const rota_heap *rota_local_find(void)
{
    const rota_heap *heap = atomic_load_explicit(&found, memory_order_acquire);

    if (heap)
        return heap;
    rota_heap_find_function *const find = look_for();
    heap = find ? find() : NULL;
    atomic_store_explicit(&found, heap, memory_order_release);
    return heap;
}
