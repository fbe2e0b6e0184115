/* step.h - one step of a direct exchange, and a rank's own block. */
#ifndef ROTA_STEP_H
#define ROTA_STEP_H

#include "algos/algo.h"

/* Step i, 1 <= i < P, sends to the rank i places up and receives from the rank
 * i places down. So each rank has exactly one sender per step, and this rank's
 * send of step i matches the peer's receive of step i. */
static inline void rota_emit_step(rota_sched *s, int i)
{
    const int src = (s->me + s->P - i) % s->P, dst = (s->me + i) % s->P;

    rota_emit_recv(s, src, rota_dst(s, src));
    rota_emit_send(s, dst, rota_src(s, dst));
}

/* Copy the rank's own blocks, while the messages of the phase travel. */
static inline void rota_emit_self(rota_sched *s)
{
    for (int k = 0; k < rota_n_own(s); k++)
        rota_emit_copy(s, rota_src(s, rota_own_block(s, k).send),
                       rota_dst(s, rota_own_block(s, k).recv));
}

#endif /* ROTA_STEP_H */
