/* mpi.c - the MPI library's own MPI_Alltoallv, as a plan like any other.
 *
 * Cost: the MPI library's. Scratch: none of ours. Parameters: none.
 */
#include "algos/algo.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    (void)params;
    rota_native_begin(s, ROTA_NATIVE_ALLTOALLV);
    for (int q = 0; q < s->P; q++) {
        rota_emit_recv(s, q, rota_dst(s, q));
        rota_emit_send(s, q, rota_src(s, q));
    }
    return rota_sched_end(s);
}

const rota_algo rota_algo_mpi = {
    .name = "mpi",
    .summary = "the MPI library's own MPI_Ialltoallv",
    .source = "MPI library",
    .sizes = ROTA_SIZES_STATED,
    .native = true,
    .build = build,
};
