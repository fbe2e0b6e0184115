/* consensus.h - the sparse phase of an exchange: who sends to this rank is found
 * out together. */
#ifndef ROTA_CONSENSUS_H
#define ROTA_CONSENSUS_H

#include "exec/exec.h"

int rota_consensus_bind(rota_exec *x);
void rota_consensus_unbind(rota_exec *x);

int rota_consensus_post(rota_exec *x, const rota_phase *phase);
int rota_consensus_test(rota_exec *x, bool *done);

#endif /* ROTA_CONSENSUS_H */
