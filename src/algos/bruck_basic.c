/* bruck_basic.c - the uniform exchange in radix 2, rotated before and after.
 *
 * Blocks are copied to scratch so that slot i holds the block for rank p + i.
 * In round k, every slot whose number has bit k set moves 2^k ranks up, into
 * the same slot there. At the end slot i holds the block from rank p - i, which
 * is copied to its place.
 * Cost per rank: ceil(log2 P) messages in as many phases; a block is sent as
 * often as its index has nonzero bits, after one copy and before another.
 * Scratch: P - 1 blocks; by datatype also those that a phase receives.
 * Parameters: packing.
 * Source: [Bruck97]; [Fan22] section 2.1.
 */
#include "algos/log.h"

static rota_block rest(rota_sched *s, int i)
{
    return rota_tmp_marked(s, (uint32_t)(i - 1), ROTA_TMP_PADDED);
}

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const int P = s->P, me = s->me;
    rota_block *const at = rota_sched_scratchpad(s, (size_t)P);

    (void)topo;
    (void)params;
    if (!at)
        return rota_sched_end(s);
    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, me), rota_dst(s, me));
    for (int i = 1; i < P; i++) {
        const rota_block src = rota_src(s, (me + i) % P);
        at[i] = rest(s, i);
        rota_emit_copy(s, src, at[i]);
    }
    for (int bit = 1; bit < P; bit *= 2) {
        rota_phase_begin(s, 0);
        rota_emit_msg(s, ROTA_SEND, (me + bit) % P);
        rota_emit_msg(s, ROTA_RECV, (me + P - bit) % P);
        for (int i = bit; i < P; i++) {
            if (!(i & bit))
                continue;
            rota_emit_block(s, ROTA_SEND, at[i]);
            at[i] = rest(s, i);
            rota_emit_block(s, ROTA_RECV, at[i]);
        }
    }
    rota_phase_begin(s, 0);
    for (int i = 1; i < P; i++)
        rota_emit_copy(s, at[i], rota_dst(s, (me + P - i) % P));
    return rota_sched_end(s);
}

const rota_algo rota_algo_bruck_basic = {
    .name = "bruck_basic",
    .summary = "uniform: logarithmic, rotated before and after",
    .source = "[Fan22] section 2.1",
    .params = ROTA_P_PACKING,
    .sizes = ROTA_SIZES_PADDED,
    .uniform = true,
    .build = build,
};
