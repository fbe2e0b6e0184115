/* test_candidates.c - what a plan chooses from, and which it takes. */
#include "choose/candidates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static rota_candidates find(int P, int node_size, bool neighbors)
{
    const rota_hints open = {.metadata = -1};
    rota_candidates list;
    rota_topo t;

    assert_int_equal(rota_topo_make(&t, P, node_size, 1), MPI_SUCCESS);
    const rota_plan_kind what = {.topo = &t,
                                 .kind = ROTA_FIXED,
                                 .max_block = 1000,
                                 .native_free = true,
                                 .neighbors = neighbors};
    assert_int_equal(rota_candidates_find(&open, &what, &list), MPI_SUCCESS);
    rota_topo_free(&t);
    return list;
}

static bool alike(const rota_choice *a, const rota_choice *b)
{
    const rota_params *const p = &a->params, *const q = &b->params;
    const unsigned taken = a->algo->params;

    return a->algo == b->algo &&
           (!(taken & ROTA_P_RADIX) || p->radix == q->radix) &&
           (!(taken & ROTA_P_BATCH) || p->batch == q->batch) &&
           (!(taken & ROTA_P_LEADERS) || p->leaders == q->leaders) &&
           (!(taken & ROTA_P_PIECES) || p->pieces == q->pieces) &&
           (!(taken & ROTA_P_BUNDLE) || p->bundle == q->bundle);
}

/* MPI's own is the last of the list, so it is there if there was room for all. A rank
 * alone has nothing to send. */
static void all_find_room(void **state)
{
    static const int nodes[] = {1, 2, 3, 40, 300, 1500};
    static const int sizes[] = {1, 2, 8, 32, 36, 48, 100, 256, 1000};

    (void)state;
    for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
        for (size_t q = 0; q < sizeof sizes / sizeof sizes[0]; q++) {
            const rota_candidates list =
                find(nodes[n] * sizes[q], sizes[q], false);
            assert_int_equal(list.item[list.n - 1].choice.algo ==
                                 &rota_algo_mpi,
                             nodes[n] * sizes[q] > 1);
            for (int i = 0; i < list.n; i++)
                for (int k = 0; k < i; k++)
                    assert_false(
                        alike(&list.item[i].choice, &list.item[k].choice));
        }
}

/* Of leaders in shared memory there are up to as many as ranks of a node or other
 * nodes, and that many. */
static void leaders_for_each_node(void **state)
{
    (void)state;
    for (int N = 2; N <= 40; N++)
        for (int Q = 2; Q <= 48; Q++) {
            const rota_candidates list = find(N * Q, Q, false);
            const int others = N - 1 < 32 ? N - 1 : 32;
            const int most = others < Q ? others : Q;
            int found = 0;
            for (int i = 0; i < list.n; i++) {
                const rota_choice *const c = &list.item[i].choice;
                if (c->algo != &rota_algo_shared_leaders)
                    continue;
                assert_true(c->params.leaders >= 1 &&
                            c->params.leaders <= most);
                found += c->params.leaders == most;
            }
            assert_int_equal(found, 1);
        }
}

/* With a bundle of every length from every group of a node, the last of them all
 * is the form of as many groups as ranks. */
static void neighbors_find_room(void **state)
{
    (void)state;
    for (int Q = 2; Q <= 1024; Q *= 2) {
        const rota_candidates list = find(4 * Q, Q, true);
        assert_ptr_equal(list.item[0].choice.algo, &rota_algo_neighbor);
        assert_int_equal(list.item[list.n - 1].choice.params.leaders, Q);
        assert_int_equal(list.item[list.n - 1].choice.params.bundle, 4096);
    }
}

/* Where blocks can go from device to device, direct algorithms are there twice, once
 * by way of the host, unless a hint says how; others are there once. */
static void both_ways_of_a_device(void **state)
{
    const rota_algo *const algos[] = {&rota_algo_multi_pair,
                                      &rota_algo_parlogna};
    rota_topo t;

    (void)state;
    assert_int_equal(rota_topo_make(&t, 8, 8, 1), MPI_SUCCESS);
    const rota_plan_kind what = {.topo = &t, .kind = ROTA_FIXED, .ipc = true};
    for (int a = 0; a < 2; a++)
        for (int asked = 0; asked < 2; asked++) {
            const rota_hints hints = {.metadata = -1,
                                      .algo = algos[a],
                                      .params.radix = 2,
                                      .device = asked ? ROTA_DEVICE_COPY
                                                      : ROTA_DEVICE_AUTO};
            rota_candidates list;
            int by_ipc = 0, by_host = 0;

            assert_int_equal(rota_candidates_find(&hints, &what, &list),
                             MPI_SUCCESS);
            for (int i = 0; i < list.n; i++) {
                by_ipc += list.item[i].choice.device == ROTA_DEVICE_IPC;
                by_host += list.item[i].choice.device == ROTA_DEVICE_COPY;
            }
            assert_int_equal(by_ipc, a == 0 && !asked);
            assert_int_equal(by_host, a == 0 || asked);
        }
    rota_topo_free(&t);
}

