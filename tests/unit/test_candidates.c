/* test_candidates.c - what a plan chooses from, and which it takes. */
#include "choose/candidates.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static rota_candidates find(int P, int node_size)
{
    const rota_hints open = {.metadata = -1};
    rota_candidates list;
    rota_topo t;

    assert_int_equal(rota_topo_make(&t, P, node_size, 1), MPI_SUCCESS);
    const rota_plan_kind what = {
        .topo = &t, .kind = ROTA_FIXED, .max_block = 1000, .native_free = true};
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

/* MPI's own is the last of the list, so it is there if there was room for all.
 */
static void all_find_room(void **state)
{
    static const int nodes[] = {1, 2, 3, 40, 300, 1500};
    static const int sizes[] = {1, 2, 8, 32, 36, 48, 100, 256, 1000};

    (void)state;
    for (size_t n = 0; n < sizeof nodes / sizeof nodes[0]; n++)
        for (size_t q = 0; q < sizeof sizes / sizeof sizes[0]; q++) {
            const rota_candidates list = find(nodes[n] * sizes[q], sizes[q]);
            assert_ptr_equal(list.item[list.n - 1].choice.algo, &rota_algo_mpi);
            for (int i = 0; i < list.n; i++)
                for (int k = 0; k < i; k++)
                    assert_false(
                        alike(&list.item[i].choice, &list.item[k].choice));
        }
}

/* A list of two, the first of which forwards blocks. */
static rota_candidates two(double forwarding, double direct)
{
    return (rota_candidates){
        .item = {{{.algo = &rota_algo_parlogna}, forwarding, -1},
                 {{.algo = &rota_algo_multi_pair}, direct, -1}},
        .n = 2};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_find_room),
        cmocka_unit_test(forwarding_has_to_pay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
