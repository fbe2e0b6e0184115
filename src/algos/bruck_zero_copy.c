/* bruck_zero_copy.c - the uniform exchange in radix 2 without copies.
 *
 * Data travel downwards as in bruck_modified. A block with b bits still to move
 * is received into its place in the receive buffer if b is odd, and into
 * scratch if b is even. So it never leaves and enters one place in the same
 * round, and its last hop ends in the receive buffer. Its first hop leaves from
 * the send buffer. MPI gathers and scatters the blocks of a message by a
 * datatype.
 * Cost per rank: ceil(log2 P) messages in as many phases; a block is sent as
 * often as its index has nonzero bits; only the rank's own block is copied.
 * Scratch: a block for every index with more than one bit. Parameters: none.
 * Source: [Fan22] section 2.2, with its parity reversed.
 */
#include "algos/algo.h"

static int bits_from(int i, int bit)
{
    int n = 0;

    for (; bit <= i; bit *= 2)
        n += (i & bit) != 0;
    return n;
}

/* Where the block of index i lands in the round of bit. */
static rota_block landing(rota_sched *s, int i, int bit)
{
    const int origin = (s->me + i) % s->P, left = bits_from(i, bit);

    if (left == 1)
        return rota_dst(s, origin);
    return left % 2 ? rota_tmp_marked(s, (uint32_t)origin,
                                      ROTA_TMP_IN_DST | ROTA_TMP_PADDED)
                    : rota_tmp_marked(s, (uint32_t)(i - 1), ROTA_TMP_PADDED);
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
    for (int i = 1; i < P; i++)
        at[i] = rota_src(s, (me + P - i) % P);
    for (int bit = 1; bit < P; bit *= 2) {
        if (bit > 1)
            rota_phase_begin(s, 0);
        rota_emit_msg(s, ROTA_RECV, (me + bit) % P);
        rota_emit_msg(s, ROTA_SEND, (me + P - bit) % P);
        for (int i = bit; i < P; i++) {
            if (!(i & bit))
                continue;
            rota_emit_block(s, ROTA_SEND, at[i]);
            at[i] = landing(s, i, bit);
            rota_emit_block(s, ROTA_RECV, at[i]);
        }
    }
    return rota_sched_end(s);
}

const rota_algo rota_algo_bruck_zero_copy = {
    .name = "bruck_zero_copy",
    .summary = "uniform: logarithmic, receive buffer and scratch in turn",
    .source = "[Fan22] section 2.2",
    .sizes = ROTA_SIZES_PADDED,
    .uniform = true,
    .by_datatype = true,
    .build = build,
};
