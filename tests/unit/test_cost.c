/* test_cost.c - terms of schedules that can be counted by hand, and prices. */
#include "algos/algo.h"
#include "choose/cost.h"

#include <math.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BLOCK = 100 };

typedef struct task {
    const rota_algo *algo;
    rota_params params;
    int P, node_size;
    int cores;
    rota_metadata metadata;
    bool shared;
    double block;
    double density; /* 0: 1 */
    bool known;
    int leaders, me;
    bool silent;   /* it sends nothing */
    bool expected; /* no block's size is known */
    const rota_network *network;
    bool native; /* MPI's own all-to-all has prices */
} task;

/* One rank's part, all blocks of one size but its own, which has none. */
static void count_steps(const task *t, rota_terms step[ROTA_STEPS])
{
    rota_topo topo;
    rota_sched s;

    assert_int_equal(rota_topo_make(&topo, t->P, t->node_size, 1), MPI_SUCCESS);
    assert_int_equal(rota_sched_init(&s, t->P, t->me), MPI_SUCCESS);
    assert_int_equal(t->algo->build(&topo, &t->params, &s), MPI_SUCCESS);
    double *const bytes = malloc(s.n_blocks * sizeof *bytes);
    assert_non_null(bytes);
    for (rota_block b = 0; b < s.n_blocks; b++)
        bytes[b] = t->block;
    bytes[rota_src(&s, 0)] = bytes[rota_dst(&s, 0)] = 0;
    for (int q = 0; q < t->P && t->silent; q++)
        bytes[rota_src(&s, q)] = 0;
    const double load = (double)t->node_size / t->cores;
    const rota_run_kind how = {.topo = &topo,
                               .network = t->network,
                               .native = t->native,
                               .density = t->density > 0 ? t->density : 1,
                               .load = load > 1 ? load : 1,
                               .metadata = t->metadata,
                               .known = t->known,
                               .exact = !t->expected,
                               .leaders = t->leaders,
                               .shared = t->shared};
    assert_int_equal(rota_cost_count(&s, bytes, &how, step), MPI_SUCCESS);
    free(bytes);
    rota_sched_free(&s);
    rota_topo_free(&topo);
}

/* Of all steps. */
static rota_terms count(const task *t)
{
    rota_terms step[ROTA_STEPS], all = {{0}};

    count_steps(t, step);
    for (int i = 0; i < ROTA_STEPS; i++)
        for (int k = 0; k < ROTA_N_TERMS; k++)
            all.n[k] += step[i].n[k];
    return all;
}

static double of(const rota_terms *terms, rota_link link, rota_per_link what)
{
    return rota_terms_priced(terms, rota_term(link, what));
}

static void expect(const rota_terms *terms, rota_link link, double phases,
                   double messages, double bytes)
{
    assert_float_equal(of(terms, link, ROTA_PER_PHASE), phases, 1e-9);
    assert_float_equal(of(terms, link, ROTA_PER_MESSAGE), messages, 1e-9);
    assert_float_equal(of(terms, link, ROTA_PER_BYTE), bytes, 1e-9);
}

static void direct(void **state)
{
    task t = {.algo = &rota_algo_spread_out,
              .P = 6,
              .node_size = 3,
              .cores = 6,
              .shared = true,
              .block = BLOCK};
    rota_terms n = count(&t);

    (void)state;
    /* The network is the slowest link of the one phase; three ranks share the
     * way to it. */
    expect(&n, ROTA_LINK_DOMAIN, 0, 2, 2 * BLOCK);
    expect(&n, ROTA_LINK_NET, 1, 3 * 3, 3 * 3 * BLOCK);
    assert_float_equal(n.n[ROTA_TERM_POSTED], 2 * 3, 1e-9);
    expect(&n, ROTA_LINK_P2P, 0, 0, 0);
    assert_float_equal(n.n[ROTA_TERM_START], 1, 1e-9);
    assert_float_equal(n.n[ROTA_TERM_SWITCH_MPI], 0, 1e-9);
    t.shared = false;
    n = count(&t);
    expect(&n, ROTA_LINK_DOMAIN, 0, 0, 0);
    expect(&n, ROTA_LINK_P2P, 0, 3 * 2, 3 * 2 * BLOCK);
}

/* What goes out of one node comes into another: a port has the mean of what ranks
 * send and receive, the processor both. */
static void one_way(void **state)
{
    const task t = {.algo = &rota_algo_spread_out,
                    .P = 6,
                    .node_size = 3,
                    .cores = 6,
                    .shared = true,
                    .silent = true,
                    .block = BLOCK};
    const rota_terms n = count(&t);

    (void)state;
    expect(&n, ROTA_LINK_DOMAIN, 0, 2, 2 * BLOCK);
    expect(&n, ROTA_LINK_NET, 1, 3 * 3 / 2.0, 3 * 3 * BLOCK / 2.0);
    assert_float_equal(n.n[ROTA_TERM_POSTED], 3, 1e-9);
}

