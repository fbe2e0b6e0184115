/* trial.h - plans that are made to be measured, for choose/measure.h. */
#ifndef ROTA_TRIAL_H
#define ROTA_TRIAL_H

#include "choose/measure.h"
#include "plan/plan.h"

/* Blocks as in the plan that is wanted, as bytes and end to end, in buffers of
 * their own. */
typedef struct rota_trial {
    const rota_plan *like; /* what is wanted, being made */
    char *memory;          /* what is sent, then what is received */
    size_t sent, received; /* bytes */
    int n_send, n_recv;    /* blocks */
    MPI_Count *count;      /* [n_send + n_recv] */
    MPI_Aint *displ;       /* likewise */
    rota_args args;
    rota_plan *plan[ROTA_MOST_TRIED];
} rota_trial;

/* t is borrowed. Nothing is made yet. */
rota_trials rota_trial_of(rota_trial *t, const rota_plan *like);

#endif /* ROTA_TRIAL_H */
