/* parlinna.c - logarithmic within nodes, then between nodes: three forms.
 *
 * Rank (m,h) is number h on node m; node n has Q_n ranks. The blocks from node
 * n to (m,h) are a column of Q_n blocks. Its carrier, member h mod Q_n of node
 * n, gathers it. So all ranks carry a share; where nodes are of one size, (n,g)
 * carries to (m,g). Within a node, the logarithmic exchange of parlogna.c
 * brings the blocks to their carriers, all columns of a carrier together. Each
 * carrier's first column is its own node's, which has then arrived. The carrier
 * sends the other columns on, into the receive buffers. The carrier's own
 * blocks stay in the send buffer until then.
 *
 * Coalesced: one message per column. Staggered: one message per block; first
 * the carrier's own blocks for all nodes, then those of the member above, and
 * so on. Both wait for the steps of a batch together. In step i, blocks go i
 * nodes back and come from i nodes on; since every rank has a column from every
 * node, all ranks have the same steps.
 *
 * Logarithmic: a column travels between the carriers of one number as a block
 * travels between members. Nodes of different sizes have no such groups; there
 * the coalesced form is used.
 *
 * Cost per rank, where all N nodes have Q ranks: within the node, K messages of
 * N blocks an index in w = ceil(log_r Q) phases, where K is the number of pairs
 * of a position x and a value z > 0 with z r^x < Q. Between nodes, coalesced:
 * N-1 messages of Q blocks in ceil((N-1) / batch) phases; staggered: Q(N-1)
 * messages of one block in ceil((N-1) / batch) + ceil((Q-1)(N-1) / batch)
 * phases; logarithmic: K and w as above with N in place of Q, with Q blocks an
 * index. Scratch: (N-1)(Q-1) slots for columns, N(Q-1-K) on the way to them
 * and, if logarithmic, as many again with N and Q exchanged. Parameters: radix,
 * batch.
 * Source: [Fan25] algorithms 2 and 3, for nodes of one size.
 */
#include "algos/log.h"
#include "algos/node.h"

/* ---- what a member carries ----------------------------------------------- */

/* The number of columns that a member of this node carries to the node at
 * offset -i: one for its own number there, and one for each Q numbers more. */
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

/* Where this rank receives the block of its column k from the member up places
 * above it. Blocks of all columns but the first have slots of their own. */
static rota_block landing(rota_sched *s, const rota_home *home, uint32_t k,
                          int up)
{
    const uint32_t others = (uint32_t)home->Q - 1;

    return k == 0 ? rota_dst(s, home->ranks[(home->g + up) % home->Q])
                  : rota_tmp(s, (k - 1) * others + (uint32_t)up - 1);
}

/* Fill in index i: where the blocks for the member i places down are, and where
 * those from the member i places up will be. */
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

/* The scratchpad holds Q depths, then at and land for the node, then at and
 * land for the exchange between nodes. */
