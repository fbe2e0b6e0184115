/* shared_leaders.c - leaders exchange messages that lie in memory which all
 * ranks of the node can reach.
 *
 * As nmpml.c, but no rank packs for another. A leader's messages to and from
 * other nodes lie in shared blocks, end to end. Every rank copies its blocks
 * straight into the outgoing messages, and its own out of those that arrived.
 * So only flags pass within the node, and all ranks copy at the same time. The
 * caller's memory need not be shared.
 *
 * The blocks of a message are sorted by origin, then by destination. So what
 * one rank writes lies end to end, and two ranks write to the same cache line
 * only where their parts meet. What a rank reads is strided.
 *
 * Meanwhile, members of a node send each other their own blocks directly.
 *
 * Where sizes travel with blocks, each rank puts its blocks and their sizes into the
 * message wherever there is room (exec/payload/parcels.h). Where that would take too
 * much memory, as for blocks without a bound, this is nmpml.
 *
 * Cost, where all N nodes have Q ranks: a node sends N-1 messages of Q Q blocks
 * to others; each leader sends (N-1)/L of them, rounded. In the node, every
 * rank hands over one message to each leader, each leader one to every other
 * rank, and all ranks send Q-1 messages of one block. Each block for another
 * node is copied twice, at its origin and at its destination. Scratch of a
 * leader that serves k offsets: 2 k Q Q slots. Parameters: leaders.
 * Source: after [Peng21], whose leaders copy what members have in a shared
 * heap.
 */
#include "algos/node.h"

/* What a rank knows of itself. */
typedef struct role {
    rota_home home;
    const rota_leaders *leaders;
    int L; /* leaders of this node */
    int l; /* which of them this rank is; L: none, or it serves no offset */
    rota_block first[2]; /* [dir] a leader's first temporary block */
} role;

/* The offsets that a leader serves, and which piece of the message of each. */
typedef struct offsets {
    int first, step, end;
    int piece;
    rota_block out, in; /* first temporary block sent, received, of offset
                           first */
} offsets;

static offsets served_by(const role *o, int l)
{
    return (offsets){.first = l > 0 ? l : o->L,
                     .step = o->L,
                     .end = o->home.t->n_nodes,
                     .out = o->first[ROTA_SEND],
                     .in = o->first[ROTA_RECV]};
}

static rota_block rank_at(const role *o, int i, uint32_t local)
{
    return (rota_block)rota_node_rank(o->home.t, rota_node_at(&o->home, i),
                                      (int)local);
}

static int number_of(const role *o, int l)
{
    return rota_leader_at(o->home.t, o->leaders, o->home.n, l);
}

static rota_block make_tmps(rota_sched *s, uint32_t n)
{
    const rota_block first = s->n_blocks;

    for (uint32_t i = 0; i < n; i++)
        rota_tmp_marked(s, s->n_slots, ROTA_TMP_SHARED);
    return first;
}

static role role_of(rota_sched *s, const rota_topo *t,
                    const rota_leaders *leaders)
{
    role o = {.home = rota_home_of(t, s->me), .leaders = leaders};
    uint32_t n[ROTA_N_DIRS] = {0};

    o.L = rota_leaders_of(t, leaders, o.home.n);
    while (o.l < o.L && number_of(&o, o.l) != o.home.g)
        o.l++;
    const offsets mine = served_by(&o, o.l);
    if (mine.first >= mine.end)
        o.l = o.L;
    for (int i = mine.first; o.l < o.L && i < mine.end; i += mine.step) {
        n[ROTA_SEND] += rota_size_at(&o.home, i) * (uint32_t)o.home.Q;
        n[ROTA_RECV] += rota_size_at(&o.home, -i) * (uint32_t)o.home.Q;
    }
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        o.first[dir] = make_tmps(s, n[dir]);
    return o;
}

static void step_on(const role *o, offsets *at, int i)
{
    at->out += rota_size_at(&o->home, i) * (rota_block)o->home.Q;
    at->in += rota_size_at(&o->home, -i) * (rota_block)o->home.Q;
}

/* ---- pieces -------------------------------------------------------------- */

/* The members of a node whose blocks are in one message. Only pieces beyond the
 * number of members are empty. */
typedef struct piece {
    uint32_t first, end;
} piece;

static piece piece_of(const role *o, uint32_t members, int k)
{
    const uint32_t most = (uint32_t)o->leaders->pieces, number = (uint32_t)k;
    const uint32_t n = most < members ? most : members;

    return number < n
               ? (piece){number * members / n, (number + 1) * members / n}
               : (piece){members, members};
}

static piece piece_out(const role *o, const offsets *at, int i)
{
    return piece_of(o, rota_size_at(&o->home, i), at->piece);
}

