/* test_sim.c - simulated all-to-alls: what was worked out by hand, what the papers
 * count, and that all algorithms end. */
#include "sim/engine.h"
#include "sim/pulled.h"
#include "sim/sparse.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every price a number of its own, so that a sum tells what is in it. */
static sim_machine small_machine(void)
{
    sim_machine m = {.net = rota_machine_usual.network};
    double *const ns = m.prices.ns;

    m.net.posted_receive = 0;
    ns[rota_term(ROTA_LINK_NET, ROTA_PER_PHASE)] = 1000;
    ns[rota_term(ROTA_LINK_NET, ROTA_PER_MESSAGE)] = 20;
    ns[rota_term(ROTA_LINK_NET, ROTA_PER_BYTE)] = 0.5;
    ns[rota_term(ROTA_LINK_P2P, ROTA_PER_PHASE)] = 300;
    ns[rota_term(ROTA_LINK_P2P, ROTA_PER_MESSAGE)] = 5;
    ns[rota_term(ROTA_LINK_P2P, ROTA_PER_BYTE)] = 0.01;
    ns[ROTA_TERM_POSTED] = 200;
    ns[ROTA_TERM_COPIED_BYTE] = 0.25;
    return m;
}

static sim_result run(const char *algo, sim_case c, const sim_machine *m)
{
    char text[100];

    snprintf(text, sizeof text, "%s", algo);
    c.form = sim_form_parse(text, &c.hints);
    return sim_run(&c, m);
}

static void near(double a, double b)
{
    if (fabs(a - b) > 1e-6)
        print_message("%f, not %f\n", a, b);
    assert_true(fabs(a - b) < 1e-6);
}

/* Two nodes of two ranks, one leader each, which reads 800 bytes twice, and writes
 * as many: what it is expected to take is what it takes. */
static void copies_of_leaders(void **state)
{
    sim_machine m = small_machine();
    sim_case c = {.P = 4, .node = 2, .largest = 100};
    char text[] = "l_a2a_published";
    const double message = 1000 + 20 + 0.5 * 400 + 200;
    (void)state;

    m.prices.ns[rota_term(ROTA_LINK_DOMAIN, ROTA_PER_PHASE)] = 7;
    c.form = sim_form_parse(text, &c.hints);
    const sim_pulled k = sim_pulled_price(&c, &m, 100);
    near(k.before, 2 * 7 + 4 * 800 * 0.25);
    near(k.beside, 0);
    near(sim_run(&c, &m).us, (k.before + message) / 1e3);
}

/* Two ranks, blocks of 100 bytes, on two nodes: the own block is copied while the
 * message is on its way. */
static void two_ranks(void **state)
{
    const sim_machine m = small_machine();
    const sim_case c = {.P = 2, .node = 1, .largest = 100};
    const sim_case near_by = {.P = 2, .node = 2, .largest = 100};

    (void)state;
    near(run("spread_out", c, &m).us, 0.2 + 1.0 + 0.02 + 0.05);
    near(run("spread_out", near_by, &m).us, 0.2 + 0.3 + 0.025);
}

/* The ports of a node serve one message after the other: three come to each rank,
 * posted together. */
static void ports_are_queues(void **state)
{
    sim_machine m = small_machine();
    const sim_case c = {.P = 4, .node = 1, .largest = 1000};

    (void)state;
    m.prices.ns[ROTA_TERM_POSTED] = 0;
    near(run("spread_out", c, &m).us, 1.0 + 3 * (0.02 + 0.5));
    near(run("pairwise", c, &m).us, 3 * (1.0 + 0.02 + 0.5));
    near(run("multi_pair:batch=1", c, &m).us, 3 * (1.0 + 0.02 + 0.5));
}

static double ns_of(sim_wires *w, double now, double bytes)
{
    const sim_work work = {.ns = 1, .bytes = bytes};

    return sim_wires_work(w, (sim_place){0, 0, 0}, now, work);
}

/* Of whatever is asked later, what comes first is served first, and what does not
 * fit in between in pieces. */
