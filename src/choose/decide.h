/* decide.h - which of the candidates it is to be. */
#ifndef ROTA_DECIDE_H
#define ROTA_DECIDE_H

#include "base/problem.h"
#include "choose/learnt.h"
#include "choose/measure.h"

/* What a choice is asked for; the same on all ranks but for problem. */
typedef struct rota_wanted {
    const rota_hints *hints;
    rota_plan_kind what;
    rota_stats stats;
    bool uniform;                /* all blocks of all ranks have one size */
    bool shares;                 /* ranks of a node share memory */
    double load;                 /* as of rota_run_kind */
    const rota_problem *problem; /* its blocks, if what.kind is fixed */
} rota_wanted;

/* Choose what hints leave open: as the tuning says, as was chosen before for the
 * like, by measurement if asked for (whatever the tuning says), or by price.
 * Collective; every failure is agreed on. */
int rota_decide(const rota_wanted *wanted, rota_learnt *learnt,
                const rota_ranks *ranks, const rota_trials *trials,
                rota_decision *decision);

#endif /* ROTA_DECIDE_H */
