/* shared_leaders_overlapped.c - leaders exchange what lies in shared memory, and
 * overlap what they do for one node with what they do for others.
 *
 * As shared_leaders.c, but ranks hand over what is for one node at a time: a
 * leader sends what its node has for another as soon as it is there, and hands
 * on what comes as soon as it has come. Where sizes travel with blocks this is
 * onmpml. Cost as there, but that a rank hands
 * each leader that serves k offsets k messages, and takes as many. Parameters:
 * leaders.
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
