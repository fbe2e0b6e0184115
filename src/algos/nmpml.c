/* nmpml.c - leaders exchange; they are spread over the NUMA domains of a node.
 *
 * As mpml.c, except for who leads: of a node's Q ranks, sorted by NUMA domain,
 * leader l of L is number floor(l Q / L). So gathering and scattering load the
 * memory of all domains. Cost, scratch and parameters are those of mpml.
 * Source: [Peng21] algorithm 4, whose distance floor(Q / L) leaves the last
 * domains without leaders where L does not divide Q.
 */
#include "algos/node.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_leaders leaders = {.n = params->leaders, .spread = true};

    return rota_build_leaders(topo, &leaders, s);
}

const rota_algo rota_algo_nmpml = {
    .name = "nmpml",
    .summary = "as mpml, its leaders spread over NUMA domains",
    .source = "[Peng21] algorithm 4",
    .params = ROTA_P_LEADERS,
    .nodes = true,
    .build = build,
};
