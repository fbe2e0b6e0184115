/* p2p.h - the transport by MPI's point-to-point messages. */
#ifndef ROTA_P2P_H
#define ROTA_P2P_H

#include "exec/exec.h"

extern const rota_path rota_path_p2p;

/* MPI has completed message m, which is not ROTA_OP_VARLEN: do the rest. */
int rota_p2p_finish(rota_exec *x, rota_dir dir, uint32_t m);

#endif /* ROTA_P2P_H */
