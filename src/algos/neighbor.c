/* neighbor.c - every block straight to its neighbour, all at once.
 *
 * Cost per rank: a message for each block sent and each received, in one phase;
 * each byte crosses the network once. Scratch: none. Parameters: none.
 *
 * Sends are posted in list order. Receives are posted in the order in which
 * their senders post them, so that several blocks from one rank to another each
 * match the right receive.
 */
#include "algos/step.h"

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    (void)topo;
    (void)params;
    rota_phase_begin(s, 0);
    rota_emit_self(s);
    for (int i = 0; i < s->n_recv; i++) {
        const int block = rota_neighbors_turn(s->neighbors, i);
        const int from = rota_from(s, block);
        if (from != s->me && from != ROTA_NOBODY)
            rota_emit_recv(s, from, rota_dst(s, block));
    }
    for (int i = 0; i < s->n_send; i++) {
        const int to = rota_to(s, i);
        if (to != s->me && to != ROTA_NOBODY)
            rota_emit_send(s, to, rota_src(s, i));
    }
    return rota_sched_end(s);
}

const rota_algo rota_algo_neighbor = {
    .name = "neighbor",
    .summary = "neighbours: a message a block, all at once",
    .source = "MPI: The Message-Passing Interface Standard 4.0, section 8.6",
    .sizes = ROTA_SIZES_STATED,
    .neighbors = true,
    .build = build,
};
