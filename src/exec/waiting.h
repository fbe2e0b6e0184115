/* waiting.h - how a process waits: it polls, then yields the processor, then
 * sleeps.
 *
 * The waiter knows neither plans nor messages. It is given a function that polls
 * and that says what the waiter may sleep on.
 */
#ifndef ROTA_WAITING_H
#define ROTA_WAITING_H

#include "exec/transport/doorbell.h"
#include "exec/yields.h"

#include <stdbool.h>
#include <stdint.h>

/* Between a waiter and what it polls; starts as zeros. */
typedef struct rota_outlook {
    /* Set by the waiter before a poll. */
    bool arm;  /* the next thing is a sleep: have the doorbell armed first */
    bool idle; /* the waiter gives the processor up between polls */

    /* Set by the poll. */
    bool done;   /* the wait is over */
    bool moved;  /* something has got on */
    bool silent; /* something is waited for that rings no doorbell */
    bool alert; /* sleep for short times only: somebody may have to be called */
    rota_doorbell *bell; /* NULL: there is none */
    uint32_t armed_at;
    rota_wake_word *word; /* on which the waiter sleeps, or NULL: on bell */
    int bit;
    bool counted; /* the poll's own */
} rota_outlook;

/* Poll until that is done or fails, which is then the result. */
int rota_wait_for(int (*poll)(void *arg, rota_outlook *o), void *arg);

/* From now on waits give the processor up almost at once: there are more ranks
 * than cores. */
void rota_wait_set_crowded(void);

/* From now on waits follow these words, and no others; NULL: those of this
 * process alone. */
void rota_wait_share(rota_yields *yields);

/* Is nobody of those who follow the same words known to have told of a wait within
 * ns? Then the caller does. */
bool rota_wait_is_first(int64_t now_ns, int64_t ns);

/* Nanoseconds of a clock that only goes forward. */
int64_t rota_now_ns(void);

#endif /* ROTA_WAITING_H */
