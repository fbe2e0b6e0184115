/* candidates.h - which algorithms and parameters to consider. */
#ifndef ROTA_CANDIDATES_H
#define ROTA_CANDIDATES_H

#include "choose/choose.h"
#include "choose/ranks.h"

typedef struct rota_candidate {
    rota_choice choice;
    double predicted, measured; /* nanoseconds; negative: unknown */
    double doubt; /* predicted is multiplied by this, to be on the safe side */
} rota_candidate;

typedef struct rota_candidates {
    rota_candidate item[ROTA_MAX_PRICES];
    int n; /* at least 1 */
} rota_candidates;

/* List the choices that hints leave open. Local; the same on all ranks. */
int rota_candidates_find(const rota_hints *hints, const rota_plan_kind *what,
                         rota_candidates *list);

/* The best candidate: a measured time counts before a predicted one. */
const rota_candidate *rota_candidates_best(const rota_candidates *list);

#endif /* ROTA_CANDIDATES_H */
