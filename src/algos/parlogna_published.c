/* parlogna_published.c - parlogna as its authors run it.
 *
 * Every round is a phase of its own, even those of one digit. At every start,
 * even of a plan for fixed counts, a message of sizes goes before that of
 * blocks. To size its scratch memory, the published form also finds the largest
 * block of all ranks by an MPI_Allreduce in every call. Here the plan knows it;
 * rota-bench and rota-price add the call.
 * Cost per rank: 2 K messages in K phases, with K as for parlogna; bytes and
 * scratch likewise. Parameters: radix.
 * Source: [Fan25] algorithm 1; in radix 2 [Fan22] algorithm 1.
 */
#include "algos/log.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_log_form form = {.radix = params->radix, .in_turn = true};

    (void)topo;
    return rota_build_log(s, &form);
}

const rota_algo rota_algo_parlogna_published = {
    .name = "parlogna_published",
    .summary = "parlogna as published: round by round, sizes at every start",
    .source = "[Fan25] algorithm 1, [Fan22] algorithm 1",
    .params = ROTA_P_RADIX,
    .metadata = ROTA_META_TWO_PHASE,
    .every_start = true,
    .build = build,
};
