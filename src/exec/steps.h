/* steps.h - the kinds of steps that programs consist of. */
#ifndef ROTA_STEPS_H
#define ROTA_STEPS_H

#include "exec/exec.h"

extern const rota_step_kind rota_step_bulk;   /* bulk.c: all at once */
extern const rota_step_kind rota_step_window; /* window.c: so many at once */
extern const rota_step_kind rota_step_flow;   /* flow.c */
extern const rota_step_kind rota_step_collective; /* native.c */
extern const rota_step_kind rota_step_consensus;  /* consensus.c */
extern const rota_step_kind rota_step_sparse;     /* sparse.c */

/* Is all that the step does posted when it is entered, so that MPI moves it on by
 * itself? */
bool rota_step_is_at_once(const rota_step *step);
/* lent.c: before a rank receives into shared blocks, all that it handed on has
 * been taken; and what comes last: others may write to them again. */
extern const rota_step_kind rota_step_reclaim;
extern const rota_step_kind rota_step_finish;

/* Make the copies of a step, or those of them from first on before end. */
int rota_step_copies(rota_exec *x, const rota_step *step);
int rota_step_copy(rota_exec *x, const rota_step *step, uint32_t first,
                   uint32_t end);

/* Advance what needs no MPI of a step that is entered. */
int rota_step_help(rota_exec *x, rota_step *step);

/* Mark the ranks that open messages of a step's batches are with. */
void rota_step_whom(const rota_exec *x, const rota_step *step, bool awaited[]);

/* Post and test one message, whatever carries it; where a device has part in it,
 * when and what it copies. */
int rota_message_post(rota_exec *x, rota_dir dir, uint32_t m);
int rota_message_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done);
int rota_message_may_go(rota_exec *x, uint32_t m, bool *may);

#endif /* ROTA_STEPS_H */
