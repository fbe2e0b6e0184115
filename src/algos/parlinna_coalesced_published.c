/* parlinna_coalesced_published.c - parlinna_coalesced as its authors run it.
 *
 * Within a node, every round is a phase of its own, and at every start, even of
 * a plan for fixed counts, a message of sizes goes before that of blocks.
 * Between nodes, blocks are sorted by origin, and batches are counted from the
 * own node's steps on.
 * Cost per rank for N nodes of Q ranks: 2 K messages in K phases within the
 * node, N-1 between nodes in at most ceil(N / batch) phases. Scratch as
 * parlinna_coalesced. Parameters: radix, batch.
 * Source: [Fan25] algorithm 2.
 */
#include "algos/node.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_parlinna form = {.columns = ROTA_COALESCED, .published = true};

    return rota_build_parlinna(topo, params, &form, s);
}

const rota_algo rota_algo_parlinna_coalesced_published = {
    .name = "parlinna_coalesced_published",
    .summary = "parlinna_coalesced as published: round by round",
    .source = "[Fan25] algorithm 2",
    .params = ROTA_P_RADIX | ROTA_P_BATCH,
    .nodes = true,
    .metadata = ROTA_META_TWO_PHASE,
    .every_start = true,
    .build = build,
};
