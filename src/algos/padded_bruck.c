/* padded_bruck.c - pads every block to the largest, then runs the uniform form.
 *
 * No sizes travel: every temporary block is as long as the largest block of all
 * ranks (where counts vary: as max_block). The first copy adds the padding, the
 * last one leaves it behind.
 * Cost per rank: ceil(log2 P) messages in as many phases; a block is sent as
 * often as its index has nonzero bits, at the size of the largest. Scratch: P -
 * 1 blocks of that size. Parameters: none.
 * Source: [Fan22] section 3.1.
 */
#include "algos/log.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_log_form form = {
        .radix = 2, .copy_in = true, .copy_out = true, .padded = true};

    (void)topo;
    (void)params;
    return rota_build_log(s, &form);
}

const rota_algo rota_algo_padded_bruck = {
    .name = "padded_bruck",
    .summary = "blocks padded to the largest, then logarithmic",
    .source = "[Fan22] section 3.1",
    .sizes = ROTA_SIZES_PADDED,
    .build = build,
};
