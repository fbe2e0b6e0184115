/* sparse.c - see sparse.h. */
#include "sim/sparse.h"

#include "sim/engine.h"
#include "sim/events.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, COUNT_BYTES = 4 };

enum { LEAVE, ARRIVE, ASKED, BROUGHT, ACKED, BUNDLES, TOKEN, THROUGH };

/* A block, or a bundle of the n blocks from block first on. */
typedef struct message {
    int from, to;
    size_t bytes;
    size_t first, n; /* n = 0: a block */
    double posted;   /* MPI: when its first end was posted; < 0: neither */
} message;

typedef struct block {
    int from, to;
    size_t bytes;
} block;

typedef struct rank {
    double t;    /* its own time */
    int unacked; /* messages of its own that are not matched */
    bool bundled, counted;
    int round;          /* of the barrier, of a leader */
    uint32_t tokens;    /* bit i: that of round i has come */
    size_t got_blocks;  /* received by it, at last */
    double got_bytes;   /* of them */
    size_t at[2], left; /* MPI: next send and receive; how many open */
} rank;

typedef struct group {
    int waits;     /* members to come */
    double latest; /* the last that came so far */
} group;

typedef struct sim {
    const sim_sparse *c;
    const sim_machine *m;
    rota_topo topo;
    int P, n_groups, rounds;
    block *block; /* by sender, sorted by receiver */
    size_t *first, n_blocks;
    block *sorted;   /* blocks that are bundled, by nodes and receiver */
    size_t *begins;  /* [n_nodes + 1] of each sending node in sorted */
    size_t *list[2]; /* MPI: blocks by rank and batch, sent and received */
    message *message;
    size_t n_messages, room;
    rank *rank;
    group *deposited, *entered;
    sim_wires wires;
    sim_events events;
    sim_sparse_result result;
} sim;

/* ---- the machine --------------------------------------------------------- */

static double price(const sim *x, int term)
{
    return x->m->prices.ns[term];
}

static double wire(sim *x, int from, int to, double now, double bytes)
{
    return sim_wires_send(&x->wires, sim_place_of(x->m, &x->topo, from),
                          sim_place_of(x->m, &x->topo, to), now, bytes);
}

/* A flag, or mail, from one rank of a node to another. */
static double flag_ns(const sim *x)
{
    return price(x, rota_term(ROTA_LINK_DOMAIN, ROTA_PER_PHASE));
}

static double copy_ns(sim *x, double bytes, double blocks)
{
    x->result.copied += bytes;
    return bytes * price(x, ROTA_TERM_COPIED_BYTE) +
           blocks * price(x, ROTA_TERM_COPIED_BLOCK);
}

/* The block is copied once, by its sender. */
static void mail(sim *x, int from, size_t bytes)
{
    const sim_work work = {
        .ns = price(x, rota_term(ROTA_LINK_DOMAIN, ROTA_PER_MESSAGE)) +
              copy_ns(x, (double)bytes, 1),
        .bytes = (double)bytes,
        .message = true};
    double *const t = &x->rank[from].t;

    x->result.within++;
    x->result.bytes += (double)bytes;
    *t =
        sim_wires_work(&x->wires, sim_place_of(x->m, &x->topo, from), *t, work);
}

static bool is_alone(const sim *x)
{
    return x->c->way == SIM_SPARSE_ALONE;
}

static int group_of(const sim *x, int r)
{
    return is_alone(x) ? r : x->topo.node[r];
}

static int group_size(const sim *x, int g)
{
    return is_alone(x) ? 1 : rota_topo_node_size(&x->topo, g);
}

static int leader_of(const sim *x, int g)
{
    return is_alone(x) ? g : rota_node_rank(&x->topo, g, 0);
}

/* ---- who sends what ------------------------------------------------------ */

