/* cost.c - counting the terms of a schedule. */
#include "choose/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct counter {
    const rota_sched *s;
    const double *bytes;
    const rota_run_kind *how;
    rota_terms *step; /* [ROTA_STEPS] */
    double *toward;   /* [n_nodes + 1] bytes of a phase to each node, and to the
                         nodes of the other half; or to each group; or, of a
                         torus, [2 * dims] by hops of each direction. In a window
                         also those for which a path waited. */
    double *slot;     /* [P] of a window: bytes that had passed when the message
                         that was there last had arrived */
    int window;       /* messages between nodes under way at a time; 0: all */
    uint32_t posted;  /* messages between nodes so far */
    double now;       /* bytes that had passed when this one is posted */
    bool meanwhile;   /* messages within the node come after those to others */
    double first;     /* nanoseconds of receives posted before any send */
    double late[ROTA_N_TERMS]; /* of a phase, what comes only in the next */
    double port; /* the busiest one's part of what its node sends to others */
    rota_torus torus;
    double
        busiest; /* leaders take turns: the share of all hops in the direction
                       that has most, if nodes send to all alike */
} counter;

static rota_link link_to(const counter *k, int peer, bool native)
{
    const rota_topo *const t = k->how->topo;
    const int me = k->s->me;
    const bool near = t->node[peer] == t->node[me];

    if (native && k->how->native)
        return near ? ROTA_LINK_NATIVE_NODE : ROTA_LINK_NATIVE_NET;
    if (!near)
        return ROTA_LINK_NET;
    if (!k->how->shared)
        return ROTA_LINK_P2P;
    return t->domain[peer] == t->domain[me] ? ROTA_LINK_DOMAIN : ROTA_LINK_NODE;
}

/* Messages may carry sizes beside their data: this many bytes each. */
enum { CELL = 8 };

static bool sizes_go_before(const counter *k)
{
    return k->how->metadata == ROTA_META_TWO_PHASE ||
           k->how->metadata == ROTA_META_COMBINED;
}

static bool is_of_processor(int term)
{
    return (term >= ROTA_TERM_POSTED && term <= ROTA_TERM_COPIED_BYTE) ||
           term == ROTA_TERM_NETWORK_BUSY;
}

/* Combine what is sent and what is received. The processor does both, one after
 * the other. A rank's link works both ways at once. What ranks share carries
 * what all of them send, which is also what all receive: the mean of the
 * two. */
static double both_ways(int term, double sent, double received)
{
    const rota_part part = rota_part_of(term);

    if (is_of_processor(term))
        return sent + received;
    return part >= ROTA_PART_MEMORY ? (sent + received) / 2
                                    : rota_larger(sent, received);
}

/* n: all terms, or those of MEANWHILE. */
static void count_on(double n[], rota_link link, double how_often, double bytes,
                     bool is_long)
{
    n[rota_term(link, is_long ? ROTA_PER_LONG_MESSAGE : ROTA_PER_MESSAGE)] +=
        how_often;
    n[rota_term(link, is_long ? ROTA_PER_LONG_BYTE : ROTA_PER_BYTE)] += bytes;
}

/* The network's description, or NULL. */
static const rota_network *described(const counter *k)
{
    const rota_network *const net = k->how->network;

    return net && net->given ? net : NULL;
}

/* Post a message by MPI. Receives in a window or a flow are posted while the rank
 * waits, others before it sends. */
static void count_posted(counter *k, const rota_phase *p, rota_dir dir,
                         double how_often, double n[])
{
    const rota_network *const net = described(k);

    if (dir == ROTA_SEND || !net || net->posted_receive < 0)
        n[ROTA_TERM_POSTED] += how_often;
    else if (!p->flow && p->window == 0)
        k->first += how_often * net->posted_receive;
}

/* Between nodes, messages that are not short take more. */
static void count_past_short(const counter *k, rota_dir dir, double how_often,
                             double bytes, double n[])
{
    const rota_network *const net = described(k);

    if (!net || bytes <= net->short_bytes * how_often)
        return;
    if (dir == ROTA_SEND)
        n[ROTA_TERM_NETWORK_BUSY] += how_often * net->past_short;
    n[ROTA_TERM_NETWORK_PORT] += how_often * net->past_short_gap;
}