static void memory_is_a_queue(void **state)
{
    sim_machine m = small_machine();
    sim_wires w;

    (void)state;
    m.prices.ns[rota_term(ROTA_LINK_P2P, ROTA_PER_BYTE)] = 1;
    sim_wires_init(&w, &m, 1);
    near(ns_of(&w, 100, 10), 110);
    near(ns_of(&w, 0, 50), 50);
    near(ns_of(&w, 40, 30), 80);
    near(ns_of(&w, 70, 40), 130); /* 20 before 100, 20 after 110 */
    near(ns_of(&w, 5, 0), 6);
    w.clock = 140; /* what was free before is gone */
    near(ns_of(&w, 10, 7), 137);
    sim_wires_free(&w);
}

/* Three ranks of two nodes on two cores: the third is through with all 300 ns. */
static void cores_are_for_all(void **state)
{
    sim_machine m = small_machine();
    const sim_work work = {.ns = 100};
    sim_wires w;

    (void)state;
    m.cores = 2;
    sim_wires_init(&w, &m, 2);
    near(sim_wires_work(&w, (sim_place){0, 0, 0}, 0, work), 100);
    near(sim_wires_work(&w, (sim_place){1, 0, 0}, 0, work), 100);
    near(sim_wires_work(&w, (sim_place){0, 0, 0}, 0, work), 150);
    sim_wires_free(&w);
}

/* Of two ranks with a message for each other, latency 1 us and 1 ns a byte. A long
 * one is asked for: three times the latency. If one begins late, so do both. */
static void questions_and_late_ranks(void **state)
{
    sim_machine m = {.net = rota_machine_usual.network};
    const sim_case c = {.P = 2, .node = 1, .largest = 1000};

    (void)state;
    m.net.posted_receive = 0;
    m.prices.ns[rota_term(ROTA_LINK_NET, ROTA_PER_PHASE)] = 1000;
    m.prices.ns[rota_term(ROTA_LINK_NET, ROTA_PER_BYTE)] = 1;
    m.asking = 1000;
    near(run("spread_out", c, &m).us, 2);
    m.asking = 999;
    near(run("spread_out", c, &m).us, 4);
    m.late = 5000;
    const double us = run("spread_out", c, &m).us;
    assert_true(us > 4 && us < 9);
}

/* Of two ranks with a message for each other: each is compared with itself alone; the
 * later of two posts 1.5 times the mean late. A message that does not wait for a late
 * receiver is copied there, in 3 us, before that posts its own. */
static void small_messages_cost_more(void **state)
{
    sim_machine m = {.net = rota_machine_usual.network};
    sim_case c = {.P = 2, .node = 1, .largest = 1000};
    double sum = 0;

    (void)state;
    m.net.posted_receive = 0;
    m.prices.ns[rota_term(ROTA_LINK_NET, ROTA_PER_PHASE)] = 1000;
    m.prices.ns[rota_term(ROTA_LINK_NET, ROTA_PER_BYTE)] = 1;
    m.match = 100;
    near(run("spread_out", c, &m).us, 2.1);
    m.match = 0;
    m.noise = 1000;
    for (c.seed = 1; c.seed <= 200; c.seed++)
        sum += run("spread_out", c, &m).us - 2;
    assert_true(sum > 250 && sum < 350);
    m.noise = 0;
    m.late = 1e6;
    m.prices.ns[ROTA_TERM_COPIED_BYTE] = 3;
    const double us = run("spread_out", c, &m).us;
    m.eager = 999;
    near(run("spread_out", c, &m).us, us);
    m.eager = 1000;
    near(run("spread_out", c, &m).us, us + 3);
}

/* Whoever copies from rank to rank, 4 ranks and blocks of 100 bytes: MPI, once; a
 * plan through shared memory, in and out; leaders between two nodes, what they gather
 * and scatter. Nothing else takes time. */
static void memory_is_for_all(void **state)
{
    sim_machine m = {.net = rota_machine_usual.network};
    sim_case c = {.P = 4, .node = 4, .largest = 100};
    const sim_case two = {.P = 4, .node = 2, .largest = 100};

    (void)state;
    m.net.posted_receive = 0;
    m.prices.ns[rota_term(ROTA_LINK_P2P, ROTA_PER_BYTE)] = 1;
    near(run("spread_out", c, &m).us, 12 * 0.1);
    c.shared = true;
    near(run("spread_out", c, &m).us, 2 * 12 * 0.1);
    /* In a node the blocks of 2 ranks for each other and those of the other node. */
    near(run("l_a2a_published", two, &m).us, 2 * 8 * 0.1);
    near(run("onmpml_published:leaders=1", two, &m).us, 2 * 8 * 0.1);
}