/* Of 5 nodes of 2 ranks, numbers 0 to 2 are one half, 3 and 4 the other. */
static void paths(void **state)
{
    task t = {.algo = &rota_algo_spread_out,
              .P = 10,
              .node_size = 2,
              .cores = 2,
              .block = BLOCK};
    rota_terms n = count(&t);

    (void)state;
    assert_float_equal(n.n[ROTA_TERM_PATH_BYTE], 2 * 4 * BLOCK, 1e-9);
    t.P = 2; /* both in one node */
    n = count(&t);
    assert_float_equal(n.n[ROTA_TERM_PATH_BYTE], 0, 1e-9);
    t.P = 8; /* nodes 2 and 3 have as much as node 1 would have, twice */
    n = count(&t);
    assert_float_equal(n.n[ROTA_TERM_PATH_BYTE], 2 * 4 * BLOCK, 1e-9);
    /* Nodes of 4, 4 and 2: to the second goes more than to the other half. */
    t.P = 10;
    t.node_size = t.cores = 4;
    n = count(&t);
    assert_float_equal(n.n[ROTA_TERM_PATH_BYTE], 4 * 4 * BLOCK, 1e-9);
}

/* Of 5 nodes of 4 ranks, which all lead: the second one of node 1 serves offset 1,
 * to and from nodes of the same half, and what it sends is all that goes there. */
static void led(void **state)
{
    task t = {.algo = &rota_algo_nmpml,
              .params = {.leaders = 4},
              .P = 20,
              .me = 5,
              .node_size = 4,
              .cores = 4,
              .shared = true,
              .block = BLOCK};
    rota_terms n = count(&t);

    (void)state;
    /* It sends 16 blocks and receives 15: rank 0 has none for it. */
    assert_float_equal(n.n[ROTA_TERM_PATH_BYTE], 4 * 15.5 * BLOCK, 1e-9);
    t.leaders = 4;
    n = count(&t);
    assert_float_equal(n.n[ROTA_TERM_PATH_BYTE], 15.5 * BLOCK, 1e-9);
}

static double path_of(task *t, const rota_network *network)
{
    t->network = network;
    return count(t).n[ROTA_TERM_PATH_BYTE];
}

/* 6 nodes in groups of 2: 4 are in other groups, of which each has half of what
 * leads out of a Dragonfly's. */
static void groups(void **state)
{
    task t = {.algo = &rota_algo_spread_out,
              .P = 12,
              .node_size = 2,
              .cores = 2,
              .block = BLOCK};
    rota_network net = {.shape = ROTA_SHAPE_FATTREE, .group = 2, .dims = 3};

    (void)state;
    assert_float_equal(path_of(&t, &net), 2 * 8 * BLOCK, 1e-9);
    net.shape = ROTA_SHAPE_DRAGONFLY;
    assert_float_equal(path_of(&t, &net), 2 * 2 * 4 * BLOCK, 1e-9);
    /* Half of the blocks go a node ahead, then 2, then 4: from node 0 to its own
     * group, and to one of two others, that is as if both had as much. */
    t.algo = &rota_algo_parlogna;
    t.params.radix = 2;
    t.P = 8;
    t.node_size = t.cores = 1;
    assert_float_equal(path_of(&t, &net), (1 / 2. + 1 + 1) * 3 * 4 * BLOCK,
                       1e-9);
    net.group = 8;
    assert_float_equal(path_of(&t, &net), 0, 1e-9);
}

/* A ring of 5 nodes: 1 and 2 are ahead, 3 hops in all. A node's leaders take
 * turns: each has the same share of all hops in the busier direction, half. */
static void rings(void **state)
{
    const rota_network net = {.shape = ROTA_SHAPE_TORUS, .dims = 1, .group = 1};
    task t = {.algo = &rota_algo_spread_out,
              .P = 10,
              .node_size = 2,
              .cores = 2,
              .block = BLOCK};

    (void)state;
    assert_float_equal(path_of(&t, &net), 2 * 2 * 3 * BLOCK, 1e-9);
    t.algo = &rota_algo_nmpml; /* rank 0 serves offsets 2 and 4: 3 hops */
    t.params.leaders = t.leaders = 2;
    t.shared = true;
    assert_float_equal(path_of(&t, &net), 2 * 3 * 4 / 2. * BLOCK, 1e-9);
}

/* On a ring of 5 nodes of 1 rank, node 1 is one hop ahead, 2 are two, 3 and 4 are the
 * other way. One message at a time uses one way at a time; of two, the first one back
 * sets out when the first one ahead has arrived, and waits for nobody. */
