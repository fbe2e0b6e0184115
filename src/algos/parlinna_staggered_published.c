/* parlinna_staggered_published.c - parlinna_staggered as its authors run it.
 *
 * Within a node, every round is a phase of its own, and at every start, even of
 * a plan for fixed counts, a message of sizes goes before that of blocks.
 * Between nodes, blocks are sorted by origin, and batches are counted from the
 * own node's steps on.
 * Cost per rank for N nodes of Q ranks: 2 K messages in K phases within the
 * node, Q(N-1) between nodes in at most ceil(QN / batch) phases. Scratch as
 * parlinna_staggered. Parameters: radix, batch.
 * Source: [Fan25] algorithm 3.
 */
#include "algos/node.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_parlinna form = {.columns = ROTA_STAGGERED, .published = true};

    return rota_build_parlinna(topo, params, &form, s);
}

const rota_algo rota_algo_parlinna_staggered_published = {
    .name = "parlinna_staggered_published",
    .summary = "parlinna_staggered as published: round by round",
    .source = "[Fan25] algorithm 3",
    .params = ROTA_P_RADIX | ROTA_P_BATCH,
    .nodes = true,
    .metadata = ROTA_META_TWO_PHASE,
    .every_start = true,
    .build = build,
};
