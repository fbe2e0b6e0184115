/* parlinna.c - in each node logarithmically, then between nodes: three forms.
 *
 * Rank (m,h) is number h on node m, and Q_n ranks are on node n. What node n
 * sends to (m,h) is a column of Q_n blocks; member h mod Q_n of node n, its
 * carrier, gathers it. So every rank carries a share, and where nodes are of
 * one size, (n,g) carries to (m,g). The members of a node exchange what each
 * carries by the logarithmic exchange of parlogna.c, all columns of a carrier
 * together; its own node's, the first, is then at its destination. After that
 * the carrier sends its other columns to where they belong, into the receive
 * buffer. The carrier's own blocks never leave the send buffer before that.
 *
 * Coalesced: a message a column. Staggered: a message a block, for all nodes
 * the carrier's own, then that of the member above, and so on. Either way a
 * step is waited for with those of its batch. In step i blocks go i nodes back
 * and come from i nodes on; as every rank has a column from every node, steps
 * are the same on all ranks.
 *
 * Logarithmic: a column goes from node to node as a block goes from member to
 * member, among the carriers of one number. Nodes of unlike sizes have no such
 * groups; there the form is the coalesced one.
 *
 * Cost per rank, where all N nodes have Q ranks: K messages of N blocks an
 * index in w = ceil(log_r Q) phases in the node, K being the number of pairs
 * of a position x and a value z > 0 with z r^x < Q; between nodes N-1 messages
 * of Q blocks in ceil((N-1) / batch) phases; staggered, Q(N-1) of one in
 * ceil((N-1) / batch) + ceil((Q-1)(N-1) / batch); logarithmic, as many as K and
 * w are with N for Q, of Q blocks an index. Scratch: (N-1)(Q-1) slots for
 * columns, N(Q-1-K) on the way to them and, logarithmic, as many as those with
 * N and Q exchanged. Parameters: radix, batch.
 * Source: [Fan25] algorithms 2 and 3, for nodes of one size.
 */
#include "algos/log.h"
#include "algos/node.h"

/* ---- what a member carries ----------------------------------------------- */

/* Columns that a member of the own node carries to the node at offset -i: to
 * the ranks there with its number, and so on in steps of Q. */
static int columns_to(const rota_home *home, int member, int i)
{
    const int size = rota_topo_node_size(home->t, rota_node_at(home, -i));

    return (size - member + home->Q - 1) / home->Q;
}

static int column_rank(const rota_home *home, int member, int i, int which)
{
    return rota_node_rank(home->t, rota_node_at(home, -i),
                          member + which * home->Q);
}

static uint32_t count_columns(const rota_home *home, int member)
{
    uint32_t n = 0;

    for (int i = 0; i < home->t->n_nodes; i++)
        n += (uint32_t)columns_to(home, member, i);
    return n;
}

/* ---- in the node --------------------------------------------------------- */

/* Where the block of column k of this rank comes to that is from the member up
 * from it. Columns but the first rest in slots of their own, in this order. */
static rota_block landing(rota_sched *s, const rota_home *home, uint32_t k,
                          int up)
{
    const uint32_t others = (uint32_t)home->Q - 1;

    return k == 0 ? rota_dst(s, home->ranks[(home->g + up) % home->Q])
                  : rota_tmp(s, (k - 1) * others + (uint32_t)up - 1);
}

/* Index i: where blocks for the member i down are, and where those from the
 * member i up will be. */
static void fill_index(rota_sched *s, const rota_home *home,
                       const rota_log_group *g, int i)
{
    const int down = (home->g + home->Q - i) % home->Q;
    rota_block *at = &g->at[(uint32_t)i * g->width];

    for (int back = 0; back < home->t->n_nodes; back++)
        for (int c = 0; c < columns_to(home, down, back); c++)
            *at++ = rota_src(s, column_rank(home, down, back, c));
    for (uint32_t k = 0; k < g->depth[home->g]; k++)
        g->land[(uint32_t)i * g->width + k] = landing(s, home, k, i);
}

/* The scratchpad has Q depths, then at and land, here and between nodes. */
static bool make_group(rota_sched *s, const rota_home *home, rota_log_group *g)
{
    const uint32_t Q = (uint32_t)home->Q;
    const uint32_t width = count_columns(home, 0); /* as many as any has */
    const size_t room = (size_t)Q * width;
    const size_t between = (size_t)home->t->n_nodes * Q;
    rota_block *const pad = rota_sched_scratchpad(s, Q + 2 * (room + between));

    if (!pad)
        return false;
    for (uint32_t member = 0; member < Q; member++)
        pad[member] = count_columns(home, (int)member);
    *g = (rota_log_group){.n = home->Q,
                          .me = home->g,
                          .rank = home->ranks,
                          .stride = 1,
                          .first_slot = (pad[home->g] - 1) * (Q - 1),
                          .width = width,
                          .depth = pad,
                          .at = pad + Q,
                          .land = pad + Q + room};
    for (int i = 1; i < home->Q; i++)
        fill_index(s, home, g, i);
    return true;
}

/* ---- between nodes ------------------------------------------------------- */

/* A part of the columns that leave in a step and of the one that comes. Blocks
 * of a column are in order of origin, up from its carrier or, as published, from
 * the first of its node. */
typedef struct part {
    bool published;
    int from, upto; /* blocks */
    int i;          /* columns go to the node at offset -i and come from i */
    uint32_t k;     /* number of the first column that leaves */
} part;

/* How far block i of a column is up from its carrier, of Q blocks. */
static int up_of(const part *p, int i, int carrier, int Q)
{
    return p->published && p->upto - p->from > 1 ? (i + Q - carrier) % Q : i;
}

