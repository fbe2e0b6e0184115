/* program.h - makes the steps of a run from a schedule with bound messages. */
#ifndef ROTA_PROGRAM_H
#define ROTA_PROGRAM_H

#include "exec/exec.h"

/* Make x->program from x->program.op, which says what carries each message and
 * how. */
int rota_program_make(rota_exec *x);
void rota_program_free(rota_exec *x);

/* Adapt the program to buffers that have moved. */
void rota_program_rebase(rota_exec *x);

#endif /* ROTA_PROGRAM_H */