/* A leader and a member on each of two nodes: the blocks that the two have for each
 * other are messages, and take the memory 1 us each. Flags take none of it. */
static void flags_do_not_queue(void **state)
{
    sim_machine m = {.net = rota_machine_usual.network};
    const sim_case c = {.P = 4, .node = 2, .largest = 100, .shared = true};

    (void)state;
    m.net.posted_receive = 0;
    m.prices.ns[rota_term(ROTA_LINK_P2P, ROTA_PER_BYTE)] = 1;
    const double us = run("shared_leaders_overlapped:leaders=1", c, &m).us;
    m.prices.ns[rota_term(ROTA_LINK_P2P, ROTA_PER_MESSAGE)] = 1000;
    near(run("shared_leaders_overlapped:leaders=1", c, &m).us, us + 2);
}

/* Sizes go before blocks, and are 8 bytes each in plans, 4 as published; there an
 * Allreduce of a cell goes before. */
static void sizes_take_time(void **state)
{
    sim_machine m = small_machine();
    sim_case c = {.P = 2, .node = 1, .largest = 100, .kind = ROTA_EXCHANGE};
    const double cell = 1.0 + 0.02;

    (void)state;
    m.prices.ns[ROTA_TERM_COPIED_BYTE] = 0;
    near(run("parlogna:radix=2:metadata=two_phase", c, &m).us,
         0.2 + cell + 0.004 + cell + 0.05);
    near(run("parlogna:radix=2:metadata=fused", c, &m).us, 0.2 + cell + 0.054);
    c.kind = ROTA_FIXED;
    near(run("parlogna_published:radix=2", c, &m).us,
         0.2 + cell + 0.004 + 0.2 + cell + 0.002 + 0.2 + cell + 0.05);
}

/* ---- what the papers count ----------------------------------------------- */

static double log_of(int P, int radix, bool sizes)
{
    double rounds = 0, hops = 0;

    for (int64_t power = 1; power < P; power *= radix)
        for (int z = 1; z < radix && z * power < P; z++)
            rounds++;
    for (int i = 1; i < P; i++)
        for (int d = i; d > 0; d /= radix)
            hops += d % radix > 0;
    return sizes ? hops : rounds;
}

static void as_published(void **state)
{
    enum { N = 8, Q = 4, P = N * Q, S = 10 };
    const sim_machine m = small_machine();
    const sim_case c = {.P = P, .node = Q, .largest = S};

    (void)state;
    for (int r = 2; r <= 6; r++) {
        char name[60];
        snprintf(name, sizeof name, "parlogna_published:radix=%d", r);
        const sim_result one = run(name, c, &m);
        near(one.messages, P * (2 * log_of(P, r, false) + 5));
        near(one.bytes, P * (log_of(P, r, true) * (S + 4) + 5 * 8));
    }
    for (int r = 2; r <= Q; r++) {
        char name[60];
        const double in = 2 * log_of(Q, r, false);
        const double bytes = N * log_of(Q, r, true) * (S + 4) + (P - Q) * S;
        snprintf(name, sizeof name, "parlinna_coalesced_published:radix=%d", r);
        sim_result two = run(name, c, &m);
        near(two.messages, P * (in + N - 1));
        near(two.bytes, P * bytes);
        snprintf(name, sizeof name, "parlinna_staggered_published:radix=%d", r);
        two = run(name, c, &m);
        near(two.messages, P * (in + Q * (N - 1)));
        near(two.bytes, P * bytes);
    }
    /* SLOAV: a length, then cells and blocks. */
    const sim_result sloav = run("sloav_published", c, &m);
    near(sloav.messages, P * 2 * 5);
    near(sloav.bytes, P * (5 * 4 + log_of(P, 2, true) * (S + 4)));
    /* Leaders: a matrix from every node to every other, and nothing else. */
    const char *const leaders[] = {
        "l_a2a_published", "mpml_published:leaders=2",
        "nmpml_published:leaders=3", "onmpml_published:leaders=2"};
    for (int i = 0; i < 4; i++) {
        const sim_result led = run(leaders[i], c, &m);
        near(led.messages, N * (N - 1));
        near(led.bytes, N * (N - 1) * Q * Q * S);
    }
}

