/* waiting.h - how a process waits: it polls, then yields, then sleeps.
 *
 * A waiter knows neither plans nor messages. It is given a function that polls
 * and says what the waiter may sleep on.
 */
#ifndef ROTA_WAITING_H
#define ROTA_WAITING_H

#include "exec/memory/doorbell.h"
#include "exec/memory/yields.h"
#include "exec/move/clock.h"

#include <stdbool.h>
#include <stdint.h>

/* Shared by a waiter and its poll; begins as zeros. */
typedef struct rota_outlook {
    /* The waiter sets these before a poll. */
    bool arm;  /* a sleep comes next: arm the doorbell first */
    bool idle; /* the waiter gives up the processor between polls */

    /* The poll sets these. */
    bool done;      /* the wait is over */
    bool moved;     /* something has moved */
    bool elsewhere; /* only ranks on other cores can let it go on */
    bool silent;    /* something waited for rings no doorbell */
    bool alert;     /* sleep briefly only: somebody may have to be called */
    bool meets;     /* ranks make a plan: each computes between its messages */
    rota_doorbell *bell; /* NULL: none */
    uint32_t armed_at;
    rota_wake_word *word; /* what the waiter sleeps on; NULL: bell */
    int bit;
    bool counted; /* for the poll's own use */
} rota_outlook;

/* Poll until the poll sets done, or fails, which is then the result. */
int rota_wait_for(int (*poll)(void *arg, rota_outlook *o), void *arg);

/* There are more ranks than cores: from now on, waits give up the processor
 * almost at once. */
void rota_wait_set_crowded(void);

/* From now on, waits follow these shared words; NULL: this process's own. */
void rota_wait_share(rota_yields *yields);

/* Returns true if no process that follows the same words has reported a wait
 * within ns. Then the caller reports its wait. */
bool rota_wait_is_first(int64_t now_ns, int64_t ns);

#endif /* ROTA_WAITING_H */
