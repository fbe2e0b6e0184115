/* two_phase_bruck.c - the logarithmic exchange in radix 2, sizes first.
 *
 * In every round, a message of sizes goes before the message of blocks. Only
 * where counts vary: a plan for fixed counts learns sizes once and is then
 * parlogna in radix 2, unless rota_metadata asks for the published form.
 * Cost per rank: 2 ceil(log2 P) messages in ceil(log2 P) phases; a block is
 * sent as often as its index has nonzero bits. Scratch: P - ceil(log2 P) - 1
 * blocks. Parameters: none.
 * Source: [Fan22] algorithm 1.
 */
#include "algos/log.h"

const rota_algo rota_algo_two_phase_bruck = {
    .name = "two_phase_bruck",
    .summary = "logarithmic in radix 2, a message of sizes in every round",
    .source = "[Fan22] algorithm 1",
    .metadata = ROTA_META_TWO_PHASE,
    .build = rota_build_log2,
};
