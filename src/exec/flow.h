/* flow.h - phases through which data flow: a send is posted when what it passes
 * on has arrived. */
#ifndef ROTA_FLOW_H
#define ROTA_FLOW_H

#include "exec/exec.h"

int rota_flow_bind(rota_exec *x);
void rota_flow_unbind(rota_exec *x);

/* Post all receives of the phase and the sends that wait for none. */
int rota_flow_post(rota_exec *x, const rota_phase *phase);
int rota_flow_test(rota_exec *x, bool *done);

#endif /* ROTA_FLOW_H */
