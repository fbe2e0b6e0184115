/* mpich_scattered.c - MPICH's MPI_Alltoallv.
 *
 * As scattered.c, with two differences: step i sends to p - i and receives from
 * p + i, and the rank's own block is step 0 of the first batch, which therefore
 * has one message less.
 * Cost per rank: P-1 messages in ceil(P / batch) phases; each byte crosses the
 * network once. Scratch: none. Parameters: batch; MPICH's is
 * MPIR_CVAR_ALLTOALL_THROTTLE, 32 by default.
 * Source: MPICH 4, src/mpi/coll/alltoallv/alltoallv_intra_scattered.c.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const int P = s->P, me = s->me;

    (void)topo;
    for (int i = 0; i < P; i++) {
        if (i % params->batch == 0)
            rota_phase_begin(s, 0);
        if (i == 0) {
            rota_emit_self(s);
            continue;
        }
        const int src = (me + i) % P, dst = (me + P - i) % P;
        rota_emit_recv(s, src, rota_dst(s, src));
        rota_emit_send(s, dst, rota_src(s, dst));
    }
    return rota_sched_end(s);
}

const rota_algo rota_algo_mpich_scattered = {
    .name = "mpich_scattered",
    .summary = "MPICH's own alltoallv: batches that begin with the own block",
    .source = "MPICH 4, alltoallv_intra_scattered.c",
    .params = ROTA_P_BATCH,
    .sizes = ROTA_SIZES_STATED,
    .build = build,
};
