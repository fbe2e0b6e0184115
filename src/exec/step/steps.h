/* steps.h - the kinds of steps of which programs consist. */
#ifndef ROTA_STEPS_H
#define ROTA_STEPS_H

#include "exec/exec.h"

extern const rota_step_kind rota_step_bulk;   /* bulk.c: all messages at once */
extern const rota_step_kind rota_step_window; /* window.c: so many at once */
extern const rota_step_kind rota_step_flow;   /* flow.c */
extern const rota_step_kind rota_step_collective; /* native.c */
extern const rota_step_kind rota_step_sparse;     /* mailbox.c */
extern const rota_step_kind rota_step_take;       /* carry.c, behind a phase */
extern const rota_step_kind rota_step_accumulate; /* accumulate.c, the last */

/* Does the step post everything when it is entered, so that MPI can carry it
 * out by itself? */
bool rota_step_is_at_once(const rota_step *step);

/* Make all copies of a step, or copies first to end - 1. */
int rota_step_copies(rota_exec *x, const rota_step *step);
int rota_step_copy(rota_exec *x, const rota_step *step, uint32_t first,
                   uint32_t end);

/* Advance an entered step by what needs no MPI. */
int rota_step_help(rota_exec *x, rota_step *step);

/* Mark the ranks with which a step's batches have open messages. */
void rota_step_whom(const rota_exec *x, const rota_step *step, bool awaited[]);

/* Of a step whose kind is rota_step_window: its sends to different ranks may go in
 * any order, as the gate lets them, and any number at once. */
int rota_window_any_order(const rota_exec *x, const rota_step *step);

/* Put the gate around a step, and the step that comes last: gated.c. */
int rota_step_gate(rota_exec *x, rota_step *step);
extern const rota_step_kind rota_step_gate_end;

/* Post and test one message, by any path, if the gate lets it go. */
int rota_message_post(rota_exec *x, rota_dir dir, uint32_t m);
int rota_message_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done);
int rota_message_may_go(rota_exec *x, rota_dir dir, uint32_t m, bool *may);

#endif /* ROTA_STEPS_H */
