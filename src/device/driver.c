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

/* The objects of a process. */
typedef struct objects {
    const rota_driver *d;
    unsigned long long loads; /* so far */
    bool similar;             /* one has the library's name up to its version */
} objects;

static int look_at(struct dl_phdr_info *object, size_t size, void *found)
{
    objects *const o = found;
    const char *const slash = strrchr(object->dlpi_name, '/');
    const char *const name = slash ? slash + 1 : object->dlpi_name;
    const char *const version = strstr(o->d->library, ".so");
    const size_t length = (size_t)(version - o->d->library);

    (void)size;
    o->loads = object->dlpi_adds; /* which is the same in every object */
    if (o->loads == o->d->looked_at)
        return 1;
    o->similar = o->similar || strncmp(name, o->d->library, length) == 0;
    return o->similar;
}

/* RTLD_NOLOAD: do not load the library into processes that do not use it. But a
 * look in vain searches the file system, which takes 0.25 ms. So objects of such
 * a name are looked for first, each time that more objects have been loaded. */
bool rota_driver_in_use(rota_driver *d)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    objects o = {.d = d};
    if (!d->loaded)
        dl_iterate_phdr(look_at, &o);
    if (o.similar) {
        void *const library = dlopen(d->library, RTLD_NOW | RTLD_NOLOAD);
        d->loaded = library && load(library, d);
        if (library && !d->loaded)
            dlclose(library);
    }
    d->looked_at = o.loads;
    const bool found = d->loaded;
    pthread_mutex_unlock(&lock);
    return found;
}
