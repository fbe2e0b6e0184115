/* test_topo.c - nodes and domains as builders see them. */
#include "base/topo.h"
#include "common/shapes.h"

#include <mpi.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* What topo.h says of every topology. */
static void check(const rota_topo *t)
{
    int n_nodes = 0;

    assert_int_equal(t->first[0], 0);
    assert_int_equal(t->first[t->n_nodes], t->P);
    for (int q = 0; q < t->P; q++) {
        const int n = t->node[q];
        assert_true(n >= 0 && n <= n_nodes); /* numbered by lowest rank */
        n_nodes += n == n_nodes;
        assert_true(t->local[q] >= 0 &&
                    t->local[q] < rota_topo_node_size(t, n));
        assert_int_equal(t->ranks[t->first[n] + t->local[q]], q);
        assert_true(t->local[q] == 0 ||
                    t->ranks[t->first[n] + t->local[q] - 1] < q);
        assert_true(t->domain[q] >= 0 && t->domain[q] < t->n_domains);
    }
    assert_int_equal(n_nodes, t->n_nodes);
}

static void shapes_are_topologies(void **state)
{
    (void)state;
    for (int s = 0; s < N_SHAPES; s++)
        for (int P = 1; P <= 40; P++) {
            rota_topo t = shape_topo((shape)s, P);
            check(&t);
            rota_topo_free(&t);
            assert_null(t.node);
        }
}

static void nodes_of_a_size(void **state)
{
    static const struct {
        int P, size, nodes, last;
    } some[] = {{1, 1, 1, 1}, {8, 4, 2, 4},   {7, 3, 3, 1},
                {5, 9, 1, 5}, {16, 1, 16, 1}, {6, 1 << 20, 1, 6}};
    rota_topo t;

    (void)state;
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        const int P = some[i].P;
        assert_int_equal(rota_topo_make(&t, P, some[i].size, 1), MPI_SUCCESS);
        check(&t);
        assert_int_equal(t.n_nodes, some[i].nodes);
        assert_int_equal(rota_topo_node_size(&t, t.n_nodes - 1), some[i].last);
        for (int q = 0; q < P; q++)
            assert_int_equal(t.node[q], q / some[i].size);
        rota_topo_free(&t);
    }
}

/* Ranks 0, 2, 5 share a node, and so do 1, 3, 4. */
static void ranks_out_of_order(void **state)
{
    const int lowest[] = {0, 1, 0, 1, 1, 0};
    const int ranks[] = {0, 2, 5, 1, 3, 4};
    rota_topo t;

    (void)state;
    assert_int_equal(rota_topo_alloc(&t, 6), MPI_SUCCESS);
    rota_topo_arrange(&t, lowest);
    check(&t);
    assert_int_equal(t.n_nodes, 2);
    assert_int_equal(t.n_domains, 1);
    assert_memory_equal(t.ranks, ranks, sizeof ranks);
    rota_topo_free(&t);
}

/* Five ranks over two domains: three in the first; three over five: the ends
 * and the middle are not all in one. */
static void domains_are_spread(void **state)
{
    const int two[] = {0, 0, 0, 1, 1}, five[] = {0, 1, 3};
    rota_topo t;

    (void)state;
    assert_int_equal(rota_topo_make(&t, 5, 5, 2), MPI_SUCCESS);
    assert_memory_equal(t.domain, two, sizeof two);
    assert_int_equal(t.n_domains, 2);
    rota_topo_free(&t);
    assert_int_equal(rota_topo_make(&t, 3, 3, 5), MPI_SUCCESS);
    assert_memory_equal(t.domain, five, sizeof five);
    rota_topo_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_topologies),
        cmocka_unit_test(nodes_of_a_size),
        cmocka_unit_test(ranks_out_of_order),
        cmocka_unit_test(domains_are_spread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