/* Through shared memory both ends copy, and so does who hands over or takes; all
 * of it goes through the memory of the node, where the machine says what that
 * takes. */
static void count_memory(const counter *k, rota_dir dir, double how_often,
                         double bytes, double n[])
{
    if (described(k))
        count_on(n, ROTA_LINK_P2P,
                 dir == ROTA_SEND ? ROTA_N_DIRS * how_often : 0,
                 ROTA_N_DIRS * bytes, bytes > ROTA_LONG * how_often);
}

/* A flag waits for nothing that others copy. */
static void count_flag(const counter *k, rota_link link, double how_often,
                       double n[])
{
    count_on(n + (k->meanwhile ? ROTA_TERM_MEANWHILE : 0), link, how_often, 0,
             false);
}

static void count_message(counter *k, const rota_phase *p, rota_dir dir,
                          rota_link link, double how_often, double bytes,
                          double n[])
{
    const bool meanwhile = link <= ROTA_LINK_NODE && k->meanwhile;

    if (link == ROTA_LINK_P2P || link == ROTA_LINK_NET)
        count_posted(k, p, dir, how_often, n);
    if (link == ROTA_LINK_NET)
        count_past_short(k, dir, how_often, bytes, n);
    if (link <= ROTA_LINK_NODE)
        count_memory(k, dir, how_often, bytes, n);
    count_on(n + (meanwhile ? ROTA_TERM_MEANWHILE : 0), link, how_often, bytes,
             bytes > ROTA_LONG * how_often);
}

/* Do the messages of a phase carry sizes? */
static bool tells_sizes(const counter *k, const rota_phase *p)
{
    return k->how->metadata != ROTA_META_ONCE && !p->native;
}

/* MPI's own all-to-all keeps this many messages in flight. */
enum { NATIVE_WINDOW = 32 };

/* How many of a phase's messages are under way at a time; 0: all. Where sizes go
 * first and there is no window, blocks come one after another. */
static int window_of(const counter *k, const rota_phase *p)
{
    const bool in_turn = tells_sizes(k, p) && sizes_go_before(k);

    return p->native ? NATIVE_WINDOW : p->window ? p->window : in_turn ? 1 : 0;
}

/* Of a phase's bytes, which paths have how many so far: none. Of leaders the bytes of
 * all paths are taken together, without their waiting. */
static void clear_path(counter *k, const rota_phase *p)
{
    const int window = k->how->leaders > 0 ? 0 : window_of(k, p);

    k->window = window < k->s->P ? window : k->s->P;
    k->posted = 0;
    for (int i = 0; i < k->window; i++)
        k->slot[i] = 0;
    for (int i = 0; i <= k->how->topo->n_nodes || i < 2 * ROTA_MOST_DIMS; i++)
        k->toward[i] = 0;
}

/* A path is idle while none of the messages under way takes it: a torus's links back,
 * while all of them go ahead. */
static double add_to_path(counter *k, int path, double bytes)
{
    k->toward[path] = rota_larger(k->toward[path], k->now) + bytes;
    return k->toward[path];
}

/* Messages to one node share a path. All that go to the other half of the nodes
 * share the links between the halves. */
static double count_flat(counter *k, int to, double bytes)
{
    const rota_topo *const t = k->how->topo;
    const int half = (t->n_nodes + 1) / 2;
    const double there = add_to_path(
        k, to, k->how->leaders > 0 ? bytes / k->how->leaders : bytes);

    return (to < half) == (t->node[k->s->me] < half)
               ? there
               : rota_larger(there, add_to_path(k, t->n_nodes, bytes));
}

/* All that leaves a group shares its way out. In a Dragonfly, each other group
 * has an equal share of that way, and takes as long as if all had as much. The
 * leaders of a node send to all groups together. */
static double count_group(counter *k, int to, double bytes, double n[])
{
    const rota_network *const net = k->how->network;
    const int groups = rota_network_groups(net, k->how->topo->n_nodes);
    const int here = rota_network_group(net, k->how->topo->node[k->s->me]);
    const int there = rota_network_group(net, to);
    const bool apart =
        net->shape == ROTA_SHAPE_DRAGONFLY && k->how->leaders == 0;

    if (here == there)
        return 0;
    n[ROTA_TERM_NETWORK_WAIT] = net->far;
    if (apart)
        bytes *= groups - 1;
    return add_to_path(k, apart ? there : 0, bytes);
}

