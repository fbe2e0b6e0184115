/* scattered.c - spread-out in batches.
 *
 * A batch of steps completes before the next one begins, which bounds the
 * messages in flight. Also known as multi-pair blocking, or Waitall stride.
 * Cost per rank: P-1 messages in ceil((P-1)/batch) phases; each byte crosses
 * the network once. Scratch: none. Parameters: batch.
 * Source: [Nam25] section 3; after MPICH, whose own form is mpich_scattered.c.
 */
#include "algos/step.h"

/* A batch is a range of steps, the same on all ranks, even if blocks are empty.
 * If ranks waited for a number of messages instead, they could deadlock. */
static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    for (int first = 1; first < s->P || first == 1; first += params->batch) {
        rota_phase_begin(s, 0);
        if (first == 1)
            rota_emit_self(s);
        for (int i = first; i < s->P && i - first < params->batch; i++)
            rota_emit_step(s, i);
    }
    return rota_sched_end(s);
}

const rota_algo rota_algo_scattered = {
    .name = "scattered",
    .summary = "batches of steps, each complete before the next begins",
    .source = "[Nam25] multi-pair blocking, after MPICH",
    .params = ROTA_P_BATCH,
    .sizes = ROTA_SIZES_STATED,
    .build = build,
};
