/* driver.c - see driver.h. */
#include "device/driver.h"

#include "base/loaded.h"

#include <dlfcn.h>
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

/* RTLD_NOLOAD: do not load the library into processes that do not use it. */
bool rota_driver_in_use(rota_driver *d)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (!d->loaded && rota_loaded_since(d->library, &d->looked_at)) {
        void *const library = dlopen(d->library, RTLD_NOW | RTLD_NOLOAD);
        d->loaded = library && load(library, d);
        if (library && !d->loaded)
            dlclose(library);
    }
    const bool found = d->loaded;
    pthread_mutex_unlock(&lock);
    return found;
}
