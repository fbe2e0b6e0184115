/* run.h - stepping through a program. */
#ifndef ROTA_RUN_H
#define ROTA_RUN_H

#include "exec/exec.h"

/* Go on as far as possible without waiting. Returns whether the run is over, and
 * then x->status says how. */
bool rota_run_advance(rota_exec *x);

/* The same as far as no MPI is needed, in the present step. */
bool rota_run_help(rota_exec *x);

#endif /* ROTA_RUN_H */
