/* neighbors.c - prove the schedules among neighbours with rota_sched_check, on
 * graphs and grids of up to 1,024 ranks on nodes of many shapes, and count what
 * they cost.
 *
 *     sim_neighbors [--quick]
 */
#include "algos/algo.h"
#include "base/crossing.h"
#include "check/check.h"
#include "common/pattern.h"
#include "common/quick.h"
#include "common/shapes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
    if (!p) {
        fputs("sim_neighbors: no memory\n", stderr);
        abort();
    }
    return p;
}

static void try(int err)
{
    if (err != MPI_SUCCESS) {
        fprintf(stderr, "sim_neighbors: %s\n", rota_fail_text());
        abort();
    }
}

/* ---- graphs -------------------------------------------------------------- */

typedef enum graph { SPARSE_GRAPH, DENSE, STAR, RING, BOX, N_GRAPHS } graph;

static const char *const graph_name[N_GRAPHS] = {
    "sparse, several edges", "dense", "star", "ring", "27 points"};

/* Edges from p to q, for those that are not grids. */
static int edges(graph g, int P, int p, int q)
{
    const uint64_t h = test_hash((uint64_t)p * 4099 + (uint64_t)q);

    switch (g) {
    case SPARSE_GRAPH:
        return h % (uint64_t)P < 6 ? (int)(1 + h / 7 % 3) : 0;
    case DENSE:
        return h % 3 > 0;
    case STAR:
        return p == 0 || q == P / 2;
    default:
        return 0;
    }
}

static int wrap(int x, int n)
{
    return (x + n) % n;
}

/* The other 26 points around p in a grid of three dimensions, closed. */
static int list_box(int P, int p, int list[])
{
    int size[3] = {1, 1, 1}, n = 0, rest = P;

    for (int d = 0, f = 2; rest > 1; rest /= f, d = (d + 1) % 3) {
        for (f = 2; rest % f != 0;)
            f++;
        size[d] *= f;
    }
    const int x = p % size[0], y = p / size[0] % size[1],
              z = p / size[0] / size[1];
    for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++)
            for (int k = -1; k <= 1; k++)
                if (i || j || k)
                    list[n++] = wrap(x + i, size[0]) +
                                size[0] * (wrap(y + j, size[1]) +
                                           size[1] * wrap(z + k, size[2]));
    return n;
}

static void make_neighbors(graph g, int P, int me, rota_neighbors *n)
{
    int *const to = must(malloc((3 * (size_t)P + 26) * sizeof *to));
    int *const from = must(malloc((3 * (size_t)P + 26) * sizeof *from));
    int S = 0, R = 0;

    if (g == BOX) { /* the opposite direction is the same list backwards */
        S = R = list_box(P, me, to);
        for (int i = 0; i < R; i++)
            from[i] = to[R - 1 - i];
    } else if (g == RING) {
        S = R = 2;
        to[0] = from[0] = wrap(me - 1, P);
        to[1] = from[1] = wrap(me + 1, P);
    }
    for (int k = 0; k < P && g < RING; k++) {
        const int q = wrap(me + k, P), p = wrap(3 * me + 1 + k, P);
        for (int i = edges(g, P, me, q); i > 0; i--)
            to[S++] = q;
        for (int i = edges(g, P, p, me); i > 0; i--)
            from[R++] = p;
    }
    try(rota_neighbors_alloc(n, S, R));
    n->crossed = g == RING;
    memcpy(n->to, to, (size_t)S * sizeof *to);
    memcpy(n->from, from, (size_t)R * sizeof *from);
    try(rota_neighbors_close(n, me));
    free(to);
    free(from);
}

/* ---- what the ranks of a node tell each other ---------------------------- */

/* Every other block to a node has the memory of the one before it. */
static ptrdiff_t place_of(int block)
{
    return 8 * (block / 2);
}

/* Long ones, too, the same on both ends. */
enum { SHORT = 8, LONG = 80 };

static size_t bytes_of(const rota_cross *e)
{
    const uint64_t h = test_hash((uint64_t)e->src * 8209 + (uint64_t)e->dst);

    return h % 3 == 0 ? LONG : SHORT;
}

typedef struct world {
    int P;
    rota_topo topo;
    rota_neighbors *of;      /* [P] */
    rota_crossing *crossing; /* [n_nodes] */
    int **same_as;           /* [P] */
} world;

