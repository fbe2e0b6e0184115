/* shared_leaders_grid.c - leaders exchange messages in shared memory, each of
 * which is for many nodes.
 *
 * As shared_leaders.c, but between nodes blocks take two steps. With
 * W = ceil(sqrt N), the node at offset x + y W, 0 <= x < W, is reached by a
 * short step to offset x, then by a long one over y W. A node sends one message
 * for each short step x > 0, with what it has for all nodes at x + y W, and one
 * for each long step y > 0, with what it and the W-1 nodes before it have for
 * the node there. So each leader sees to some of the digits x and y, and not to
 * some of the nodes.
 *
 * All ranks of the node copy their blocks into the messages in which these
 * leave, and out of those in which they arrive. In between a leader hands what
 * came by a short step to the leaders who send it on, who copy it.
 *
 * Where nodes differ in size, where there are fewer than 4, and where sizes
 * travel with blocks, this is shared_leaders.
 *
 * Cost, for N nodes of Q ranks: a node sends (W-1) + ceil(N/W)-1 messages
 * between nodes, each leader a share; all but those for the nodes at x or y W
 * are sent twice. Parameters: leaders.
 * Source: the two steps are those of a logarithmic exchange in radix W, [Fan25]
 * algorithm 1, among nodes; leaders and shared memory after [Peng21].
 */
#include "algos/node.h"

typedef struct grid {
    rota_home home;
    const rota_leaders *leaders;
    int N, width, rows; /* short steps are below width, long ones below rows */
    int L;              /* leaders of a node */
    int l;              /* which of them this rank is; L: none */
    /* A leader's first temporary block, [width] of each short step, [rows] of
     * each long one: what is sent; what comes; of long ones also what comes
     * from other leaders. */
    rota_block *out, *in, *far_out, *far_moved, *far_in;
} grid;

/* Long steps that follow a short one: offsets x + y W. */
static int rows_at(const grid *o, int x)
{
    return (o->N - x + o->width - 1) / o->width;
}

/* Short steps, 0 among them, that a long one may follow. */
static int columns_at(const grid *o, int y)
{
    const int left = o->N - y * o->width;

    return left < o->width ? left : o->width;
}

/* The first step that leader l sees to; the others are L apart. */
static int first_of(const grid *o, int l)
{
    return l > 0 ? l : o->L;
}

/* Short steps below x that other leaders see to, but 0. */
static int others_below(const grid *o, int x)
{
    const int first = first_of(o, o->l);

    return x - 1 - (x > first ? (x - 1 - first) / o->L + 1 : 0);
}

static int leader_rank(const grid *o, int node, int l)
{
    return rota_node_rank(o->home.t, node,
                          rota_leader_at(o->home.t, o->leaders, node, l));
}

/* A rank at an offset below 2 N. */
static int rank_at(const grid *o, int i, int local)
{
    return rota_node_rank(o->home.t, rota_node_at(&o->home, i % o->N), local);
}

/* Temporary block of member q for, or from, number d of another node, in part
 * k of a message. */
static rota_block at(const grid *o, rota_block first, int k, int q, int d)
{
    return first + (rota_block)((k * o->home.Q + q) * o->home.Q + d);
}

static rota_block make_tmps(rota_sched *s, const grid *o, int parts,
                            unsigned marks)
{
    const rota_block first = s->n_blocks;

    for (int i = 0; i < parts * o->home.Q * o->home.Q; i++)
        rota_tmp_marked(s, s->n_slots, marks);
    return first;
}

/* ---- within the node ----------------------------------------------------- */

/* One end of what member q and a leader hand to each other: both are this rank,
 * which copies; or it is the leader; or the member. */
typedef struct end {
    bool both, leads;
    rota_dir dir; /* of a member */
} end;

static end begin_end(rota_sched *s, const grid *o, int l, int q, rota_dir dir)
{
    const end e = {l == o->l && q == o->home.g, l == o->l, dir};
    const rota_dir other = dir == ROTA_SEND ? ROTA_RECV : ROTA_SEND;

    if (!e.both && e.leads)
        rota_emit_handed(s, other, o->home.ranks[q]);
    else if (!e.both)
        rota_emit_handed(s, dir, leader_rank(o, o->home.n, l));
    return e;
}

