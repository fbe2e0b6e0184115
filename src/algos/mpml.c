/* mpml.c - several leaders per node exchange what their nodes have for each
 * other.
 *
 * Leader l of L sends what its node has for the nodes at offsets l, l + L, ...,
 * and receives from as many nodes on the other side. Offsets, not node numbers,
 * so that all leaders receive equally much. Three phases: the leaders gather;
 * the leaders exchange, while members of a node send each other their own
 * blocks directly; the leaders scatter. A leader's own blocks leave from the
 * send buffer and arrive in the receive buffer.
 *
 * A message between nodes has its blocks sorted by destination, then by origin.
 * Gathered blocks lie by origin, blocks to scatter by destination. So gathering
 * and scattering move blocks that lie end to end, and packing the message
 * between them transposes.
 *
 * Cost, where all N nodes have Q ranks: a node sends N-1 messages of Q Q blocks
 * to others; each leader sends (N-1)/L of them, rounded. Every member sends
 * each leader a message and gets one, and sends one to every other member.
 * Scratch of a leader that serves k offsets: 2 k Q slots. Parameters:
 * leaders.
 * Source: [Peng21] algorithms 2 and 3.
 */
#include "algos/node.h"

/* ---- who leads ----------------------------------------------------------- */

/* The local number of the member in this place when sorted by domain. */
static int member_by_domain(const rota_topo *t, int node, int place)
{
    for (int domain = -1; domain < t->n_domains; domain++)
        for (int local = 0; local < rota_topo_node_size(t, node); local++)
            if (t->domain[rota_node_rank(t, node, local)] == domain &&
                place-- == 0)
                return local;
    return 0; /* there is no such place */
}

int rota_leaders_of(const rota_topo *t, const rota_leaders *leaders, int node)
{
    const int Q = rota_topo_node_size(t, node);

    return leaders->n < Q ? leaders->n : Q;
}

int rota_leader_at(const rota_topo *t, const rota_leaders *leaders, int node,
                   int l)
{
    const int64_t Q = rota_topo_node_size(t, node);
    const int L = rota_leaders_of(t, leaders, node);

    return leaders->spread ? member_by_domain(t, node, (int)(l * Q / L)) : l;
}

int rota_leader_of(const rota_topo *t, const rota_leaders *leaders, int node,
                   int i)
{
    const int l = i % rota_leaders_of(t, leaders, node);

    return rota_node_rank(t, node, rota_leader_at(t, leaders, node, l));
}

/* ---- what a leader does -------------------------------------------------- */

typedef struct role {
    rota_home home;
    const rota_leaders *leaders;
    int L;                /* leaders of this node */
    int l;                /* which of them this rank is; L: none */
    rota_block out, in;   /* first temporary block to gather, to scatter */
    uint32_t n_out, n_in; /* how many for each other member */
} role;

/* Offsets that one leader serves, and their first places among a member's
 * temporary blocks. */
typedef struct offsets {
    int first, step;
    uint32_t out, in;
} offsets;

static offsets served_by(const role *o, int l)
{
    return (offsets){.first = l > 0 ? l : o->L, .step = o->L};
}

static rota_block make_tmps(rota_sched *s, uint32_t n)
{
    const rota_block first = s->n_blocks;
    const uint32_t slot = s->n_slots;

    for (uint32_t i = 0; i < n; i++)
        rota_tmp(s, slot + i);
    return first;
}

static role role_of(rota_sched *s, const rota_topo *t,
                    const rota_leaders *leaders)
{
    role o = {.home = rota_home_of(t, s->me), .leaders = leaders};
    const uint32_t others = (uint32_t)o.home.Q - 1;

    o.L = rota_leaders_of(t, leaders, o.home.n);
    while (o.l < o.L && rota_leader_at(t, leaders, o.home.n, o.l) != o.home.g)
        o.l++;
    if (o.l == o.L)
        return o;
    const offsets mine = served_by(&o, o.l);
    for (int i = mine.first; i < t->n_nodes; i += mine.step) {
        o.n_out += rota_size_at(&o.home, i);
        o.n_in += rota_size_at(&o.home, -i);
    }
    o.out = make_tmps(s, others * o.n_out);
    o.in = make_tmps(s, others * o.n_in);
    return o;
}