static void windows(void **state)
{
    const rota_network net = {.shape = ROTA_SHAPE_TORUS, .dims = 1, .group = 1};
    task t = {.algo = &rota_algo_multi_pair,
              .params = {.batch = 1},
              .P = 5,
              .node_size = 1,
              .cores = 1,
              .block = BLOCK};

    (void)state;
    assert_float_equal(path_of(&t, &net), (1 + 2 + 2 + 1) * BLOCK, 1e-9);
    t.params.batch = 2;
    assert_float_equal(path_of(&t, &net), (1 + 2 + 1) * BLOCK, 1e-9);
    t.params.batch = 4;
    assert_float_equal(path_of(&t, &net), (1 + 2) * BLOCK, 1e-9);
    t.metadata = ROTA_META_TWO_PHASE; /* blocks come one after another */
    assert_float_equal(path_of(&t, &net), (1 + 2 + 2 + 1) * BLOCK, 1e-9);
}

/* 24 nodes as 2 by 3 by 4: from 0 to 1 + 2 (2 + 3 * 3). */
static void torus(void **state)
{
    const rota_network net = {.shape = ROTA_SHAPE_TORUS, .dims = 3};
    const rota_torus t = rota_torus_of(&net, 24);
    int hops[2 * ROTA_MOST_DIMS];

    (void)state;
    assert_int_equal(t.size[0] * t.size[1] * t.size[2], 24);
    assert_int_equal(t.size[0], 2);
    assert_int_equal(t.size[1], 3);
    rota_torus_hops(&t, 0, 1 + 2 * (2 + 3 * 3), hops);
    const int expected[] = {0, 1, 1, 0, 1, 0};
    assert_memory_equal(hops, expected, sizeof expected);
    rota_torus_hops(&t, 1 + 2 * (2 + 3 * 3), 0, hops);
    const int back[] = {0, 1, 0, 1, 0, 1};
    assert_memory_equal(hops, back, sizeof back);
}

/* Phases are steps of their own, after one, as long as there are no more than
 * steps. */
static void steps(void **state)
{
    task t = {.algo = &rota_algo_parlogna,
              .params = {.radix = 2},
              .P = 8,
              .node_size = 1,
              .cores = 1,
              .block = BLOCK};
    rota_terms step[ROTA_STEPS];

    (void)state;
    count_steps(&t, step);
    for (int i = 0; i < ROTA_STEPS; i++)
        expect(&step[i], ROTA_LINK_NET,
               i > 0 && i<4, i> 0 && i<4, i> 0 && i < 4 ? 4 * BLOCK : 0);
    assert_float_equal(step[0].n[ROTA_TERM_START], 1, 1e-9);
    t.algo = &rota_algo_pairwise; /* 99 phases of one message */
    t.P = 100;
    count_steps(&t, step);
    for (int i = 0; i < ROTA_STEPS; i++)
        assert_true(of(&step[i], ROTA_LINK_NET, ROTA_PER_PHASE) >= 11 &&
                    of(&step[i], ROTA_LINK_NET, ROTA_PER_PHASE) <= 13);
    const rota_terms all = count(&t);
    expect(&all, ROTA_LINK_NET, 99, 99, 99 * BLOCK);
}

/* Of 4 nodes of 2 ranks, a member that copies two blocks for each of three messages
 * to other nodes, as many from there, and its own: the first part comes before what
 * flows between nodes, the last part after it. */
static void flow(void **state)
{
    task t = {.algo = &rota_algo_shared_leaders_overlapped,
              .params = {.leaders = 1},
              .P = 8,
              .me = 1,
              .node_size = 2,
              .cores = 2,
              .shared = true,
              .block = BLOCK};
    const double given = 6, taken = 7;
    rota_terms step[ROTA_STEPS];

    (void)state;
    count_steps(&t, step);
    assert_float_equal(step[0].n[ROTA_TERM_COPIED_BLOCK], given / 3, 1e-9);
    assert_float_equal(step[1].n[ROTA_TERM_COPIED_BLOCK],
                       (given + taken) * 2 / 3, 1e-9);
    assert_float_equal(step[2].n[ROTA_TERM_COPIED_BLOCK], taken / 3, 1e-9);
    t.params.leaders = t.leaders = 2; /* all give to the first of them first */
    count_steps(&t, step);
    assert_float_equal(step[0].n[ROTA_TERM_COPIED_BLOCK], given / 3, 1e-9);
    t.params.leaders = t.leaders = 1;
    t.me = 0; /* which leads, and has no bytes for itself */
    count_steps(&t, step);
    assert_float_equal(of(&step[1], ROTA_LINK_NET, ROTA_PER_BYTE),
                       2 * 3 * 4 * BLOCK, 1e-9);
    assert_float_equal(of(&step[1], ROTA_LINK_NET, ROTA_PER_PHASE), 1, 1e-9);
    assert_float_equal(of(&step[2], ROTA_LINK_NET, ROTA_PER_BYTE), 0, 1e-9);
}

