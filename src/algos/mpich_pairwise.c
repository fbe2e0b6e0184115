/* mpich_pairwise.c - MPICH's MPI_Alltoallv in place: one exchange at a time,
 * with peers in ascending order of rank.
 *
 * All ranks run through the pairs in one order, (0,1), (0,2), ..., (1,2), ...,
 * and each takes part in its own. So a rank begins with rank 1 only after rank
 * 1 is done with rank 0.
 * Cost per rank: P-1 messages in P-1 phases; each byte crosses the network
 * once. Scratch: none. Parameters: none.
 * Source: MPICH 4, src/mpi/coll/alltoallv/
 * alltoallv_intra_pairwise_sendrecv_replace.c.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    (void)params;
    rota_phase_begin(s, 0);
    rota_emit_self(s);
    for (int peer = 0; peer < s->P; peer++) {
        if (peer == s->me)
            continue;
        rota_phase_begin(s, 0);
        rota_emit_recv(s, peer, rota_dst(s, peer));
        rota_emit_send(s, peer, rota_src(s, peer));
    }
    return rota_sched_end(s);
}

const rota_algo rota_algo_mpich_pairwise = {
    .name = "mpich_pairwise",
    .summary = "MPICH's own alltoallv in place: peer by peer, ascending",
    .source = "MPICH 4, alltoallv_intra_pairwise_sendrecv_replace.c",
    .sizes = ROTA_SIZES_STATED,
    .build = build,
};
