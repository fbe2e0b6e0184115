/* trial.h - builds what is measured, for choose/measure.h. */
#ifndef ROTA_TRIAL_H
#define ROTA_TRIAL_H

#include "choose/measure.h"
#include "plan/kinds/built.h"

/* Blocks as in the wanted plan, but as bytes, end to end, in their own
 * buffers. */
typedef struct rota_trial {
    const rota_task *like; /* what is wanted */
    rota_stats stats;      /* of it */
    char *memory;          /* what is sent, then what is received */
    size_t sent, received; /* bytes */
    int n_send, n_recv;    /* blocks */
    MPI_Count *count;      /* [n_send + n_recv] */
    MPI_Aint *displ;       /* [n_send + n_recv] */
    rota_start_args start; /* what a start brings */
    rota_task task;
    rota_built *built; /* [ROTA_MOST_TRIED] */
} rota_trial;

/* t is borrowed. Makes nothing yet. */
rota_trials rota_trial_of(rota_trial *t, const rota_task *like,
                          const rota_stats *stats);

#endif /* ROTA_TRIAL_H */
