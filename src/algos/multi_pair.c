/* multi_pair.c - spread-out with a bounded number of messages in flight.
 *
 * When one message completes, the next is posted. So one slow peer does not
 * hold up the others, as it does in a batch.
 * Cost per rank: P-1 messages in one phase; each byte crosses the network once.
 * Scratch: none. Parameters: batch, the messages in flight in each direction
 * ([Nam25] uses 5).
 * Source: [Nam25] section 3, multi-pair non-blocking.
 */
#include "algos/step.h"

/* No window deadlocks. Take a message of the lowest step among those that are
 * not complete: both its ends have completed all lower steps, so both post it
 * next. */
static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    /* A window that never fills is as good as none, which is cheaper to run. */
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
