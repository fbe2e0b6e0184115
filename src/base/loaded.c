/* loaded.c - see loaded.h. */
#define _GNU_SOURCE
#include "base/loaded.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

/* The objects of a process. */
typedef struct objects {
    const char *library;
    unsigned long long seen, loads; /* before, and so far */
    bool similar;                   /* one has the library's NAME */
} objects;

static int look_at(struct dl_phdr_info *object, size_t size, void *found)
{
    objects *const o = found;
    const char *const slash = strrchr(object->dlpi_name, '/');
    const char *const name = slash ? slash + 1 : object->dlpi_name;
    const char *const version = strstr(o->library, ".so");
    const size_t length = (size_t)(version - o->library);

    (void)size;
    o->loads = object->dlpi_adds; /* which is the same in every object */
    if (o->loads == o->seen)
        return 1;
    o->similar = strncmp(name, o->library, length) == 0;
    return o->similar;
}

bool rota_loaded_since(const char *library, unsigned long long *seen)
{
    objects o = {.library = library, .seen = *seen};

    dl_iterate_phdr(look_at, &o);
    *seen = o.loads;
    return o.similar;
}
