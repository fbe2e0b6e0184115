/* parlogna.c - logarithmic exchange in any radix, without rotation.
 *
 * At rank p, a slot has the index i = (slot - p) mod P. A block's index says
 * how far it must move down; its digits in radix r are moved one after the
 * other. For digit x, every block whose digit is z > 0 moves from p to
 * p - z r^x. A block whose lower digits are all zero makes its first hop, from
 * the send buffer. One whose higher digits are all zero makes its last, into
 * the receive buffer, where index i means: from rank p + i. All others rest in
 * scratch, in one slot for each index with more than one nonzero digit:
 * B = P - (K+1) slots. They are not all there at once: in a plan for fixed
 * counts and blocks of one size, scratch is the largest of
 * P + 1 - r^x - ceil(P / r^x) blocks, 0 < x < w.
 *
 * The messages of one digit move disjoint sets of blocks and share a phase.
 * Cost per rank: K <= w(r-1) messages in w = ceil(log_r P) phases; a block is
 * sent as often as its index has nonzero digits. Parameters: radix; with r >= P
 * every block makes one hop.
 * Source: [Fan25] algorithm 1, with line 15's test corrected.
 */
#include "algos/log.h"

/* The scratch slot of index i. Indices with a single nonzero digit need no slot
 * and are not counted. Below i there are r-1 of them for each lower position,
 * and i / r^x for i's own highest position x. */
static uint32_t slot_of(int i, int r)
{
    int power = 1, position = 0;

    for (; i / power >= r; power *= r)
        position++;
    return (uint32_t)(i - 1 - position * (r - 1) - i / power);
}

/* Where block k of index i rests after its next hop. */
static rota_block next_tmp(rota_sched *s, const rota_log_form *form,
                           const rota_log_group *g, int i, uint32_t k)
{
    const bool all = form->copy_in || form->copy_out;
    const uint32_t slot = all ? (uint32_t)(i - 1) : slot_of(i, form->radix);

    return rota_tmp_marked(s, g->first_slot + slot * g->width + k,
                           form->padded ? ROTA_TMP_PADDED : 0);
}

static int rank_of(const rota_log_group *g, int member)
{
    return g->rank ? g->rank[member * g->stride] : member;
}

/* The number of blocks bound for the member `distance` places down. */
static uint32_t depth_below(const rota_log_group *g, int64_t distance)
{
    return g->depth ? g->depth[(g->me + g->n - distance) % g->n] : g->width;
}

/* Send the blocks of index i and receive others of that index. The digits below
 * power have moved before this round, those below above after it. */
static void emit_index(rota_sched *s, const rota_log_form *form,
                       const rota_log_group *g, int i, int64_t power,
                       int64_t above)
{
    const uint32_t out = depth_below(g, i - i % power);
    const uint32_t in = depth_below(g, i - i % above);
    const bool last = i < above && !form->copy_out;
    rota_block *const at = &g->at[(uint32_t)i * g->width];

    for (uint32_t k = 0; k < out; k++)
        rota_emit_block(s, ROTA_SEND, at[k]);
    for (uint32_t k = 0; k < in; k++) {
        at[k] = last ? g->land[(uint32_t)i * g->width + k]
                     : next_tmp(s, form, g, i, k);
        rota_emit_block(s, ROTA_RECV, at[k]);
    }
}

/* Move all blocks with digit z at the position of weight power = r^x. */
static void emit_round(rota_sched *s, const rota_log_form *form,
                       const rota_log_group *g, int64_t power, int z)
{
    const int n = g->n, distance = (int)(z * power);
    const int64_t above = power * form->radix;

    rota_emit_msg(s, ROTA_RECV, rank_of(g, (g->me + distance) % n));
    rota_emit_msg(s, ROTA_SEND, rank_of(g, (g->me + n - distance) % n));
    for (int64_t run = distance; run < n; run += above)
        for (int64_t i = run; i < run + power && i < n; i++)
            emit_index(s, form, g, (int)i, power, above);
}

void rota_emit_log(rota_sched *s, const rota_log_form *form,
                   const rota_log_group *g)
{
    const int r = form->radix;

    for (int64_t power = 1; power < g->n; power *= r) {
        for (int z = 1; z < r && z * power < g->n; z++) {
            if (z == 1 ? power > 1 : form->in_turn)
                rota_phase_begin(s, 0);
            emit_round(s, form, g, power, z);
        }
    }
}

/* Copy the rank's own block, and all others to scratch if the form wants
 * that. */
static void begin(rota_sched *s, const rota_log_form *form,
                  const rota_log_group *g)
{
    const int P = s->P;

    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
    for (int i = 1; i < P; i++) {
        const rota_block src = rota_src(s, (s->me + P - i) % P);
        g->at[i] = src;
        g->land[i] = rota_dst(s, (s->me + i) % P);
        if (!form->copy_in)
            continue;
        g->at[i] = next_tmp(s, form, g, i, 0);
        rota_emit_copy(s, src, g->at[i]);
    }
    if (form->copy_in && P > 1)
        rota_phase_begin(s, 0);
}

int rota_build_log(rota_sched *s, const rota_log_form *form)
{
    const int P = s->P;
    rota_block *const pad = rota_sched_scratchpad(s, 2 * (size_t)P);
    const rota_log_group all = {
        .n = P, .me = s->me, .width = 1, .at = pad, .land = pad + P};

    if (!pad)
        return rota_sched_end(s);
    begin(s, form, &all);
    rota_emit_log(s, form, &all);
    if (form->copy_out)
        rota_phase_begin(s, 0);
    for (int i = 1; i < P && form->copy_out; i++)
        rota_emit_copy(s, all.at[i], all.land[i]);
    return rota_sched_end(s);
}

int rota_build_log2(const rota_topo *topo, const rota_params *params,
                    rota_sched *s)
{
    const rota_log_form form = {.radix = 2};

    (void)topo;
    (void)params;
    return rota_build_log(s, &form);
}

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_log_form form = {.radix = params->radix};

    (void)topo;
    return rota_build_log(s, &form);
}

const rota_algo rota_algo_parlogna = {
    .name = "parlogna",
    .summary = "logarithmic in any radix",
    .source = "[Fan25] algorithm 1",
    .params = ROTA_P_RADIX | ROTA_P_PACKING,
    .build = build,
};