static int list_edges(const world *w, int rank, bool sent, rota_cross edge[])
{
    const rota_neighbors *const n = &w->of[rank];
    const int found = rota_cross_list(n, &w->topo, rank, sent, NULL, edge);

    for (int i = 0; i < found; i++)
        edge[i].bytes = bytes_of(&edge[i]);
    if (!sent)
        return found;
    ptrdiff_t *const offset =
        must(malloc(((size_t)n->n_send + 1) * sizeof *offset));
    for (int i = 0; i < n->n_send; i++)
        offset[i] = place_of(i);
    const rota_side side = {.n = n->n_send, .offset = offset};
    w->same_as[rank] = must(malloc(((size_t)n->n_send + 1) * sizeof(int)));
    must(rota_cross_find_same(&side, edge, found, w->same_as[rank]) < 0
             ? NULL
             : offset);
    free(offset);
    return found;
}

static void gather_node(const world *w, int node, bool sent, rota_crosses *c)
{
    const int Q = rota_topo_node_size(&w->topo, node);
    size_t most = 1;

    for (int g = 0; g < Q; g++) {
        const rota_neighbors *const n =
            &w->of[w->topo.ranks[w->topo.first[node] + g]];
        most += (size_t)(sent ? n->n_sent : n->n_received);
    }
    c->edge = must(malloc(most * sizeof *c->edge));
    for (int g = 0; g < Q; g++)
        c->n += list_edges(w, w->topo.ranks[w->topo.first[node] + g], sent,
                           c->edge + c->n);
    try(rota_crosses_close(c, &w->topo, node, sent));
}

/* As plan/ranks/crossing.c has it told: the edges of a pair of nodes are in the same
 * order on both. */
static void tell_alike(const world *w, int node)
{
    rota_crosses *const in = &w->crossing[node].in;

    for (int e = 0; e < in->n; e++) {
        const rota_crosses *const out =
            &w->crossing[w->topo.node[in->edge[e].src]].out;
        int lo = 0, hi = out->n - 1;
        while (lo < hi) {
            const int mid = (lo + hi) / 2;
            const rota_cross *const a = &out->edge[mid], *const b =
                                                             &in->edge[e];
            const int there = node;
            const bool before = a->there != there  ? a->there < there
                                : a->src != b->src ? a->src < b->src
                                : a->dst != b->dst ? a->dst < b->dst
                                                   : a->nth < b->nth;
            if (before)
                lo = mid + 1;
            else
                hi = mid;
        }
        in->edge[e].repeats = out->edge[lo].repeats;
    }
}

static void make_world(world *w, graph g, shape s, int P)
{
    *w = (world){.P = P, .topo = shape_topo(s, P)};
    w->of = must(calloc((size_t)P, sizeof *w->of));
    w->same_as = must(calloc((size_t)P, sizeof *w->same_as));
    w->crossing = must(calloc((size_t)w->topo.n_nodes, sizeof *w->crossing));
    for (int q = 0; q < P; q++)
        make_neighbors(g, P, q, &w->of[q]);
    for (int n = 0; n < w->topo.n_nodes; n++) {
        gather_node(w, n, true, &w->crossing[n].out);
        gather_node(w, n, false, &w->crossing[n].in);
    }
    for (int n = 0; n < w->topo.n_nodes; n++)
        tell_alike(w, n);
}

static void free_world(world *w)
{
    for (int q = 0; q < w->P; q++) {
        rota_neighbors_free(&w->of[q]);
        free(w->same_as[q]);
    }
    for (int n = 0; n < w->topo.n_nodes; n++)
        rota_crossing_free(&w->crossing[n]);
    free(w->of);
    free(w->same_as);
    free(w->crossing);
    rota_topo_free(&w->topo);
}

/* ---- what it costs ------------------------------------------------------- */

/* Groups of a node, and which a rank is in: the definition. */
static int groups(const world *w, int node, int leaders)
{
    const int Q = rota_topo_node_size(&w->topo, node);

    return leaders < Q ? leaders : Q;
}

static int group_of(const world *w, int rank, int leaders)
{
    const int node = w->topo.node[rank];

    return w->topo.local[rank] * groups(w, node, leaders) /
           rota_topo_node_size(&w->topo, node);
}

/* Messages between nodes: one for each group and node that have an edge of a short
 * block, and one for each long one. And the blocks in them, if short ones with the
 * same memory go once. */
static void formula(const world *w, const rota_algo *algo,
                    const rota_params *params, bool shares, size_t *messages,
                    size_t *blocks)
{
    *messages = *blocks = 0;
    for (int n = 0; n < w->topo.n_nodes; n++) {
        const rota_crosses *const out = &w->crossing[n].out;
        int there = -1, group = -1;
        for (int e = 0; e < out->n; e++) {
            const int g = group_of(w, out->edge[e].src, params->leaders);
            const bool alone =
                !algo->nodes || (params->bundle > 0 &&
                                 out->edge[e].bytes > (size_t)params->bundle);
            *messages += alone || out->edge[e].there != there || g != group;
            if (alone) {
                ++*blocks;
                continue;
            }
            *blocks += !(shares && out->edge[e].repeats > 0);
            there = out->edge[e].there;
            group = g;
        }
    }
}

