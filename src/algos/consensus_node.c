/* consensus_node.c - consensus, and what goes from node to node travels together.
 *
 * As consensus, but short blocks for another node are handed to a member of the
 * node, the agent for that other one, which sends them in one message. The agent
 * that receives it hands them on. Long blocks go as in consensus, and so do all
 * where ranks of a node share no memory. Where both ends know the counts this is
 * spread_out, too.
 * Cost: for each pair of nodes with a short block a message, for each long block
 * one, and ceil(log2 nodes) empty ones of one rank a node for the barrier. Scratch:
 * none. Parameters: bundle, bytes that a short block has at most.
 * Source: A. Geyko, G. Collom, D. Schafer, P. Bridges, A. Bienz, "A More Scalable
 * Sparse Dynamic Data Exchange", arXiv:2308.13869, 2023 (blocks for a region go to
 * one of its ranks, which sends them on); [Hoefler10] for the end. Here the blocks
 * of a whole node share that message, by its memory.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    return rota_algo_consensus.build(topo, params, s);
}

const rota_algo rota_algo_consensus_node = {
    .name = "consensus_node",
    .summary = "few partners, found by consensus; a message a pair of nodes",
    .source = "Geyko et al. 2023; [Hoefler10]",
    .params = ROTA_P_BUNDLE,
    .sizes = ROTA_SIZES_STATED,
    .only_fused = true,
    .nodes = true,
    .build = build,
};
