/* measure.h - candidates tried out. */
#ifndef ROTA_MEASURE_H
#define ROTA_MEASURE_H

#include "choose/candidates.h"

enum { ROTA_MOST_TRIED = 9 }; /* MPI's own among them */

/* Plans like the one that is wanted, by whoever can make plans
 * (plan/trial.c). arg is the caller's. */
typedef struct rota_trials {
    void *arg;

    /* Allocate what they move. Local. */
    int (*begin)(void *arg);

    /* Make plan i, below ROTA_MOST_TRIED, as hints say. Collective; every failure
     * is agreed on. */
    int (*make)(void *arg, int i, const rota_hints *wish);

    /* Run plan i once; ns: how long that took. Collective. */
    int (*run)(void *arg, int i, double *ns);

    /* Destroy all of it, also if begin has failed. Local. */
    void (*end)(void *arg);
} rota_trials;

/* Have the most promising candidates run for a while. Collective; every failure
 * is agreed on. */
int rota_measure(const rota_trials *trials, const rota_ranks *ranks,
                 const rota_hints *hints, rota_candidates *list);

#endif /* ROTA_MEASURE_H */
