/* neighbor.c - every block straight to its neighbour, all at once.
 *
 * Cost per rank: a message for each block sent and each received, in one phase;
 * each byte crosses the network once. Scratch: none. Parameters: none.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    (void)params;
    rota_phase_begin(s, 0);
    rota_emit_self(s);
    rota_emit_neighbors(s, NULL);
    return rota_sched_end(s);
}

const rota_algo rota_algo_neighbor = {
    .name = "neighbor",
    .summary = "neighbours: a message a block, all at once",
    .source = "MPI: The Message-Passing Interface Standard 4.0, section 8.6",
    .sizes = ROTA_SIZES_STATED,
    .neighbors = true,
    .build = build,
};