static piece piece_in(const role *o, const offsets *at)
{
    return piece_of(o, (uint32_t)o->home.Q, at->piece);
}

static bool is_in(piece p, int q)
{
    return (uint32_t)q >= p.first && (uint32_t)q < p.end;
}

/* A leader's own temporary blocks: that of member q for rank d of the node at
 * offset i, and that of rank origin of the node at offset -i for member q. */
static rota_block out_tmp(const role *o, const offsets *at, piece p, int q,
                          uint32_t d)
{
    return at->out + p.first * (rota_block)o->home.Q +
           (rota_block)q * (p.end - p.first) + d - p.first;
}

static rota_block in_tmp(const role *o, const offsets *at, piece p, int i,
                         int q, uint32_t origin)
{
    return at->in + p.first * rota_size_at(&o->home, -i) +
           origin * (p.end - p.first) + (rota_block)q - p.first;
}

/* ---- handing over -------------------------------------------------------- */

/* Hand leader l this rank's blocks for the offsets. */
static void emit_give(rota_sched *s, const role *o, offsets at, int l)
{
    rota_emit_handed(s, ROTA_SEND, o->home.ranks[number_of(o, l)]);
    for (int i = at.first; i < at.end; i += at.step) {
        const piece p = piece_out(o, &at, i);
        for (uint32_t d = p.first; d < p.end; d++)
            rota_emit_block(s, ROTA_SEND, rank_at(o, i, d));
    }
}

/* The same at the leader: receive what member q hands over. */
static void emit_given(rota_sched *s, const role *o, offsets at, int q)
{
    rota_emit_handed(s, ROTA_RECV, o->home.ranks[q]);
    for (int i = at.first; i < at.end; step_on(o, &at, i), i += at.step) {
        const piece p = piece_out(o, &at, i);
        for (uint32_t d = p.first; d < p.end; d++)
            rota_emit_block(s, ROTA_RECV, out_tmp(o, &at, p, q, d));
    }
}

static void emit_take(rota_sched *s, const role *o, offsets at, int l)
{
    if (!is_in(piece_in(o, &at), o->home.g))
        return;
    rota_emit_handed(s, ROTA_RECV, o->home.ranks[number_of(o, l)]);
    for (int i = at.first; i < at.end; i += at.step)
        for (uint32_t origin = 0; origin < rota_size_at(&o->home, -i); origin++)
            rota_emit_block(s, ROTA_RECV,
                            rota_dst(s, (int)rank_at(o, -i, origin)));
}

static void emit_taken(rota_sched *s, const role *o, offsets at, int q)
{
    const piece p = piece_in(o, &at);

    if (!is_in(p, q))
        return;
    rota_emit_handed(s, ROTA_SEND, o->home.ranks[q]);
    for (int i = at.first; i < at.end; step_on(o, &at, i), i += at.step)
        for (uint32_t origin = 0; origin < rota_size_at(&o->home, -i); origin++)
            rota_emit_block(s, ROTA_SEND, in_tmp(o, &at, p, i, q, origin));
}

/* One end of a leader's exchange with the members. `member` emits this rank's
 * part at another leader, `leader` a leader's part for another member. */
static void emit_node(rota_sched *s, const role *o, int l, offsets at,
                      void (*member)(rota_sched *, const role *, offsets, int),
                      void (*leader)(rota_sched *, const role *, offsets, int))
{
    if (at.first >= at.end)
        return;
    if (l != o->l)
        member(s, o, at, l);
    for (int q = 0; l == o->l && q < o->home.Q; q++)
        if (q != o->home.g)
            leader(s, o, at, q);
}

/* Copy a leader's own blocks into its messages, or out of them. */
static void emit_own(rota_sched *s, const role *o, offsets at, rota_dir dir)
{
    const int g = o->home.g;

    for (int i = at.first; i < at.end; step_on(o, &at, i), i += at.step) {
        const piece out = piece_out(o, &at, i), in = piece_in(o, &at);
        for (uint32_t d = out.first; dir == ROTA_SEND && d < out.end; d++)
            rota_emit_copy(s, rank_at(o, i, d), out_tmp(o, &at, out, g, d));
        for (uint32_t origin = 0; dir == ROTA_RECV && is_in(in, g) &&
                                  origin < rota_size_at(&o->home, -i);
             origin++)
            rota_emit_copy(s, in_tmp(o, &at, in, i, g, origin),
                           rota_dst(s, (int)rank_at(o, -i, origin)));
    }
}

/* ---- between leaders ----------------------------------------------------- */

/* Emit a message of n temporary blocks that lie end to end. Its peer is the
 * rank, on the node at offset `there`, that leads for offset i. */