/* If all nodes do alike, a link has as many bytes as one node sends, once for
 * each hop in its direction. */
static double count_hops(counter *k, int from, int to, double bytes, double n[])
{
    int hops[2 * ROTA_MOST_DIMS];
    double most = 0, all = 0, latency = 0;

    rota_torus_hops(&k->torus, from, to, hops);
    for (int i = 0; i < 2 * k->torus.dims; i++) {
        if (hops[i] > 0)
            most = rota_larger(most, add_to_path(k, i, hops[i] * bytes));
        latency += hops[i] * k->how->network->hop;
        all += k->toward[i];
    }
    n[ROTA_TERM_NETWORK_WAIT] = rota_larger(n[ROTA_TERM_NETWORK_WAIT], latency);
    return k->how->leaders > 0 ? all * k->busiest : most;
}

/* A message of a window is posted when the one before it in its slot has arrived. */
static void count_path(counter *k, rota_dir dir, int peer, double bytes,
                       double n[])
{
    const int *const node = k->how->topo->node;
    const int to = node[peer], here = node[k->s->me];
    double *const slot =
        &k->slot[k->window > 0 ? k->posted++ % (uint32_t)k->window : 0];
    double passed;

    k->now = k->window > 0 ? *slot : 0;
    switch (k->how->network ? k->how->network->shape : ROTA_SHAPE_FLAT) {
    case ROTA_SHAPE_DRAGONFLY:
    case ROTA_SHAPE_FATTREE:
        passed = count_group(k, to, bytes, n);
        break;
    case ROTA_SHAPE_TORUS:
        passed = count_hops(k, dir == ROTA_SEND ? here : to,
                            dir == ROTA_SEND ? to : here, bytes, n);
        break;
    default:
        passed = count_flat(k, to, bytes);
    }
    *slot = rota_larger(k->now, passed); /* none within a group */
    n[ROTA_TERM_PATH_BYTE] = rota_larger(n[ROTA_TERM_PATH_BYTE], passed);
}

/* The probability that a block has bytes. */
static double filled(const counter *k, rota_block b)
{
    if (k->bytes[b] <= 0)
        return 0;
    return rota_block_is_padded(k->s, b) ||
                   (k->how->exact && b < rota_first_tmp(k->s))
               ? 1
               : k->how->density;
}

/* Is a message sent even if it has no bytes? A fixed plan's flow is taken to do so
 * though it does not, which makes up for the time that messages wait for each other
 * there. */
static bool is_always_sent(const counter *k, const rota_phase *p)
{
    return tells_sizes(k, p) || p->flow || (p->native && k->how->native);
}

/* What a message is expected to have. */
typedef struct content {
    double bytes;
    double blocks; /* that have bytes */
    double filled; /* the probability that any has */
    double sent;   /* the probability that the message is sent */
} content;

static content expect_content(const counter *k, const rota_phase *p,
                              rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &k->s->msgs[dir];
    content c = {0};
    double none = 1;

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
        const double share = filled(k, l->item[i]);
        c.bytes += k->bytes[l->item[i]];
        c.blocks += share;
        none *= 1 - share;
    }
    c.filled = 1 - none;
    c.sent = is_always_sent(k, p) ? 1 : c.filled;
    return c;
}

/* The rank without the shared blocks copies every block. To or from another
 * domain, that takes as long as one of the two copies of an ordinary message
 * there. The other end only says or sees that they lie ready: one rank after the
 * other, before they copy or after. */
static void count_handed(counter *k, rota_dir dir, uint32_t m, rota_link link,
                         content what, double n[])
{
    const bool lends = rota_msg_lends(k->s, dir, m);

    k->meanwhile = lends;
    count_flag(k, link, what.sent, n);
    if (lends)
        return;
    count_memory(k, ROTA_RECV, what.sent, what.bytes, n);
    n[ROTA_TERM_COPIED_BLOCK] += what.blocks;
    if (link == ROTA_LINK_NODE)
        n[rota_term(link, ROTA_PER_BYTE)] += what.bytes / 2;
    else
        n[ROTA_TERM_COPIED_BYTE] += what.bytes;
}

