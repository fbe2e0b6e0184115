/* onmpml.c - leaders exchange, and overlap the work for one node with that for
 * others.
 *
 * As nmpml.c, but in one flow phase, with a message per node between members
 * and leaders. A leader sends what its node has for another node as soon as it
 * is gathered, and scatters what another node sent as soon as it arrives.
 * Cost as mpml, but in one phase; a leader that serves k offsets exchanges k
 * messages with every member. Parameters: leaders.
 * Source: [Peng21] algorithm 5.
 */
#include "algos/node.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_leaders leaders = {
        .n = params->leaders, .spread = true, .flow = true};

    return rota_build_leaders(topo, &leaders, s);
}

const rota_algo rota_algo_onmpml = {
    .name = "onmpml",
    .summary = "as nmpml, each node's blocks sent on as soon as they are there",
    .source = "[Peng21] algorithm 5",
    .params = ROTA_P_LEADERS,
    .nodes = true,
    .build = build,
};