/* Of 4 nodes of 2 ranks, the first leads, and nothing is shared. It has its member's
 * part of the first of three messages before it sends any, and gives on what the last
 * one brought when all have come. */
static void gathered(void **state)
{
    const task t = {.algo = &rota_algo_onmpml,
                    .params = {.leaders = 1},
                    .P = 8,
                    .node_size = 2,
                    .cores = 2,
                    .block = BLOCK};
    rota_terms step[ROTA_STEPS];

    (void)state;
    count_steps(&t, step);
    /* What the two send each other directly goes first, too, and comes last. */
    assert_float_equal(step[0].n[ROTA_TERM_POSTED], 1 + 1, 1e-9);
    assert_float_equal(step[2].n[ROTA_TERM_POSTED], 1 + 1, 1e-9);
}

/* Where sizes travel with blocks, a leader notes those of the three messages that
 * come, of which the last one's 4 when all have come, and then takes its own. */
static void noted(void **state)
{
    const task t = {.algo = &rota_algo_shared_leaders_overlapped,
                    .params = {.leaders = 1, .sized = true, .parcels = true},
                    .leaders = 1,
                    .metadata = ROTA_META_FUSED,
                    .P = 8,
                    .node_size = 2,
                    .cores = 2,
                    .shared = true,
                    .expected = true,
                    .block = BLOCK};
    rota_terms step[ROTA_STEPS], known[ROTA_STEPS];
    task fixed = t;

    (void)state;
    fixed.metadata = ROTA_META_ONCE;
    count_steps(&t, step);
    count_steps(&fixed, known);
    const double more =
        step[2].n[ROTA_TERM_COPIED_BLOCK] - known[2].n[ROTA_TERM_COPIED_BLOCK];
    assert_float_equal(more, 4, 1e-9);
}

/* Where sizes travel with blocks, a member tells a leader also that it has none. */
static void told_of_nothing(void **state)
{
    const int message = rota_term(ROTA_LINK_DOMAIN, ROTA_PER_MESSAGE);
    const task t = {.algo = &rota_algo_shared_leaders,
                    .params = {.leaders = 1, .sized = true, .parcels = true},
                    .leaders = 1,
                    .metadata = ROTA_META_FUSED,
                    .P = 4,
                    .me = 1,
                    .node_size = 2,
                    .cores = 2,
                    .shared = true,
                    .expected = true,
                    .density = 0.01,
                    .block = BLOCK};
    const rota_terms n = count(&t);

    (void)state;
    /* What it hands over and takes, and one to and from the leader itself. */
    assert_float_equal(rota_terms_priced(&n, message), 3, 1e-9);
}

/* Ranks 0 and 1 share a node. What a leader sends to its member comes after its
 * message to the other node, and so does what only says that blocks lie ready; what a
 * rank sends directly to a node's mate comes before its messages to others. */
static void meanwhile(void **state)
{
    const int message = rota_term(ROTA_LINK_DOMAIN, ROTA_PER_MESSAGE);
    task t = {.algo = &rota_algo_shared_leaders,
              .params = {.leaders = 1},
              .leaders = 1,
              .P = 4,
              .node_size = 2,
              .cores = 2,
              .shared = true,
              .block = BLOCK};
    rota_terms n = count(&t);

    (void)state;
    assert_float_equal(n.n[ROTA_TERM_MEANWHILE + message], 3, 1e-9);
    assert_float_equal(n.n[message], 0, 1e-9);
    t.algo = &rota_algo_spread_out;
    t.leaders = 0;
    n = count(&t);
    assert_float_equal(n.n[message], 1, 1e-9);
    assert_float_equal(n.n[ROTA_TERM_MEANWHILE + message], 0, 1e-9);
}

/* What a network's description says is counted in nanoseconds: 2 nodes of 3. */
static void described(void **state)
{
    const rota_network net = {.given = true,
                              .shape = ROTA_SHAPE_FATTREE,
                              .group = 1,
                              .far = 70,
                              .ports = 1,
                              .domains = 3,
                              .posted_receive = 5,
                              .short_bytes = BLOCK - 1,
                              .past_short = 11,
                              .past_short_gap = 13};
    task t = {.algo = &rota_algo_spread_out,
              .P = 6,
              .node_size = 3,
              .cores = 6,
              .shared = true,
              .network = &net,
              .block = BLOCK};
    rota_terms n = count(&t);

    (void)state;
    assert_float_equal(n.n[ROTA_TERM_POSTED], 3, 1e-9);
    assert_float_equal(n.n[ROTA_TERM_NETWORK_FIRST], 3 * 5, 1e-9);
    assert_float_equal(n.n[ROTA_TERM_NETWORK_BUSY], 3 * 11, 1e-9);
    assert_float_equal(n.n[ROTA_TERM_NETWORK_PORT], 3 * 3 * 13, 1e-9);
    assert_float_equal(n.n[ROTA_TERM_NETWORK_WAIT], 70, 1e-9);
    /* Two messages through the memory of the domain, in and out of it. */
    expect(&n, ROTA_LINK_P2P, 0, 2, 2 * 2 * BLOCK);
    t.algo = &rota_algo_multi_pair; /* all in one window: no other receives */
    t.params.batch = 4;
    n = count(&t);
    assert_float_equal(n.n[ROTA_TERM_NETWORK_FIRST], 0, 1e-9);
    assert_float_equal(n.n[ROTA_TERM_NETWORK_BUSY], 3 * 11, 1e-9);
    assert_float_equal(n.n[ROTA_TERM_NETWORK_WAIT], 2 * 70, 1e-9);
}

