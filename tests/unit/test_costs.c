/* test_costs.c - the cost formulas in the headings of the algorithms, against
 * what their schedules do: for every P up to 64, every rank and every radix.
 *
 * The formulas are those of common/formulas.c, which sim_check also compares
 * messages, rounds and slots with, up to 1024 ranks; here it is bytes and
 * scratch, too. */
#include "algos/algo.h"
#include "common/formulas.h"
#include "common/quick.h"
#include "common/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_P = 64, BLOCK = 7 };

typedef struct costs {
    rota_counts n;
    size_t slots;         /* that the builder numbers */
    rota_scratch scratch; /* of a plan that packs */
} costs;

/* Of a schedule when all blocks have BLOCK bytes. */
static costs cost_of(const rota_sched *s)
{
    size_t *const bytes = malloc(s->n_blocks * sizeof *bytes);
    ptrdiff_t *const offset = calloc(s->n_blocks, sizeof *offset);
    costs c = {.slots = s->n_slots};

    assert_non_null(bytes);
    assert_non_null(offset);
    for (rota_block b = 0; b < s->n_blocks; b++)
        bytes[b] = BLOCK;
    rota_sched_count(s, bytes, &c.n);
    assert_int_equal(rota_sched_place(s, bytes, offset, &c.scratch),
                     MPI_SUCCESS);
    free(offset);
    free(bytes);
    return c;
}

/* All of one value; a radix is 2 at least. */
static rota_params params_of(int value)
{
    return (rota_params){
        .batch = value, .radix = value > 1 ? value : 2, .leaders = value};
}

/* One rank's schedule. */
static rota_sched build(const rota_algo *algo, const rota_topo *topo, int me,
                        int value)
{
    const rota_params params = params_of(value);
    rota_sched s;

    assert_int_equal(rota_sched_init(&s, topo->P, me), MPI_SUCCESS);
    assert_int_equal(algo->build(topo, &params, &s), MPI_SUCCESS);
    return s;
}

static costs cost(const rota_algo *algo, int P, int me, int value)
{
    rota_topo topo = shape_topo(ONE_NODE, P);
    rota_sched s = build(algo, &topo, me, value);
    const costs c = cost_of(&s);

    rota_sched_free(&s);
    rota_topo_free(&topo);
    return c;
}

static size_t count_to_node(const rota_sched *s, const rota_topo *t, int node)
{
    const rota_msgs *const l = &s->msgs[ROTA_SEND];
    size_t n = 0;

    for (uint32_t m = 0; m < l->n; m++)
        n += t->node[l->msg[m].peer] == node;
    return n;
}

static void assert_stated(size_t got, size_t want)
{
    if (want != FORMULA_OPEN)
        assert_int_equal(got, want);
}

/* One rank's schedule, against all that its row in formulas.c says. */
static void check_row(const rota_algo *algo, const rota_topo *t, int me,
                      int value)
{
    const rota_params params = params_of(value);
    const formula_cost want = formula_of(algo, t, &params, me);
    rota_sched s = build(algo, t, me, value);
    const costs c = cost_of(&s);

    for (int n = 0; n < t->n_nodes && !algo->native; n++)
        assert_int_equal(count_to_node(&s, t, n),
                         formula_to_node(algo, t, &params, me, n));
    assert_stated(c.n.messages + c.n.handed, want.messages);
    assert_stated(c.n.handed, want.handed);
    assert_stated(c.n.rounds, want.rounds);
    assert_stated(c.slots, want.slots);
    assert_stated(c.scratch.slots, want.scratch);
    if (!algo->native) {
        if (want.blocks != FORMULA_OPEN)
            assert_int_equal(c.n.bytes, want.blocks * BLOCK);
        if (want.scratch != FORMULA_OPEN)
            assert_int_equal(c.scratch.bytes, want.scratch * BLOCK);
    }
    rota_sched_free(&s);
}

/* A row is missing? Then it is to be written into formulas.c. */
static void every_algorithm_has_a_row(void **state)
{
    (void)state;
    for (int i = 0; rota_algo_table[i]; i++)
        if (!formula_is_stated(rota_algo_table[i]))
            fail_msg("%s has no row in tests/common/formulas.c",
                     rota_algo_table[i]->name);
}