/* Is the message packed? Blocks with consecutive numbers are taken to lie end
 * to end, as the user's often do. If the message carries sizes, it always
 * is. */
static bool is_packed(const counter *k, const rota_block item[], uint32_t n)
{
    bool in_a_row = k->how->metadata == ROTA_META_ONCE;

    for (uint32_t i = 1; i < n && in_a_row; i++)
        in_a_row = item[i] == item[i - 1] + 1;
    return n > 1 && !in_a_row;
}

/* The number of sizes that receive m carries. A direct message of known size
 * has none. Blocks that this rank keeps share one if it knows their sizes. */
static double received_cells(const counter *k, uint32_t m)
{
    const rota_msgs *const l = &k->s->msgs[ROTA_RECV];
    uint32_t land = 0;

    if (k->how->known && rota_msg_is_direct(k->s, ROTA_RECV, m))
        return 0;
    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        land += rota_block_arrives(k->s, l->item[i]);
    const uint32_t n = rota_msg_blocks(&l->msg[m]);
    return k->how->known && land > 1 ? n - land + 1 : n;
}

/* Sizes per block in the phase's messages. A sender does not know which of its
 * blocks a receiver keeps, so it is taken to send as many sizes as it
 * receives. */
static double cells_per_block(const counter *k, uint32_t phase)
{
    const rota_phase *const p = &k->s->phase[phase];
    const rota_msg *const msg = k->s->msgs[ROTA_RECV].msg;
    double cells = 0;

    for (uint32_t m = p->msg[ROTA_RECV]; m < p[1].msg[ROTA_RECV]; m++)
        cells += received_cells(k, m);
    const uint32_t n =
        msg[p[1].msg[ROTA_RECV]].first - msg[p->msg[ROTA_RECV]].first;
    return n > 0 ? cells / n : 1;
}

/* Where nobody knows what comes, it stays where it arrives until the end. */
static bool is_exchange(const counter *k)
{
    return k->how->metadata != ROTA_META_ONCE && !k->how->known;
}

/* What it takes to pack message m, or to unpack it. Parcels are neither: their
 * receiver notes where each block lies. */
static void count_packing(const counter *k, rota_dir dir, uint32_t m,
                          bool tells, double cells, content what, double n[])
{
    const rota_msgs *const l = &k->s->msgs[dir];
    const bool parcels =
        tells && !l->msg[m].handed && rota_msg_lends(k->s, dir, m);
    const bool beside =
        tells && cells > 0 && k->how->metadata == ROTA_META_FUSED;
    const bool packed = beside || is_packed(k, l->item + l->msg[m].first,
                                            rota_msg_blocks(&l->msg[m]));

    if (dir == ROTA_SEND ? parcels || !packed
        : tells          ? !parcels && is_exchange(k)
                         : !packed)
        return;
    n[ROTA_TERM_COPIED_BLOCK] += what.blocks;
    if (!parcels)
        n[ROTA_TERM_COPIED_BYTE] += what.bytes;
}

/* Count message m, which is not handed over. Its sizes, cells of them, go in a
 * message before it or together with its data. */
static void count_ordinary(counter *k, const rota_phase *p, rota_dir dir,
                           uint32_t m, rota_link link, double cells,
                           content what, double n[])
{
    const bool before = cells > 0 && sizes_go_before(k);
    const double bytes = what.bytes + (before ? 0 : CELL * cells);

    count_packing(k, dir, m, tells_sizes(k, p), cells, what, n);
    if (before)
        count_message(k, p, dir, link, 1, CELL * cells, n);
    /* Whoever has told all sizes sends no message without data. */
    count_message(k, p, dir, link,
                  before && k->how->metadata == ROTA_META_TWO_PHASE
                      ? what.filled
                      : what.sent,
                  bytes, n);
    if (link == ROTA_LINK_NET)
        count_path(k, dir, k->s->msgs[dir].msg[m].peer, bytes, n);
}

/* Count message m of a phase. It is not sent if it has no bytes, unless it
 * carries sizes. Returns how often the rank waits for it; *slowest: the slowest
 * link so far. */
