/* shared_leaders_overlapped.c - leaders exchange messages in shared memory, and
 * overlap the work for one node with that for others.
 *
 * As shared_leaders.c, but ranks hand over a message per node. A leader sends
 * what its node has for another as soon as it is there, and hands on what
 * arrives as soon as it has arrived. Where sizes travel with blocks that have
 * no bound, this is onmpml.
 * Cost as shared_leaders, but a rank hands over k messages to each leader that
 * serves k offsets, and takes as many. Parameters: leaders.
 * Source: after [Peng21] algorithm 5.
 */
#include "algos/node.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    return rota_build_shared_leaders(topo, params, true, s);
}

const rota_algo rota_algo_shared_leaders_overlapped = {
    .name = "shared_leaders_overlapped",
    .summary = "as shared_leaders, each node's blocks sent as soon as all are "
               "there",
    .source = "after [Peng21] algorithm 5",
    .params = ROTA_P_LEADERS | ROTA_P_PIECES,
    .nodes = true,
    .build = build,
};
