/* parlinna_staggered.c - two levels, one message per block between nodes.
 *
 * See parlinna.c.
 * Cost per rank for N nodes of Q ranks: K + Q(N-1) messages in ceil(log_r Q) +
 * ceil((N-1) / batch) + ceil((Q-1)(N-1) / batch) phases. Parameters: radix,
 * batch.
 * Source: [Fan25] algorithm 3, which sends all blocks for one node before those
 * for the next.
 */
#include "algos/node.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_parlinna form = {.columns = ROTA_STAGGERED};

    return rota_build_parlinna(topo, params, &form, s);
}

const rota_algo rota_algo_parlinna_staggered = {
    .name = "parlinna_staggered",
    .summary = "logarithmic in the node, a message a block between nodes",
    .source = "[Fan25] algorithm 3",
    .params = ROTA_P_RADIX | ROTA_P_BATCH,
    .nodes = true,
    .build = build,
};