static double count_one(counter *k, const rota_phase *p, rota_dir dir,
                        uint32_t m, double cells_each, double n[],
                        rota_link *slowest)
{
    const rota_msg *const msg = &k->s->msgs[dir].msg[m];
    const rota_link link = link_to(k, msg->peer, p->native != 0);
    const content what = expect_content(k, p, dir, m);

    if (what.sent <= 0)
        return 0;
    if (msg->peer == k->s->me) { /* its own block, in a native phase */
        n[ROTA_TERM_COPIED_BYTE] += what.bytes / ROTA_N_DIRS;
        return 0;
    }
    if (msg->handed && link <= ROTA_LINK_NODE) {
        count_handed(k, dir, m, link, what, n);
        if (dir == ROTA_SEND) /* the giving end does not wait */
            return 0;
    } else {
        count_ordinary(k, p, dir, m, link, cells_each * rota_msg_blocks(msg),
                       what, n);
    }
    *slowest = link > *slowest ? link : *slowest;
    return what.sent;
}

/* What packing and unpacking count. */
static const int copies[] = {ROTA_TERM_COPIED_BYTE, ROTA_TERM_COPIED_BLOCK};

static bool is_far(const counter *k, const rota_phase *p, rota_dir dir,
                   uint32_t m)
{
    return link_to(k, k->s->msgs[dir].msg[m].peer, p->native != 0) ==
           ROTA_LINK_NET;
}

/* What members take of a single leader, whose exchange is a phase of its own, comes
 * after that; with several leaders they take what one has received while others
 * receive. */
static bool is_taken_late(const counter *k, rota_dir dir, uint32_t m)
{
    enum { OF_MEMBERS = 2 }; /* phases */

    return k->how->leaders == 1 && k->s->n_phases == OF_MEMBERS &&
           dir == ROTA_RECV && k->s->msgs[dir].msg[m].handed &&
           !rota_msg_lends(k->s, dir, m);
}

/* Count the messages of one direction of a phase. Returns the number that the
 * rank waits for; *slowest: the slowest link. ends: what is copied for one message to
 * another node. */
static double count_direction(counter *k, uint32_t phase, rota_dir dir,
                              double n[], rota_link *slowest, double ends[2])
{
    const rota_phase *const p = &k->s->phase[phase];
    const double cells_each = tells_sizes(k, p) ? cells_per_block(k, phase) : 0;
    double awaited = 0, far = 0, of_far[2] = {0};
    uint32_t last = p[1].msg[dir];

    clear_path(k, p);
    while (last > p->msg[dir] && !is_far(k, p, dir, last - 1))
        last--;
    for (uint32_t m = p->msg[dir]; m < p[1].msg[dir]; m++) {
        const bool near = !is_far(k, p, dir, m);
        const double before[] = {n[copies[0]], n[copies[1]]};
        k->meanwhile = k->how->leaders > 0 && m >= last;
        const double often =
            count_one(k, p, dir, m, cells_each,
                      is_taken_late(k, dir, m) ? k->late : n, slowest);
        awaited += often;
        far += near ? 0 : often;
        for (int i = 0; !near && i < 2; i++)
            of_far[i] += n[copies[i]] - before[i];
    }
    for (int i = 0; i < 2; i++)
        ends[i] = of_far[i] / rota_larger(far, 1);
    return awaited;
}

/* How often the phase waits for all messages that are under way. */
static double batches(const counter *k, const rota_phase *p, double messages)
{
    const int window = p->native ? NATIVE_WINDOW : p->window;
    const double listed = p[1].msg[ROTA_RECV] - p->msg[ROTA_RECV];
    double n = messages < 1 ? messages : 1;

    if (p->native && !k->how->native) /* where empty ones count, too */
        n = fmin(messages, ceil(listed / window));
    else if (window > 0 && messages > window)
        n = ceil(messages / window);

    return n * (sizes_go_before(k) ? 2 : 1);
}

/* The weight of this rank's count of a term. What goes through a node's memory
 * or port counts as if all ranks of the node did as much. */
static double weight(const counter *k, int term)
{
    const rota_topo *const t = k->how->topo;
    const rota_network *const net = described(k);
    const rota_part part = rota_part_of(term);
    const double Q = rota_topo_node_size(t, t->node[k->s->me]);

    if (part < ROTA_PART_MEMORY)
        return 1;
    if (net && part < ROTA_PART_PATH)
        return part == ROTA_PART_MEMORY ? Q / net->domains : Q * k->port;
    return Q;
}

