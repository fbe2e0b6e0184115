/* formulas.c - see formulas.h. A new algorithm needs a row in the table at the
 * end; test_costs, sim_check and nodes fail without it.
 */
#include "common/formulas.h"

#include <stdlib.h>
#include <string.h>

/* One rank's part in an exchange. */
typedef struct part {
    const rota_topo *t;
    const rota_params *params;
    int me;
    int node, Q, local; /* its node, the ranks there, its number among them */
} part;

static size_t divided_up(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

/* ---- every block in a message of its own --------------------------------- */

static size_t direct_to(const part *p, int node)
{
    return (size_t)rota_topo_node_size(p->t, node) - (node == p->node);
}

static formula_cost direct(const part *p)
{
    const size_t steps = (size_t)p->t->P - 1;

    return (formula_cost){.rounds = steps > 0, .blocks = steps};
}

static formula_cost direct_in_steps(const part *p)
{
    formula_cost c = direct(p);

    c.rounds = c.blocks;
    return c;
}

static formula_cost direct_in_batches(const part *p)
{
    formula_cost c = direct(p);

    c.rounds = divided_up(c.blocks, (size_t)p->params->batch);
    return c;
}

/* MPICH's batches are of steps from 0 on, that to itself among them; where it is
 * alone in its batch there is no round. */
static formula_cost direct_in_mpich_batches(const part *p)
{
    const size_t P = (size_t)p->t->P, batch = (size_t)p->params->batch;
    formula_cost c = direct(p);

    c.rounds = P > 1 ? divided_up(P, batch) - (batch == 1) : 0;
    return c;
}

/* ---- logarithmic --------------------------------------------------------- */

/* Index i is what is for the rank i down, or up. It takes one hop for each of
 * its nonzero digits; all indices with the same single one share a message. */
static size_t nonzero_digits(int i, int radix)
{
    size_t n = 0;

    for (; i > 0; i /= radix)
        n += i % radix != 0;
    return n;
}

static bool is_distance(int i, int radix)
{
    return nonzero_digits(i, radix) == 1;
}

static size_t log_messages(int P, int radix)
{
    size_t n = 0;

    for (int i = 1; i < P; i++)
        n += is_distance(i, radix);
    return n;
}

size_t formula_hops(int P, int radix)
{
    size_t n = 0;

    for (int i = 1; i < P; i++)
        n += nonzero_digits(i, radix);
    return n;
}

size_t formula_digits(int P, int radix)
{
    size_t n = 0;

    for (int i = P - 1; i > 0; i /= radix)
        n++;
    return n;
}

static size_t log_to(const part *p, int node, int radix, int sign)
{
    const rota_topo *const t = p->t;
    size_t n = 0;

    for (int k = t->first[node]; k < t->first[node + 1]; k++)
        n += is_distance((sign * (t->ranks[k] - p->me) + t->P) % t->P, radix);
    return n;
}

static size_t radix_down_to(const part *p, int node)
{
    return log_to(p, node, p->params->radix, -1);
}

static size_t binary_down_to(const part *p, int node)
{
    return log_to(p, node, 2, -1);
}

static size_t binary_up_to(const part *p, int node)
{
    return log_to(p, node, 2, 1);
}

/* Between digit x - 1 and digit x a block rests in scratch if it has both
 * nonzero digits below r^x and nonzero digits from there up: all indices but
 * the r^x that have none above, and the ceil(P / r^x) that have none below, of
 * which 0 is both. */
static size_t most_at_rest(int P, int radix)
{
    size_t most = 0;

    for (size_t power = (size_t)radix; power < (size_t)P;
         power *= (size_t)radix) {
        const size_t n = (size_t)P - power - ((size_t)P - 1) / power;
        most = n > most ? n : most;
    }
    return most;
}

static formula_cost logarithmic(int P, int radix)
{
    return (formula_cost){
        .rounds = formula_digits(P, radix),
        .blocks = formula_hops(P, radix),
        .slots = (size_t)P - 1 - log_messages(P, radix),
        .scratch = most_at_rest(P, radix),
    };
}

static formula_cost in_radix(const part *p)
{
    return logarithmic(p->t->P, p->params->radix);
}

/* Round after round. That sizes double the messages is counted in runs. */
static formula_cost in_radix_published(const part *p)
{
    formula_cost c = in_radix(p);

    c.rounds = log_messages(p->t->P, p->params->radix);
    c.scratch = FORMULA_OPEN;
    return c;
}

static formula_cost binary(const part *p)
{
    return logarithmic(p->t->P, 2);
}

/* All blocks are copied to scratch first or last. */
static formula_cost binary_copied(const part *p)
{
    formula_cost c = binary(p);

    c.slots = c.scratch = (size_t)p->t->P - 1;
    return c;
}

/* In the receive buffer and in scratch in turn. */
static formula_cost binary_in_turn(const part *p)
{
    formula_cost c = binary(p);

    c.slots = c.scratch = FORMULA_OPEN;
    return c;
}

/* ---- columns: logarithmic in the node, then from node to node ------------ */

/* Those for a node that this rank carries: of the ranks there whose number is
 * its own, modulo the size of its own node. */
static size_t columns_for(const part *p, int node)
{
    size_t n = 0;

    for (int q = p->local; q < rota_topo_node_size(p->t, node); q += p->Q)
        n++;
    return n;
}

static size_t coalesced_to(const part *p, int node)
{
    return node == p->node ? log_messages(p->Q, p->params->radix)
                           : columns_for(p, node);
}

static size_t staggered_to(const part *p, int node)
{
    const size_t n = coalesced_to(p, node);

    return node == p->node ? n : n * (size_t)p->Q;
}

/* Where nodes are of one size; coalesced elsewhere. */
static size_t columns_log_to(const part *p, int node)
{
    const int N = p->t->n_nodes;

    if (node == p->node || !rota_topo_even(p->t))
        return coalesced_to(p, node);
    return is_distance((p->node - node + N) % N, p->params->radix);
}

/* Of N nodes of Q ranks, as far as the node's border: every block is sent to
 * the carrier of its column unless its origin is that. */
static formula_cost columns(const part *p)
{
    const size_t N = (size_t)p->t->n_nodes, Q = (size_t)p->Q;
    const size_t K = log_messages(p->Q, p->params->radix);

    if (!rota_topo_even(p->t))
        return (formula_cost){.rounds = FORMULA_OPEN,
                              .blocks = FORMULA_OPEN,
                              .slots = FORMULA_OPEN,
                              .scratch = FORMULA_OPEN};
    return (formula_cost){
        .rounds = formula_digits(p->Q, p->params->radix),
        .blocks = formula_hops(p->Q, p->params->radix) * N,
        .slots = (N - 1) * (Q - 1) + N * (Q - 1 - K),
        .scratch = FORMULA_OPEN,
    };
}

static formula_cost coalesced(const part *p)
{
    const size_t steps = (size_t)p->t->n_nodes - 1;
    formula_cost c = columns(p);

    if (c.rounds == FORMULA_OPEN)
        return c;
    c.rounds += divided_up(steps, (size_t)p->params->batch);
    c.blocks += steps * (size_t)p->Q;
    return c;
}

/* The carrier's own blocks have batches of their own. */
static formula_cost staggered(const part *p)
{
    const size_t steps = (size_t)p->t->n_nodes - 1;
    formula_cost c = coalesced(p);

    if (c.rounds != FORMULA_OPEN)
        c.rounds +=
            divided_up(((size_t)p->Q - 1) * steps, (size_t)p->params->batch);
    return c;
}

/* [Fan25] algorithms 2 and 3: K rounds in the node, each of its own; between
 * nodes parts of steps 1 to N-1, of N, in batches. */
static formula_cost published(const part *p, size_t parts)
{
    const size_t N = (size_t)p->t->n_nodes, Q = (size_t)p->Q;
    const size_t b = (size_t)p->params->batch;
    formula_cost c = columns(p);

    if (c.rounds == FORMULA_OPEN)
        return c;
    c.rounds = log_messages(p->Q, p->params->radix);
    c.rounds += N > 1 ? (parts * N - 1) / b - parts / b + 1 : 0;
    c.blocks += (N - 1) * Q;
    return c;
}

static formula_cost coalesced_published(const part *p)
{
    return published(p, 1);
}

static formula_cost staggered_published(const part *p)
{
    return published(p, (size_t)p->Q);
}

static formula_cost columns_log(const part *p)
{
    const int N = p->t->n_nodes, radix = p->params->radix;
    const size_t Q = (size_t)p->Q;
    formula_cost c = columns(p);

    if (c.rounds == FORMULA_OPEN)
        return c;
    c.rounds += formula_digits(N, radix);
    c.blocks += formula_hops(N, radix) * Q;
    c.slots += Q * ((size_t)N - 1 - log_messages(N, radix));
    return c;
}

/* ---- leaders ------------------------------------------------------------- */

/* The leaders of a node: the first ranks, or spread evenly over all of them in
 * order of domain. */
typedef struct leaders {
    int n;     /* of this rank's node */
    int which; /* this rank is; n if none */
} leaders;

/* This rank's place among those of its node in order of domain. */
static int place_by_domain(const part *p)
{
    const rota_topo *const t = p->t;
    int place = 0;

    for (int k = t->first[p->node]; k < t->first[p->node + 1]; k++) {
        const int other = t->domain[t->ranks[k]], mine = t->domain[p->me];
        place += other < mine || (other == mine && t->ranks[k] < p->me);
    }
    return place;
}

static leaders leaders_of(const part *p, int most, bool spread)
{
    const int n = most < p->Q ? most : p->Q;
    const int place = spread ? place_by_domain(p) : p->local;
    leaders l = {.n = n, .which = 0};

    while (l.which < n && (spread ? l.which * p->Q / n : l.which) != place)
        l.which++;
    return l;
}

/* Leader l serves the nodes at offsets l, l + n, l + 2n, ... but 0. */
static size_t offsets_of(const part *p, const leaders *leaders, int l)
{
    const int N = p->t->n_nodes, first = l > 0 ? l : leaders->n;

    return first < N ? (size_t)((N - 1 - first) / leaders->n + 1) : 0;
}

/* One message to each node at the offsets of a leader. In the node every rank
 * sends the others their blocks and leaders what they serve, and leaders send
 * the others what has come: in one message, or one for each offset. */
static size_t by_leaders_to(const part *p, int node, int most, bool spread,
                            bool each)
{
    const leaders l = leaders_of(p, most, spread);
    const int N = p->t->n_nodes, others = p->Q - 1;
    size_t n = (size_t)others;

    if (node != p->node)
        return (node - p->node + N) % N % l.n == l.which;
    for (int i = 0; i < l.n; i++) {
        const size_t served = offsets_of(p, &l, i);
        const size_t messages = each || served == 0 ? served : 1;
        n += i == l.which ? messages * (size_t)others : messages;
    }
    return n;
}

static size_t leader_to(const part *p, int node)
{
    return by_leaders_to(p, node, 1, false, false);
}

static size_t leaders_to(const part *p, int node)
{
    return by_leaders_to(p, node, p->params->leaders, false, false);
}

static size_t spread_leaders_to(const part *p, int node)
{
    return by_leaders_to(p, node, p->params->leaders, true, false);
}

/* Of leaders that share their messages there are at most as many as other nodes. */
static int sharing(const part *p)
{
    const int others = p->t->n_nodes > 1 ? p->t->n_nodes - 1 : 1;

    return p->params->leaders < others ? p->params->leaders : others;
}

static size_t shared_leaders_to(const part *p, int node)
{
    return by_leaders_to(p, node, sharing(p), true, false);
}

static size_t overlapped_leaders_to(const part *p, int node)
{
    return by_leaders_to(p, node, p->params->leaders, true, true);
}

/* A rank hands leaders its blocks for the nodes that they serve, sends the
 * members of its node theirs, and as a leader sends what the node has for
 * another and hands the other members what comes from there. */
static formula_cost by_leaders(const part *p, int most, bool spread)
{
    const leaders l = leaders_of(p, most, spread);
    const size_t Q = (size_t)p->Q;
    const int N = p->t->n_nodes;
    formula_cost c = {.rounds = N > 1 && Q > 1 ? 3 : p->t->P > 1,
                      .blocks = Q - 1,
                      .scratch = FORMULA_OPEN};

    for (int i = 1; i < N; i++) {
        const size_t out = (size_t)rota_topo_node_size(p->t, (p->node + i) % N);
        const size_t in =
            (size_t)rota_topo_node_size(p->t, (p->node + N - i) % N);
        if (i % l.n == l.which) {
            c.blocks += Q * out + (Q - 1) * in;
            c.slots += (Q - 1) * (out + in);
        } else {
            c.blocks += out;
        }
    }
    return c;
}

static formula_cost leader(const part *p)
{
    return by_leaders(p, 1, false);
}

static formula_cost first_leaders(const part *p)
{
    return by_leaders(p, p->params->leaders, false);
}

static formula_cost spread_leaders(const part *p)
{
    return by_leaders(p, p->params->leaders, true);
}

static formula_cost overlapped_leaders(const part *p)
{
    formula_cost c = spread_leaders(p);

    c.rounds = p->t->P > 1;
    return c;
}

/* Leaders that have what they exchange in shared memory hand over, and are
 * handed, all but what goes between nodes and each rank's blocks for its own. */
static formula_cost shared_leaders(const part *p)
{
    const leaders l = leaders_of(p, sharing(p), true);
    const size_t Q = (size_t)p->Q;
    const int N = p->t->n_nodes;
    const bool leads = l.which < l.n && offsets_of(p, &l, l.which) > 0;
    formula_cost c = {.rounds = p->t->P > 1, .scratch = FORMULA_OPEN};

    c.handed = by_leaders_to(p, p->node, sharing(p), true, false) - (Q - 1);
    if (N > 1)
        c.rounds = Q == 1 ? 1 : leads ? 3 : 2;
    c.blocks = Q - 1;
    for (int i = 1; i < N; i++) {
        const size_t out = (size_t)rota_topo_node_size(p->t, (p->node + i) % N);
        const size_t in =
            (size_t)rota_topo_node_size(p->t, (p->node + N - i) % N);
        if (i % l.n != l.which)
            continue;
        c.blocks += Q * out;
        c.slots += Q * (out + in);
    }
    return c;
}

/* Messages to another node are cut, of members there at most one by one; what is
 * for a leader is handed over piece by piece, and every member takes its blocks out
 * of one piece. */
static size_t pieces_to(const part *p, int node)
{
    const int Q = rota_topo_node_size(p->t, node);
    const int most = p->params->pieces > 1 ? p->params->pieces : 1;

    return (size_t)(most < Q ? most : Q);
}

static size_t shared_leaders_overlapped_to(const part *p, int node)
{
    const leaders l = leaders_of(p, sharing(p), true);
    const int N = p->t->n_nodes;
    const size_t others = (size_t)p->Q - 1;
    size_t n = others;

    if (node != p->node)
        return by_leaders_to(p, node, sharing(p), true, true) *
               pieces_to(p, node);
    for (int i = 1; i < N; i++)
        n += i % l.n == l.which ? others : pieces_to(p, (p->node + i) % N);
    return n;
}

static formula_cost shared_leaders_overlapped(const part *p)
{
    formula_cost c = shared_leaders(p);

    c.handed = shared_leaders_overlapped_to(p, p->node) - ((size_t)p->Q - 1);
    c.rounds = p->t->P > 1;
    return c;
}

/* ---- leaders in a grid of nodes ------------------------------------------ */

/* Short steps 1 to width - 1, long ones 1 to rows - 1; step i is leader i mod n's.
 * Where nodes form no grid, the algorithm is shared_leaders. */
typedef struct grid {
    leaders l;
    int N, width, rows;
} grid;

static bool is_grid(const part *p)
{
    return rota_topo_even(p->t) && p->t->n_nodes >= 4;
}

static grid grid_of(const part *p)
{
    grid g = {.l = leaders_of(p, sharing(p), true), .N = p->t->n_nodes};

    while (g.width * g.width < g.N)
        g.width++;
    g.rows = (g.N - 1) / g.width + 1;
    return g;
}

/* Has a leader steps below a number? */
static bool has_steps(const grid *g, int l, int below)
{
    return l < g->l.n && (l > 0 ? l : g->l.n) < below;
}

/* Is there an offset whose short step is leader a's and whose long one b's? */
static bool has_both(const grid *g, int a, int b)
{
    for (int i = 1; i < g->N; i++)
        if (i % g->width > 0 && i / g->width > 0 &&
            i % g->width % g->l.n == a && i / g->width % g->l.n == b)
            return true;
    return false;
}

static size_t grid_handed(const part *p)
{
    const grid g = grid_of(p);
    const size_t others = (size_t)p->Q - 1;
    size_t n = 0;

    for (int l = 0; l < g.l.n; l++)
        if (l != g.l.which)
            n += has_steps(&g, l, g.width) + (size_t)has_both(&g, g.l.which, l);
    return n + others * has_steps(&g, g.l.which, g.width) +
           others * has_steps(&g, g.l.which, g.rows);
}

static size_t grid_to(const part *p, int node)
{
    const grid g = grid_of(p);
    const int i = (node - p->node + g.N) % g.N;
    const int step = i < g.width ? i : i % g.width == 0 ? i / g.width : 0;

    if (!is_grid(p))
        return shared_leaders_to(p, node);
    if (node == p->node)
        return (size_t)p->Q - 1 + grid_handed(p);
    return step > 0 && step % g.l.n == g.l.which;
}

/* Leaders wait for what they are given, and may for other leaders; all wait for what
 * comes by short steps and by long ones. */
static size_t grid_rounds(const part *p, const grid *g)
{
    bool moves = false;

    for (int l = 0; l < g->l.n; l++)
        moves = moves || (l != g->l.which && (has_both(g, l, g->l.which) ||
                                              has_both(g, g->l.which, l)));
    return p->Q == 1 ? 2 : 4 + (size_t)moves;
}

/* Every offset is part of the message of its short step and of its long one. */
static formula_cost in_grid(const part *p)
{
    const grid g = grid_of(p);
    const size_t Q = (size_t)p->Q;
    formula_cost c = {.blocks = Q - 1, .scratch = FORMULA_OPEN};

    if (!is_grid(p))
        return shared_leaders(p);
    c.handed = grid_handed(p);
    c.rounds = grid_rounds(p, &g);
    for (int i = 1; i < g.N; i++) {
        const int x = i % g.width, y = i / g.width;
        const bool near = x > 0 && x % g.l.n == g.l.which;
        const bool far = y > 0 && y % g.l.n == g.l.which;
        c.blocks += Q * Q * ((size_t)near + far);
        c.slots += Q * Q * (2 * ((size_t)near + far) - (x > 0 && near && far));
    }
    return c;
}

/* ---- the MPI library's --------------------------------------------------- */

static size_t none_to(const part *p, int node)
{
    (void)p;
    (void)node;
    return 0;
}

static formula_cost native(const part *p)
{
    (void)p;
    return (formula_cost){.rounds = 1};
}

/* All blocks are copied to scratch, and from there. */
static formula_cost native_padded(const part *p)
{
    formula_cost c = native(p);

    c.slots = c.scratch = 2 * (size_t)p->t->P;
    return c;
}

/* ---- the table ----------------------------------------------------------- */

static const struct row {
    const char *name;
    size_t (*to_node)(const part *p, int node);
    formula_cost (*rest)(const part *p); /* all but messages */
} table[] = {
    {"linear", direct_to, direct},
    {"spread_out", direct_to, direct},
    {"pairwise", direct_to, direct_in_steps},
    {"xor", direct_to, direct_in_steps},
    {"scattered", direct_to, direct_in_batches},
    {"mpich_scattered", direct_to, direct_in_mpich_batches},
    {"mpich_pairwise", direct_to, direct_in_steps},
    {"multi_pair", direct_to, direct},
    {"consensus", direct_to, direct},
    {"consensus_node", direct_to, direct},
    {"parlogna", radix_down_to, in_radix},
    {"parlogna_published", radix_down_to, in_radix_published},
    {"two_phase_bruck", binary_down_to, binary},
    {"sloav", binary_down_to, binary},
    {"padded_bruck", binary_down_to, binary_copied},
    {"bruck_basic", binary_up_to, binary_copied},
    {"bruck_modified", binary_down_to, binary_copied},
    {"bruck_zero_rotation", radix_down_to, in_radix},
    {"bruck_zero_copy", binary_down_to, binary_in_turn},
    {"parlinna_coalesced", coalesced_to, coalesced},
    {"parlinna_staggered", staggered_to, staggered},
    {"parlinna_coalesced_published", coalesced_to, coalesced_published},
    {"parlinna_staggered_published", staggered_to, staggered_published},
    {"parlinna_logarithmic", columns_log_to, columns_log},
    {"l_a2a", leader_to, leader},
    {"mpml", leaders_to, first_leaders},
    {"nmpml", spread_leaders_to, spread_leaders},
    {"onmpml", overlapped_leaders_to, overlapped_leaders},
    {"shared_leaders", shared_leaders_to, shared_leaders},
    {"shared_leaders_overlapped", shared_leaders_overlapped_to,
     shared_leaders_overlapped},
    {"shared_leaders_grid", grid_to, in_grid},
    {"padded_alltoall", none_to, native_padded},
    {"mpi", none_to, native},
};

static const struct row *find(const rota_algo *algo)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, algo->name) == 0)
            return &table[i];
    return NULL;
}

bool formula_is_stated(const rota_algo *algo)
{
    return find(algo) != NULL;
}

static part part_of(const rota_topo *t, const rota_params *params, int me)
{
    return (part){.t = t,
                  .params = params,
                  .me = me,
                  .node = t->node[me],
                  .Q = rota_topo_node_size(t, t->node[me]),
                  .local = t->local[me]};
}

size_t formula_to_node(const rota_algo *algo, const rota_topo *t,
                       const rota_params *params, int me, int node)
{
    const struct row *const row = find(algo);
    const part p = part_of(t, params, me);

    if (!row)
        abort();
    return row->to_node(&p, node);
}

formula_cost formula_of(const rota_algo *algo, const rota_topo *t,
                        const rota_params *params, int me)
{
    const struct row *const row = find(algo);
    const part p = part_of(t, params, me);

    if (!row)
        abort();
    formula_cost c = row->rest(&p);
    c.messages = 0;
    for (int n = 0; n < t->n_nodes; n++)
        c.messages += row->to_node(&p, n);
    return c;
}