/* Temporary block k of another member, which has n of them from first on. */
static rota_block tmp_of(const role *o, rota_block first, uint32_t n,
                         int member, uint32_t k)
{
    return first + (uint32_t)(member - (member > o->home.g)) * n + k;
}

/* ---- gathering ----------------------------------------------------------- */

static void emit_gather_send(rota_sched *s, const role *o, offsets served,
                             int leader)
{
    const rota_home *const home = &o->home;

    rota_emit_msg(s, ROTA_SEND, home->ranks[leader]);
    for (int i = served.first; i < home->t->n_nodes; i += served.step)
        for (uint32_t d = 0; d < rota_size_at(&o->home, i); d++)
            rota_emit_block(
                s, ROTA_SEND,
                rota_src(
                    s, rota_node_rank(home->t, rota_node_at(home, i), (int)d)));
}

static void emit_gather_recv(rota_sched *s, const role *o, offsets served,
                             int member)
{
    uint32_t k = served.out;

    rota_emit_msg(s, ROTA_RECV, o->home.ranks[member]);
    for (int i = served.first; i < o->home.t->n_nodes; i += served.step)
        for (uint32_t d = 0; d < rota_size_at(&o->home, i); d++)
            rota_emit_block(s, ROTA_RECV,
                            tmp_of(o, o->out, o->n_out, member, k++));
}

/* Gather at the leader that serves these offsets. */
static void emit_gather(rota_sched *s, const role *o, offsets served)
{
    const rota_home *const home = &o->home;
    const int l = served.first % o->L;

    if (served.first >= home->t->n_nodes)
        return;
    if (l != o->l)
        emit_gather_send(s, o, served,
                         rota_leader_at(home->t, o->leaders, home->n, l));
    for (int q = 0; l == o->l && q < home->Q; q++)
        if (q != home->g)
            emit_gather_recv(s, o, served, q);
}

/* ---- between leaders ----------------------------------------------------- */

static void emit_matrix_send(rota_sched *s, const role *o, int i, uint32_t out)
{
    const rota_home *const home = &o->home;
    const int m = rota_node_at(home, i);

    rota_emit_msg(s, ROTA_SEND, rota_leader_of(home->t, o->leaders, m, i));
    for (uint32_t d = 0; d < rota_size_at(&o->home, i); d++)
        for (int q = 0; q < home->Q; q++)
            rota_emit_block(
                s, ROTA_SEND,
                q == home->g ? rota_src(s, rota_node_rank(home->t, m, (int)d))
                             : tmp_of(o, o->out, o->n_out, q, out + d));
}

static void emit_matrix_recv(rota_sched *s, const role *o, int i, uint32_t in)
{
    const rota_home *const home = &o->home;
    const int m = rota_node_at(home, -i);

    rota_emit_msg(s, ROTA_RECV, rota_leader_of(home->t, o->leaders, m, i));
    for (int q = 0; q < home->Q; q++)
        for (uint32_t origin = 0; origin < rota_size_at(&o->home, -i); origin++)
            rota_emit_block(
                s, ROTA_RECV,
                q == home->g
                    ? rota_dst(s, rota_node_rank(home->t, m, (int)origin))
                    : tmp_of(o, o->in, o->n_in, q, in + origin));
}

static void emit_matrices(rota_sched *s, const role *o)
{
    if (o->l == o->L)
        return;
    offsets mine = served_by(o, o->l);
    for (int i = mine.first; i < o->home.t->n_nodes; i += mine.step) {
        emit_matrix_recv(s, o, i, mine.in);
        emit_matrix_send(s, o, i, mine.out);
        mine.out += rota_size_at(&o->home, i);
        mine.in += rota_size_at(&o->home, -i);
    }
}

