/* step.h - one step of a direct exchange. */
#ifndef ROTA_STEP_H
#define ROTA_STEP_H

#include "algos/algo.h"

/* Step i of 1..P-1 pairs this rank with a receiver i places up and a sender i
 * places down, so that in one step every rank is the target of exactly one
 * sender: my step-i send is the peer's step-i receive. */
static inline void rota_emit_step(rota_sched *s, int i)
{
    const int src = (s->me + s->P - i) % s->P, dst = (s->me + i) % s->P;

    rota_emit_recv(s, src, rota_dst(s, src));
    rota_emit_send(s, dst, rota_src(s, dst));
}

/* What the rank sends itself, moved while the messages of the phase travel. */
static inline void rota_emit_self(rota_sched *s)
{
    for (int k = 0; k < rota_n_own(s); k++)
        rota_emit_copy(s, rota_src(s, rota_own_block(s, k).send),
                       rota_dst(s, rota_own_block(s, k).recv));
}

#endif /* ROTA_STEP_H */
