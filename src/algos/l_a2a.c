/* l_a2a.c - one leader per node gathers and exchanges: mpml.c with one leader.
 *
 * Cost for N nodes of Q ranks: a node sends N-1 messages of Q Q blocks to other
 * nodes; a member sends one message to its leader, gets one, and sends Q-1
 * directly. Scratch of a leader: 2 (N-1) Q slots. Parameters: none.
 * Source: [Peng21] algorithm 1.
 */
#include "algos/node.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_leaders leaders = {.n = 1};

    (void)params;
    return rota_build_leaders(topo, &leaders, s);
}

const rota_algo rota_algo_l_a2a = {
    .name = "l_a2a",
    .summary = "one leader a node exchanges what it gathers",
    .source = "[Peng21] algorithm 1",
    .nodes = true,
    .build = build,
};