/* What is handed over is no message: in a node only blocks for its own ranks are.
 * Those for others are copied at their origin and at their destination. */
static void handed_over(void **state)
{
    enum { N = 4, Q = 3, P = N * Q, S = 100 };
    const sim_machine m = small_machine();
    const sim_case c = {.P = P, .node = Q, .largest = S, .shared = true};
    const char *const forms[] = {"shared_leaders:leaders=2",
                                 "shared_leaders_overlapped:leaders=2"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const sim_result r = run(forms[i], c, &m);
        near(r.messages, N * (N - 1) + P * (Q - 1));
        near(r.bytes, (N * (N - 1) * Q * Q + P * (Q - 1)) * S);
        near(r.copied, (2 * P * (P - Q) + P) * S);
    }
}

/* Two leaders side by side share the memory of their domain, not those that are
 * spread over domains; and ports serve one leader each. */
static void leaders_share(void **state)
{
    sim_machine m = small_machine();
    const sim_case c = {.P = 32, .node = 8, .largest = 10000, .shared = true};

    (void)state;
    m.prices.ns[rota_term(ROTA_LINK_P2P, ROTA_PER_LONG_BYTE)] = 1;
    const double before = run("mpml_published:leaders=2", c, &m).us;
    near(run("nmpml_published:leaders=2", c, &m).us, before);
    m.net.domains = 2;
    near(run("mpml_published:leaders=2", c, &m).us, before);
    assert_true(run("nmpml_published:leaders=2", c, &m).us < 0.8 * before);
    m = small_machine();
    m.prices.ns[rota_term(ROTA_LINK_NET, ROTA_PER_LONG_BYTE)] = 2;
    const double one_port = run("shared_leaders:leaders=3", c, &m).us;
    m.net.ports = 3;
    assert_true(run("shared_leaders:leaders=3", c, &m).us < 0.6 * one_port);
}

/* In a plan for varying counts blocks that the receiver keeps share a size; in one
 * for fixed counts that is asked to tell sizes, each has its own. */
static void sizes_told(void **state)
{
    const sim_machine m = small_machine();
    sim_case c = {.P = 9, .node = 1, .largest = 100, .known = true};
    const char *const plan = "parlogna:radix=2:metadata=two_phase";

    (void)state;
    const double fixed = run(plan, c, &m).bytes;
    c.known = false;
    assert_true(run(plan, c, &m).bytes <= fixed && fixed > 0);
    assert_true(run(plan, c, &m).bytes >= fixed);
    c.kind = ROTA_VARYING;
    assert_true(run(plan, c, &m).bytes >= fixed);
    c.known = true;
    assert_true(run(plan, c, &m).bytes < fixed);
}

/* ---- all end ------------------------------------------------------------- */

static void all_end(void **state)
{
    static const char *const metadata[] = {
        "", ":metadata=fused", ":metadata=two_phase", ":metadata=combined"};
    const sim_machine m = small_machine();
    char why[100];
    dist d;

    (void)state;
    assert_int_equal(dist_parse("sparse:0.3", &d, why, sizeof why), 0);
    for (int a = 0; rota_algo_table[a]; a++)
        for (int kind = 0; kind < ROTA_N_KINDS; kind++)
            for (int P = 1; P <= 20; P += P < 7 ? 1 : 4)
                for (int i = 0; i < 4; i++) {
                    const rota_algo *const algo = rota_algo_table[a];
                    char name[100];
                    sim_case c = {.P = P,
                                  .node = 1 + P / 3,
                                  .largest = 100,
                                  .kind = (rota_kind)kind,
                                  .shared = i % 2 != 0,
                                  .known = i > 1,
                                  .dist = algo->uniform ? NULL : &d};
                    if (algo->native || (kind != ROTA_FIXED && algo->uniform) ||
                        (kind == ROTA_EXCHANGE &&
                         algo->sizes == ROTA_SIZES_PADDED))
                        continue;
                    snprintf(name, sizeof name, "%s%s", algo->name,
                             metadata[i]);
                    const sim_result r = run(name, c, &m);
                    assert_true(r.us >= 0);
                    assert_true(run(name, c, &m).us <= r.us &&
                                run(name, c, &m).us >= r.us);
                }
}

