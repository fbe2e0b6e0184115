/* step.h - parts of direct exchanges: a step, a rank's own blocks, neighbours. */
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

/* Is the rank another one, and in the node if a topology is given? */
static inline bool rota_is_neighbor(const rota_sched *s, int rank,
                                    const rota_topo *within)
{
    return rank != s->me && rank != ROTA_NOBODY &&
           (!within || within->node[rank] == within->node[s->me]);
}

/* Send every block straight to its neighbour, except the rank's own; with a
 * topology, only those that stay in the node. Sends are in list order. Receives
 * are in the order in which their senders post them, so that several blocks from
 * one rank to another each match the right receive. */
static inline void rota_emit_neighbors(rota_sched *s, const rota_topo *within)
{
    for (int i = 0; i < s->n_recv; i++) {
        const int block = rota_neighbors_turn(s->neighbors, i);
        const int from = rota_from(s, block);
        if (rota_is_neighbor(s, from, within))
            rota_emit_recv(s, from, rota_dst(s, block));
    }
    for (int i = 0; i < s->n_send; i++) {
        const int to = rota_to(s, i);
        if (rota_is_neighbor(s, to, within))
            rota_emit_send(s, to, rota_src(s, i));
    }
}

#endif /* ROTA_STEP_H */