static rota_candidate one_of(const rota_candidates *list, const rota_algo *algo,
                             int leaders, double predicted)
{
    for (int i = 0; i < list->n; i++) {
        rota_candidate c = list->item[i];
        c.predicted = predicted;
        if (c.choice.algo == algo &&
            (leaders == 0 || c.choice.params.leaders == leaders))
            return c;
    }
    fail();
    return list->item[0];
}

/* A list of two, the first of which forwards blocks. */
static rota_candidates two(double forwarding, double direct)
{
    const rota_candidates all = find(32, 8, false);

    return (rota_candidates){
        .item = {one_of(&all, &rota_algo_parlogna, 0, forwarding),
                 one_of(&all, &rota_algo_multi_pair, 0, direct)},
        .n = 2};
}

/* Likewise among neighbours, on nodes of 8. */
static bool bundles(int leaders, double bundled, double direct)
{
    const rota_candidates all = find(32, 8, true);
    const rota_candidates list = {
        .item = {one_of(&all, &rota_algo_neighbor_node, leaders, bundled),
                 one_of(&all, &rota_algo_neighbor, 0, direct)},
        .n = 2};

    return rota_candidates_best(&list) == &list.item[0];
}

static void forwarding_has_to_pay(void **state)
{
    rota_candidates list = two(100, 104);

    (void)state;
    assert_ptr_equal(rota_candidates_best(&list), &list.item[1]);
    list = two(100, 106);
    assert_ptr_equal(rota_candidates_best(&list), &list.item[0]);
    list.item[0].measured = 100; /* what is measured needs no margin */
    list.item[1].measured = 101;
    assert_ptr_equal(rota_candidates_best(&list), &list.item[0]);
    list.item[0].measured = -1;
    assert_ptr_equal(rota_candidates_best(&list), &list.item[1]);
}

/* With 5 nodes: 4 messages of one leader, one of each of 4. */
static bool overlaps(int leaders, double overlapping, double direct)
{
    const rota_candidates all = find(20, 4, false);
    const rota_candidates list = {
        .item = {one_of(&all, &rota_algo_shared_leaders_overlapped, leaders,
                        overlapping),
                 one_of(&all, &rota_algo_multi_pair, 0, direct)},
        .n = 2};

    return rota_candidates_best(&list) == &list.item[0];
}

/* And L leaders must promise 10 / L^2 % more. */
static void overlapping_has_to_pay(void **state)
{
    (void)state;
    assert_false(overlaps(1, 100, 120));
    assert_true(overlaps(1, 100, 122));
    assert_false(overlaps(2, 100, 112));
    assert_true(overlaps(2, 100, 113));
    assert_false(overlaps(4, 100, 110));
    assert_true(overlaps(4, 100, 111));
}

/* Where sizes go first, a window must be much slower not to be taken. */
static bool takes_window(double window, double all)
{
    const rota_hints open = {.metadata = -1};
    rota_candidates list, pair = {.n = 2};
    rota_topo t;

    assert_int_equal(rota_topo_make(&t, 64, 8, 1), MPI_SUCCESS);
    const rota_plan_kind what = {
        .topo = &t, .kind = ROTA_EXCHANGE, .max_block = 10000};
    assert_int_equal(rota_candidates_find(&open, &what, &list), MPI_SUCCESS);
    rota_topo_free(&t);
    for (int i = 0; i < list.n; i++)
        if (list.item[i].choice.algo == &rota_algo_multi_pair)
            pair.item[list.item[i].choice.params.batch == 63] = list.item[i];
    assert_int_equal(pair.item[1].choice.metadata, ROTA_META_TWO_PHASE);
    pair.item[0].predicted = window;
    pair.item[1].predicted = all;
    return rota_candidates_best(&pair) == &pair.item[0];
}

static void a_window_is_preferred(void **state)
{
    (void)state;
    assert_true(takes_window(124, 100));
    assert_false(takes_window(126, 100));
}

static void bundling_has_to_pay(void **state)
{
    (void)state;
    assert_false(bundles(2, 100, 111));
    assert_true(bundles(2, 100, 113));
    assert_false(bundles(8, 100, 119)); /* every rank by itself */
    assert_true(bundles(8, 100, 121));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_find_room),
        cmocka_unit_test(leaders_for_each_node),
        cmocka_unit_test(neighbors_find_room),
        cmocka_unit_test(both_ways_of_a_device),
        cmocka_unit_test(forwarding_has_to_pay),
        cmocka_unit_test(overlapping_has_to_pay),
        cmocka_unit_test(a_window_is_preferred),
        cmocka_unit_test(bundling_has_to_pay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