/* What the schedules of all send to other nodes. */
static void count(const world *w, const rota_sched set[], size_t *messages,
                  size_t *blocks)
{
    *messages = *blocks = 0;
    for (int q = 0; q < w->P; q++) {
        const rota_msgs *const l = &set[q].msgs[ROTA_SEND];
        for (uint32_t m = 0; m < l->n; m++)
            if (w->topo.node[l->msg[m].peer] != w->topo.node[q]) {
                ++*messages;
                *blocks += l->msg[m + 1].first - l->msg[m].first;
            }
    }
}

/* ---- one set ------------------------------------------------------------- */

static bool fail(const rota_algo *algo, const rota_params *params,
                 const char *what)
{
    printf("FAILED: %s, leaders %d, bundle %d: %s\n", algo->name,
           params->leaders, params->bundle, what);
    return false;
}

static bool check_set(const world *w, const rota_algo *algo,
                      const rota_params *params, bool shares)
{
    rota_sched *const s = must(calloc((size_t)w->P, sizeof *s));
    const rota_sched **const set = must(malloc((size_t)w->P * sizeof *set));
    size_t want[2], got[2];
    bool good = true;

    for (int q = 0; q < w->P && good; q++) {
        set[q] = &s[q];
        try(rota_sched_init_among(&s[q], w->P, q, &w->of[q]));
        s[q].crossing = &w->crossing[w->topo.node[q]];
        s[q].same_as = shares ? w->same_as[q] : NULL;
        try(algo->build(&w->topo, params, &s[q]));
        /* Where messages tell sizes, builders know none. */
        if (!shares && params->bundle == 0 &&
            rota_sched_check_varlen(&s[q]) != MPI_SUCCESS)
            good = fail(algo, params, rota_fail_text());
    }
    if (good && rota_sched_check(set, w->P, NULL) != MPI_SUCCESS)
        good = fail(algo, params, rota_fail_text());
    formula(w, algo, params, shares, &want[0], &want[1]);
    count(w, s, &got[0], &got[1]);
    if (good && (want[0] != got[0] || want[1] != got[1])) {
        printf(
            "%zu messages, %zu blocks between nodes; the formula: %zu, %zu\n",
            got[0], got[1], want[0], want[1]);
        good = fail(algo, params, "the cost is not what the formula says");
    }
    for (int q = 0; q < w->P; q++)
        rota_sched_free(&s[q]);
    free(s);
    free(set);
    return good;
}

static bool check_world(graph g, shape shape, int P)
{
    world w;
    bool good = true;

    make_world(&w, g, shape, P);
    for (int i = 0; rota_neighbor_table[i]; i++) {
        const rota_algo *const algo = rota_neighbor_table[i];
        const int most =
            algo->params & ROTA_P_LEADERS ? rota_topo_largest_node(&w.topo) : 1;
        for (int leaders = 1; leaders <= most;
             leaders = leaders < 3 ? leaders + 1 : 2 * leaders)
            for (int i = 0; i < (algo->params & ROTA_P_BUNDLE ? 4 : 2); i++) {
                const rota_params params = {.leaders = leaders,
                                            .bundle = i / 2 * SHORT};
                good = check_set(&w, algo, &params, i % 2) && good;
            }
    }
    if (!good)
        printf("%s, %d ranks, nodes: %s\n", graph_name[g], P,
               shape_name[shape]);
    free_world(&w);
    return good;
}

int main(int argc, char **argv)
{
    const bool quick = (argc > 1 && strcmp(argv[1], "--quick") == 0) ||
                       test_is_quick() || test_is_slow();
    const int large[] = {64, 100, 1024};
    bool good = true;

    for (int g = 0; g < N_GRAPHS; g++) {
        for (int P = 1; P <= (quick ? 9 : 24); P++)
            for (int s = 0; s < N_SHAPES; s++)
                good = check_world((graph)g, (shape)s, P) && good;
        for (int i = 0; i < (quick ? 2 : 3); i++)
            for (int s = 0; s < N_SHAPES && (g != DENSE || large[i] < 1000);
                 s += large[i] > 100 ? 2 : 1)
                good = check_world((graph)g, (shape)s, large[i]) && good;
    }
    puts(good ? "all good" : "not good");
    return !good;
}