static void emit_end(rota_sched *s, const end *e, rota_block user,
                     rota_block tmp)
{
    const bool gives = e->dir == ROTA_SEND;

    if (e->both)
        rota_emit_copy(s, gives ? user : tmp, gives ? tmp : user);
    else if (e->leads)
        rota_emit_block(s, gives ? ROTA_RECV : ROTA_SEND, tmp);
    else
        rota_emit_block(s, e->dir, user);
}

/* Member q gives leader l its blocks for all short steps of this, and those for
 * its long steps that take no short one. */
static void emit_give(rota_sched *s, const grid *o, int l, int q)
{
    const end e = begin_end(s, o, l, q, ROTA_SEND);
    const int Q = o->home.Q;

    for (int x = first_of(o, l); x < o->width; x += o->L)
        for (int k = 0; k < rows_at(o, x) * Q; k++)
            emit_end(s, &e,
                     rota_src(s, rank_at(o, x + k / Q * o->width, k % Q)),
                     at(o, o->out[x], k / Q, q, k % Q));
    for (int y = first_of(o, l); y < o->rows; y += o->L)
        for (int d = 0; d < Q; d++)
            emit_end(s, &e, rota_src(s, rank_at(o, y * o->width, d)),
                     at(o, o->far_out[y], 0, q, d));
}

/* Member q takes what came for it by the short steps of leader l. */
static void emit_take(rota_sched *s, const grid *o, int l, int q)
{
    const end e = begin_end(s, o, l, q, ROTA_RECV);

    for (int x = first_of(o, l); x < o->width; x += o->L)
        for (int from = 0; from < o->home.Q; from++)
            emit_end(s, &e, rota_dst(s, rank_at(o, o->N - x, from)),
                     at(o, o->in[x], 0, from, q));
}

/* The same of long steps. */
static void emit_take_far(rota_sched *s, const grid *o, int l, int q)
{
    const end e = begin_end(s, o, l, q, ROTA_RECV);
    const int Q = o->home.Q;

    for (int y = first_of(o, l); y < o->rows; y += o->L)
        for (int k = 0; k < columns_at(o, y) * Q; k++)
            emit_end(
                s, &e,
                rota_dst(s, rank_at(o, 2 * o->N - k / Q - y * o->width, k % Q)),
                at(o, o->far_in[y], k / Q, k % Q, q));
}

/* With all leaders that see to steps below a number. */
static void emit_members(rota_sched *s, const grid *o, int below,
                         void (*emit)(rota_sched *, const grid *, int, int))
{
    for (int l = 0; l < o->L; l++)
        for (int q = 0; first_of(o, l) < below && q < o->home.Q; q++)
            if (l == o->l || q == o->home.g)
                emit(s, o, l, q);
}

/* What came by the short steps of leader a, and leaves by the long ones of b. */
static void emit_move(rota_sched *s, const grid *o, int a, int b)
{
    const bool sends = o->l == a;
    const int n = o->home.Q * o->home.Q;
    bool begun = false;

    for (int y = first_of(o, b); y < o->rows; y += o->L)
        for (int x = first_of(o, a); x < columns_at(o, y); x += o->L) {
            if (!begun)
                rota_emit_handed(s, sends ? ROTA_SEND : ROTA_RECV,
                                 leader_rank(o, o->home.n, sends ? b : a));
            begun = true;
            for (int k = 0; k < n; k++)
                rota_emit_block(s, sends ? ROTA_SEND : ROTA_RECV,
                                at(o, sends ? o->in[x] : o->far_moved[y],
                                   sends ? y : others_below(o, x), 0, k));
        }
}

static void emit_moves(rota_sched *s, const grid *o)
{
    for (int l = 0; o->l < o->L && l < o->L; l++)
        if (l != o->l) {
            emit_move(s, o, o->l, l);
            emit_move(s, o, l, o->l);
        }
}

/* ---- between nodes ------------------------------------------------------- */

static void emit_step(rota_sched *s, const grid *o, int i)
{
    rota_emit_msg(s, ROTA_SEND,
                  leader_rank(o, rota_node_at(&o->home, i), o->l));
    rota_emit_msg(s, ROTA_RECV,
                  leader_rank(o, rota_node_at(&o->home, -i), o->l));
}