/* MPI's own all-to-all without prices: the messages that it sends. */
/* Leaders send what their nodes have for 3 others, through 2 ports: one leader
 * through the first of them, two leaders for offsets 2 and 1, 3 through both, three
 * those of 3 and 1 through the first. */
static void ports_of_leaders(void **state)
{
    static const double part[] = {1, 2.0 / 3, 2.0 / 3};
    const int byte = rota_term(ROTA_LINK_NET, ROTA_PER_BYTE);

    (void)state;
    for (int L = 1; L <= 3; L++) {
        rota_network net = {.given = true, .ports = 1, .domains = 1};
        task t = {.algo = &rota_algo_shared_leaders,
                  .params = {.leaders = L},
                  .leaders = L,
                  .P = 16,
                  .node_size = 4,
                  .cores = 4,
                  .shared = true,
                  .network = &net,
                  .block = BLOCK};
        const double all = count(&t).n[byte];
        net.ports = 2;
        assert_true(fabs(count(&t).n[byte] - part[L - 1] * all) < 1e-6);
        t.algo = &rota_algo_spread_out;
        t.leaders = 0;
        const double half = count(&t).n[byte];
        net.ports = 1;
        assert_true(half == count(&t).n[byte] / 2);
    }
}

/* What a member takes of one leader comes in the step after its exchange, and of
 * several in that of their exchange. A flag moves nothing through memory. */
static void taken_late(void **state)
{
    const rota_network net = {.given = true, .ports = 1, .domains = 1};
    const int messages = rota_term(ROTA_LINK_P2P, ROTA_PER_MESSAGE);
    const int bytes = rota_term(ROTA_LINK_P2P, ROTA_PER_BYTE);

    (void)state;
    for (int L = 1; L <= 2; L++) {
        const task t = {.algo = &rota_algo_shared_leaders,
                        .params = {.leaders = L},
                        .leaders = L,
                        .P = 9,
                        .node_size = 3,
                        .me = 2, /* leads nobody */
                        .cores = 3,
                        .shared = true,
                        .network = &net,
                        .block = BLOCK};
        rota_terms step[ROTA_STEPS];
        count_steps(&t, step);
        /* 6 blocks given and 6 taken, by all 3; one to a member and from it. */
        const double given = 3 * 6 * BLOCK, direct = 3 * 2 * BLOCK;
        assert_true(step[1].n[bytes] == given);
        assert_true(step[2].n[bytes] == direct + (L > 1 ? given : 0));
        assert_true(step[3].n[bytes] == (L > 1 ? 0 : given));
        assert_float_equal(step[1].n[messages], 0, 1e-9);
        assert_float_equal(step[2].n[messages], 3, 1e-9);
        assert_float_equal(step[3].n[messages], 0, 1e-9);
    }
}

static void native_by_messages(void **state)
{
    const task t = {.algo = &rota_algo_mpi,
                    .P = 66,
                    .node_size = 2,
                    .cores = 2,
                    .shared = true,
                    .block = BLOCK};
    const rota_terms n = count(&t);

    (void)state;
    expect(&n, ROTA_LINK_DOMAIN, 0, 1, BLOCK);
    expect(&n, ROTA_LINK_NET, 3, 2 * 64, 2 * 64 * BLOCK);
    expect(&n, ROTA_LINK_NATIVE_NET, 0, 0, 0);
    assert_float_equal(n.n[ROTA_TERM_POSTED], 2 * 64, 1e-9);
}

/* Of an exchange what comes is copied once, at last; what is sent with its size is
 * packed. */
static void exchanged(void **state)
{
    const task t = {.algo = &rota_algo_spread_out,
                    .P = 3,
                    .node_size = 1,
                    .cores = 1,
                    .metadata = ROTA_META_FUSED,
                    .block = BLOCK};
    rota_terms step[ROTA_STEPS];

    (void)state;
    count_steps(&t, step);
    assert_float_equal(step[ROTA_STEPS - 1].n[ROTA_TERM_COPIED_BYTE], 2 * BLOCK,
                       1e-9);
    /* The first is packed before any is under way. */
    assert_float_equal(step[0].n[ROTA_TERM_COPIED_BYTE], BLOCK, 1e-9);
    assert_float_equal(step[1].n[ROTA_TERM_COPIED_BYTE], BLOCK, 1e-9);
}