/* A node's ranks stand for all where nodes are alike: the same as if none did. */
static void few_stand_for_all(void **state)
{
    const sim_machine m = small_machine();
    const rota_topo topo = inside_topo(24, 4);
    char text[] = "parlinna_coalesced:radix=2", other[] = "xor",
         third[] = "parlogna:radix=3";
    rota_choice choice;
    sim_traffic t = {.topo = &topo, .largest = 9};
    rota_hints hints = inside_parse(text);

    (void)state;
    (void)m;
    sim_traffic_init(&t, &hints, ROTA_FIXED, &choice);
    assert_int_equal(t.period, 4);
    sim_traffic_free(&t);
    hints = inside_parse(other);
    sim_traffic_init(&t, &hints, ROTA_FIXED, &choice);
    assert_int_equal(t.period, 24);
    sim_traffic_free(&t);
    hints = inside_parse(third);
    sim_traffic_init(&t, &hints, ROTA_FIXED, &choice);
    assert_int_equal(t.period, 1);
    sim_traffic_free(&t);
}

/* ---- recordings ---------------------------------------------------------- */

enum { RANKS = 24, LARGEST = 1 << 30 };

typedef struct entry {
    uint32_t a, b;
    uint64_t c;
} entry;

/* One exchange, in which a rank sends to every third one, and to two neighbours
 * the same; one block is so large that P of them would not fit into 32 bits. */
static size_t some_bytes(int src, int dst)
{
    return src == 3 && dst == 9   ? LARGEST
           : (src + dst) % 3 == 0 ? (size_t)((src * 5 + dst) % 23) + 1
           : (src + dst) % 3 == 1 ? 0
                                  : (size_t)(src % 2) * 7;
}

/* As src/plan/kinds/record.h has it; returns how many entries. */
static size_t record(entry *e)
{
    size_t n = 0;

    for (uint32_t src = 0; src < RANKS; src++) {
        e[n++] = (entry){UINT32_C(0x524f5441), 1, RANKS};
        e[n++] = (entry){UINT32_C(0xffffffff), 0, 1};
        e[n++] = (entry){RANKS, src, 0};
        entry *const start = &e[n++];
        *start = (entry){UINT32_C(0xfffffffe), 0, 0};
        for (uint32_t dst = 0; dst < RANKS; dst++) {
            const size_t bytes = some_bytes((int)src, (int)dst);
            entry *const last = &e[n - 1];
            if (bytes == 0)
                continue;
            if (last > start && last->a + last->b == dst && last->c == bytes) {
                last->b++;
                continue;
            }
            e[n++] = (entry){dst, 1, bytes};
            start->c++;
        }
    }
    return n;
}

/* Messages are as large as the blocks in them. */
static void adds_up(const rota_topo *topo, const dist *d, const char *algo)
{
    sim_traffic t = {.topo = topo, .dist = d, .largest = LARGEST};
    rota_choice choice;
    char text[100];

    snprintf(text, sizeof text, "%s", algo);
    const rota_hints hints = inside_parse(text);
    sim_traffic_init(&t, &hints, ROTA_VARYING, &choice);
    assert_true(t.period < RANKS);
    assert_non_null(t.table);
    for (int r = 0; r < RANKS; r++) {
        const sim_rep *const rep = sim_rep_of(&t, r);
        const rota_msgs *const l = &rep->s.msgs[ROTA_RECV];
        double got = 0;
        for (uint32_t m = 0; m < l->n; m++) {
            double bytes = 0;
            for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
                const sim_label k =
                    sim_shifted(&t, rep->label[i], r - r % t.period);
                bytes += (double)some_bytes(k.from, k.to);
            }
            near(sim_message(&t, r, m).bytes, bytes);
        }
        for (int from = 0; from < RANKS; from++)
            got += (double)some_bytes(from, r);
        near(sim_received(&t, r), got);
    }
    sim_traffic_free(&t);
}

