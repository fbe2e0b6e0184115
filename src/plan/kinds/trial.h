/* trial.h - makes plans to be measured, for choose/measure.h. */
#ifndef ROTA_TRIAL_H
#define ROTA_TRIAL_H

#include "choose/measure.h"
#include "plan/kinds/plan.h"

/* Blocks as in the wanted plan, but as bytes, end to end, in their own
 * buffers. */
typedef struct rota_trial {
    const rota_plan *like; /* the wanted plan, being made */
    char *memory;          /* what is sent, then what is received */
    size_t sent, received; /* bytes */
    int n_send, n_recv;    /* blocks */
    MPI_Count *count;      /* [n_send + n_recv] */
    MPI_Aint *displ;       /* [n_send + n_recv] */
    rota_args args;
    rota_plan *plan[ROTA_MOST_TRIED];
} rota_trial;

/* t is borrowed. Makes nothing yet. */
rota_trials rota_trial_of(rota_trial *t, const rota_plan *like);

#endif /* ROTA_TRIAL_H */
