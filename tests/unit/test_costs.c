/* test_costs.c - the cost formulas in the headings of the algorithms, against
 * what their schedules do: for every P up to 64, every rank and every radix.
 *
 * Phases, messages and slots of parlogna and of the direct algorithms are also
 * counted by sim_check; here it is all logarithmic ones, and bytes. */
#include "algos/algo.h"
#include "common/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_P = 64, BLOCK = 7 };

/* What follows is from the definition: index i takes one hop for each of its
 * nonzero digits, all indices with the same single one share a message. */
static size_t nonzero_digits(int i, int radix)
{
    size_t n = 0;

    for (; i > 0; i /= radix)
        n += i % radix != 0;
    return n;
}

static size_t hops(int P, int radix)
{
    size_t n = 0;

    for (int i = 1; i < P; i++)
        n += nonzero_digits(i, radix);
    return n;
}

/* K: indices with a single nonzero digit, one for each (position, value). */
static size_t messages(int P, int radix)
{
    size_t n = 0;

    for (int i = 1; i < P; i++)
        n += nonzero_digits(i, radix) == 1;
    return n;
}

/* w: digits of the largest index. */
static size_t digits(int P, int radix)
{
    size_t n = 0;

    for (int i = P - 1; i > 0; i /= radix)
        n++;
    return n;
}

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
    assert_int_equal(rota_sched_place(s, false, bytes, offset, &c.scratch),
                     MPI_SUCCESS);
    free(offset);
    free(bytes);
    return c;
}

/* One rank's schedule; value: of all parameters. */
static rota_sched build(const rota_algo *algo, const rota_topo *topo, int me,
                        int value)
{
    const rota_params params = {
        .batch = value, .radix = value, .leaders = value};
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

/* Between digit x - 1 and digit x a block rests in scratch if it has both
 * nonzero digits below r^x and nonzero digits from there up: all indices but
 * the r^x that have none above, and the ceil(P / r^x) that have none below, of
 * which 0 is both. */
static size_t most_at_rest(int P, int radix)
{
    size_t most = 0;

    for (size_t power = (size_t)radix; power < (size_t)P;
         power *= (size_t)radix) {
        const size_t n = (size_t)P - power - ((size_t)P - 1) / power;
        most = n > most ? n : most;
    }
    return most;
}

/* slots: what the algorithm has beside P - (K+1), for the forms that copy. */
static void check_log(const rota_algo *algo, int radix, bool all_slots)
{
    for (int P = 1; P <= MAX_P; P++)
        for (int me = 0; me < P; me++) {
            const size_t K = messages(P, radix), w = digits(P, radix);
            const costs c = cost(algo, P, me, radix);
            const rota_counts n = c.n;
            const size_t rest =
                all_slots ? (size_t)P - 1 : most_at_rest(P, radix);
            assert_int_equal(n.messages, K);
            assert_int_equal(n.rounds, w);
            assert_int_equal(n.bytes, hops(P, radix) * BLOCK);
            assert_int_equal(c.scratch.slots, rest);
            assert_int_equal(c.scratch.bytes, rest * BLOCK);
            assert_int_equal(c.slots,
                             all_slots ? (size_t)P - 1 : (size_t)P - (K + 1));
            assert_true(K <= w * (size_t)(radix - 1));
        }
}

static void parlogna_in_every_radix(void **state)
{
    (void)state;
    for (int radix = 2; radix <= MAX_P; radix++)
        check_log(&rota_algo_parlogna, radix, false);
}

static void zero_rotation_in_every_radix(void **state)
{
    (void)state;
    for (int radix = 2; radix <= MAX_P; radix++)
        check_log(&rota_algo_bruck_zero_rotation, radix, false);
}

static void radix_two_forms(void **state)
{
    (void)state;
    check_log(&rota_algo_two_phase_bruck, 2, false);
    check_log(&rota_algo_sloav, 2, false);
    check_log(&rota_algo_padded_bruck, 2, true);
    check_log(&rota_algo_bruck_basic, 2, true);
    check_log(&rota_algo_bruck_modified, 2, true);
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
            const size_t w = digits(P, radix);
            size_t power = 1;
            for (size_t x = 1; x < w; x++)
                power *= (size_t)radix;
            const size_t most = w * (size_t)(radix - 1) * power;
            assert_true(hops(P, radix) <= most);
            if (power * (size_t)radix == (size_t)P)
                assert_int_equal(hops(P, radix), most);
        }
}

/* Each byte crosses the network once; no scratch. */
static void direct_ones(void **state)
{
    (void)state;
    for (int i = 0; rota_algo_table[i]; i++) {
        const rota_algo *const algo = rota_algo_table[i];
        if (algo->sizes != ROTA_SIZES_STATED || algo->native)
            continue;
        for (int P = 1; P <= MAX_P; P++)
            for (int me = 0; me < P; me++) {
                const costs c = cost(algo, P, me, 5);
                const rota_counts n = c.n;
                assert_int_equal(n.messages, P - 1);
                assert_int_equal(n.bytes, (P - 1) * BLOCK);
                assert_int_equal(n.copied, BLOCK);
                assert_int_equal(c.scratch.bytes, 0);
            }
    }
}

/* ---- algorithms that heed nodes -------------------------------------------- */

static size_t batches(size_t steps, size_t batch)
{
    return (steps + batch - 1) / batch;
}

/* Of N nodes of Q ranks, rank me; every block is sent to the carrier of its
 * column unless its origin is that, and from there unless it is there. */