static void emit_column(rota_sched *s, const rota_home *home,
                        const rota_log_group *g, const part *p, int c)
{
    const uint32_t k = p->k + (uint32_t)c;
    const int dst = column_rank(home, home->g, p->i, c);

    rota_emit_msg(s, ROTA_SEND, dst);
    for (int i = p->from; i < p->upto && i < home->Q; i++) {
        const int up = up_of(p, i, home->g, home->Q);
        rota_emit_block(s, ROTA_SEND,
                        up == 0 ? rota_src(s, dst)
                                : g->land[(uint32_t)up * g->width + k]);
    }
}

static void emit_recv(rota_sched *s, const rota_home *home, const part *p)
{
    const int m = rota_node_at(home, p->i);
    const int Q = rota_topo_node_size(home->t, m), carrier = home->g % Q;

    if (p->from >= Q)
        return;
    rota_emit_msg(s, ROTA_RECV, rota_node_rank(home->t, m, carrier));
    for (int i = p->from; i < p->upto && i < Q; i++) {
        const int up = up_of(p, i, carrier, Q);
        rota_emit_block(
            s, ROTA_RECV,
            rota_dst(s, rota_node_rank(home->t, m, (carrier + up) % Q)));
    }
}

/* Steps to and from the other nodes, in batches. */
static void emit_steps(rota_sched *s, const rota_home *home,
                       const rota_log_group *g, part p, int64_t *step,
                       int batch)
{
    p.k = 1;
    for (p.i = 1; p.i < home->t->n_nodes; p.i++) {
        const int n = columns_to(home, home->g, p.i);
        if ((*step)++ % batch == 0)
            rota_phase_begin(s, 0);
        emit_recv(s, home, &p);
        for (int c = 0; p.from < home->Q && c < n; c++)
            emit_column(s, home, g, &p, c);
        p.k += (uint32_t)n;
    }
}

/* As published: batches are of steps that begin with those of the own node, and
 * staggered all blocks for one node go before those for the next, its carrier's
 * own first, since that one's size may be known. */
static void emit_published(rota_sched *s, const rota_home *home,
                           const rota_log_group *g, rota_columns columns,
                           int batch)
{
    const int longest = rota_topo_largest_node(home->t);
    const int parts = columns == ROTA_STAGGERED ? longest : 1;
    int64_t open = -1;
    part p = {.published = true, .k = 1};

    for (p.i = 1; p.i < home->t->n_nodes; p.i++) {
        const int n = columns_to(home, home->g, p.i);
        for (int b = 0; b < parts; b++) {
            const int64_t now = ((int64_t)p.i * parts + b) / batch;
            p.from = b;
            p.upto = parts > 1 ? b + 1 : longest;
            if (now > open)
                rota_phase_begin(s, 0);
            open = now;
            emit_recv(s, home, &p);
            for (int c = 0; p.from < home->Q && c < n; c++)
                emit_column(s, home, g, &p, c);
        }
        p.k += (uint32_t)n;
    }
}

/* Staggered, carriers' own blocks have batches of their own: they go straight
 * to their destination, which may know their sizes, and a pair must not have
 * messages of both kinds in a phase. */
static void emit_between(rota_sched *s, const rota_home *home,
                         const rota_log_group *g, rota_columns columns,
                         int batch)
{
    const int longest = rota_topo_largest_node(home->t);
    int64_t step = 0;

    if (columns != ROTA_STAGGERED) {
        emit_steps(s, home, g, (part){.upto = longest}, &step, batch);
        return;
    }
    emit_steps(s, home, g, (part){.upto = 1}, &step, batch);
    step = 0;
    for (int up = 1; up < longest; up++)
        emit_steps(s, home, g, (part){.from = up, .upto = up + 1}, &step,
                   batch);
}

/* Columns logarithmically: the members of the group are nodes. Where a column
 * starts is a carrier's own matter, so index i has the blocks in order of
 * origin, up from it. The scratchpad follows that of make_group. */
static void emit_between_log(rota_sched *s, const rota_home *home,
                             const rota_log_form *form,
                             const rota_log_group *in)
{
    const int N = home->t->n_nodes, Q = home->Q;
    rota_block *const pad = in->land + (size_t)Q * in->width;
    const rota_log_group g = {.n = N,
                              .me = home->n,
                              .rank = home->t->ranks + home->g,
                              .stride = Q,
                              .first_slot = s->n_slots,
                              .width = (uint32_t)Q,
                              .at = pad,
                              .land = pad + (size_t)N * (size_t)Q};

    for (int i = 1; i < N; i++) {
        rota_block *const at = &g.at[i * Q], *const land = &g.land[i * Q];
        at[0] = rota_src(s, column_rank(home, home->g, i, 0));
        for (int up = 1; up < Q; up++)
            at[up] = in->land[up * N + i];
        for (int up = 0; up < Q; up++)
            land[up] =
                rota_dst(s, rota_node_rank(home->t, rota_node_at(home, i),
                                           (home->g + up) % Q));
    }
    if (N > 1)
        rota_phase_begin(s, 0);
    rota_emit_log(s, form, &g);
}

int rota_build_parlinna(const rota_topo *topo, const rota_params *params,
                        const rota_parlinna *how, rota_sched *s)
{
    const rota_home home = rota_home_of(topo, s->me);
    const rota_log_form form = {.radix = params->radix,
                                .in_turn = how->published};
    rota_log_group g;

    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
    if (!make_group(s, &home, &g))
        return rota_sched_end(s);
    rota_emit_log(s, &form, &g);
    if (how->published)
        emit_published(s, &home, &g, how->columns, params->batch);
    else if (how->columns == ROTA_LOGARITHMIC && rota_topo_even(topo))
        emit_between_log(s, &home, &form, &g);
    else
        emit_between(s, &home, &g, how->columns, params->batch);
    return rota_sched_end(s);
}