/* A rank copies what it hands to a leader of another domain there, and takes what
 * comes from there: half of the bytes of messages that cross. Domains as those of
 * numa:2 core:2 with 4 ranks a node; the one leader is rank 0. */
static void crosses_domains(void **state)
{
    const rota_params params = {.leaders = 1};
    rota_topo topo;

    (void)state;
    assert_int_equal(rota_topo_make(&topo, 8, 4, 1), MPI_SUCCESS);
    rota_topo_spread(&topo, 2);
    for (int me = 0; me < 4; me++) {
        rota_terms step[ROTA_STEPS];
        double crossing = 0, bytes[64], copied = 0;
        rota_sched s;
        const rota_run_kind how = {.topo = &topo,
                                   .exact = true,
                                   .density = 1,
                                   .load = 1,
                                   .shared = true};
        assert_int_equal(rota_sched_init(&s, 8, me), MPI_SUCCESS);
        assert_int_equal(rota_algo_shared_leaders.build(&topo, &params, &s),
                         MPI_SUCCESS);
        assert_true(s.n_blocks <= 64);
        for (rota_block b = 0; b < s.n_blocks; b++)
            bytes[b] = BLOCK;
        assert_int_equal(rota_cost_count(&s, bytes, &how, step), MPI_SUCCESS);
        for (int i = 0; i < ROTA_STEPS; i++) {
            crossing += of(&step[i], ROTA_LINK_NODE, ROTA_PER_BYTE);
            copied += step[i].n[ROTA_TERM_COPIED_BYTE];
        }
        /* Its blocks for other nodes, and from there. */
        const int handed = topo.domain[me] == 1 ? 4 * BLOCK : 0;
        assert_true(crossing == 2 * BLOCK + handed);
        assert_float_equal(copied, (me < 2 ? 8 : 0) * BLOCK + BLOCK, 1e-9);
        rota_sched_free(&s);
    }
    rota_topo_free(&topo);
}

static void batches(void **state)
{
    const task t = {.algo = &rota_algo_multi_pair,
                    .params = {.batch = 2},
                    .P = 6,
                    .node_size = 6,
                    .cores = 6,
                    .shared = true,
                    .block = BLOCK};
    const rota_terms n = count(&t);

    (void)state;
    expect(&n, ROTA_LINK_DOMAIN, 3, 5, 5 * BLOCK);
}

static void long_messages(void **state)
{
    const task t = {.algo = &rota_algo_spread_out,
                    .P = 3,
                    .node_size = 1,
                    .cores = 1,
                    .block = ROTA_LONG + 1};
    const rota_terms n = count(&t);

    (void)state;
    expect(&n, ROTA_LINK_NET, 1, 0, 0);
    assert_float_equal(of(&n, ROTA_LINK_NET, ROTA_PER_LONG_MESSAGE), 2, 1e-9);
    assert_float_equal(of(&n, ROTA_LINK_NET, ROTA_PER_LONG_BYTE),
                       2 * (ROTA_LONG + 1), 1e-9);
}

/* Blocks 1 to 7 in three messages of four each. */
static void logarithmic(void **state)
{
    task t = {.algo = &rota_algo_parlogna,
              .params = {.radix = 2},
              .P = 8,
              .node_size = 1,
              .cores = 1,
              .block = BLOCK};
    rota_terms n = count(&t);

    (void)state;
    expect(&n, ROTA_LINK_NET, 3, 3, 12 * BLOCK);
    /* What is sent at last lies end to end. */
    assert_float_equal(n.n[ROTA_TERM_COPIED_BYTE], 20 * BLOCK, 1e-9);
    t.metadata = ROTA_META_TWO_PHASE;
    n = count(&t);
    expect(&n, ROTA_LINK_NET, 6, 6, 12 * BLOCK + 12 * 8);
    t.metadata = ROTA_META_FUSED;
    n = count(&t);
    expect(&n, ROTA_LINK_NET, 3, 3, 12 * BLOCK + 12 * 8);
    /* Of those that land, two and four in the last phases, only the sum is told.
     */
    t.known = true;
    n = count(&t);
    expect(&n, ROTA_LINK_NET, 3, 3, 12 * BLOCK + (4 + 3 + 1) * 8);
}

