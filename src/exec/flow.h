/* flow.h - phases through which data flow: a send is posted when what it passes
 * on has arrived. */
#ifndef ROTA_FLOW_H
#define ROTA_FLOW_H

#include "exec/exec.h"

int rota_flow_bind(rota_exec *x);
void rota_flow_unbind(rota_exec *x);

#endif /* ROTA_FLOW_H */
