/* program.h - from a schedule whose messages are bound to the steps of a run. */
#ifndef ROTA_PROGRAM_H
#define ROTA_PROGRAM_H

#include "exec/exec.h"

/* Make x->program; x->op says what carries each message, and how. */
int rota_program_make(rota_exec *x);
void rota_program_free(rota_exec *x);

/* x has got staging: from now on its steps are staged. Nothing is done while
 * there is no program. */
void rota_program_stage(rota_exec *x);

/* Buffers have moved. */
void rota_program_rebase(rota_exec *x);

/* Does a collective of MPI's carry the messages of the phase, or are they found by
 * consensus? */
static inline bool rota_phase_is_whole(const rota_exec *x,
                                       const rota_phase *phase)
{
    return phase->native || (phase->sparse && x->collect);
}

#endif /* ROTA_PROGRAM_H */