/* Four ranks for each core: in every phase others have to be let in. */
static void crowded(void **state)
{
    task t = {.algo = &rota_algo_spread_out,
              .P = 8,
              .node_size = 8,
              .cores = 2,
              .shared = true,
              .block = BLOCK};
    rota_terms n = count(&t);

    (void)state;
    expect(&n, ROTA_LINK_DOMAIN, 1, 7, 7 * BLOCK);
    assert_float_equal(n.n[ROTA_TERM_SWITCH], 3, 1e-9);
    t.shared = false;
    n = count(&t);
    assert_float_equal(n.n[ROTA_TERM_SWITCH], 0, 1e-9);
    assert_float_equal(n.n[ROTA_TERM_SWITCH_MPI], 3, 1e-9);
    t.algo = &rota_algo_mpi;
    t.native = true;
    n = count(&t);
    assert_float_equal(n.n[ROTA_TERM_SWITCH_NATIVE], 3, 1e-9);
    expect(&n, ROTA_LINK_NATIVE_NODE, 1, 8 * 7, 8 * 7 * BLOCK);
}

/* The first phase sends blocks 1, 3, 5 and 7, all this rank's own; the second
 * 2 and 6, which are, and 3 and 7, which were sent to it; the third 4 and three
 * in transit. */
static void sparse(void **state)
{
    task t = {.algo = &rota_algo_parlogna,
              .params = {.radix = 2},
              .P = 8,
              .node_size = 1,
              .cores = 1,
              .block = BLOCK,
              .density = 0.5};
    rota_terms n = count(&t);

    (void)state;
    expect(&n, ROTA_LINK_NET, 3, 3, 12 * BLOCK); /* own blocks are in each */
    /* Half of those that are packed, but all whose sizes the rank knows: 4, 1, 2 and
     * 2, 1. The rank's own block has no bytes. */
    assert_float_equal(n.n[ROTA_TERM_COPIED_BLOCK], 10 + 10 * 0.5, 1e-9);
    t.expected = true; /* all four of a message may be empty */
    n = count(&t);
    expect(&n, ROTA_LINK_NET, 3 * 15 / 16., 3 * 15 / 16., 12 * BLOCK);
    assert_float_equal(n.n[ROTA_TERM_COPIED_BLOCK], 20 * 0.5, 1e-9);
}

/* What has no bytes is not sent. */
static void nothing(void **state)
{
    const task t = {
        .algo = &rota_algo_spread_out, .P = 8, .node_size = 1, .cores = 1};
    const rota_terms n = count(&t);

    (void)state;
    for (int i = 0; i < ROTA_TERM_START; i++)
        assert_float_equal(n.n[i], 0, 1e-9);
}

#define BIT(part) (1u << ROTA_PART_##part)

/* A step takes its waits and the longest of the rest; of what ranks have to
 * themselves the largest counts, of what they share the mean. */
static void prices(void **state)
{
    const int wait = rota_term(ROTA_LINK_NET, ROTA_PER_PHASE);
    const int port = rota_term(ROTA_LINK_NET, ROTA_PER_BYTE);
    rota_machine machine = {.ns = {0}};
    rota_terms a[ROTA_STEPS] = {{{0}}}, b[ROTA_STEPS] = {{{0}}};
    rota_cost all = {{{0}}};

    (void)state;
    machine.ns[wait] = 100;
    machine.ns[port] = 2;
    machine.ns[ROTA_TERM_POSTED] = 10;
    machine.ns[ROTA_TERM_COPIED_BYTE] = 1;
    machine.ns[ROTA_TERM_PATH_BYTE] = 5;
    a[0].n[wait] = b[0].n[wait] = 1;
    a[0].n[ROTA_TERM_POSTED] = 3;
    a[0].n[ROTA_TERM_COPIED_BYTE] = 20; /* 50 with the former */
    b[0].n[ROTA_TERM_POSTED] = 4;
    a[0].n[port] = 10;
    b[0].n[port] = 30; /* (20 + 60) / 2 = 40 */
    a[1].n[port] = 10;
    b[1].n[port] = 30;
    a[1].n[ROTA_TERM_PATH_BYTE] = 18; /* 90 / 2 = 45 */
    a[1].n[ROTA_TERM_POSTED] = 1;
    const rota_cost one = rota_cost_of(&machine, 1, a);
    rota_cost_add(&all, &one);
    assert_float_equal(rota_cost_ns(&all, 1), 100 + 50 + 90, 1e-9);
    const rota_cost other = rota_cost_of(&machine, 1, b);
    rota_cost_add(&all, &other);
    assert_float_equal(rota_cost_ns(&all, 2), 100 + 50 + 45, 1e-9);
    assert_int_equal(rota_cost_longest(all.ns[0], 2), BIT(FAR) | BIT(BUSY));
    assert_int_equal(rota_cost_longest(all.ns[1], 2), BIT(FAR) | BIT(PATH));
    for (int i = 0; i < ROTA_TERM_MEANWHILE; i++) {
        assert_true(rota_machine_usual.ns[i] >= 0);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(rota_term_name(i), rota_term_name(k));
    }
}

/* What is sent within the node meanwhile takes time only as far as it takes longer
 * than the latency between nodes. */