/* ---- scattering ---------------------------------------------------------- */

static void emit_scatter_recv(rota_sched *s, const role *o, offsets served,
                              int leader)
{
    const rota_home *const home = &o->home;

    rota_emit_msg(s, ROTA_RECV, home->ranks[leader]);
    for (int i = served.first; i < home->t->n_nodes; i += served.step)
        for (uint32_t origin = 0; origin < rota_size_at(&o->home, -i); origin++)
            rota_emit_block(
                s, ROTA_RECV,
                rota_dst(s, rota_node_rank(home->t, rota_node_at(home, -i),
                                           (int)origin)));
}

static void emit_scatter_send(rota_sched *s, const role *o, offsets served,
                              int member)
{
    uint32_t k = served.in;

    rota_emit_msg(s, ROTA_SEND, o->home.ranks[member]);
    for (int i = served.first; i < o->home.t->n_nodes; i += served.step)
        for (uint32_t origin = 0; origin < rota_size_at(&o->home, -i); origin++)
            rota_emit_block(s, ROTA_SEND,
                            tmp_of(o, o->in, o->n_in, member, k++));
}

static void emit_scatter(rota_sched *s, const role *o, offsets served)
{
    const rota_home *const home = &o->home;
    const int l = served.first % o->L;

    if (served.first >= home->t->n_nodes)
        return;
    if (l != o->l)
        emit_scatter_recv(s, o, served,
                          rota_leader_at(home->t, o->leaders, home->n, l));
    for (int q = 0; l == o->l && q < home->Q; q++)
        if (q != home->g)
            emit_scatter_send(s, o, served, q);
}

/* ---- all together -------------------------------------------------------- */

/* Gather or scatter by one message per node. */
static void emit_each(rota_sched *s, const role *o,
                      void (*emit)(rota_sched *, const role *, offsets))
{
    offsets one = {.step = o->home.t->n_nodes};

    for (one.first = 1; one.first < o->home.t->n_nodes; one.first++) {
        emit(s, o, one);
        if (one.first % o->L == o->l) {
            one.out += rota_size_at(&o->home, one.first);
            one.in += rota_size_at(&o->home, -one.first);
        }
    }
}

/* Direct messages come first, then gathered ones, then scattered ones: one rank
 * may send all three to another. */
static void emit_flow(rota_sched *s, const role *o)
{
    rota_flow_begin(s);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
    rota_emit_members(s, &o->home);
    emit_each(s, o, emit_gather);
    emit_matrices(s, o);
    emit_each(s, o, emit_scatter);
}

static void emit_in_turn(rota_sched *s, const role *o)
{
    rota_phase_begin(s, 0);
    for (int l = 0; l < o->L; l++)
        emit_gather(s, o, served_by(o, l));
    rota_phase_begin(s, 0);
    rota_emit_copy(s, rota_src(s, s->me), rota_dst(s, s->me));
    emit_matrices(s, o);
    rota_emit_members(s, &o->home);
    rota_phase_begin(s, 0);
    for (int l = 0; l < o->L; l++)
        emit_scatter(s, o, served_by(o, l));
}

int rota_build_leaders(const rota_topo *topo, const rota_leaders *leaders,
                       rota_sched *s)
{
    const role o = role_of(s, topo, leaders);

    if (leaders->flow)
        emit_flow(s, &o);
    else
        emit_in_turn(s, &o);
    return rota_sched_end(s);
}

static int build(const rota_topo *topo, const rota_params *params,
                 rota_sched *s)
{
    const rota_leaders leaders = {.n = params->leaders};

    return rota_build_leaders(topo, &leaders, s);
}

const rota_algo rota_algo_mpml = {
    .name = "mpml",
    .summary = "several leaders a node exchange what they gather",
    .source = "[Peng21] algorithms 2 and 3",
    .params = ROTA_P_LEADERS,
    .nodes = true,
    .build = build,
};