static void parlogna_leaves_its_places(void **state)
{
    (void)state;
    assert_int_equal(cost(&rota_algo_parlogna, 8, 0, 2).slots, 4);
    assert_int_equal(cost(&rota_algo_parlogna, 8, 0, 2).scratch.slots, 3);
    assert_int_equal(cost(&rota_algo_parlogna, 8, 0, 3).scratch.slots, 3);
    assert_int_equal(cost(&rota_algo_parlogna, 8, 0, 8).scratch.slots, 0);
    assert_int_equal(cost(&rota_algo_parlogna, 64, 0, 2).slots, 57);
    assert_int_equal(cost(&rota_algo_parlogna, 64, 0, 2).scratch.slots, 49);
}

/* [Fan22]: a block in transit crosses the network at most D times in all, D <=
 * w (r-1) r^(w-1); equal where P is a power of r. */
static void bytes_are_bounded(void **state)
{
    (void)state;
    for (int P = 2; P <= MAX_P; P++)
        for (int radix = 2; radix <= P; radix++) {
            const size_t w = formula_digits(P, radix);
            size_t power = 1;
            for (size_t x = 1; x < w; x++)
                power *= (size_t)radix;
            const size_t most = w * (size_t)(radix - 1) * power;
            assert_true(formula_hops(P, radix) <= most);
            if (power * (size_t)radix == (size_t)P)
                assert_int_equal(formula_hops(P, radix), most);
        }
}

/* Short: not every parameter. */
static int next(int value, bool every)
{
    return value + 1 + (every ? 0 : value / 4);
}

/* On one node: algorithms that follow none. */
static void check_flat(const rota_algo *algo, int P, int most)
{
    const bool radix = algo->params & ROTA_P_RADIX;
    rota_topo t = shape_topo(ONE_NODE, P);

    for (int value = 1 + radix; value <= most;
         value = next(value, radix && !test_is_quick()))
        for (int me = 0; me < P; me++)
            check_row(algo, &t, me, value);
    rota_topo_free(&t);
}

static void flat_ones(void **state)
{
    const unsigned taken = ROTA_P_RADIX | ROTA_P_BATCH;

    (void)state;
    for (int i = 0; rota_algo_table[i]; i++)
        for (int P = 1; P <= MAX_P && !rota_algo_table[i]->nodes; P++)
            check_flat(rota_algo_table[i], P,
                       rota_algo_table[i]->params & taken ? MAX_P : 1);
}

/* Nothing is copied but a rank's own block. */
static void direct_ones(void **state)
{
    (void)state;
    for (int i = 0; rota_algo_table[i]; i++)
        for (int P = 1; P <= MAX_P; P++)
            if (rota_algo_is_direct(rota_algo_table[i]))
                assert_int_equal(cost(rota_algo_table[i], P, P / 2, 5).n.copied,
                                 BLOCK);
}

/* ---- algorithms that follow nodes ---------------------------------------- */

static void check_nodes(const rota_topo *t, int value, int step)
{
    for (int i = 0; rota_algo_table[i]; i++)
        for (int me = 0; me < t->P && rota_algo_table[i]->nodes; me += step)
            check_row(rota_algo_table[i], t, me, value);
}

static void nodes_of_one_size(void **state)
{
    (void)state;
    for (int P = 1; P <= MAX_P; P++)
        for (int Q = 1; Q <= P; Q++) {
            rota_topo t;
            if (P % Q != 0)
                continue;
            assert_int_equal(rota_topo_make(&t, P, Q, 1), MPI_SUCCESS);
            const int most = P / Q > Q ? P / Q : Q;
            for (int value = 1; value <= most + 1; value = next(value, false))
                check_nodes(&t, value, 1 + P / 8);
            rota_topo_free(&t);
        }
}

static void nodes_of_all_shapes(void **state)
{
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int P = 1; P <= 33; P++) {
            rota_topo t = shape_topo((enum shape)shape, P);
            for (int value = 1; value <= 6; value++)
                if (!test_is_quick() || (P + value) % 3 == 0)
                    check_nodes(&t, value, 1);
            rota_topo_free(&t);
        }
}

/* Messages and blocks that leave a rank for other nodes. */
typedef struct outbound {
    size_t messages, blocks;
} outbound;

