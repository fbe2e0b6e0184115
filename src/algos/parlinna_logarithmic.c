/* parlinna_logarithmic.c - two levels, both logarithmic.
 *
 * See parlinna.c.
 * Cost per rank for N nodes of Q ranks, where K(n) is the number of pairs of a
 * position x and a value z > 0 with z r^x < n: K(Q) + K(N) messages in
 * ceil(log_r Q) + ceil(log_r N) phases. Parameters: radix; batch only where
 * nodes differ in size.
 * Source: [Fan25] algorithm 2, with algorithm 1 in place of its exchange
 * between nodes.
 */
#include "algos/node.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_parlinna form = {.columns = ROTA_LOGARITHMIC};

    return rota_build_parlinna(topo, params, &form, s);
}

const rota_algo rota_algo_parlinna_logarithmic = {
    .name = "parlinna_logarithmic",
    .summary = "logarithmic in the node and between nodes",
    .source = "[Fan25] algorithms 1 and 2",
    .params = ROTA_P_RADIX | ROTA_P_BATCH,
    .nodes = true,
    .between = true,
    .build = build,
};