static void emit_matrix(rota_sched *s, const role *o, rota_dir dir, int there,
                        int i, rota_block first, uint32_t n)
{
    const rota_home *const home = &o->home;

    if (n == 0)
        return;
    rota_emit_msg(
        s, dir,
        rota_leader_of(home->t, o->leaders, rota_node_at(home, there), i));
    for (uint32_t k = 0; k < n; k++)
        rota_emit_block(s, dir, first + k);
}

static void emit_matrices(rota_sched *s, const role *o, offsets at,
                          rota_dir dir)
{
    for (int i = at.first; i < at.end; step_on(o, &at, i), i += at.step) {
        const piece out = piece_out(o, &at, i), in = piece_in(o, &at);
        if (dir == ROTA_SEND)
            emit_matrix(s, o, dir, i, i, out_tmp(o, &at, out, 0, out.first),
                        (out.end - out.first) * (uint32_t)o->home.Q);
        else
            emit_matrix(s, o, dir, -i, i,
                        in_tmp(o, &at, in, i, (int)in.first, 0),
                        (in.end - in.first) * rota_size_at(&o->home, -i));
    }
}

/* ---- all together -------------------------------------------------------- */

/* A rank that is no leader has two phases, and waits for nobody in the
 * first. */
static void emit_in_turn(rota_sched *s, const role *o)
{
    const bool leads = o->l < o->L;
    const offsets mine = served_by(o, o->l);

    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
    if (leads)
        emit_own(s, o, mine, ROTA_SEND);
    for (int l = 0; l < o->L; l++)
        emit_node(s, o, l, served_by(o, l), emit_give, emit_given);
    rota_phase_begin(s, 0);
    for (int dir = 0; leads && dir < ROTA_N_DIRS; dir++)
        emit_matrices(s, o, mine, (rota_dir)dir);
    rota_emit_members(s, &o->home);
    if (leads) {
        rota_phase_begin(s, 0);
        emit_own(s, o, mine, ROTA_RECV);
    }
    for (int l = 0; l < o->L; l++)
        emit_node(s, o, l, served_by(o, l), emit_take, emit_taken);
}

/* Emit one piece of what goes to one offset, or of what comes from it. */
static void emit_one(rota_sched *s, const role *o, const offsets *one,
                     rota_dir dir)
{
    const bool leads = one->first % o->L == o->l, sent = dir == ROTA_SEND;
    const piece out = piece_out(o, one, one->first);

    if (leads && !sent)
        emit_matrices(s, o, *one, dir);
    if (leads)
        emit_own(s, o, *one, dir);
    if (!sent || out.first < out.end)
        emit_node(s, o, one->first % o->L, *one, sent ? emit_give : emit_take,
                  sent ? emit_given : emit_taken);
    if (leads && sent)
        emit_matrices(s, o, *one, dir);
}

static void emit_each(rota_sched *s, const role *o, rota_dir dir)
{
    offsets one = served_by(o, o->l);

    for (int i = 1; i < o->home.t->n_nodes; i++) {
        one.first = i;
        one.end = i + 1;
        for (one.piece = 0; one.piece < o->leaders->pieces; one.piece++)
            emit_one(s, o, &one, dir);
        if (i % o->L == o->l)
            step_on(o, &one, i);
    }
}

/* A rank fills its part of one message after the other, its own or another
 * leader's. A pair of ranks may also have a direct message. In a fixed plan it comes
 * behind what the rank gives, which then does not wait for it; in an exchange none
 * may come behind one that tells sizes. */
static void emit_flow(rota_sched *s, const role *o, bool sized)
{
    rota_flow_begin(s);
    if (sized)
        rota_emit_members(s, &o->home);
    emit_each(s, o, ROTA_SEND);
    if (!sized)
        rota_emit_members(s, &o->home);
    emit_each(s, o, ROTA_RECV);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
}

int rota_build_shared_leaders(const rota_topo *topo, const rota_params *params,
                              bool flow, rota_sched *s)
{
    const rota_leaders leaders = {
        .n = rota_leaders_needed(topo, params),
        .spread = true,
        .flow = flow,
        .pieces = flow && params->pieces > 0 ? params->pieces : 1};

    if (params->sized && !params->parcels)
        return rota_build_leaders(topo, &leaders, s);
    const role o = role_of(s, topo, &leaders);
    if (flow)
        emit_flow(s, &o, params->sized);
    else
        emit_in_turn(s, &o);
    return rota_sched_end(s);
}

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    return rota_build_shared_leaders(topo, params, false, s);
}

const rota_algo rota_algo_shared_leaders = {
    .name = "shared_leaders",
    .summary = "all ranks copy into and out of the messages of their leaders",
    .source = "after [Peng21]",
    .params = ROTA_P_LEADERS,
    .nodes = true,
    .build = build,
};
