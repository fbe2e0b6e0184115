/* shared_leaders.c - leaders exchange what lies in memory that all ranks of
 * their nodes reach.
 *
 * As nmpml.c, but no rank packs for another one. What a leader sends to another
 * node lies end to end in shared stays, and so does what it receives. Every
 * rank hands leaders its blocks, copying them right into those messages, and
 * takes its own out of those that have come: in the node go but flags, and all
 * ranks copy at the same time. Memory of the caller need not be shared.
 *
 * The blocks of a message are in order of origin, then of destination. So what
 * one rank writes lies end to end, and no two ranks write to the same lines of
 * the caches, but for the first and the last; what a rank takes is strided.
 *
 * Members of a node send each other their own blocks directly, meanwhile.
 *
 * Where sizes travel with blocks no stay has a place before they come: then this
 * is nmpml.
 *
 * Cost, where all N nodes have Q ranks: a node sends N-1 messages of Q Q blocks
 * to others, of each leader's (N-1)/L, rounded. In the node every rank hands
 * something to each leader, and each leader to every other rank; all of them
 * send Q-1 messages of one block. Each block for another node is copied twice,
 * at its origin and at its destination. Scratch of a leader that serves k
 * offsets: 2 k Q Q slots. Parameters: leaders.
 * Source: after [Peng21], whose leaders copy what members have in a shared heap.
 */
#include "algos/node.h"

/* What a rank knows of itself. */
typedef struct office {
    rota_home home;
    const rota_leaders *leaders;
    int L;               /* leaders of this node */
    int l;               /* which of them this rank is; L if none, or if
                               it serves no offset */
    rota_block stays[2]; /* of a leader: the first for what leaves, comes */
} office;

/* What a leader has for offsets that it serves, one after the other. */
typedef struct offsets {
    int first, step, end;
    rota_block out, in; /* first stays of the next offset */
} offsets;

static offsets served_by(const office *o, int l)
{
    return (offsets){.first = l > 0 ? l : o->L,
                     .step = o->L,
                     .end = o->home.t->n_nodes,
                     .out = o->stays[ROTA_SEND],
                     .in = o->stays[ROTA_RECV]};
}

static uint32_t size_at(const office *o, int i)
{
    const rota_topo *const t = o->home.t;

    return (uint32_t)rota_topo_node_size(t, rota_node_at(&o->home, i));
}

static rota_block rank_at(const office *o, int i, uint32_t local)
{
    return (rota_block)rota_node_rank(o->home.t, rota_node_at(&o->home, i),
                                      (int)local);
}

static int number_of(const office *o, int l)
{
    return rota_leader_at(o->home.t, o->leaders, o->home.n, l);
}

static rota_block make_stays(rota_sched *s, uint32_t n)
{
    const rota_block first = s->n_blocks;

    for (uint32_t i = 0; i < n; i++)
        rota_stay(s, s->n_slots, ROTA_STAY_SHARED);
    return first;
}

static office open_office(rota_sched *s, const rota_topo *t,
                          const rota_leaders *leaders)
{
    office o = {.home = rota_home_of(t, s->me), .leaders = leaders};
    uint32_t n[ROTA_N_DIRS] = {0};

    o.L = rota_leaders_of(t, leaders, o.home.n);
    while (o.l < o.L && number_of(&o, o.l) != o.home.g)
        o.l++;
    const offsets mine = served_by(&o, o.l);
    if (mine.first >= mine.end)
        o.l = o.L;
    for (int i = mine.first; o.l < o.L && i < mine.end; i += mine.step) {
        n[ROTA_SEND] += size_at(&o, i) * (uint32_t)o.home.Q;
        n[ROTA_RECV] += size_at(&o, -i) * (uint32_t)o.home.Q;
    }
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        o.stays[dir] = make_stays(s, n[dir]);
    return o;
}

/* The blocks of a leader's own stays that are of member q, for or from offset
 * i; the next offset's stays follow. */
static rota_block out_stay(const office *o, const offsets *at, int i, int q,
                           uint32_t d)
{
    return at->out + (rota_block)q * size_at(o, i) + d;
}

static rota_block in_stay(const office *o, const offsets *at, int q,
                          uint32_t origin)
{
    return at->in + origin * (rota_block)o->home.Q + (rota_block)q;
}

static void step_on(const office *o, offsets *at, int i)
{
    at->out += size_at(o, i) * (rota_block)o->home.Q;
    at->in += size_at(o, -i) * (rota_block)o->home.Q;
}

/* ---- handing over ------------------------------------------------------------ */

/* To leader l what is for the offsets. */
static void emit_give(rota_sched *s, const office *o, offsets at, int l)
{
    rota_emit_handed(s, ROTA_SEND, o->home.ranks[number_of(o, l)]);
    for (int i = at.first; i < at.end; i += at.step)
        for (uint32_t d = 0; d < size_at(o, i); d++)
            rota_emit_block(s, ROTA_SEND, rank_at(o, i, d));
}

/* Likewise, at the leader, by member q. */
static void emit_given(rota_sched *s, const office *o, offsets at, int q)
{
    rota_emit_handed(s, ROTA_RECV, o->home.ranks[q]);
    for (int i = at.first; i < at.end; step_on(o, &at, i), i += at.step)
        for (uint32_t d = 0; d < size_at(o, i); d++)
            rota_emit_block(s, ROTA_RECV, out_stay(o, &at, i, q, d));
}

