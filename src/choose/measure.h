/* measure.h - measures candidates. */
#ifndef ROTA_MEASURE_H
#define ROTA_MEASURE_H

#include "choose/candidates.h"

enum { ROTA_MOST_TRIED = 9 }; /* MPI's own all-to-all included */

/* Functions that make and run plans like the one wanted; plan/kinds/trial.c
 * provides them. arg: its own data. */
typedef struct rota_trials {
    void *arg;

    /* Allocate buffers. Local. */
    int (*begin)(void *arg);

    /* Make plan i, i < ROTA_MOST_TRIED, as the hints say. Collective; the ranks
     * agree on every failure. */
    int (*make)(void *arg, int i, const rota_hints *wish);

    /* Write what is sent, run plan i once, read what came. ns: how long it took.
     * Collective. */
    int (*run)(void *arg, int i, double *ns);

    /* Free everything, even if begin failed. Local. */
    void (*end)(void *arg);
} rota_trials;

/* Run the most promising candidates for a while and record their times.
 * Collective; the ranks agree on every failure. */
int rota_measure(const rota_trials *trials, const rota_ranks *ranks,
                 const rota_hints *hints, rota_candidates *list);

#endif /* ROTA_MEASURE_H */