/* Each time a rank waits, it pays a latency and lets the others of its core
 * run. */
static void count_waits(const counter *k, const rota_phase *p, double waits,
                        rota_link slowest, double n[])
{
    const bool near = slowest <= ROTA_LINK_NODE;

    n[(near ? ROTA_TERM_MEANWHILE : 0) + rota_term(slowest, ROTA_PER_PHASE)] +=
        waits;
    n[p->native ? ROTA_TERM_SWITCH_NATIVE
      : near    ? ROTA_TERM_SWITCH
                : ROTA_TERM_SWITCH_MPI] += (k->how->load - 1) * waits;
}

/* A step is a phase or, if there are too many, several in a row. There is one
 * more before the phases, for what is done before any message is under way, and
 * one after them. */
static double *step_at(const counter *k, uint32_t i)
{
    const uint32_t n = k->s->n_phases + 2;

    return k->step[n <= ROTA_STEPS ? i : (uint64_t)i * ROTA_STEPS / n].n;
}

/* Add a share of what is sent and received to a step. */
static void add_to_step(const counter *k, uint32_t i, const double sent[],
                        const double received[], double share)
{
    double *const n = step_at(k, i);

    for (int t = 0; t < ROTA_N_TERMS; t++)
        if (sent[t] > 0 || received[t] > 0) /* few are */
            n[t] += weight(k, t) * share * both_ways(t, sent[t], received[t]);
}

/* Move a share of a phase's copies to a neighbouring step. The first message's
 * copies are made before any message is under way, the last one's when none is
 * any more. At most the phases before and after overlap with them. */
static void count_ends(const counter *k, uint32_t phase, rota_dir dir,
                       const double moved[2], double n[])
{
    for (int i = 0; i < 2; i++) {
        const int t = copies[i];
        double *const there = step_at(k, dir == ROTA_SEND ? phase : phase + 2);
        there[t] += weight(k, t) * moved[i];
        n[t] -= moved[i];
    }
}

static void count_bulk(counter *k, uint32_t phase)
{
    static const double none[ROTA_N_TERMS];
    const rota_phase *const p = &k->s->phase[phase];
    double n[ROTA_N_DIRS][ROTA_N_TERMS] = {{0}}, ends[ROTA_N_DIRS][2];
    rota_link slowest = ROTA_LINK_DOMAIN;
    double most = 0;

    k->first = 0;
    memset(k->late, 0, sizeof k->late);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        most = rota_larger(most, count_direction(k, phase, (rota_dir)dir,
                                                 n[dir], &slowest, ends[dir]));
    const double waits = most > 0 ? batches(k, p, most) : 0;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        n[dir][ROTA_TERM_NETWORK_WAIT] *= waits;
        count_ends(k, phase, (rota_dir)dir, ends[dir], n[dir]);
    }
    n[ROTA_RECV][ROTA_TERM_NETWORK_FIRST] = k->first;
    add_to_step(k, phase + 1, n[ROTA_SEND], n[ROTA_RECV], 1);
    add_to_step(k, phase + 2, none, k->late, 1);
    if (most > 0)
        count_waits(k, p, waits, slowest, step_at(k, phase + 1));
}

static void count_block_copied(const counter *k, const rota_copy *copy,
                               double n[])
{
    const bool padded = rota_block_is_padded(k->s, copy->from);

    n[ROTA_TERM_COPIED_BLOCK] += filled(k, copy->from);
    n[ROTA_TERM_COPIED_BYTE] += k->bytes[padded ? copy->to : copy->from];
}

static void count_copies(const counter *k, uint32_t phase)
{
    const rota_phase *const p = &k->s->phase[phase];
    double *const n = step_at(k, phase + 1);

    for (uint32_t i = p->copy; i < p[1].copy; i++)
        count_block_copied(k, &k->s->copy[i], n);
}

/* ---- phases through which data flow -------------------------------------- */

/* What messages of a flow are for: to members of the node for themselves; between
 * nodes; parts of those, copied by this rank; the same, copied by others. */