static void emit_take(rota_sched *s, const office *o, offsets at, int l)
{
    rota_emit_handed(s, ROTA_RECV, o->home.ranks[number_of(o, l)]);
    for (int i = at.first; i < at.end; i += at.step)
        for (uint32_t origin = 0; origin < size_at(o, -i); origin++)
            rota_emit_block(s, ROTA_RECV,
                            rota_dst(s, (int)rank_at(o, -i, origin)));
}

static void emit_taken(rota_sched *s, const office *o, offsets at, int q)
{
    rota_emit_handed(s, ROTA_SEND, o->home.ranks[q]);
    for (int i = at.first; i < at.end; step_on(o, &at, i), i += at.step)
        for (uint32_t origin = 0; origin < size_at(o, -i); origin++)
            rota_emit_block(s, ROTA_SEND, in_stay(o, &at, q, origin));
}

/* One end of each leader's exchange with the members: member is this rank's at
 * other leaders, leader's that of other members here. */
static void
emit_node(rota_sched *s, const office *o, int l, offsets at,
          void (*member)(rota_sched *, const office *, offsets, int),
          void (*leader)(rota_sched *, const office *, offsets, int))
{
    if (at.first >= at.end)
        return;
    if (l != o->l && member)
        member(s, o, at, l);
    for (int q = 0; l == o->l && q < o->home.Q; q++)
        if (q != o->home.g)
            leader(s, o, at, q);
}

static void emit_gather(rota_sched *s, const office *o)
{
    for (int l = 0; l < o->L; l++)
        emit_node(s, o, l, served_by(o, l), emit_give, emit_given);
}

static void emit_scatter(rota_sched *s, const office *o)
{
    for (int l = 0; l < o->L; l++)
        emit_node(s, o, l, served_by(o, l), emit_take, emit_taken);
}

/* A leader's own blocks, to the message or from there. */
static void emit_own(rota_sched *s, const office *o, rota_dir dir)
{
    const uint32_t g = (uint32_t)o->home.g;
    offsets at = served_by(o, o->l);

    if (o->l == o->L)
        return;
    for (int i = at.first; i < at.end; step_on(o, &at, i), i += at.step)
        for (uint32_t k = 0; k < size_at(o, dir == ROTA_SEND ? i : -i); k++)
            if (dir == ROTA_SEND)
                rota_emit_copy(s, rank_at(o, i, k),
                               out_stay(o, &at, i, (int)g, k));
            else
                rota_emit_copy(s, in_stay(o, &at, (int)g, k),
                               rota_dst(s, (int)rank_at(o, -i, k)));
}

/* ---- between leaders --------------------------------------------------------- */

static void emit_all(rota_sched *s, rota_dir dir, rota_block first, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        rota_emit_block(s, dir, first + k);
}

static void emit_matrices(rota_sched *s, const office *o)
{
    const rota_home *const home = &o->home;
    const uint32_t Q = (uint32_t)home->Q;
    offsets at = served_by(o, o->l);

    if (o->l == o->L)
        return;
    for (int i = at.first; i < at.end; step_on(o, &at, i), i += at.step) {
        rota_emit_msg(
            s, ROTA_RECV,
            rota_leader_of(home->t, o->leaders, rota_node_at(home, -i), i));
        emit_all(s, ROTA_RECV, at.in, size_at(o, -i) * Q);
        rota_emit_msg(
            s, ROTA_SEND,
            rota_leader_of(home->t, o->leaders, rota_node_at(home, i), i));
        emit_all(s, ROTA_SEND, at.out, size_at(o, i) * Q);
    }
}

/* ---- all together ------------------------------------------------------------ */

/* A rank that leads nobody has two phases, in the first of which it waits for
 * nobody. */
static void emit_in_turn(rota_sched *s, const office *o)
{
    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
    emit_own(s, o, ROTA_SEND);
    emit_gather(s, o);
    rota_phase_begin(s, 0);
    emit_matrices(s, o);
    rota_emit_members(s, &o->home);
    if (o->l < o->L)
        rota_phase_begin(s, 0);
    emit_own(s, o, ROTA_RECV);
    emit_scatter(s, o);
}

/* By what is for, or from, one node at a time. */
static void
emit_each(rota_sched *s, const office *o,
          void (*member)(rota_sched *, const office *, offsets, int),
          void (*leader)(rota_sched *, const office *, offsets, int))
{
    offsets at = served_by(o, o->l);

    for (int i = 1; i < o->home.t->n_nodes; i++) {
        offsets one = at;
        one.first = i;
        one.end = i + 1;
        emit_node(s, o, i % o->L, one, member, leader);
        if (i % o->L == o->l)
            step_on(o, &at, i);
    }
}

/* A leader's own blocks are in its messages before the others come and leave
 * them after. What is direct comes first: a pair of ranks may have both. */
static void emit_flow(rota_sched *s, const office *o)
{
    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
    emit_own(s, o, ROTA_SEND);
    rota_flow_begin(s);
    rota_emit_members(s, &o->home);
    emit_each(s, o, emit_give, emit_given);
    emit_matrices(s, o);
    emit_each(s, o, emit_take, emit_taken);
    rota_phase_begin(s, 0);
    emit_own(s, o, ROTA_RECV);
}

int rota_build_shared_leaders(const rota_topo *topo, const rota_params *params,
                              bool flow, rota_sched *s)
{
    const rota_leaders leaders = {
        .n = params->leaders, .spread = true, .flow = flow};

    if (params->told)
        return rota_build_leaders(topo, &leaders, s);
    const office o = open_office(s, topo, &leaders);
    if (flow)
        emit_flow(s, &o);
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