static void hidden(void **state)
{
    const int wait = rota_term(ROTA_LINK_NET, ROTA_PER_PHASE);
    const int message = rota_term(ROTA_LINK_DOMAIN, ROTA_PER_MESSAGE);
    rota_machine machine = {.ns = {0}};
    rota_terms a[ROTA_STEPS] = {{{0}}};

    (void)state;
    machine.ns[wait] = 100;
    machine.ns[message] = 3;
    machine.ns[ROTA_TERM_POSTED] = 10;
    a[0].n[wait] = 1;
    a[0].n[ROTA_TERM_POSTED] = 2;
    a[0].n[ROTA_TERM_MEANWHILE + message] = 30;
    rota_cost cost = rota_cost_of(&machine, 1, a);
    assert_float_equal(rota_cost_ns(&cost, 1), 20 + 100, 1e-9);
    a[0].n[ROTA_TERM_MEANWHILE + message] = 50;
    cost = rota_cost_of(&machine, 1, a);
    assert_float_equal(rota_cost_ns(&cost, 1), 20 + 150, 1e-9);
}

/* Four ranks share two cores. One of them does all the work, or all do a part: it
 * takes as long as the one needs, or as the cores need for all. Waits count where
 * they are longest, turns for each rank that waits. */
static void shared_cores(void **state)
{
    const int wait = rota_term(ROTA_LINK_NET, ROTA_PER_PHASE);
    const double load = 2;
    rota_machine machine = {.ns = {0}};
    rota_terms idle[ROTA_STEPS] = {{{0}}}, leader[ROTA_STEPS] = {{{0}}},
               part[ROTA_STEPS] = {{{0}}};
    rota_cost one = {{{0}}}, all = {{{0}}};

    (void)state;
    machine.ns[wait] = 100;
    machine.ns[ROTA_TERM_POSTED] = 10;
    machine.ns[ROTA_TERM_SWITCH_MPI] = 40;
    leader[0].n[wait] = part[0].n[wait] = 1;
    leader[0].n[ROTA_TERM_SWITCH_MPI] = load - 1;
    part[0].n[ROTA_TERM_SWITCH_MPI] = load - 1;
    leader[0].n[ROTA_TERM_POSTED] = 12;
    part[0].n[ROTA_TERM_POSTED] = 3;
    for (int rank = 0; rank < 4; rank++) {
        const rota_cost its =
            rota_cost_of(&machine, load, rank == 0 ? leader : idle);
        const rota_cost parts = rota_cost_of(&machine, load, part);
        rota_cost_add(&one, &its);
        rota_cost_add(&all, &parts);
    }
    assert_float_equal(rota_cost_ns(&one, 4), 100 + 40 / 4 + 120, 1e-9);
    assert_float_equal(rota_cost_ns(&all, 4), 100 + 40 + 60, 1e-9);
}

/* A block is worth three copies to other ranks. */
static void bundles(void **state)
{
    rota_machine m = {.ns = {0}};

    (void)state;
    assert_int_equal(rota_cost_bundle(&m), 0);
    m.ns[ROTA_TERM_POSTED] = 100;
    m.ns[rota_term(ROTA_LINK_NET, ROTA_PER_MESSAGE)] = 130;
    m.ns[ROTA_TERM_COPIED_BLOCK] = 10;
    m.ns[ROTA_TERM_COPIED_BYTE] = 0.5;
    assert_int_equal(rota_cost_bundle(&m), 200);
    m.ns[ROTA_TERM_COPIED_BYTE] = 0;
    assert_int_equal(rota_cost_bundle(&m), 1 << 20);
    m.ns[ROTA_TERM_COPIED_BLOCK] = 120;
    assert_int_equal(rota_cost_bundle(&m), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(direct),
        cmocka_unit_test(one_way),
        cmocka_unit_test(batches),
        cmocka_unit_test(logarithmic),
        cmocka_unit_test(long_messages),
        cmocka_unit_test(crowded),
        cmocka_unit_test(nothing),
        cmocka_unit_test(sparse),
        cmocka_unit_test(prices),
        cmocka_unit_test(shared_cores),
        cmocka_unit_test(paths),
        cmocka_unit_test(groups),
        cmocka_unit_test(rings),
        cmocka_unit_test(windows),
        cmocka_unit_test(torus),
        cmocka_unit_test(led),
        cmocka_unit_test(steps),
        cmocka_unit_test(flow),
        cmocka_unit_test(crosses_domains),
        cmocka_unit_test(bundles),
        cmocka_unit_test(described),
        cmocka_unit_test(ports_of_leaders),
        cmocka_unit_test(taken_late),
        cmocka_unit_test(exchanged),
        cmocka_unit_test(native_by_messages),
        cmocka_unit_test(meanwhile),
        cmocka_unit_test(hidden),
        cmocka_unit_test(gathered),
        cmocka_unit_test(told_of_nothing),
        cmocka_unit_test(noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
