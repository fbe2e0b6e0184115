/* native.h - the phase that is one collective of the MPI library. */
#ifndef ROTA_NATIVE_H
#define ROTA_NATIVE_H

#include "exec/exec.h"

int rota_native_bind(rota_exec *x);
void rota_native_unbind(rota_exec *x);

#endif /* ROTA_NATIVE_H */
