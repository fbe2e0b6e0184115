/* consensus_node.c - consensus; short blocks between two nodes travel together.
 *
 * As consensus, but a short block for another node is handed to a member of the
 * node, the agent for that node, which sends all of them in one message. The
 * agent that receives the message hands them on. Long blocks go as in
 * consensus; so do all blocks if ranks of a node share no memory. In every other
 * plan this is another name of spread_out, too.
 * Cost: a message for each pair of nodes with a short block, one for each long
 * block, and ceil(log2 nodes) empty ones of one rank a node for the barrier.
 * Scratch: none. Parameters: bundle, the most bytes of a short block.
 * Source: A. Geyko, G. Collom, D. Schafer, P. Bridges, A. Bienz, "A More
 * Scalable Sparse Dynamic Data Exchange", arXiv:2308.13869, 2023 (blocks for a
 * region go to one of its ranks, which sends them on); [Hoefler10] for the end.
 * Here the blocks of a whole node share that message, by its memory.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    return rota_algo_spread_out.build(topo, params, s);
}

const rota_algo rota_algo_consensus_node = {
    .name = "consensus_node",
    .summary = "few partners, found by consensus; a message a pair of nodes",
    .source = "Geyko et al. 2023; [Hoefler10]",
    .params = ROTA_P_BUNDLE,
    .sizes = ROTA_SIZES_STATED,
    .nodes = true,
    .build = build,
};
