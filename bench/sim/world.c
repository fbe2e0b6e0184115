#include "sim/world.h"

#include <stdlib.h>
#include <string.h>

static void try(int err)
{
    if (err != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
}

static void make_neighbors(const neighborhood *all, int r, rota_neighbors *n)
{
    const int S = neighborhood_degree(all, 0, r);
    const int R = neighborhood_degree(all, 1, r);

    try(rota_neighbors_alloc(n, S, R));
    for (int i = 0; i < S; i++)
        n->to[i] = all->peer[0][all->first[0][r] + (size_t)i];
    for (int i = 0; i < R; i++)
        n->from[i] = all->peer[1][all->first[1][r] + (size_t)i];
    try(rota_neighbors_close(n, r));
}

static void gather_node(const sim_world *w, const rota_topo *t, int node,
                        bool sent, rota_crosses *c)
{
    const neighborhood *const all = w->among;
    const int side = sent ? 0 : 1, Q = rota_topo_node_size(t, node);
    size_t most = 1;

    for (int g = 0; g < Q; g++)
        most += (size_t)neighborhood_degree(all, side,
                                            t->ranks[t->first[node] + g]);
    c->edge = inside_must(malloc(most * sizeof *c->edge));
    for (int g = 0; g < Q; g++) {
        const int r = t->ranks[t->first[node] + g];
        c->n += rota_cross_list(&w->of[r], t, r, sent,
                                all->bytes[side] + all->first[side][r],
                                c->edge + c->n);
    }
    try(rota_crosses_close(c, t, node, sent));
}

void sim_world_make(sim_world *w, const neighborhood *among,
                    const rota_topo *topo)
{
    *w = (sim_world){.among = among, .P = topo->P, .n_nodes = topo->n_nodes};
    w->of = inside_must(calloc((size_t)w->P, sizeof *w->of));
    w->crossing = inside_must(calloc((size_t)w->n_nodes, sizeof *w->crossing));
    for (int r = 0; r < w->P; r++)
        make_neighbors(among, r, &w->of[r]);
    for (int n = 0; n < w->n_nodes; n++) {
        gather_node(w, topo, n, true, &w->crossing[n].out);
        gather_node(w, topo, n, false, &w->crossing[n].in);
    }
}

void sim_world_free(sim_world *w)
{
    for (int r = 0; r < w->P; r++)
        rota_neighbors_free(&w->of[r]);
    for (int n = 0; n < w->n_nodes; n++)
        rota_crossing_free(&w->crossing[n]);
    free(w->of);
    free(w->crossing);
    *w = (sim_world){0};
}
