/* spread_out.c - everything at once, peers in round-robin order.
 *
 * Rank p addresses p+1, p+2, ... in turn, so that at any moment all ranks
 * address different targets.
 * Cost per rank: P-1 messages in one phase; each byte crosses the network once.
 * Scratch: none. Parameters: none.
 * Source: [Fan22] section 4.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    (void)params;
    rota_phase_begin(s, 0);
    rota_emit_self(s);
    for (int i = 1; i < s->P; i++)
        rota_emit_step(s, i);
    return rota_sched_end(s);
}

const rota_algo rota_algo_spread_out = {
    .name = "spread_out",
    .summary = "all messages at once, peers round-robin from the own rank",
    .source = "[Fan22]",
    .sizes = ROTA_SIZES_STATED,
    .build = build,
};