static bool make_group(rota_sched *s, const rota_home *home, rota_log_group *g)
{
    const uint32_t Q = (uint32_t)home->Q;
    const uint32_t width = count_columns(home, 0); /* member 0 has the most */
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

/* A step: which columns travel, and which of their blocks. */
typedef struct step {
    int i;           /* columns go to the node at offset -i, others come from
                        the node at offset i */
    uint32_t k;      /* number of the first column that leaves */
    int from, upto;  /* blocks from up to, but without, upto */
    bool from_first; /* counted from the first rank of the column's node, not
                        from its carrier */
} step;

/* The member of its node, of Q ranks, that block j of a column comes from. */
static int origin(const step *st, int j, int carrier, int Q)
{
    return st->from_first ? j : (carrier + j) % Q;
}

/* Where this rank has the block of its column k from a member of its node. */
static rota_block carried(const rota_sched *s, const rota_home *home,
                          const rota_log_group *g, uint32_t k, int member,
                          int dst)
{
    const int up = (member + home->Q - home->g) % home->Q;

    return up == 0 ? rota_src(s, dst) : g->land[(uint32_t)up * g->width + k];
}

/* Send a message of the blocks of column c of those to one node. */
static void emit_column(rota_sched *s, const rota_home *home,
                        const rota_log_group *g, const step *st, int c)
{
    const int dst = column_rank(home, home->g, st->i, c);

    rota_emit_msg(s, ROTA_SEND, dst);
    for (int j = st->from; j < st->upto && j < home->Q; j++)
        rota_emit_block(s, ROTA_SEND,
                        carried(s, home, g, st->k + (uint32_t)c,
                                origin(st, j, home->g, home->Q), dst));
}

static void emit_recv(rota_sched *s, const rota_home *home, const step *st)
{
    const int m = rota_node_at(home, st->i);
    const int Q = rota_topo_node_size(home->t, m), carrier = home->g % Q;

    if (st->from >= Q)
        return;
    rota_emit_msg(s, ROTA_RECV, rota_node_rank(home->t, m, carrier));
    for (int j = st->from; j < st->upto && j < Q; j++)
        rota_emit_block(
            s, ROTA_RECV,
            rota_dst(s, rota_node_rank(home->t, m, origin(st, j, carrier, Q))));
}

/* n: the columns that leave. */
static void emit_step(rota_sched *s, const rota_home *home,
                      const rota_log_group *g, const step *st, int n)
{
    emit_recv(s, home, st);
    for (int c = 0; st->from < home->Q && c < n; c++)
        emit_column(s, home, g, st, c);
}

/* Emit the same blocks of the columns to and from all other nodes, in
 * batches. */
static void emit_steps(rota_sched *s, const rota_home *home,
                       const rota_log_group *g, step st, int64_t *done,
                       int batch)
{
    st.k = 1;
    for (st.i = 1; st.i < home->t->n_nodes; st.i++) {
        const int n = columns_to(home, home->g, st.i);
        if ((*done)++ % batch == 0)
            rota_phase_begin(s, 0);
        emit_step(s, home, g, &st, n);
        st.k += (uint32_t)n;
    }
}

/* The published form counts batches from the steps of the own node on.
 * Staggered, all blocks for one node go before those for the next. Its
 * carrier's own block is first, since the receiver may know its size. */
static void emit_published(rota_sched *s, const rota_home *home,
                           const rota_log_group *g, rota_columns columns,
                           int batch)
{
    const int longest = rota_topo_largest_node(home->t);
    const bool staggered = columns == ROTA_STAGGERED;
    const int parts = staggered ? longest : 1;
    int64_t open = -1;
    step st = {.k = 1, .from_first = !staggered};

    for (st.i = 1; st.i < home->t->n_nodes; st.i++) {
        const int n = columns_to(home, home->g, st.i);
        for (int b = 0; b < parts; b++) {
            const int64_t now = ((int64_t)st.i * parts + b) / batch;
            st.from = b;
            st.upto = staggered ? b + 1 : longest;
            if (now > open)
                rota_phase_begin(s, 0);
            open = now;
            emit_step(s, home, g, &st, n);
        }
        st.k += (uint32_t)n;
    }
}

/* Staggered, the carriers' own blocks form batches of their own. They are
 * direct, so the receiver may know their sizes, and no pair may have messages
 * of both kinds in one phase. */
static void emit_between(rota_sched *s, const rota_home *home,
                         const rota_log_group *g, rota_columns columns,
                         int batch)
{
    const int longest = rota_topo_largest_node(home->t);
    int64_t done = 0;

    if (columns != ROTA_STAGGERED) {
        emit_steps(s, home, g, (step){.upto = longest}, &done, batch);
        return;
    }
    emit_steps(s, home, g, (step){.upto = 1}, &done, batch);
    done = 0;
    for (int up = 1; up < longest; up++)
        emit_steps(s, home, g, (step){.from = up, .upto = up + 1}, &done,
                   batch);
}

/* Move columns logarithmically; the members of the group are nodes. The blocks
 * of index i are sorted by origin, starting with the carrier's. The scratchpad
 * follows that of make_group. */
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