typedef enum flow_class {
    DIRECT,
    BETWEEN,
    PARTS,
    OTHERS,
    N_CLASSES
} flow_class;

typedef struct flow_terms {
    double n[N_CLASSES][ROTA_N_TERMS];
    double messages[N_CLASSES];
} flow_terms;

static flow_class class_of(const counter *k, const rota_phase *p, rota_dir dir,
                           uint32_t m)
{
    const rota_msgs *const l = &k->s->msgs[dir];

    if (is_far(k, p, dir, m))
        return BETWEEN;
    if (rota_msg_is_direct(k->s, dir, m))
        return DIRECT;
    return l->item[l->msg[m].first] < rota_first_tmp(k->s) ? PARTS : OTHERS;
}

/* Copies of a flow phase are made for sends, or after receives. Returns the number of
 * messages that the rank waits for. */
static double count_flow_direction(counter *k, uint32_t phase, rota_dir dir,
                                   flow_terms *f, rota_link *slowest)
{
    const rota_phase *const p = &k->s->phase[phase];
    const double cells_each = tells_sizes(k, p) ? cells_per_block(k, phase) : 0;
    double awaited = 0;

    clear_path(k, p);
    for (uint32_t m = p->msg[dir]; m < p[1].msg[dir]; m++) {
        const flow_class c = class_of(k, p, dir, m);
        k->meanwhile = c == DIRECT;
        f->messages[c]++;
        awaited += count_one(k, p, dir, m, cells_each, f->n[c], slowest);
    }
    for (uint32_t i = p->copy; i < p[1].copy; i++) {
        const bool taken = k->s->copy[i].to >= rota_first_tmp(k->s);
        if (taken == (dir == ROTA_SEND))
            count_block_copied(k, &k->s->copy[i], f->n[PARTS]);
    }
    return awaited;
}

/* Of what a leader notes of messages from other nodes, that of the last one comes
 * when nothing is under way any more. */
static void count_last_noted(const counter *k, uint32_t phase, double share,
                             double n[])
{
    double last[2];

    for (int i = 0; i < 2; i++)
        last[i] = share * n[copies[i]];
    count_ends(k, phase, ROTA_RECV, last, n);
}

/* Direct messages go through the memory of the node while others are under way. */
static void pass_direct_meanwhile(flow_terms *f)
{
    for (int t = 0; t < ROTA_N_TERMS; t++)
        if (rota_part_of(t) == ROTA_PART_MEMORY) {
            f->n[BETWEEN][t] += f->n[DIRECT][t];
            f->n[DIRECT][t] = 0;
        }
}

/* The first message to another node leaves when its parts are there, which all ranks
 * give first. The last message that comes is taken apart at last, and so is what
 * members send each other. In between, all goes on at the same time. */
static void count_flow(counter *k, uint32_t phase)
{
    static const double none[ROTA_N_TERMS];
    const rota_phase *const p = &k->s->phase[phase];
    flow_terms f[ROTA_N_DIRS];
    const flow_terms *const sent = &f[ROTA_SEND], *const received =
                                                      &f[ROTA_RECV];
    rota_link slowest = ROTA_LINK_DOMAIN;
    double most = 0;

    memset(f, 0, sizeof f);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        most = rota_larger(most, count_flow_direction(k, phase, (rota_dir)dir,
                                                      &f[dir], &slowest));
    const double waits = most <= 0 ? 0 : sizes_go_before(k) ? 2 : 1;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        f[dir].n[BETWEEN][ROTA_TERM_NETWORK_WAIT] *= waits;
        pass_direct_meanwhile(&f[dir]);
    }
    const double there[ROTA_N_DIRS] = {
        [ROTA_SEND] = 1 / rota_larger(sent->messages[BETWEEN], 1),
        [ROTA_RECV] = 1 / rota_larger(received->messages[BETWEEN], 1)};
    const double part[ROTA_N_DIRS] = {
        [ROTA_SEND] =
            1 / rota_larger(sent->messages[BETWEEN] + sent->messages[PARTS], 1),
        [ROTA_RECV] = 1 / rota_larger(received->messages[BETWEEN] +
                                          received->messages[PARTS],
                                      1)};
    count_last_noted(k, phase, there[ROTA_RECV], f[ROTA_RECV].n[BETWEEN]);
    add_to_step(k, phase, sent->n[DIRECT], none, 1);
    add_to_step(k, phase, sent->n[PARTS], none, part[ROTA_SEND]);
    add_to_step(k, phase, none, received->n[OTHERS], there[ROTA_SEND]);
    add_to_step(k, phase + 1, sent->n[PARTS], none, 1 - part[ROTA_SEND]);
    add_to_step(k, phase + 1, none, received->n[OTHERS], 1 - there[ROTA_SEND]);
    add_to_step(k, phase + 1, sent->n[BETWEEN], received->n[BETWEEN], 1);
    add_to_step(k, phase + 1, none, received->n[PARTS], 1 - part[ROTA_RECV]);
    add_to_step(k, phase + 1, sent->n[OTHERS], none, 1 - there[ROTA_RECV]);
    add_to_step(k, phase + 2, none, received->n[PARTS], part[ROTA_RECV]);
    add_to_step(k, phase + 2, none, received->n[DIRECT], 1);
    add_to_step(k, phase + 2, sent->n[OTHERS], none, there[ROTA_RECV]);
    if (most > 0)
        count_waits(k, p, waits, slowest, step_at(k, phase + 1));
}

