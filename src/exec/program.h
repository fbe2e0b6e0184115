/* program.h - from a schedule whose messages are bound to the steps of a run. */
#ifndef ROTA_PROGRAM_H
#define ROTA_PROGRAM_H

#include "exec/exec.h"

enum { ROTA_N_TRANSPORTS = 2 };

/* In the order in which a step posts; a message goes by the last one that carries
 * it. */
extern const rota_transport *const rota_transports[ROTA_N_TRANSPORTS];

/* Make x->program; x->program.op says what carries each message, and how. */
int rota_program_make(rota_exec *x);
void rota_program_free(rota_exec *x);

/* What comes before a run that may be in place or on a device. */
int rota_program_prepare(rota_exec *x);

/* Buffers have moved. */
void rota_program_rebase(rota_exec *x);

/* Does a collective of MPI's carry the messages of the phase, or are they found by
 * consensus? */
static inline bool rota_phase_is_whole(const rota_exec *x,
                                       const rota_phase *phase)
{
    return phase->native || (phase->sparse && x->counts_unknown);
}

/* Is message m handed over, by what carries it? */
static inline bool rota_message_is_handed(const rota_exec *x, rota_dir dir,
                                          uint32_t m)
{
    const rota_transport *const via = x->program.op[dir][m].via;

    return via->hands && via->hands(x, dir, m);
}

#endif /* ROTA_PROGRAM_H */
