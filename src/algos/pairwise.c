/* pairwise.c - one step at a time: send to p+i, receive from p-i.
 *
 * Cost per rank: P-1 messages in P-1 phases; each byte crosses the network
 * once. Scratch: none. Parameters: none.
 * Source: [Nam25] algorithm 1; Open MPI, ompi/mca/coll/base/
 * coll_base_alltoallv.c, pairwise.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    (void)params;
    rota_phase_begin(s, 0);
    rota_emit_self(s);
    for (int i = 1; i < s->P; i++) {
        if (i > 1)
            rota_phase_begin(s, 0);
        rota_emit_step(s, i);
    }
    return rota_sched_end(s);
}

const rota_algo rota_algo_pairwise = {
    .name = "pairwise",
    .summary = "one step at a time: to p+i, from p-i",
    .source = "[Nam25] algorithm 1; Open MPI, coll_base_alltoallv.c, pairwise",
    .sizes = ROTA_SIZES_STATED,
    .build = build,
};
