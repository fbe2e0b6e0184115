/* script.h - what the ranks go through: the phases of their schedules as steps,
 * and what a form has beside them. */
#ifndef BENCH_SIM_SCRIPT_H
#define BENCH_SIM_SCRIPT_H

#include "sim/engine.h"

typedef enum sim_step_kind {
    SIM_WHOLE,  /* a phase without a window */
    SIM_HEADS,  /* of such a phase the sizes only */
    SIM_BLOCKS, /* and after them the blocks only */
    SIM_WINDOW, /* a phase with a window */
    SIM_FLOW,   /* a phase through which data flow */
    SIM_REDUCE, /* a round of an exchange of single cells among all ranks */
    SIM_NODE,   /* a barrier of the node */
    SIM_COPY,   /* copies */
} sim_step_kind;

/* What SIM_COPY copies. */
typedef enum sim_copied {
    SIM_OUTBOUND, /* what a leader sends, gathered */
    SIM_INBOUND,  /* what a leader receives, to be scattered */
    SIM_RECEIVED, /* all that the rank gets */
} sim_copied;

typedef struct sim_step {
    sim_step_kind kind;
    uint32_t phase; /* SIM_REDUCE: the distance */
    sim_copied copied;
    int times;
} sim_step;

/* Of a representative. */
typedef struct sim_script {
    sim_step *step; /* [n_steps] */
    uint32_t n_steps;
    uint32_t *step_of; /* [n receives] in which their blocks come */
    uint32_t *cells;   /* [n receives] sizes that are told with it; 0: none */
    bool *
        dropped[ROTA_N_DIRS]; /* [n messages] done by copies instead, or NULL */
} sim_script;

sim_script sim_script_make(const sim_case *c, const sim_traffic *t,
                           const rota_choice *choice, int r);
void sim_script_free(sim_script *k);

#endif
