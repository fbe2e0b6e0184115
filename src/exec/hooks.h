/* hooks.h - what a device adds to runs. The executor knows no device: it asks
 * these functions, where there are any (src/device).
 */
#ifndef ROTA_HOOKS_H
#define ROTA_HOOKS_H

#include "schedule/schedule.h"

struct rota_exec;

/* Around messages that are posted one by one, and copies. */
typedef struct rota_hooks {
    /* x has a program: change its steps. */
    int (*bound)(struct rota_exec *x);

    /* Before a run. */
    int (*begin)(struct rota_exec *x);

    /* Are the blocks of send m here? */
    int (*may_send)(struct rota_exec *x, uint32_t m, bool *may);

    /* Receive m is complete. */
    int (*arrived)(struct rota_exec *x, uint32_t m);

    /* Is this copy the device's? Then it is queued. */
    int (*copy)(struct rota_exec *x, const rota_copy *copy, bool *taken);

    void (*release)(struct rota_exec *x);
} rota_hooks;

/* Messages that a receiver takes from where the sender has them, with no more
 * from it than a place, of so many bytes. */
typedef struct rota_handover {
    size_t place_bytes;

    /* Where rank to finds the message at body. */
    void (*tell)(struct rota_exec *x, int to, const char *body, void *place);

    /* Begin to take the message of rank from. */
    int (*fetch)(struct rota_exec *x, int from, const void *place, char *to,
                 size_t bytes);

    void (*release)(struct rota_exec *x);
} rota_handover;

#endif /* ROTA_HOOKS_H */
