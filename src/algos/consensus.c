/* consensus.c - an exchange between few partners that do not know each other.
 *
 * Every rank sends to the ranks it has data for, by messages that complete only
 * when they are received, and receives from any rank. When its own messages are
 * complete it enters a barrier. When the barrier completes, all messages of all
 * ranks have been received. Where both ends know the counts, messages without
 * bytes are dropped anyway, and this is spread_out.
 * Cost per rank, for k receivers: k messages, and ceil(log2 P) empty ones for
 * the barrier. Scratch: none. Parameters: none.
 * Source: [Hoefler10], non-blocking consensus.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    (void)params;
    rota_sparse_begin(s);
    rota_emit_self(s);
    for (int i = 1; i < s->P; i++)
        rota_emit_step(s, i);
    return rota_sched_end(s);
}

const rota_algo rota_algo_consensus = {
    .name = "consensus",
    .summary = "few partners, found by non-blocking consensus",
    .source = "[Hoefler10]",
    .sizes = ROTA_SIZES_STATED,
    .only_fused = true,
    .build = build,
};