static void emit_short(rota_sched *s, const grid *o)
{
    const int n = o->home.Q * o->home.Q;

    for (int x = first_of(o, o->l); x < o->width; x += o->L) {
        emit_step(s, o, x);
        for (int k = 0; k < rows_at(o, x) * n; k++) {
            rota_emit_block(s, ROTA_SEND, at(o, o->out[x], 0, 0, k));
            rota_emit_block(s, ROTA_RECV, at(o, o->in[x], 0, 0, k));
        }
    }
}

/* Where part x of the message of long step y is. */
static rota_block far_part(const grid *o, int x, int y)
{
    return x == 0 ? o->far_out[y]
           : x % o->L == o->l
               ? at(o, o->in[x], y, 0, 0)
               : at(o, o->far_moved[y], others_below(o, x), 0, 0);
}

static void emit_far(rota_sched *s, const grid *o)
{
    const int n = o->home.Q * o->home.Q;

    for (int y = first_of(o, o->l); y < o->rows; y += o->L) {
        emit_step(s, o, y * o->width);
        for (int k = 0; k < columns_at(o, y) * n; k++) {
            rota_emit_block(s, ROTA_SEND,
                            far_part(o, k / n, y) + (rota_block)(k % n));
            rota_emit_block(s, ROTA_RECV, at(o, o->far_in[y], 0, 0, k));
        }
    }
}

/* ---- all together -------------------------------------------------------- */

static void make_all(rota_sched *s, grid *o)
{
    for (int x = first_of(o, o->l); x < o->width; x += o->L) {
        o->out[x] = make_tmps(s, o, rows_at(o, x), ROTA_TMP_SHARED);
        o->in[x] = make_tmps(s, o, rows_at(o, x), ROTA_TMP_SHARED);
    }
    for (int y = first_of(o, o->l); y < o->rows; y += o->L) {
        o->far_out[y] = make_tmps(s, o, 1, ROTA_TMP_SHARED);
        o->far_moved[y] = make_tmps(s, o, others_below(o, columns_at(o, y)), 0);
        o->far_in[y] = make_tmps(s, o, columns_at(o, y), ROTA_TMP_SHARED);
    }
}

/* False, with the error latched, if there is no memory. */
static bool make_grid(rota_sched *s, const rota_topo *topo,
                      const rota_leaders *leaders, grid *o)
{
    *o = (grid){.home = rota_home_of(topo, s->me),
                .leaders = leaders,
                .N = topo->n_nodes};
    while (o->width * o->width < o->N)
        o->width++;
    o->rows = (o->N + o->width - 1) / o->width;
    rota_block *const pad =
        rota_sched_scratchpad(s, 2 * (size_t)o->width + 3 * (size_t)o->rows);
    o->L = rota_leaders_of(topo, leaders, o->home.n);
    while (o->l < o->L &&
           rota_leader_at(topo, leaders, o->home.n, o->l) != o->home.g)
        o->l++;
    if (!pad)
        return false;
    o->out = pad;
    o->in = o->out + o->width;
    o->far_out = o->in + o->width;
    o->far_moved = o->far_out + o->rows;
    o->far_in = o->far_moved + o->rows;
    if (o->l < o->L)
        make_all(s, o);
    return true;
}

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    enum { LEAST = 4 }; /* nodes */
    const rota_leaders leaders = {.n = rota_leaders_needed(topo, params),
                                  .spread = true};
    grid o;

    if (params->sized || !rota_topo_even(topo) || topo->n_nodes < LEAST)
        return rota_build_shared_leaders(topo, params, false, s);
    if (!make_grid(s, topo, &leaders, &o))
        return rota_sched_end(s);
    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
    emit_members(s, &o, o.width, emit_give);
    rota_phase_begin(s, 0);
    if (o.l < o.L)
        emit_short(s, &o);
    rota_emit_members(s, &o.home);
    rota_phase_begin(s, 0);
    emit_moves(s, &o);
    rota_phase_begin(s, 0);
    if (o.l < o.L)
        emit_far(s, &o);
    emit_members(s, &o, o.width, emit_take);
    rota_phase_begin(s, 0);
    emit_members(s, &o, o.rows, emit_take_far);
    return rota_sched_end(s);
}

const rota_algo rota_algo_shared_leaders_grid = {
    .name = "shared_leaders_grid",
    .summary = "as shared_leaders, in two steps between nodes",
    .source = "after [Fan25] algorithm 1 and [Peng21]",
    .params = ROTA_P_LEADERS,
    .nodes = true,
    .build = build,
};