static void recordings(void **state)
{
    entry *const e = malloc(RANKS * (RANKS + 4) * sizeof *e);
    rota_topo topo = inside_topo(RANKS, 4);
    size_t row[RANKS];
    char why[100];

    (void)state;
    assert_non_null(e);
    recording *const r =
        recording_open(e, record(e) * sizeof *e, 0, why, sizeof why);
    assert_non_null(r);
    for (int src = 0; src < RANKS; src++) {
        recording_row(r, 0, src, row);
        for (int dst = 0; dst < RANKS; dst++) {
            assert_int_equal(row[dst], some_bytes(src, dst));
            assert_int_equal(recording_bytes(r, 0, src, dst), row[dst]);
        }
    }
    const dist d = {.type = DIST_RECORDED, .recorded = r, .one = true};
    adds_up(&topo, &d, "parlinna_coalesced:radix=2");
    adds_up(&topo, &d, "parlogna:radix=3");
    recording_close(r);
    rota_topo_free(&topo);
    free(e);
}

/* ---- neighbours ---------------------------------------------------------- */

/* Messages from node to node in the schedules of all ranks. */
static double count_between(const rota_topo *topo, const sim_world *world,
                            const char *algo)
{
    sim_traffic t = {.topo = topo, .world = world};
    rota_choice choice;
    double n = 0;
    char text[100];

    snprintf(text, sizeof text, "%s", algo);
    const rota_hints hints = inside_parse(text);
    sim_traffic_init(&t, &hints, ROTA_FIXED, &choice);
    for (int r = 0; r < topo->P; r++) {
        const rota_msgs *const l = &t.rep[r].s.msgs[ROTA_SEND];
        for (uint32_t m = 0; m < l->n; m++)
            n += topo->node[l->msg[m].peer] != topo->node[r];
    }
    sim_traffic_free(&t);
    return n;
}

/* A halo on nodes that are rows of the grid, or two rows side by side: each has
 * eight nodes around it, a rank 2 or 5 neighbours on its own. */
static void halo(int P, int node, int own)
{
    const sim_machine m = small_machine();
    rota_topo topo = inside_topo(P, node);
    neighborhood n;
    sim_world world;
    char why[100];

    assert_int_equal(neighborhood_make(&n, "halo", P, 160, why, sizeof why), 0);
    sim_world_make(&world, &n, &topo);
    const sim_case c = {
        .P = P, .node = node, .shared = true, .world = &world, .largest = 160};
    const sim_result r = run("mpich_neighbor", c, &m);
    near(r.messages, 26.0 * P);
    near(r.bytes, P * (6 * 160 + 12 * 11 + 8 * 8.0));
    near(count_between(&topo, &world, "neighbor"), (26.0 - own) * P);
    near(count_between(&topo, &world, "neighbor_node:leaders=1"),
         8.0 * P / node);
    assert_true(run("neighbor_node:leaders=1", c, &m).us < r.us);
    sim_world_free(&world);
    neighborhood_free(&n);
    rota_topo_free(&topo);
}

static void neighbors(void **state)
{
    (void)state;
    halo(64, 4, 2);
    halo(1024, 8, 2);
    halo(16384, 32, 5);
}

/* ---- sparse exchanges ---------------------------------------------------- */

static sim_sparse_result sparse(sim_sparse_way way, size_t bundle, int node,
                                const neighborhood *n, const sim_machine *m)
{
    const sim_sparse c = {
        .way = way, .bundle = bundle, .node = node, .among = n};

    return sim_sparse_run(&c, m);
}

static int log2_of(int n)
{
    int k = 0;

    while (1 << k < n)
        k++;
    return k;
}

/* Messages between nodes, one for each block or one for each pair of nodes, with
 * an acknowledgement each, and the rounds of the barrier of all that do not share
 * memory. The same halo as above. */
