/* onmpml.c - leaders exchange, and overlap what they do for one node with what
 * they do for others.
 *
 * As nmpml.c, but all is one phase through which data flow, and members hand
 * over what is for one node at a time: a leader sends what its node has for
 * another as soon as it is gathered, and scatters what comes as soon as it has
 * arrived. Cost as for mpml, but that there is one phase, and that a leader that
 * serves k offsets exchanges k messages with every member. Parameters: leaders.
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
