/* sloav.c - the logarithmic exchange in radix 2, one combined buffer a round.
 *
 * The sizes of a round's blocks travel in the same buffer as the blocks; a
 * message with the length of that buffer goes first. Only where counts vary: a
 * plan for fixed counts learns sizes once and is then parlogna in radix 2,
 * unless rota_metadata asks for the published form.
 * Cost per rank: 2 ceil(log2 P) messages in ceil(log2 P) phases; a block is
 * sent as often as its index has nonzero bits. Scratch: P - ceil(log2 P) - 1
 * blocks. Parameters: none.
 * Source: [Fan22] section 6.1.
 */
#include "algos/log.h"

const rota_algo rota_algo_sloav = {
    .name = "sloav",
    .summary = "logarithmic in radix 2, sizes and blocks in one buffer",
    .source = "[Fan22] section 6.1",
    .metadata = ROTA_META_COMBINED,
    .build = rota_build_log2,
};
