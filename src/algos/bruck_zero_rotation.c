/* bruck_zero_rotation.c - the uniform exchange with rotated indices, in any
 * radix.
 *
 * No data are rotated, before or after; only the indices of the blocks are. The
 * schedule is that of parlogna. Since all blocks have one size, no size need be
 * learnt.
 * Cost per rank: K <= w(r-1) messages in w = ceil(log_r P) phases; a block is
 * sent as often as its index has nonzero digits. Scratch: as parlogna.
 * Parameters: radix, packing.
 * Source: [Fan22] section 3.2; any radix: [Fan25] reference 13.
 */
#include "algos/log.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_log_form form = {.radix = params->radix, .padded = true};

    (void)topo;
    return rota_build_log(s, &form);
}

const rota_algo rota_algo_bruck_zero_rotation = {
    .name = "bruck_zero_rotation",
    .summary = "uniform: logarithmic in any radix, no data rotated",
    .source = "[Fan22], [Fan25]",
    .params = ROTA_P_RADIX | ROTA_P_PACKING,
    .sizes = ROTA_SIZES_PADDED,
    .uniform = true,
    .build = build,
};
