/* mpi.c - the MPI library's own alltoallv, as a plan like any other.
 *
 * Cost: the MPI library's. Scratch: none of ours. Parameters: none.
 */
#include "algos/algo.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    (void)params;
    rota_emit_native(s);
    return rota_sched_status(s);
}

const rota_algo rota_algo_mpi = {
    .name = "mpi",
    .summary = "the MPI library's own MPI_Ialltoallv",
    .source = "MPI library",
    .direct = true,
    .native = true,
    .build = build,
};
