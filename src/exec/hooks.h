/* hooks.h - what a device adds to runs. The executor knows no device; it calls
 * these functions if there are any (src/device).
 */
#ifndef ROTA_HOOKS_H
#define ROTA_HOOKS_H

#include "schedule/schedule.h"

struct rota_exec;

/* Called around copies and messages that are posted one by one. */
typedef struct rota_hooks {
    /* x has its program; may change the program's steps. */
    int (*bound)(struct rota_exec *x);

    /* A run is about to begin. */
    int (*begin)(struct rota_exec *x);

    /* Are the blocks of send m in host memory? */
    int (*may_send)(struct rota_exec *x, uint32_t m, bool *may);

    /* Receive m is complete. */
    int (*arrived)(struct rota_exec *x, uint32_t m);

    /* Does the device make this copy? If so, it is queued there. */
    int (*copy)(struct rota_exec *x, const rota_copy *copy, bool *taken);

    void (*release)(struct rota_exec *x);
} rota_hooks;

/* Functions for messages that the receiver fetches from the sender's memory.
 * The sender sends only a descriptor of `bytes` bytes. */
typedef struct rota_fetching {
    size_t place_bytes;

    /* Describe to rank `to` where it finds the message at body. */
    void (*tell)(struct rota_exec *x, int to, const char *body, void *place);

    /* Begin to fetch the message of rank `from`. */
    int (*fetch)(struct rota_exec *x, int from, const void *place, char *to,
                 size_t bytes);

    void (*release)(struct rota_exec *x);
} rota_fetching;

#endif /* ROTA_HOOKS_H */
