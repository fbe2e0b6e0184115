/* driver.h - libraries of accelerators. Rota does not link them: a process that
 * has device memory has loaded the library in some way, and any other needs
 * nothing from it.
 */
#ifndef ROTA_DEVICE_DRIVER_H
#define ROTA_DEVICE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rota_driver_entry {
    const char *name;
    void *to; /* a pointer to a function pointer */
} rota_driver_entry;

typedef struct rota_driver {
    const char *library;
    const rota_driver_entry *entry; /* [n] */
    size_t n;

    /* State; begins as zeros. */
    unsigned long long looked_at; /* loads when it was last found missing */
    bool loaded;
} rota_driver;

/* Has the process loaded the library? The first call that finds it sets all
 * entries. */
bool rota_driver_in_use(rota_driver *d);

#endif /* ROTA_DEVICE_DRIVER_H */
