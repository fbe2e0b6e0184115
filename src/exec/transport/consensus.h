/* consensus.h - the sparse phase of an exchange: who sends to this rank is found
 * out together. */
#ifndef ROTA_CONSENSUS_H
#define ROTA_CONSENSUS_H

#include "exec/exec.h"

int rota_consensus_bind(rota_exec *x);
void rota_consensus_unbind(rota_exec *x);

#endif /* ROTA_CONSENSUS_H */
