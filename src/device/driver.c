/* driver.c - see driver.h. */
#define _GNU_SOURCE
#include "device/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

static bool load(void *library, const rota_driver *d)
{
    for (size_t i = 0; i < d->n; i++) {
        void *const found = dlsym(library, d->entry[i].name);
        if (!found)
            return false;
        memcpy(d->entry[i].to, &found, sizeof found);
    }
    return true;
}

static int note_loads(struct dl_phdr_info *any, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = any->dlpi_adds;
    return 1; /* every object reports the same numbers */
}

/* The number of objects that the process has loaded so far. */
static unsigned long long count_loads(void)
{
    unsigned long long loads = 0;

    dl_iterate_phdr(note_loads, &loads);
    return loads;
}

/* RTLD_NOLOAD: do not load the library into processes that do not use it. A
 * failed look searches the file system, so it is repeated only after more
 * objects have been loaded. */
bool rota_driver_in_use(rota_driver *d)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    const unsigned long long loads = d->loaded ? 0 : count_loads();
    if (!d->loaded && loads != d->looked_at) {
        void *const library = dlopen(d->library, RTLD_NOW | RTLD_NOLOAD);
        d->loaded = library && load(library, d);
        if (library && !d->loaded)
            dlclose(library);
        d->looked_at = loads;
    }
    const bool found = d->loaded;
    pthread_mutex_unlock(&lock);
    return found;
}
