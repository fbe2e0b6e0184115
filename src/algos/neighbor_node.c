/* neighbor_node.c - blocks between two nodes travel together.
 *
 * The ranks of a node form L groups, in order. One member of a group gathers
 * what the group has for another node and sends it there in one message; the
 * rank that receives it scatters it. Members take turns by node. If a rank
 * sends the same memory to several ranks of one node, it is gathered and sent
 * once. Blocks within the node go directly, along with the messages between
 * nodes, and so do those of more than a number of bytes, if counts are fixed.
 * There are three phases: gather, exchange, scatter.
 *
 * With L = 1, one message goes from node to node: the three-step form. With L =
 * Q, every rank sends its own blocks and gathers none: the two-step form.
 *
 * Cost: a message from each group to each other node on which one of its ranks
 * has a neighbour, and one for each long block. A rank sends at most one
 * message to each other member to gather and one to scatter. Scratch: at most
 * what a rank gathers and scatters for others, each block once. Parameters:
 * leaders, the groups; bundle, bytes.
 * Source: A. Bienz, W. Gropp, L. Olson, "Node aware sparse matrix-vector
 * multiplication", J. Parallel Distrib. Comput. 130, 2019 (three steps; all
 * groups are one); S. Lockhart, A. Bienz, W. Gropp, L. Olson, "Performance
 * analysis and optimal node-aware communication for enlarged conjugate gradient
 * methods", ACM Trans. Parallel Comput. 10(1), 2023 (two steps).
 */
#include "algos/node.h"
#include "algos/step.h"
#include "base/crossing.h"

typedef struct builder {
    rota_sched *s;
    rota_home home;
    const rota_crossing *c;
    int leaders;
    size_t most; /* bytes of a block that travels with others */
    bool shares; /* blocks with the same memory are sent once */
    rota_block
        *out;       /* [c->out.n] where the block of each edge sent here lies */
    rota_block *in; /* [c->in.n] where the block of each edge received here
                       lies */
} builder;

/* ---- who sends and receives ---------------------------------------------- */

static int count_groups(const builder *b, int node)
{
    const int Q = rota_topo_node_size(b->home.t, node);

    return b->leaders < Q ? b->leaders : Q;
}

static int group_of(const builder *b, int rank)
{
    const rota_topo *const t = b->home.t;
    const int node = t->node[rank];
    const int64_t Q = rota_topo_node_size(t, node);

    return (int)((int64_t)t->local[rank] * count_groups(b, node) / Q);
}

/* The rank of a node's group that serves this turn. */
static int member(const builder *b, int node, int group, int turn)
{
    const rota_topo *const t = b->home.t;
    const int64_t Q = rota_topo_node_size(t, node), L = count_groups(b, node);
    const int first = (int)((group * Q + L - 1) / L);
    const int end = (int)(((group + 1) * Q + L - 1) / L);

    return rota_node_rank(t, node, first + turn % (end - first));
}

/* The offset from the source's node to the destination's. */
static int offset_of(const builder *b, const rota_cross *e)
{
    const rota_topo *const t = b->home.t;

    return (t->node[e->dst] - t->node[e->src] + t->n_nodes) % t->n_nodes;
}

static int sender_of(const builder *b, const rota_cross *e)
{
    return member(b, b->home.t->node[e->src], group_of(b, e->src),
                  offset_of(b, e));
}

static int receiver_of(const builder *b, const rota_cross *e)
{
    const int node = b->home.t->node[e->dst];
    const int group = group_of(b, e->src) % count_groups(b, node);

    return member(b, node, group, offset_of(b, e));
}

/* ---- which blocks -------------------------------------------------------- */

static bool is_short(const builder *b, const rota_cross *e)
{
    return e->bytes <= b->most;
}

/* Is it a block that travels with others, and none of the same memory
 * before? */
static bool is_first(const builder *b, const rota_cross *e)
{
    return is_short(b, e) && (!b->shares || e->repeats == 0);
}

/* Does no other edge of this direction take the same memory as edge e? */
static bool is_alone(const builder *b, const rota_crosses *c, int e)
{
    const rota_cross *const edge = c->edge;

    if (!b->shares)
        return true;
    if (edge[e].repeats > 0)
        return false;
    for (int i = e + 1; i < c->n && edge[i].there == edge[e].there &&
                        edge[i].src == edge[e].src;
         i++)
        if (edge[i].repeats == i - e)
            return false;
    return true;
}

/* The block that this rank sends to another node for an edge. */
static rota_block outgoing(const builder *b, int e)
{
    const rota_cross *const edge = &b->c->out.edge[e];

    return edge->src == b->s->me ? rota_src(b->s, edge->block) : b->out[e];
}

/* Where this rank receives an edge's block from another node. A slot is the
 * number of an edge: sent edges first, then received ones. */
static rota_block incoming(const builder *b, int e)
{
    const rota_crosses *const in = &b->c->in;

    if (in->edge[e].dst == b->s->me && is_alone(b, in, e))
        return b->in[e] = rota_dst(b->s, in->edge[e].block);
    return b->in[e] = rota_tmp(b->s, (uint32_t)(b->c->out.n + e));
}

/* The first edge that takes the same memory, whose block serves for both. */
static int first_of(const builder *b, const rota_crosses *c, int e)
{
    return b->shares ? e - c->edge[e].repeats : e;
}

/* ---- between members ----------------------------------------------------- */

static rota_block gathered(const builder *b, int e)
{
    return b->out[e] = rota_tmp(b->s, (uint32_t)e);
}

static rota_block sent_from(const builder *b, int e)
{
    return rota_src(b->s, b->c->out.edge[e].block);
}

static rota_block scattered(const builder *b, int e)
{
    return b->in[first_of(b, &b->c->in, e)];
}

