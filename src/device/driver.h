/* driver.h - libraries of accelerators, which are not linked: a process that has
 * memory of one has loaded its library, whichever way, and a process that has not
 * needs nothing of it.
 */
#ifndef ROTA_DEVICE_DRIVER_H
#define ROTA_DEVICE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rota_driver_entry {
    const char *name;
    void *to; /* a pointer to a function of some type */
} rota_driver_entry;

typedef struct rota_driver {
    const char *library;
    const rota_driver_entry *entry; /* [n] */
    size_t n;

    /* The library's state; starts as zeros. */
    unsigned long long looked_at; /* loads when it was not there */
    bool loaded;
} rota_driver;

/* Has the process loaded the library? Then all entries are set, from the first
 * call on that finds it. */
bool rota_driver_in_use(rota_driver *d);

#endif /* ROTA_DEVICE_DRIVER_H */