static void check_columns(const rota_topo *t, int me, int radix)
{
    const size_t N = (size_t)t->n_nodes, Q = (size_t)t->P / N;
    const size_t K = messages((int)Q, radix), w = digits((int)Q, radix);
    const size_t inside = hops((int)Q, radix) * N * BLOCK;
    const size_t slots = (N - 1) * (Q - 1) + N * (Q - 1 - K);
    const size_t batch = (size_t)radix;
    rota_sched s = build(&rota_algo_parlinna_coalesced, t, me, radix);
    costs c = cost_of(&s);

    rota_sched_free(&s);
    assert_int_equal(c.n.messages, K + N - 1);
    assert_int_equal(c.n.rounds, w + batches(N - 1, batch));
    assert_int_equal(c.n.bytes, inside + (N - 1) * Q * BLOCK);
    assert_int_equal(c.slots, slots);
    s = build(&rota_algo_parlinna_staggered, t, me, radix);
    c = cost_of(&s);
    rota_sched_free(&s);
    assert_int_equal(c.n.messages, K + Q * (N - 1));
    assert_int_equal(c.n.rounds, w + batches(N - 1, batch) +
                                     batches((Q - 1) * (N - 1), batch));
    assert_int_equal(c.n.bytes, inside + (N - 1) * Q * BLOCK);
    assert_int_equal(c.slots, slots);
    s = build(&rota_algo_parlinna_logarithmic, t, me, radix);
    c = cost_of(&s);
    rota_sched_free(&s);
    assert_int_equal(c.n.messages, K + messages((int)N, radix));
    assert_int_equal(c.n.rounds, w + digits((int)N, radix));
    assert_int_equal(c.n.bytes, inside + hops((int)N, radix) * Q * BLOCK);
    assert_int_equal(c.slots, slots + Q * (N - 1 - messages((int)N, radix)));
}

static void columns(void **state)
{
    (void)state;
    for (int P = 1; P <= MAX_P; P++)
        for (int Q = 1; Q <= P; Q++) {
            rota_topo t;
            if (P % Q != 0)
                continue;
            assert_int_equal(rota_topo_make(&t, P, Q, 1), MPI_SUCCESS);
            const int most = P / Q > Q ? P / Q : Q;
            for (int radix = 2; radix <= most + 1; radix += 1 + radix / 4)
                for (int me = 0; me < P; me += 1 + P / 8)
                    check_columns(&t, me, radix);
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
        const size_t most =
            batches((size_t)t->n_nodes - 1, (size_t)(L < Q ? L : Q));
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
            rota_topo t = shape_topo(shape, P);
            check_leaders(&rota_algo_l_a2a, &t, 1);
            for (int L = 1; L <= 6; L++) {
                check_leaders(&rota_algo_mpml, &t, L);
                check_leaders(&rota_algo_nmpml, &t, L);
                check_leaders(&rota_algo_onmpml, &t, L);
            }
            rota_topo_free(&t);
        }
}

/* Nodes of Q: each rank by its part. A leader that serves k offsets. */
static void leaders_of_even_nodes(void **state)
{
    enum { N = 7, Q = 5, L = 3 };
    rota_topo t;

    (void)state;
    assert_int_equal(rota_topo_make(&t, N * Q, Q, 1), MPI_SUCCESS);
    for (int me = 0; me < N * Q; me++) {
        const size_t l = (size_t)t.local[me];
        const size_t k = l < L ? (N - 1) / L : 0; /* L divides N-1 */
        const size_t gathered = L - (l < L), scattered = k > 0 ? Q - 1 : 0;
        rota_sched s = build(&rota_algo_mpml, &t, me, L);
        const costs c = cost_of(&s);
        assert_int_equal(c.n.rounds, 3);
        assert_int_equal(c.slots, 2 * k * Q * (Q - 1));
        assert_int_equal(c.n.messages, gathered + k + Q - 1 + scattered);
        assert_int_equal(
            c.n.bytes,
            ((N - 1 - k) * Q + k * Q * Q + Q - 1 + scattered * k * Q) * BLOCK);
        rota_sched_free(&s);
    }
    rota_topo_free(&t);
}

/* As nmpml, but in one round, and what members and leaders hand each other is a
 * message for each offset instead of one for all that a leader serves. */
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
            const size_t k = count_outbound(&s, &t).messages;
            rota_sched_free(&s);
            s = build(&rota_algo_onmpml, &t, me, L);
            const costs c = cost_of(&s);
            assert_int_equal(count_outbound(&s, &t).messages, k);
            rota_sched_free(&s);
            assert_int_equal(c.n.messages,
                             (N - 1 - k) + k + (Q - 1) + k * (Q - 1));
            assert_int_equal(in_turn.n.rounds, 3);
            assert_int_equal(c.n.rounds, 1);
            assert_int_equal(c.n.bytes, in_turn.n.bytes);
            assert_int_equal(c.n.copied, in_turn.n.copied);
            assert_int_equal(c.slots, in_turn.slots);
        }
    rota_topo_free(&t);
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

/* Every rank gets one message a node, of what the node has for it, whatever
 * the sizes of nodes are. */
static void columns_to_uneven_nodes(void **state)
{
    (void)state;
    for (int shape = 0; shape < N_SHAPES; shape++)
        for (int P = 1; P <= 33; P++) {
            rota_topo t = shape_topo(shape, P);
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
        cmocka_unit_test(parlogna_in_every_radix),
        cmocka_unit_test(zero_rotation_in_every_radix),
        cmocka_unit_test(radix_two_forms),
        cmocka_unit_test(parlogna_leaves_its_places),
        cmocka_unit_test(bytes_are_bounded),
        cmocka_unit_test(direct_ones),
        cmocka_unit_test(columns),
        cmocka_unit_test(columns_to_uneven_nodes),
        cmocka_unit_test(leaders),
        cmocka_unit_test(leaders_of_even_nodes),
        cmocka_unit_test(overlapped_leaders),
        cmocka_unit_test(leaders_by_domain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
