/* test_algos.c - the registry, and facts about single algorithms. */
#include "algos/algo.h"
#include "common/shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void finds_each_by_name(void **state)
{
    (void)state;
    for (int i = 0; rota_algo_table[i]; i++) {
        const rota_algo *const a = rota_algo_table[i];
        assert_ptr_equal(rota_algo_find(a->name), a);
        assert_non_null(a->summary);
        assert_non_null(a->source);
        assert_non_null(a->build);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(rota_algo_table[k]->name, a->name);
    }
}

static void finds_aliases(void **state)
{
    (void)state;
    assert_ptr_equal(rota_algo_find("multi_pair_test"), &rota_algo_multi_pair);
}

static void finds_nothing_else(void **state)
{
    (void)state;
    assert_null(rota_algo_find(""));
    assert_null(rota_algo_find("Linear"));
    assert_null(rota_algo_find("linear "));
    assert_null(rota_algo_find("multi"));
}

/* A direct algorithm sends every block from its source to its destination. */
static void direct_ones_are_direct(void **state)
{
    rota_params params = {0};
    rota_topo topo = shape_topo(ODD_END, 7);
    rota_sched s;

    (void)state;
    for (int k = 0; k < ROTA_N_PARAMS; k++)
        *rota_param_of(&params, &rota_param_table[k]) = 3;
    for (int i = 0; rota_algo_table[i]; i++) {
        bool direct = true;
        assert_int_equal(rota_sched_init(&s, 7, 5), MPI_SUCCESS);
        assert_int_equal(rota_algo_table[i]->build(&topo, &params, &s),
                         MPI_SUCCESS);
        for (int dir = 0; dir < ROTA_N_DIRS; dir++)
            for (uint32_t m = 0; m < s.msgs[dir].n; m++)
                direct = direct && rota_msg_is_direct(&s, (rota_dir)dir, m);
        assert_true(direct || rota_algo_table[i]->sizes != ROTA_SIZES_STATED);
        bool native = false;
        for (uint32_t p = 0; p < s.n_phases; p++)
            native = native || s.phase[p].native;
        assert_int_equal(rota_algo_table[i]->native, native);
        rota_sched_free(&s);
    }
    rota_topo_free(&topo);
}

/* The worked example: slots of the indices with two nonzero binary digits and
 * more, at P = 8: 3 -> 0, 5 -> 1, 6 -> 2, 7 -> 3. */
static void parlogna_numbers_slots(void **state)
{
    const rota_params params = {.radix = 2};
    const rota_topo topo = {.P = 8, .n_nodes = 1};
    rota_sched s;

    (void)state;
    assert_int_equal(rota_sched_init(&s, 8, 0), MPI_SUCCESS);
    assert_int_equal(rota_algo_parlogna.build(&topo, &params, &s), MPI_SUCCESS);
    /* first round: indices 1, 3, 5, 7; index 1 is at its destination */
    const rota_block *const item = s.msgs[ROTA_RECV].item;
    assert_int_equal(item[0], rota_dst(&s, 1));
    assert_int_equal(rota_block_slot(&s, item[1]), 0);
    assert_int_equal(rota_block_slot(&s, item[2]), 1);
    assert_int_equal(rota_block_slot(&s, item[3]), 3);
    /* second round: 2, 3, 6, 7 */
    assert_int_equal(item[4], rota_dst(&s, 2));
    assert_int_equal(item[5], rota_dst(&s, 3));
    assert_int_equal(rota_block_slot(&s, item[6]), 2);
    assert_int_equal(rota_block_slot(&s, item[7]), 3);
    rota_sched_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_by_name),
        cmocka_unit_test(finds_aliases),
        cmocka_unit_test(finds_nothing_else),
        cmocka_unit_test(direct_ones_are_direct),
        cmocka_unit_test(parlogna_numbers_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