static void sparse_halo(int P, int node, int own)
{
    const sim_machine m = small_machine();
    const int nodes = P / node, far = 26 - own;
    const double all = P * (6 * 160 + 12 * 11 + 8 * 8.0);
    neighborhood n;
    char why[100];

    assert_int_equal(neighborhood_make(&n, "halo", P, 160, why, sizeof why), 0);
    sim_sparse_result r = sparse(SIM_SPARSE_ALONE, 0, node, &n, &m);
    near(r.between, 26.0 * P);
    near(r.empty, (26.0 + log2_of(P)) * P);
    near(r.bytes, all);
    near(r.within, 0);
    r = sparse(SIM_SPARSE_MPI, 0, node, &n, &m);
    near(r.between, 26.0 * P);
    near(r.empty, 0);
    near(r.bytes, all);
    r = sparse(SIM_SPARSE_ROTA, 0, node, &n, &m);
    near(r.within, (double)own * P);
    near(r.between, (double)far * P);
    near(r.empty, (double)far * P + nodes * log2_of(nodes));
    near(r.bytes, all);
    r = sparse(SIM_SPARSE_ROTA, 1000, node, &n, &m);
    near(r.between, 8.0 * nodes);
    near(r.empty, 8.0 * nodes + nodes * log2_of(nodes));
    neighborhood_free(&n);
}

/* Only blocks of at most 11 bytes are short: 6 faces go on their own. A rank has
 * 2 of them in its node, where rows are nodes of 4. */
static void some_bundled(void)
{
    const sim_machine m = small_machine();
    neighborhood n;
    char why[100];

    assert_int_equal(neighborhood_make(&n, "halo", 64, 160, why, sizeof why),
                     0);
    near(sparse(SIM_SPARSE_ROTA, 11, 4, &n, &m).between, 64 * 4 + 16 * 8.0);
    neighborhood_free(&n);
}

/* Rank 0 posts in 200 ns, the block comes at 1270 and is matched by 1470, which
 * rank 0 hears at 2490. Its message of the barrier, posted by 2690, is the last
 * to come, at 3710. */
static void one_block(void)
{
    const sim_machine m = small_machine();
    size_t first[2][3] = {{0, 1, 1}, {0, 0, 1}}, bytes = 100;
    int peer[2] = {1, 0};
    const neighborhood n = {.P = 2,
                            .first = {first[0], first[1]},
                            .peer = {&peer[0], &peer[1]},
                            .bytes = {&bytes, &bytes}};
    const sim_sparse_result r = sparse(SIM_SPARSE_ALONE, 0, 1, &n, &m);

    near(r.us, 3.71);
    near(r.between, 1);
    near(r.empty, 1 + 2);
}

static void drawn(void)
{
    const sim_machine m = small_machine();
    neighborhood n;
    char why[100];

    assert_int_equal(neighborhood_make(&n, "random:7", 60, 8, why, sizeof why),
                     0);
    sim_sparse_result r = sparse(SIM_SPARSE_ROTA, 0, 6, &n, &m);
    near(r.within + r.between, 7 * 60);
    near(r.empty, r.between + 10 * 4);
    near(sparse(SIM_SPARSE_ALONE, 0, 6, &n, &m).between, 7 * 60);
    neighborhood_free(&n);
    assert_int_equal(neighborhood_make(&n, "random:60", 60, 8, why, sizeof why),
                     -1);
}

static void sparse_exchanges(void **state)
{
    (void)state;
    sparse_halo(64, 4, 2);
    sparse_halo(1024, 8, 2);
    some_bundled();
    one_block();
    drawn();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_leaders),
        cmocka_unit_test(two_ranks),
        cmocka_unit_test(ports_are_queues),
        cmocka_unit_test(memory_is_a_queue),
        cmocka_unit_test(cores_are_for_all),
        cmocka_unit_test(questions_and_late_ranks),
        cmocka_unit_test(small_messages_cost_more),
        cmocka_unit_test(memory_is_for_all),
        cmocka_unit_test(flags_do_not_queue),
        cmocka_unit_test(sizes_take_time),
        cmocka_unit_test(as_published),
        cmocka_unit_test(few_stand_for_all),
        cmocka_unit_test(recordings),
        cmocka_unit_test(sizes_told),
        cmocka_unit_test(all_end),
        cmocka_unit_test(handed_over),
        cmocka_unit_test(leaders_share),
        cmocka_unit_test(neighbors),
        cmocka_unit_test(sparse_exchanges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