/* Put the blocks of an exchange where the caller finds them. */
static void count_collecting(const counter *k)
{
    double *const n = k->step[ROTA_STEPS - 1].n;

    for (int i = 0; i < k->s->n_recv; i++)
        n[ROTA_TERM_COPIED_BYTE] += k->bytes[rota_dst(k->s, i)];
}

/* From node 0 to each other. */
static double busiest_share(const rota_torus *t, int n_nodes)
{
    double all = 0, most = 0, sum[2 * ROTA_MOST_DIMS] = {0};
    int hops[2 * ROTA_MOST_DIMS];

    for (int to = 1; to < n_nodes; to++) {
        rota_torus_hops(t, 0, to, hops);
        for (int i = 0; i < 2 * t->dims; i++) {
            sum[i] += hops[i];
            all += hops[i];
            most = rota_larger(most, sum[i]);
        }
    }
    return all > 0 ? most / all : 0;
}

/* Of what a node sends to others, the part that goes through its busiest port. Ranks
 * are spread over ports in order, and leaders over ranks. */
static double busiest_port(const rota_run_kind *how)
{
    const rota_network *const net = how->network;
    const int L = how->leaders, others = how->topo->n_nodes - 1;
    double most = 0, sum = 0;

    if (!net || !net->given)
        return 1;
    if (L == 0 || net->ports == 1 || others < 1)
        return 1.0 / net->ports;
    for (int l = 0, port = 0; l < L; l++) {
        if (l * net->ports / L > port) {
            port = l * net->ports / L;
            sum = 0;
        }
        sum += l > 0 ? (others - l) / L + 1 : others / L;
        most = rota_larger(most, sum / others);
    }
    return most;
}

int rota_cost_count(const rota_sched *s, const double bytes[],
                    const rota_run_kind *how, rota_terms step[ROTA_STEPS])
{
    const size_t paths = (size_t)how->topo->n_nodes + 2 * ROTA_MOST_DIMS;
    counter k = {.s = s,
                 .bytes = bytes,
                 .how = how,
                 .step = step,
                 .toward = malloc((paths + (size_t)s->P) * sizeof *k.toward)};

    if (!k.toward)
        return rota_fail_mem("what a schedule costs");
    if (how->network && how->network->shape == ROTA_SHAPE_TORUS) {
        k.torus = rota_torus_of(how->network, how->topo->n_nodes);
        k.busiest = busiest_share(&k.torus, how->topo->n_nodes);
    }
    k.slot = k.toward + paths;
    k.port = busiest_port(how);
    memset(step, 0, ROTA_STEPS * sizeof *step);
    step[0].n[ROTA_TERM_START] = 1;
    for (uint32_t p = 0; p < s->n_phases; p++) {
        if (s->phase[p].flow) {
            count_flow(&k, p);
            continue;
        }
        count_bulk(&k, p);
        count_copies(&k, p);
    }
    if (is_exchange(&k))
        count_collecting(&k);
    free(k.toward);
    return MPI_SUCCESS;
}
