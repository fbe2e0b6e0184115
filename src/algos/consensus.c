/* consensus.c - for sparse exchanges: partners are found by non-blocking
 * consensus.
 *
 * Every rank sends to the ranks it has data for, by messages that complete only
 * when they are received, and receives from any rank. When its own messages are
 * complete it enters a barrier. When the barrier completes, all messages of all
 * ranks have been received. No schedule says this: exec/transport/mailbox/mailbox.c
 * carries it out. In every other plan this is another name of spread_out.
 * Cost per rank, for k receivers: k messages, and ceil(log2 P) empty ones for
 * the barrier. Scratch: none. Parameters: none.
 * Source: [Hoefler10], non-blocking consensus.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    return rota_algo_spread_out.build(topo, params, s);
}

const rota_algo rota_algo_consensus = {
    .name = "consensus",
    .summary = "few partners, found by non-blocking consensus",
    .source = "[Hoefler10]",
    .sizes = ROTA_SIZES_STATED,
    .build = build,
};
