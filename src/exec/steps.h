/* steps.h - the kinds of steps that programs consist of. */
#ifndef ROTA_STEPS_H
#define ROTA_STEPS_H

#include "exec/exec.h"

extern const rota_step_kind rota_step_bulk;   /* bulk.c: all at once */
extern const rota_step_kind rota_step_window; /* window.c: so many at once */
extern const rota_step_kind rota_step_flow;   /* flow.c */
extern const rota_step_kind rota_step_collective; /* native.c */
extern const rota_step_kind rota_step_consensus;  /* consensus.c */

/* staged.c: a bulk step, or another one, of a plan whose blocks are on a device:
 * messages wait for what they send to come from there. And what comes last. */
extern const rota_step_kind rota_step_staged_bulk;
extern const rota_step_kind rota_step_staged;
extern const rota_step_kind rota_step_staged_end;

/* Make the copies of a step. */
int rota_step_copies(rota_exec *x, const rota_step *step);

/* Advance what needs no MPI of a step that is entered. */
int rota_step_help(rota_exec *x, rota_step *step);

/* Post and test one message, whatever carries it; where a device has part in it,
 * when and what it copies. */
int rota_message_post(rota_exec *x, rota_dir dir, uint32_t m);
int rota_message_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done);
int rota_message_may_go(rota_exec *x, uint32_t m, bool *may);

/* For windows. */
int rota_lanes_make(rota_exec *x);
void rota_lanes_free(rota_exec *x);

#endif /* ROTA_STEPS_H */
