#include "sim/pulled.h"

#include <math.h>

/* Leaders that are not spread are the first ranks of their node. */
static int leaders_of_first_domain(const sim_case *c, const sim_machine *m,
                                   int Q, int leaders)
{
    const bool spread = c->form.algo == &rota_algo_nmpml;
    const int domain = (Q + m->net.domains - 1) / m->net.domains;

    if (spread)
        return (leaders + m->net.domains - 1) / m->net.domains;
    return leaders < domain ? leaders : domain;
}

/* Nodes at offsets l, l + leaders and so on, of leader 0 from leaders on. */
static int served_by(int n_nodes, int leaders, int l)
{
    const int first = l > 0 ? l : leaders;

    return first < n_nodes ? (n_nodes - 1 - first) / leaders + 1 : 0;
}

static int most_served(int n_nodes, int leaders)
{
    return served_by(n_nodes, leaders, leaders > 1 ? 1 : 0);
}

static rota_machine between_nodes(const rota_machine *prices)
{
    rota_machine k = *prices;

    for (int term = 0; term < rota_term(ROTA_LINK_NET, ROTA_PER_PHASE); term++)
        k.ns[term] = 0;
    k.ns[ROTA_TERM_COPIED_BLOCK] = 0;
    k.ns[ROTA_TERM_COPIED_BYTE] = 0;
    return k;
}

sim_pulled sim_pulled_price(const sim_case *c, const sim_machine *m,
                            double mean)
{
    const double *const ns = m->prices.ns;
    const int Q = c->node > 0 && c->node < c->P ? c->node : c->P;
    const int N = (c->P + Q - 1) / Q;
    const int asked = c->hints.params.leaders > 0 ? c->hints.params.leaders : 1;
    const int leaders = asked < Q ? asked : Q;
    const double matrix = (double)Q * Q * mean;
    const double served = most_served(N, leaders);
    const double copy = matrix * ns[ROTA_TERM_COPIED_BYTE] +
                        Q * Q * ns[ROTA_TERM_COPIED_BLOCK],
                 moved = matrix * ns[rota_term(ROTA_LINK_P2P, ROTA_PER_BYTE)],
                 barrier = ceil(log2(Q)) *
                           ns[rota_term(ROTA_LINK_DOMAIN, ROTA_PER_PHASE)];
    sim_pulled k = {.between = between_nodes(&m->prices),
                    .before = 2 * barrier};
    double all = 0;

    for (int l = 0; l < leaders_of_first_domain(c, m, Q, leaders); l++)
        all += served_by(N, leaders, l);
    if (c->form.overlapped) {
        /* Gathered once; what comes is transposed, too. The own node's before. */
        k.before += 2 * rota_larger(copy, moved);
        k.beside = rota_larger(3 * served * copy, 2 * all * moved);
        return k;
    }
    k.before += 2 * rota_larger(2 * (served + 1) * copy, (all + 1) * moved);
    return k;
}
