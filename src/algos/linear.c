/* linear.c - everything at once, peers in ascending order of rank.
 *
 * All ranks address rank 0 first, then rank 1, and so on: the order that
 * spread_out avoids. A baseline to compare others with.
 * Cost per rank: P-1 messages in one phase; each byte crosses the network once.
 * Scratch: none. Parameters: none.
 * Source: Open MPI, ompi/mca/coll/base/coll_base_alltoallv.c, basic_linear.
 */
#include "algos/algo.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    (void)params;
    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
    for (int peer = 0; peer < s->P; peer++) {
        if (peer == s->me)
            continue;
        rota_emit_recv(s, peer, rota_dst(s, peer));
        rota_emit_send(s, peer, rota_src(s, peer));
    }
    return rota_sched_end(s);
}

const rota_algo rota_algo_linear = {
    .name = "linear",
    .summary = "all messages at once, peers by ascending rank",
    .source = "Open MPI, coll_base_alltoallv.c, basic_linear",
    .sizes = ROTA_SIZES_STATED,
    .build = build,
};