static outbound count_outbound(const rota_sched *s, const rota_topo *t)
{
    const rota_msgs *const l = &s->msgs[ROTA_SEND];
    outbound n = {0};

    for (uint32_t m = 0; m < l->n; m++) {
        if (t->node[l->msg[m].peer] == t->node[s->me])
            continue;
        n.messages++;
        n.blocks += l->msg[m + 1].first - l->msg[m].first;
    }
    return n;
}

/* What leaves every node, of whatever sizes: as many blocks as there are for
 * others, in N-1 messages where leaders carry them. A leader's share is N-1 by
 * leaders, rounded; all is counted at the ranks that have it. */
static void check_leaders(const rota_algo *algo, const rota_topo *t, int L)
{
    size_t node_messages[MAX_P] = {0}, node_blocks[MAX_P] = {0};

    for (int q = 0; q < t->P; q++) {
        const int n = t->node[q], Q = rota_topo_node_size(t, n);
        const size_t most = ((size_t)t->n_nodes - 2 + (size_t)(L < Q ? L : Q)) /
                            (size_t)(L < Q ? L : Q);
        rota_sched s = build(algo, t, q, L);
        const outbound out = count_outbound(&s, t);
        assert_true(out.messages <= most);
        node_messages[n] += out.messages;
        node_blocks[n] += out.blocks;
        rota_sched_free(&s);
    }
    for (int n = 0; n < t->n_nodes; n++) {
        const size_t Q = (size_t)rota_topo_node_size(t, n);
        assert_int_equal(node_messages[n], t->n_nodes - 1);
        assert_int_equal(node_blocks[n], Q * ((size_t)t->P - Q));
    }
}

static void leaders(void **state)
{
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int P = 1; P <= 33; P++) {
            rota_topo t = shape_topo((enum shape)shape, P);
            check_leaders(&rota_algo_l_a2a, &t, 1);
            for (int L = 1; L <= 6; L++) {
                check_leaders(&rota_algo_mpml, &t, L);
                check_leaders(&rota_algo_nmpml, &t, L);
                check_leaders(&rota_algo_onmpml, &t, L);
                check_leaders(&rota_algo_shared_leaders, &t, L);
                check_leaders(&rota_algo_shared_leaders_overlapped, &t, L);
            }
            rota_topo_free(&t);
        }
}

/* As nmpml, but in one round, and with a message for each offset. */
static void overlapped_leaders(void **state)
{
    enum { N = 7, Q = 5 };
    rota_topo t;

    (void)state;
    assert_int_equal(rota_topo_make(&t, N * Q, Q, 1), MPI_SUCCESS);
    for (int L = 1; L <= N - 1; L++)
        for (int me = 0; me < N * Q; me++) {
            rota_sched s = build(&rota_algo_nmpml, &t, me, L);
            const costs in_turn = cost_of(&s);
            rota_sched_free(&s);
            s = build(&rota_algo_onmpml, &t, me, L);
            const costs c = cost_of(&s);
            rota_sched_free(&s);
            assert_int_equal(c.n.copied, in_turn.n.copied);
        }
    rota_topo_free(&t);
}

/* Phases in which a rank waits for others of its node to hand something over. */
static int waits_for_flags(const rota_sched *s)
{
    const rota_msgs *const l = &s->msgs[ROTA_RECV];
    int n = 0;

    for (uint32_t p = 0; p < s->n_phases; p++) {
        bool waits = false;
        for (uint32_t m = s->phase[p].msg[ROTA_RECV];
             m < s->phase[p + 1].msg[ROTA_RECV]; m++)
            waits = waits || l->msg[m].handed;
        n += waits;
    }
    return n;
}

/* Leaders for what the others hand them, and everybody for what leaders hand on:
 * no rank of a node waits for others more than twice a start, and one that leads
 * nobody once. */
