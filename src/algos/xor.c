/* xor.c - pairwise exchange with peer p XOR i.
 *
 * In step i both ranks of a pair exchange their blocks. i runs to the next
 * power of two; if P is no power of two, a rank sits out the steps that have no
 * peer.
 * Cost per rank: P-1 messages in P-1 phases; each byte crosses the network
 * once. Scratch: none. Parameters: none.
 * Source: [Fan25] section 5.3.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    int end = 1; /* smallest power of two >= P */

    (void)topo;
    (void)params;
    while (end < s->P)
        end *= 2;
    rota_phase_begin(s, 0);
    rota_emit_self(s);
    for (int i = 1; i < end; i++) {
        const int peer = s->me ^ i;
        if (peer >= s->P)
            continue;
        rota_phase_begin(s, 0);
        rota_emit_recv(s, peer, rota_dst(s, peer));
        rota_emit_send(s, peer, rota_src(s, peer));
    }
    return rota_sched_end(s);
}

const rota_algo rota_algo_xor = {
    .name = "xor",
    .summary = "one step at a time: both ways with peer p XOR i",
    .source = "[Fan25] section 5.3",
    .sizes = ROTA_SIZES_STATED,
    .build = build,
};
