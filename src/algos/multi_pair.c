/* multi_pair.c - spread-out with a bounded number of messages in flight.
 *
 * As one message completes the next is posted, so one slow peer does not hold
 * the others up as it does in a batch.
 * Cost per rank: P-1 messages in one phase; each byte crosses the network
 * once. Scratch: none. Parameters: batch, the messages in flight in each
 * direction ([Nam25] uses 5).
 * Source: [Nam25] section 3, multi-pair non-blocking.
 */
#include "algos/step.h"

/* No deadlock at any window: of all messages not complete take one of the
 * lowest step; both its ends have completed all lower steps, so it is the next
 * to be posted on both. */
static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    /* A window that never fills is none, and cheaper to run. */
    (void)topo;
    rota_phase_begin(s, params->batch < s->P - 1 ? params->batch : 0);
    rota_emit_self(s);
    for (int i = 1; i < s->P; i++)
        rota_emit_step(s, i);
    return rota_sched_end(s);
}

const rota_algo rota_algo_multi_pair = {
    .name = "multi_pair",
    .summary = "a bounded number of messages in flight, kept full",
    .source = "[Nam25] multi-pair non-blocking",
    .params = ROTA_P_BATCH,
    .sizes = ROTA_SIZES_STATED,
    .build = build,
};
