/* parlinna_coalesced.c - two levels, one message per column between nodes.
 *
 * See parlinna.c.
 * Cost per rank for N nodes of Q ranks: K + N-1 messages in ceil(log_r Q) +
 * ceil((N-1) / batch) phases. Parameters: radix, batch.
 * Source: [Fan25] algorithm 2.
 */
#include "algos/node.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_parlinna form = {.columns = ROTA_COALESCED};

    return rota_build_parlinna(topo, params, &form, s);
}

const rota_algo rota_algo_parlinna_coalesced = {
    .name = "parlinna_coalesced",
    .summary = "logarithmic in the node, a message a pair of nodes and rank",
    .source = "[Fan25] algorithm 2",
    .params = ROTA_P_RADIX | ROTA_P_BATCH,
    .nodes = true,
    .build = build,
};
