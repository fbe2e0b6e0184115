/* bruck_modified.c - the uniform exchange in radix 2, rotated only at first.
 *
 * Blocks are copied to scratch in the order of their indices. Data then travel
 * downwards, so that after the last round every block is in its place.
 * Cost per rank: ceil(log2 P) messages in as many phases; a block is sent as
 * often as its index has nonzero bits, after one copy. Scratch: P - 1 blocks;
 * by datatype also those that a phase receives. Parameters: packing.
 * Source: [Fan22] section 2.
 */
#include "algos/log.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_log_form form = {.radix = 2, .copy_in = true, .padded = true};

    (void)topo;
    (void)params;
    return rota_build_log(s, &form);
}

const rota_algo rota_algo_bruck_modified = {
    .name = "bruck_modified",
    .summary = "uniform: logarithmic, rotated at first only",
    .source = "[Fan22] section 2",
    .params = ROTA_P_PACKING,
    .sizes = ROTA_SIZES_PADDED,
    .uniform = true,
    .build = build,
};
