/* serial.c - PageRank by one process, edge by edge; see solve.h. */
#include "must.h"
#include "solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* sum := what comes along the edges; returns what finds no target. */
static double follow(const graph *g, const uint32_t *outdegree, const double *x,
                     double *sum)
{
    double stuck = 0;

    memset(sum, 0, g->n_vertices * sizeof sum[0]);
    for (size_t e = 0; e < g->edges.n; e++) {
        const uint32_t u = pair_first(g->edges.at[e]);

        sum[pair_second(g->edges.at[e])] += x[u] / outdegree[u];
    }
    for (uint32_t v = 0; v < g->n_vertices; v++)
        if (outdegree[v] == 0)
            stuck += x[v];
    return stuck;
}

void solve_serial(const graph *g, const solve_options *o, uint64_t i, double *x)
{
    const size_t n = g->n_vertices;
    const uint64_t begin = solve_begin(i, n);
    uint32_t *outdegree = must_realloc(NULL, n, sizeof outdegree[0]);
    double *sum = must_realloc(NULL, n, sizeof sum[0]), change;

    memset(outdegree, 0, n * sizeof outdegree[0]);
    for (size_t e = 0; e < g->edges.n; e++)
        outdegree[pair_first(g->edges.at[e])]++;
    for (size_t v = 0; v < n; v++)
        x[v] = solve_weight(begin, v, n);
    do {
        const double stuck = follow(g, outdegree, x, sum);

        change = 0;
        for (size_t v = 0; v < n; v++) {
            const double t = solve_weight(begin, v, n);
            const double y =
                o->damping * (sum[v] + stuck * t) + (1 - o->damping) * t;

            change += fabs(y - x[v]);
            x[v] = y;
        }
    } while (change > o->tolerance);
    free(outdegree);
    free(sum);
}
