/* padded_alltoall.c - pads every block to the largest and calls MPI_Alltoall,
 * which, unlike MPI_Alltoallv, has algorithms for small blocks.
 *
 * Cost per rank: two copies of the data, and the MPI library's cost for P
 * blocks of the largest size (where counts vary: of max_block). Scratch: 2 P
 * blocks of that size. Parameters: none.
 * Source: [Fan22] section 4.1.
 */
#include "algos/algo.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const uint32_t P = (uint32_t)s->P;
    rota_block *const at = rota_sched_scratchpad(s, P);

    (void)topo;
    (void)params;
    if (!at)
        return rota_sched_end(s);
    rota_phase_begin(s, 0);
    for (uint32_t q = 0; q < P; q++) {
        at[q] = rota_tmp_marked(s, q, ROTA_TMP_PADDED);
        rota_emit_copy(s, rota_src(s, (int)q), at[q]);
    }
    rota_native_begin(s, ROTA_NATIVE_ALLTOALL);
    for (uint32_t q = 0; q < P; q++) {
        rota_emit_send(s, (int)q, at[q]);
        at[q] = rota_tmp_marked(s, P + q, ROTA_TMP_PADDED);
        rota_emit_recv(s, (int)q, at[q]);
    }
    rota_phase_begin(s, 0);
    for (uint32_t q = 0; q < P; q++)
        rota_emit_copy(s, at[q], rota_dst(s, (int)q));
    return rota_sched_end(s);
}

const rota_algo rota_algo_padded_alltoall = {
    .name = "padded_alltoall",
    .summary = "blocks padded to the largest, then the MPI library's alltoall",
    .source = "[Fan22] section 4.1",
    .sizes = ROTA_SIZES_PADDED,
    .native = true,
    .build = build,
};
