/* decide.h - decides between the candidates. */
#ifndef ROTA_DECIDE_H
#define ROTA_DECIDE_H

#include "base/problem.h"
#include "choose/learnt.h"
#include "choose/measure.h"

/* What to choose for; the same on all ranks, except problem. */
typedef struct rota_wanted {
    const rota_hints *hints;
    rota_plan_kind what;
    rota_stats stats;
    bool uniform;                /* all blocks of all ranks have one size */
    bool shares;                 /* ranks of a node share memory */
    double load;                 /* as in rota_run_kind */
    int device_sharers;          /* most ranks that share a device by time */
    const rota_problem *problem; /* has this rank's blocks, if fixed */
} rota_wanted;

/* Decide what hints leave open: by a row of the tuning, unless hints ask for
 * measurement; else as in an earlier like case; else by measurement, if asked
 * for; else by price. Collective; the ranks agree on every failure. */
int rota_decide(const rota_wanted *wanted, rota_learnt *learnt,
                const rota_ranks *ranks, const rota_trials *trials,
                rota_decision *decision);

#endif /* ROTA_DECIDE_H */
