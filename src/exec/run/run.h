/* run.h - steps through a program. */
#ifndef ROTA_RUN_H
#define ROTA_RUN_H

#include "exec/exec.h"

/* Advance x as far as possible without waiting. Returns whether the run is
 * over; x->status then says how it ended. */
bool rota_run_advance(rota_exec *x);

/* The same, but only within the current step and without MPI. */
bool rota_run_help(rota_exec *x);

#endif /* ROTA_RUN_H */
