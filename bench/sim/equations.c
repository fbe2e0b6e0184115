#include "sim/equations.h"

#include <math.h>
#include <string.h>

typedef struct terms {
    double L, o, g, G;   /* between nodes */
    double copy, memory; /* a byte within a node, alone and of all together */
    double P, M, ppn, ln, n1, sz;
} terms;

static double at(const sim_machine *m, rota_link link, rota_per_link what)
{
    return m->prices.ns[rota_term(link, what)];
}

static terms terms_of(const sim_case *c, const sim_machine *m, double sz)
{
    const int node = c->node > 0 && c->node < c->P ? c->node : c->P;
    const int leaders =
        c->hints.params.leaders > 0 ? c->hints.params.leaders : 4;

    return (terms){.L = at(m, ROTA_LINK_NET, ROTA_PER_PHASE),
                   .o = m->prices.ns[ROTA_TERM_POSTED],
                   .g = at(m, ROTA_LINK_NET, ROTA_PER_MESSAGE),
                   .G = at(m, ROTA_LINK_NET, ROTA_PER_BYTE),
                   .copy = m->prices.ns[ROTA_TERM_COPIED_BYTE],
                   .memory = at(m, ROTA_LINK_P2P, ROTA_PER_BYTE),
                   .P = c->P,
                   .M = ceil((double)c->P / node),
                   .ppn = node,
                   .ln = leaders < node ? leaders : node,
                   .n1 = (double)node / m->net.domains,
                   .sz = sz};
}

/* A copies at once: A||T(bytes). */
static double copies(const terms *t, double A, double bytes)
{
    return t->g + bytes * rota_larger(t->copy, A * t->memory);
}

static double padded(const terms *t, double N)
{
    const double rounds = ceil(log2(t->P)), alpha = t->L + t->o + t->g;

    return alpha * rounds + t->G * rounds * (t->P + 1) / 2 * N;
}

static double two_phase(const terms *t, double N)
{
    const double rounds = ceil(log2(t->P)), alpha = t->L + t->o + t->g;
    const double blocks = rounds * (t->P + 1) / 2;

    return 2 * alpha * rounds + 4 * t->G * blocks + N / 2 * t->G * blocks;
}

static double direct(const terms *t)
{
    return t->ppn * (t->P - t->ppn) * (t->L + t->G * t->sz) +
           t->P * (t->o + t->g);
}

static double between(const terms *t, double leaders)
{
    const double matrix = t->sz * t->ppn * t->ppn;

    return (t->M - 1) *
           (t->L + t->o / leaders + (matrix - 1) * t->G + t->g / leaders);
}

/* Equations 7 to 9, which differ in how many copies go on at once. */
static double led(const terms *t, double leaders, double at_once)
{
    const double shares = t->M / leaders;

    return 2 * shares * copies(t, at_once, t->sz * t->ppn) +
           shares * t->copy * t->sz * t->ppn * t->ppn + between(t, leaders);
}

static double overlapped(const terms *t)
{
    const double shares = t->M / t->ln;
    const double transpose = t->copy * t->sz * t->ppn * t->ppn;
    const double start =
        copies(t, t->ppn + (t->ln - 1) * t->n1, t->sz * t->ppn);

    return start +
           rota_larger(between(t, t->ln),
                       (2 * shares - 1) * start + (shares - 1) * transpose) +
           start + transpose;
}

static bool is(const sim_case *c, const char *name)
{
    return c->form.name ? strcmp(c->form.name, name) == 0
                        : strcmp(c->form.algo->name, name) == 0;
}

double sim_equation(const sim_case *c, const sim_machine *m, double mean,
                    int *number)
{
    const terms t = terms_of(c, m, mean);
    const double N = (double)c->largest;

    *number = 0;
    if (is(c, "padded_bruck") || is(c, "padded_bruck_published"))
        return *number = 1, padded(&t, N) / 1e3;
    if (is(c, "two_phase_bruck") ||
        (is(c, "parlogna_published") && c->hints.params.radix == 2))
        return *number = 2, two_phase(&t, N) / 1e3;
    if (is(c, "pairwise") || is(c, "mpich_scattered"))
        return *number = 6, direct(&t) / 1e3;
    if (is(c, "l_a2a_published"))
        return *number = 7, led(&t, 1, t.ppn) / 1e3;
    if (is(c, "mpml_published"))
        return *number = 8, led(&t, t.ln, t.ppn * t.ln) / 1e3;
    if (is(c, "nmpml_published"))
        return *number = 9, led(&t, t.ln, t.ppn + (t.ln - 1) * t.n1) / 1e3;
    if (is(c, "onmpml_published"))
        return *number = 10, overlapped(&t) / 1e3;
    return -1;
}

bool sim_padding_pays(const sim_machine *m, int P, double largest)
{
    const double alpha = at(m, ROTA_LINK_NET, ROTA_PER_PHASE) +
                         m->prices.ns[ROTA_TERM_POSTED] +
                         at(m, ROTA_LINK_NET, ROTA_PER_MESSAGE);

    return (largest - 8) * (P + 1) * at(m, ROTA_LINK_NET, ROTA_PER_BYTE) <
           4 * alpha;
}