static int by_receiver(const void *a, const void *b)
{
    const block *const x = a, *const y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* Several blocks to one rank become one; what a rank sends itself stays. */
static void find_blocks(sim *x)
{
    const neighborhood *const among = x->c->among;
    size_t n = 0, kept = 0;

    x->block = inside_must(malloc((among->first[0][x->P] + 1) * sizeof(block)));
    x->first = inside_must(calloc((size_t)x->P + 1, sizeof *x->first));
    for (int r = 0; r < x->P; r++)
        for (size_t i = among->first[0][r]; i < among->first[0][r + 1]; i++)
            if (among->peer[0][i] != r)
                x->block[n++] =
                    (block){r, among->peer[0][i], among->bytes[0][i]};
    if (n > 0)
        qsort(x->block, n, sizeof(block), by_receiver);
    for (size_t i = 0; i < n; i++)
        if (kept > 0 && by_receiver(&x->block[i], &x->block[kept - 1]) == 0)
            x->block[kept - 1].bytes += x->block[i].bytes;
        else
            x->block[kept++] = x->block[i];
    x->n_blocks = kept;
    for (size_t i = 0; i < kept; i++)
        x->first[x->block[i].from + 1]++;
    for (int r = 0; r < x->P; r++)
        x->first[r + 1] += x->first[r];
}

static uint32_t add_message(sim *x, message m)
{
    if (x->n_messages == x->room) {
        x->room = x->room ? 2 * x->room : 1024;
        x->message =
            inside_must(realloc(x->message, x->room * sizeof *x->message));
    }
    m.posted = -1;
    x->message[x->n_messages] = m;
    return (uint32_t)x->n_messages++;
}

/* ---- sending ------------------------------------------------------------- */

/* Post a message that completes when it is matched. */
static void post(sim *x, message m)
{
    rank *const k = &x->rank[m.from];

    k->t += price(x, ROTA_TERM_POSTED);
    k->unacked++;
    x->result.between++;
    x->result.bytes += (double)m.bytes;
    sim_events_add(&x->events, k->t, m.from, LEAVE, add_message(x, m));
}

static int turn(const sim *x, int node, int from, int to)
{
    const int n = x->topo.n_nodes;

    return rota_node_turn(&x->topo, node, (to - from + n) % n);
}

/* The rank that sends what this node has for that one. */
static int agent(const sim *x, const block *b)
{
    const int here = x->topo.node[b->from];

    return turn(x, here, here, x->topo.node[b->to]);
}

static bool is_bundled(const sim *x, const block *b)
{
    return b->bytes <= x->c->bundle && x->c->way == SIM_SPARSE_ROTA &&
           x->topo.node[b->from] != x->topo.node[b->to];
}

static void send_block(sim *x, const block *b)
{
    rank *const k = &x->rank[b->from];

    if (group_of(x, b->from) == group_of(x, b->to)) {
        mail(x, b->from, b->bytes);
        x->rank[b->to].got_blocks++;
        x->rank[b->to].got_bytes += (double)b->bytes;
    } else if (!is_bundled(x, b)) {
        post(x, (message){.from = b->from, .to = b->to, .bytes = b->bytes});
    } else if (agent(x, b) == b->from) {
        k->t += copy_ns(x, (double)b->bytes, 1);
    } else {
        mail(x, b->from, b->bytes);
    }
}

/* A member comes at its time; returns whether it is the last. */
static bool come(group *g, double t)
{
    g->latest = rota_larger(g->latest, t);
    return --g->waits == 0;
}

static void enter_count(sim *x, int r)
{
    rank *const k = &x->rank[r];
    const int g = group_of(x, r);

    if (k->counted || k->unacked > 0 || !k->bundled)
        return;
    k->counted = true;
    if (!come(&x->entered[g], k->t))
        return;
    const double seen =
        x->entered[g].latest + (group_size(x, g) > 1 ? flag_ns(x) : 0);
    sim_events_add(&x->events, seen, leader_of(x, g), TOKEN, 0);
}

static void start(sim *x, int r)
{
    for (size_t i = x->first[r]; i < x->first[r + 1]; i++)
        send_block(x, &x->block[i]);
    x->rank[r].bundled = x->c->bundle == 0;
    const int node = x->topo.node[r];
    if (x->c->bundle == 0)
        enter_count(x, r);
    else if (come(&x->deposited[node], x->rank[r].t))
        for (int i = 0; i < rota_topo_node_size(&x->topo, node); i++)
            sim_events_add(&x->events, x->deposited[node].latest + flag_ns(x),
                           rota_node_rank(&x->topo, node, i), BUNDLES, 0);
}

/* ---- bundles ------------------------------------------------------------- */

static const int *node_of_rank; /* for sorting */

static int by_nodes(const void *a, const void *b)
{
    const block *const x = a, *const y = b;
    const int *const node = node_of_rank;

    if (node[x->from] != node[y->from])
        return node[x->from] < node[y->from] ? -1 : 1;
    if (node[x->to] != node[y->to])
        return node[x->to] < node[y->to] ? -1 : 1;
    return x->to != y->to ? (x->to > y->to) - (x->to < y->to)
                          : (x->from > y->from) - (x->from < y->from);
}

static void sort_bundled(sim *x)
{
    size_t n = 0;

    x->sorted = inside_must(malloc((x->n_blocks + 1) * sizeof(block)));
    x->begins =
        inside_must(calloc((size_t)x->topo.n_nodes + 1, sizeof *x->begins));
    for (size_t i = 0; i < x->n_blocks; i++)
        if (is_bundled(x, &x->block[i]))
            x->sorted[n++] = x->block[i];
    node_of_rank = x->topo.node;
    if (n > 0)
        qsort(x->sorted, n, sizeof(block), by_nodes);
    for (size_t i = 0; i < n; i++)
        x->begins[x->topo.node[x->sorted[i].from] + 1]++;
    for (int i = 0; i < x->topo.n_nodes; i++)
        x->begins[i + 1] += x->begins[i];
}

/* The end of the blocks for the same node as block i. */
static size_t end_of_bundle(const sim *x, size_t i, size_t end)
{
    const int to = x->topo.node[x->sorted[i].to];

    while (i < end && x->topo.node[x->sorted[i].to] == to)
        i++;
    return i;
}

/* What is for one rank goes to it, else to the agent of the receiving node. */
static void post_bundle(sim *x, int r, size_t i, size_t end)
{
    const block *const b = &x->sorted[i];
    const int here = x->topo.node[b->from], there = x->topo.node[b->to];
    message m = {.from = r, .first = i, .n = end - i};

    for (size_t k = i; k < end; k++)
        m.bytes += x->sorted[k].bytes;
    m.to = x->sorted[end - 1].to == b->to ? b->to : turn(x, there, here, there);
    x->rank[r].t += copy_ns(x, (double)m.bytes, (double)m.n);
    post(x, m);
}

/* All blocks of the node have been deposited. */
static void post_bundles(sim *x, int r, double now)
{
    rank *const k = &x->rank[r];
    const int here = x->topo.node[r];
    const size_t end = x->begins[here + 1];

    k->t = rota_larger(k->t, now);
    for (size_t i = x->begins[here], next; i < end; i = next) {
        next = end_of_bundle(x, i, end);
        if (agent(x, &x->sorted[i]) == r)
            post_bundle(x, r, i, next);
    }
    k->bundled = true;
    enter_count(x, r);
}

/* Pass on what is for others of the node. */
static void split(sim *x, const message *m)
{
    for (size_t i = m->first; i < m->first + m->n; i++) {
        const block *const b = &x->sorted[i];
        x->rank[b->to].got_blocks++;
        x->rank[b->to].got_bytes += (double)b->bytes;
        if (b->to != m->to)
            mail(x, m->to, b->bytes);
    }
}

/* ---- receiving ----------------------------------------------------------- */

static void acknowledge(sim *x, const message *m, uint32_t number, double now)
{
    x->result.empty++;
    sim_events_add(&x->events, wire(x, m->to, m->from, now, 0), m->from, ACKED,
                   number);
}

static void take(sim *x, const message *m)
{
    if (m->n > 0) {
        split(x, m);
        return;
    }
    x->rank[m->to].got_blocks++;
    x->rank[m->to].got_bytes += (double)m->bytes;
}

/* A message or, if it is long, word of it has arrived and is matched. */
static void arrive(sim *x, uint32_t number, double now)
{
    const message *const m = &x->message[number];
    rank *const k = &x->rank[m->to];

    k->t = rota_larger(k->t, now) + price(x, ROTA_TERM_POSTED);
    if (m->bytes > ROTA_LONG) {
        x->result.empty++;
        sim_events_add(&x->events, wire(x, m->to, m->from, k->t, 0), m->from,
                       ASKED, number);
        return;
    }
    acknowledge(x, m, number, k->t);
    take(x, m);
}

static void bring(sim *x, uint32_t number, double now)
{
    const message *const m = &x->message[number];

    x->rank[m->to].t = rota_larger(x->rank[m->to].t, now);
    acknowledge(x, m, number, now);
    take(x, m);
}

/* ---- the barrier --------------------------------------------------------- */

static void post_token(sim *x, int r)
{
    rank *const k = &x->rank[r];
    const int g = group_of(x, r);
    const int to = leader_of(x, (g + (1 << k->round)) % x->n_groups);

    k->t += x->m->net.posted_receive + price(x, ROTA_TERM_POSTED);
    x->result.empty++;
    sim_events_add(&x->events, wire(x, r, to, k->t, 0), to, TOKEN,
                   (uint32_t)k->round + 1);
}

/* which: 0: the group has entered; else the token of a round, counted from 1. */
static void go_on(sim *x, int r, uint32_t which, double now)
{
    rank *const k = &x->rank[r];

    k->t = rota_larger(k->t, now);
    if (which > 0)
        k->tokens |= UINT32_C(1) << (which - 1);
    if (which == 0)
        k->round = 0;
    if (which == 0 && x->rounds > 0)
        post_token(x, r);
    while (k->round >= 0 && k->round < x->rounds && k->tokens >> k->round & 1)
        if (++k->round < x->rounds)
            post_token(x, r);
    if (k->round != x->rounds)
        return;
    k->round++; /* once */
    for (int g = group_of(x, r), i = 0; i < group_size(x, g); i++)
        sim_events_add(&x->events, k->t + (i > 0 ? flag_ns(x) : 0),
                       is_alone(x) ? r : rota_node_rank(&x->topo, g, i),
                       THROUGH, 0);
}

/* ---- to the end ---------------------------------------------------------- */

static void leave(sim *x, const sim_event *e)
{
    const message *const m = &x->message[e->m];
    const double bytes = m->bytes > ROTA_LONG ? 0 : (double)m->bytes;

    sim_events_add(&x->events, wire(x, m->from, m->to, e->at, bytes), m->to,
                   ARRIVE, e->m);
}

static void handle(sim *x, const sim_event *e)
{
    const message *const m = x->n_messages ? &x->message[e->m] : NULL;
    rank *const k = &x->rank[e->rank];

    switch (e->what) {
    case LEAVE:
        leave(x, e);
        break;
    case ARRIVE:
        arrive(x, e->m, e->at);
        break;
    case ASKED:
        sim_events_add(&x->events,
                       wire(x, m->from, m->to, e->at, (double)m->bytes), m->to,
                       BROUGHT, e->m);
        break;
    case BROUGHT:
        bring(x, e->m, e->at);
        break;
    case ACKED:
        k->t = rota_larger(k->t, e->at);
        k->unacked--;
        enter_count(x, e->rank);
        break;
    case BUNDLES:
        post_bundles(x, e->rank, e->at);
        break;
    case TOKEN:
        go_on(x, e->rank, e->m, e->at);
        break;
    default:
        k->t = rota_larger(k->t, e->at);
    }
}

/* If bundles may still be split, all of the node wait for one another. All blocks
 * are put end to end at last, but not by who receives them in place. */
static double finish(sim *x)
{
    const int n = x->topo.n_nodes;
    double last = 0;

    for (int i = 0; i < n && x->c->bundle > 0; i++) {
        double node = 0;
        for (int k = 0; k < rota_topo_node_size(&x->topo, i); k++)
            node = rota_larger(node, x->rank[rota_node_rank(&x->topo, i, k)].t);
        for (int k = 0; k < rota_topo_node_size(&x->topo, i); k++)
            x->rank[rota_node_rank(&x->topo, i, k)].t = node + flag_ns(x);
    }
    for (int r = 0; r < x->P; r++) {
        rank *const k = &x->rank[r];
        if (!is_alone(x))
            k->t += copy_ns(x, k->got_bytes, (double)k->got_blocks);
        last = rota_larger(last, k->t);
    }
    return last / 1e3;
}

static double run_consensus(sim *x)
{
    x->n_groups = is_alone(x) ? x->P : x->topo.n_nodes;
    while (1 << x->rounds < x->n_groups)
        x->rounds++;
    x->deposited =
        inside_must(calloc((size_t)x->topo.n_nodes, sizeof *x->deposited));
    x->entered = inside_must(calloc((size_t)x->n_groups, sizeof *x->entered));
    for (int i = 0; i < x->topo.n_nodes; i++)
        x->deposited[i].waits = rota_topo_node_size(&x->topo, i);
    for (int g = 0; g < x->n_groups; g++)
        x->entered[g].waits = group_size(x, g);
    for (int r = 0; r < x->P; r++)
        x->rank[r].round = -1;
    sort_bundled(x);
    for (int r = 0; r < x->P; r++)
        start(x, r);
    while (x->events.n > 0) {
        const sim_event e = sim_events_take(&x->events);
        x->wires.clock = e.at;
        handle(x, &e);
    }
    return finish(x);
}

/* ---- by MPI -------------------------------------------------------------- */

/* Of a block, by rank at one side: batches go up from the rank for what it
 * receives, and down for what it sends. */
static size_t batch_of(const sim *x, const block *b)
{
    return (size_t)((b->from - b->to + x->P) % x->P) / BATCH;
}

static const sim *sorting;

static int by_batch(int side, size_t i, size_t j)
{
    const block *const a = &sorting->block[i], *const b = &sorting->block[j];
    const int p = side ? a->to : a->from, q = side ? b->to : b->from;
    const size_t s = batch_of(sorting, a), t = batch_of(sorting, b);

    return p != q ? (p > q) - (p < q) : (s > t) - (s < t);
}

static int by_sender(const void *a, const void *b)
{
    return by_batch(0, *(const size_t *)a, *(const size_t *)b);
}

static int by_taker(const void *a, const void *b)
{
    return by_batch(1, *(const size_t *)a, *(const size_t *)b);
}

static int rank_at(const sim *x, int side, size_t i)
{
    const block *const b = &x->block[x->list[side][i]];

    return side ? b->to : b->from;
}

static void sort_batches(sim *x)
{
    sorting = x;
    for (int side = 0; side < 2; side++) {
        x->list[side] = inside_must(malloc((x->n_blocks + 1) * sizeof(size_t)));
        for (size_t i = 0; i < x->n_blocks; i++)
            x->list[side][i] = i;
        if (x->n_blocks > 0)
            qsort(x->list[side], x->n_blocks, sizeof(size_t),
                  side ? by_taker : by_sender);
        for (size_t i = x->n_blocks; i-- > 0;)
            x->rank[rank_at(x, side, i)].at[side] = i;
    }
}

/* A message leaves when both ends have posted it. */
static void post_end(sim *x, size_t i, double now)
{
    message *const m = &x->message[i];

    if (m->posted >= 0)
        sim_events_add(&x->events, rota_larger(now, m->posted), m->from, LEAVE,
                       (uint32_t)i);
    m->posted = now;
}

static bool has_next(const sim *x, int side, int r)
{
    const size_t i = x->rank[r].at[side];

    return i < x->n_blocks && rank_at(x, side, i) == r;
}

static size_t next_batch(const sim *x, int side, int r)
{
    return has_next(x, side, r)
               ? batch_of(x, &x->block[x->list[side][x->rank[r].at[side]]])
               : SIZE_MAX;
}

/* Post a batch, receives first; those without messages take no time. */
static void post_batch(sim *x, int r)
{
    rank *const k = &x->rank[r];
    const size_t sends = next_batch(x, 0, r), receives = next_batch(x, 1, r);
    const size_t batch = sends < receives ? sends : receives;

    for (int side = 1; side >= 0; side--)
        while (batch != SIZE_MAX && next_batch(x, side, r) == batch) {
            k->t +=
                side ? x->m->net.posted_receive : price(x, ROTA_TERM_POSTED);
            k->left++;
            post_end(x, x->list[side][k->at[side]++], k->t);
        }
}

static void complete(sim *x, int r, double now)
{
    rank *const k = &x->rank[r];

    k->t = rota_larger(k->t, now);
    if (--k->left == 0)
        post_batch(x, r);
}

static double run_alltoallv(sim *x)
{
    double last = 0;

    sort_batches(x);
    for (size_t i = 0; i < x->n_blocks; i++)
        add_message(x, (message){.from = x->block[i].from,
                                 .to = x->block[i].to,
                                 .bytes = x->block[i].bytes});
    for (int r = 0; r < x->P; r++)
        post_batch(x, r);
    while (x->events.n > 0) {
        const sim_event e = sim_events_take(&x->events);
        const message *const m = &x->message[e.m];
        if (e.what == LEAVE) {
            sim_events_add(&x->events,
                           wire(x, m->from, m->to, e.at, (double)m->bytes),
                           m->to, ARRIVE, e.m);
            x->result.between++;
            x->result.bytes += (double)m->bytes;
        } else {
            complete(x, m->from, e.at);
            complete(x, m->to, e.at);
        }
    }
    for (int r = 0; r < x->P; r++)
        last = rota_larger(last, x->rank[r].t);
    return last / 1e3;
}

/* MPI_Alltoall of the counts: Bruck's, with messages within nodes by MPI, too. */
static double run_counts(const sim_sparse *c, const sim_machine *m, int P)
{
    char name[] = "bruck_basic";
    rota_hints hints;
    sim_case all = {.kind = ROTA_FIXED,
                    .P = P,
                    .node = c->node,
                    .shared = true,
                    .known = true,
                    .largest = COUNT_BYTES};

    all.form = sim_form_parse(name, &hints);
    all.form.by_mpi = true;
    all.hints = hints;
    return sim_run(&all, m).us;
}

/* ---- as a whole ---------------------------------------------------------- */

static void free_all(sim *x)
{
    free(x->block);
    free(x->first);
    free(x->sorted);
    free(x->begins);
    free(x->list[0]);
    free(x->list[1]);
    free(x->message);
    free(x->rank);
    free(x->deposited);
    free(x->entered);
    sim_wires_free(&x->wires);
    sim_events_free(&x->events);
    rota_topo_free(&x->topo);
}

sim_sparse_result sim_sparse_run(const sim_sparse *c, const sim_machine *m)
{
    sim_sparse own = *c;
    sim x = {.c = &own, .m = m, .P = c->among->P};

    if (c->way != SIM_SPARSE_ROTA)
        own.bundle = 0;
    x.topo = inside_topo(x.P, c->node);
    if (x.topo.n_nodes == 1 || x.topo.n_nodes == x.P)
        own.bundle = 0;
    x.rank = inside_must(calloc((size_t)x.P, sizeof *x.rank));
    for (int r = 0; r < x.P; r++)
        x.rank[r].at[0] = x.rank[r].at[1] = SIZE_MAX;
    sim_wires_init(&x.wires, m, x.topo.n_nodes);
    find_blocks(&x);
    x.result.us = c->way == SIM_SPARSE_MPI
                      ? run_counts(c, m, x.P) + run_alltoallv(&x)
                      : run_consensus(&x);
    const sim_sparse_result result = x.result;
    free_all(&x);
    return result;
}