static void shared_leaders_meet_twice(void **state)
{
    static const rota_algo *const form[] = {
        &rota_algo_shared_leaders, &rota_algo_shared_leaders_overlapped};

    (void)state;
    for (int f = 0; f < 2; f++)
        for (int N = 2; N <= 5; N++)
            for (int Q = 2; Q <= 6; Q++)
                for (int L = 1; L <= Q; L++) {
                    rota_topo t;
                    assert_int_equal(rota_topo_make(&t, N * Q, Q, 1),
                                     MPI_SUCCESS);
                    for (int me = 0; me < N * Q; me++) {
                        rota_sched s = build(form[f], &t, me, L);
                        const bool sends = count_outbound(&s, &t).messages > 0;
                        const int n = waits_for_flags(&s);
                        assert_true(n <= 1 + (sends && f == 0));
                        assert_true(n >= 1);
                        rota_sched_free(&s);
                    }
                    rota_topo_free(&t);
                }
}

static bool leads(const rota_algo *algo, const rota_topo *t, int me, int L)
{
    rota_sched s = build(algo, t, me, L);
    const bool yes = count_outbound(&s, t).messages > 0;

    rota_sched_free(&s);
    return yes;
}

/* Domains 0 1 2 0 1 2 0 1 over the eight ranks of a node: in order of domain
 * they are 0 3 6, 1 4 7, 2 5. Three leaders are the members in places 0, 2 and
 * 5 of those; a rank without a domain comes first. */
static void leaders_by_domain(void **state)
{
    rota_topo t;

    (void)state;
    assert_int_equal(rota_topo_make(&t, 64, 8, 1), MPI_SUCCESS);
    t.n_domains = 3;
    for (int q = 0; q < 64; q++)
        t.domain[q] = t.local[q] % 3;
    for (int q = 0; q < 64; q++) {
        const int g = t.local[q];
        assert_int_equal(leads(&rota_algo_nmpml, &t, q, 3),
                         g == 0 || g == 6 || g == 7);
        assert_int_equal(leads(&rota_algo_mpml, &t, q, 3), g < 3);
    }
    for (int q = 5; q < 64; q += 8)
        t.domain[q] = -1;
    for (int q = 0; q < 8; q++)
        assert_int_equal(leads(&rota_algo_nmpml, &t, q, 1), q == 5);
    rota_topo_free(&t);
}

/* Two other nodes have two leaders, whose places are spread over all domains, however
 * many are asked for. */
static void leaders_for_nodes(void **state)
{
    rota_topo t;

    (void)state;
    assert_int_equal(rota_topo_make(&t, 24, 8, 1), MPI_SUCCESS);
    rota_topo_spread(&t, 2);
    for (int L = 2; L <= 8; L++)
        for (int q = 0; q < 24; q++) {
            const bool first = t.local[q] % 4 == 0;
            assert_int_equal(leads(&rota_algo_shared_leaders, &t, q, L), first);
            assert_int_equal(
                leads(&rota_algo_shared_leaders_overlapped, &t, q, L), first);
        }
    rota_topo_free(&t);
}

/* Every rank gets one message a node, of what the node has for it, whatever
 * the sizes of nodes are. */
static void columns_to_uneven_nodes(void **state)
{
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int P = 1; P <= 33; P++) {
            rota_topo t = shape_topo((enum shape)shape, P);
            for (int q = 0; q < P; q++) {
                rota_sched s = build(&rota_algo_parlinna_coalesced, &t, q, 2);
                const rota_msgs *const l = &s.msgs[ROTA_RECV];
                size_t n = 0;
                for (uint32_t m = 0; m < l->n; m++) {
                    const int from = t.node[l->msg[m].peer];
                    if (from == t.node[q])
                        continue;
                    n++;
                    assert_int_equal(l->msg[m + 1].first - l->msg[m].first,
                                     rota_topo_node_size(&t, from));
                }
                assert_int_equal(n, t.n_nodes - 1);
                rota_sched_free(&s);
            }
            rota_topo_free(&t);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_has_a_row),
        cmocka_unit_test(flat_ones),
        cmocka_unit_test(parlogna_leaves_its_places),
        cmocka_unit_test(bytes_are_bounded),
        cmocka_unit_test(direct_ones),
        cmocka_unit_test(nodes_of_one_size),
        cmocka_unit_test(nodes_of_all_shapes),
        cmocka_unit_test(columns_to_uneven_nodes),
        cmocka_unit_test(leaders),
        cmocka_unit_test(overlapped_leaders),
        cmocka_unit_test(shared_leaders_meet_twice),
        cmocka_unit_test(leaders_by_domain),
        cmocka_unit_test(leaders_for_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