static rota_block received_at(const builder *b, int e)
{
    return rota_dst(b->s, b->c->in.edge[e].block);
}

/* Does the rank gather or scatter the block of this edge? */
static bool carries(const builder *b, const rota_crosses *c, int e, int rank)
{
    const rota_cross *const edge = &c->edge[e];

    return c == &b->c->out ? is_first(b, edge) && sender_of(b, edge) == rank
                           : is_short(b, edge) && receiver_of(b, edge) == rank;
}

/* Emit a message of the blocks of a member's edges that a carrier gathers or
 * scatters; one of the two is this rank. */
static void emit_part(const builder *b, const rota_crosses *c, rota_dir dir,
                      int owner, int carrier,
                      rota_block (*block)(const builder *, int))
{
    bool open = false;

    for (int k = c->own[owner]; k < c->own[owner + 1]; k++) {
        const int e = c->by_own[k];
        if (!carries(b, c, e, carrier))
            continue;
        if (!open)
            rota_emit_msg(b->s, dir,
                          carrier == b->s->me ? b->home.ranks[owner] : carrier);
        open = true;
        rota_emit_block(b->s, dir, block(b, e));
    }
}

/* Members send their blocks to those that send them to other nodes. */
static void gather(const builder *b)
{
    const rota_home *const home = &b->home;
    const int Q = home->Q;

    rota_phase_begin(b->s, 0);
    for (int i = 1; i < Q; i++)
        emit_part(b, &b->c->out, ROTA_RECV, (home->g + Q - i) % Q, b->s->me,
                  gathered);
    for (int i = 1; i < Q; i++)
        emit_part(b, &b->c->out, ROTA_SEND, home->g,
                  home->ranks[(home->g + i) % Q], sent_from);
}

/* Copy the blocks for this rank that it received in scratch. */
static void scatter_own(const builder *b)
{
    const rota_crosses *const in = &b->c->in;

    for (int k = in->own[b->home.g]; k < in->own[b->home.g + 1]; k++) {
        const int e = in->by_own[k];
        if (carries(b, in, e, b->s->me) && scattered(b, e) != received_at(b, e))
            rota_emit_copy(b->s, scattered(b, e), received_at(b, e));
    }
}

/* Members get their blocks from those that received them from other nodes. */
static void scatter(const builder *b)
{
    const rota_home *const home = &b->home;
    const int Q = home->Q;

    rota_phase_begin(b->s, 0);
    for (int i = 1; i < Q; i++)
        emit_part(b, &b->c->in, ROTA_RECV, home->g,
                  home->ranks[(home->g + Q - i) % Q], received_at);
    scatter_own(b);
    for (int i = 1; i < Q; i++)
        emit_part(b, &b->c->in, ROTA_SEND, (home->g + i) % Q, b->s->me,
                  scattered);
}

/* ---- between nodes ------------------------------------------------------- */

/* Messages between nodes. All edges from one group to one node have the same
 * sender and receiver, and share a message. */
static void exchange(const builder *b, rota_dir dir)
{
    const rota_crosses *const c = dir == ROTA_SEND ? &b->c->out : &b->c->in;
    rota_sched *const s = b->s;
    int node = -1;

    for (int e = 0; e < c->n; e++) {
        const rota_cross *const edge = &c->edge[e];
        const int from = sender_of(b, edge), to = receiver_of(b, edge);
        if ((dir == ROTA_SEND ? from : to) != s->me || !is_first(b, edge))
            continue;
        /* A rank may receive from several groups of one node. */
        const int peer = dir == ROTA_SEND ? to : from;
        if (node != peer)
            rota_emit_msg(s, dir, peer);
        node = peer;
        rota_emit_block(s, dir,
                        dir == ROTA_SEND ? outgoing(b, e) : incoming(b, e));
    }
}

/* Long blocks: both ends have the edges of a pair in the same order, and behind
 * the message that blocks share. */
static void exchange_long(const builder *b, rota_dir dir)
{
    const bool sent = dir == ROTA_SEND;
    const rota_crosses *const c = sent ? &b->c->out : &b->c->in;

    for (int k = c->own[b->home.g]; k < c->own[b->home.g + 1]; k++) {
        const rota_cross *const e = &c->edge[c->by_own[k]];
        if (is_short(b, e))
            continue;
        if (sent)
            rota_emit_send(b->s, e->dst, rota_src(b->s, e->block));
        else
            rota_emit_recv(b->s, e->src, rota_dst(b->s, e->block));
    }
}

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_crossing *const c = s->crossing;
    builder b = {.s = s,
                 .home = rota_home_of(topo, s->me),
                 .c = c,
                 .leaders = params->leaders,
                 .most = params->bundle > 0 ? (size_t)params->bundle : SIZE_MAX,
                 .shares = s->same_as != NULL};

    b.out = rota_sched_scratchpad(s, (size_t)c->out.n + (size_t)c->in.n + 1);
    if (!b.out)
        return rota_sched_end(s);
    b.in = b.out + c->out.n;
    gather(&b);
    rota_phase_begin(s, 0);
    exchange(&b, ROTA_RECV);
    exchange_long(&b, ROTA_RECV);
    exchange(&b, ROTA_SEND);
    exchange_long(&b, ROTA_SEND);
    rota_emit_self(s);
    rota_emit_neighbors(s, topo);
    scatter(&b);
    return rota_sched_end(s);
}

const rota_algo rota_algo_neighbor_node = {
    .name = "neighbor_node",
    .summary = "neighbours: what goes from node to node travels together",
    .source = "Bienz, Gropp, Olson 2019; Lockhart et al. 2023",
    .params = ROTA_P_LEADERS | ROTA_P_BUNDLE,
    .neighbors = true,
    .nodes = true,
    .build = build,
};
