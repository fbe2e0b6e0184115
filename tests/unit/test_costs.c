/* test_costs.c - the cost formulas in the headings of the algorithms, against
 * what their schedules do: for every P up to 64, every rank and every radix.
 *
 * Phases, messages and slots of parlogna and of the direct algorithms are also
 * counted by sim_check; here it is all logarithmic ones, and bytes. */
#include "algos/algo.h"

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

/* Of one rank's schedule when all blocks have BLOCK bytes. */
static costs cost(const rota_algo *algo, int P, int me, int value)
{
    const rota_params params = {.batch = value, .radix = value};
    const rota_topo topo = {.P = P, .n_nodes = 1};
    rota_sched s;
    costs c;

    assert_int_equal(rota_sched_init(&s, P, me), MPI_SUCCESS);
    assert_int_equal(algo->build(&topo, &params, &s), MPI_SUCCESS);
    size_t *const bytes = malloc(s.n_blocks * sizeof *bytes);
    assert_non_null(bytes);
    for (rota_block b = 0; b < s.n_blocks; b++)
        bytes[b] = BLOCK;
    rota_sched_count(&s, bytes, &c.n);
    c.slots = s.n_slots;
    ptrdiff_t *const offset = calloc(s.n_blocks, sizeof *offset);
    assert_non_null(offset);
    assert_int_equal(rota_sched_place(&s, false, bytes, offset, &c.scratch),
                     MPI_SUCCESS);
    free(offset);
    free(bytes);
    rota_sched_free(&s);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parlogna_in_every_radix),
        cmocka_unit_test(zero_rotation_in_every_radix),
        cmocka_unit_test(radix_two_forms),
        cmocka_unit_test(parlogna_leaves_its_places),
        cmocka_unit_test(bytes_are_bounded),
        cmocka_unit_test(direct_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
