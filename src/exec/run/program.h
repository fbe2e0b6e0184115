/* program.h - makes the steps of a run from a schedule with bound messages. */
#ifndef ROTA_PROGRAM_H
#define ROTA_PROGRAM_H

#include "exec/exec.h"

/* Make x->program from x->program.op, which says what carries each message and
 * how. */
int rota_program_make(rota_exec *x);
void rota_program_free(rota_exec *x);

/* Prepare a run in place, or on a device. */
int rota_program_prepare(rota_exec *x);

/* Adapt the program to buffers that have moved. */
void rota_program_rebase(rota_exec *x);

/* Is the phase carried out as a whole, by a collective of MPI or by
 * consensus? */
static inline bool rota_phase_is_whole(const rota_exec *x,
                                       const rota_phase *phase)
{
    return phase->native || (phase->sparse && x->counts_unknown);
}

/* Does the path of message m hand it over? */
static inline bool rota_message_is_handed(const rota_exec *x, rota_dir dir,
                                          uint32_t m)
{
    const rota_path *const via = x->program.op[dir][m].via;

    return via->hands && via->hands(x, dir, m);
}

#endif /* ROTA_PROGRAM_H */
