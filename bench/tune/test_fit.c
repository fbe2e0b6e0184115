/* test_fit.c - prices that are known are found again. One process. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/hash.h"
#include "tune/fit.h"

enum { SAMPLES = 120, USED = 8 };

/* Deterministic, from 0 to 1. */
static double draw(int seed, int i, int j)
{
    return (double)(hash_pair((uint64_t)seed, i, j, 0) >> 11) * 0x1p-53;
}

static rota_machine machine_of(double low, double high, int seed)
{
    rota_machine m;

    for (int j = 0; j < ROTA_N_TERMS; j++)
        m.ns[j] = low * pow(high / low, draw(seed, 1000, j));
    return m;
}

/* The first USED terms, in numbers that differ as those of messages and bytes
 * do. */
static void count(fit_sample sample[], int seed)
{
    memset(sample, 0, SAMPLES * sizeof *sample);
    for (int i = 0; i < SAMPLES; i++)
        for (int j = 0; j < USED; j++)
            sample[i].terms.n[j] =
                draw(seed, i, 100 + j) < 0.3
                    ? 0
                    : pow(10, 4 * draw(seed, i, 200) + draw(seed, i, j));
}

static void measure(fit_sample sample[], const rota_machine *m, double noise,
                    int seed)
{
    for (int i = 0; i < SAMPLES; i++) {
        sample[i].ns = sample[i].weight = 1;
        for (int j = 0; j < ROTA_N_TERMS; j++)
            sample[i].ns += sample[i].terms.n[j] * m->ns[j];
        sample[i].ns *= 1 + noise * (2 * draw(seed, i, 300) - 1);
    }
}

static void assert_close(double value, double expected, double tolerance,
                         const char *what, int j)
{
    if (!(fabs(value / expected - 1) <= tolerance))
        fail_msg("%s %d: %g instead of %g", what, j, value, expected);
}

static void finds_prices_again(void **state)
{
    fit_sample sample[SAMPLES];
    rota_machine m;
    int worst;

    (void)state;
    for (int seed = 0; seed < 20; seed++) {
        const rota_machine truth = machine_of(0.5, 50, seed);
        const rota_machine before = machine_of(0.5, 50, seed + 100);
        count(sample, seed);
        measure(sample, &truth, 0, seed);
        fit_machine(sample, SAMPLES, 0, &before, &m);
        for (int j = 0; j < USED; j++)
            if (truth.ns[j] > 5) /* small ones hardly show */
                assert_close(m.ns[j], truth.ns[j], 0.1, "price", j);
        assert_true(fit_errors(sample, SAMPLES, &m, &worst) < 0.01);
        assert_true(fit_order(sample, SAMPLES, &m) > 0.999);
    }
}

static void finds_them_in_noise(void **state)
{
    fit_sample sample[SAMPLES];
    rota_machine m;
    int worst;

    (void)state;
    for (int seed = 0; seed < 20; seed++) {
        const rota_machine truth = machine_of(5, 20, seed);
        const rota_machine before = machine_of(1, 100, seed + 100);
        count(sample, seed);
        measure(sample, &truth, 0.1, seed);
        for (int i = 0; i < SAMPLES; i += 20)
            sample[i].ns *= 10; /* disturbed */
        fit_machine(sample, SAMPLES, 0, &before, &m);
        for (int j = 0; j < USED; j++)
            assert_close(m.ns[j], truth.ns[j], 0.35, "price", j);
        assert_true(fit_errors(sample, SAMPLES, &m, &worst) < 0.1);
    }
}

/* Terms that do not occur, and two that occur together only. */
static void keeps_what_cannot_be_told(void **state)
{
    fit_sample sample[SAMPLES];
    rota_machine truth = machine_of(5, 20, 1), m;
    const rota_machine before = machine_of(5, 20, 2);

    (void)state;
    count(sample, 3);
    for (int i = 0; i < SAMPLES; i++)
        sample[i].terms.n[1] = 2 * sample[i].terms.n[0];
    truth.ns[0] = 3 * before.ns[0];
    truth.ns[1] = 3 * before.ns[1];
    measure(sample, &truth, 0, 3);
    fit_machine(sample, SAMPLES, 0, &before, &m);
    for (int j = USED; j < ROTA_N_TERMS; j++)
        assert_close(m.ns[j], before.ns[j], 1e-6, "unused price", j);
    assert_close(m.ns[0] + 2 * m.ns[1], truth.ns[0] + 2 * truth.ns[1], 0.05,
                 "price of both", 0);
    assert_true(m.ns[0] >= before.ns[0] && m.ns[1] >= before.ns[1]);
    fit_machine(sample, 0, 0, &before, &m);
    for (int j = 0; j < ROTA_N_TERMS; j++)
        assert_close(m.ns[j], before.ns[j], 1e-6, "price without samples", j);
}

static void has_no_negative_price(void **state)
{
    fit_sample sample[SAMPLES];
    rota_machine truth = machine_of(5, 20, 4), m;
    const rota_machine before = machine_of(5, 20, 5);

    (void)state;
    count(sample, 6);
    truth.ns[2] = 0;
    truth.ns[3] = -3; /* more of it makes runs shorter */
    for (int i = 0; i < SAMPLES; i++)
        sample[i].terms.n[3] = sample[i].terms.n[2];
    measure(sample, &truth, 0, 6);
    fit_machine(sample, SAMPLES, 0, &before, &m);
    for (int j = 0; j < ROTA_N_TERMS; j++)
        assert_true(m.ns[j] >= 0);
    assert_true(m.ns[2] < 1 && m.ns[3] < 1);
}

/* A term without a price before gets one if it occurs. */
static void starts_from_nothing(void **state)
{
    fit_sample sample[SAMPLES];
    const rota_machine truth = machine_of(5, 20, 7), nothing = {.network = {0}};
    rota_machine m;

    (void)state;
    count(sample, 8);
    measure(sample, &truth, 0, 8);
    fit_machine(sample, SAMPLES, 0, &nothing, &m);
    for (int j = 0; j < ROTA_N_TERMS; j++) {
        if (j < USED)
            assert_close(m.ns[j], truth.ns[j], 0.2, "price", j);
        else
            assert_true(m.ns[j] <= 0);
    }
}

/* Terms before the first one sought keep their prices, and the others make up
 * for nothing that these explain. */
static void keeps_others(void **state)
{
    enum { FIRST = 5 };
    fit_sample sample[SAMPLES];
    const rota_machine truth = machine_of(5, 20, 9);
    rota_machine before = truth, m;

    (void)state;
    count(sample, 10);
    measure(sample, &truth, 0, 10);
    for (int j = FIRST; j < USED; j++)
        before.ns[j] = 3 * truth.ns[j];
    fit_machine(sample, SAMPLES, FIRST, &before, &m);
    for (int j = 0; j < USED; j++)
        assert_close(m.ns[j], truth.ns[j], j < FIRST ? 0 : 0.05, "price", j);
}

/* Two ranks: in the first step their processors take longest, in the second
 * the port that they share. */
static void combines_what_counts(void **state)
{
    const int wait = rota_term(ROTA_LINK_NET, ROTA_PER_PHASE);
    const int port = rota_term(ROTA_LINK_NET, ROTA_PER_BYTE);
    rota_terms rank[2 * ROTA_STEPS], all;
    rota_terms *const a = rank, *const b = rank + ROTA_STEPS;
    rota_machine m = {.network = {0}};

    (void)state;
    memset(rank, 0, sizeof rank);
    m.ns[wait] = m.ns[port] = m.ns[ROTA_TERM_POSTED] = 1;
    a[0].n[wait] = 2;
    b[0].n[wait] = 1;
    a[0].n[ROTA_TERM_POSTED] = 10;
    b[0].n[ROTA_TERM_POSTED] = 20;
    a[0].n[port] = b[0].n[port] = 15;
    a[1].n[port] = 30;
    b[1].n[port] = 50;
    a[1].n[ROTA_TERM_POSTED] = 35;
    fit_combine(rank, 2, 1, &m, &all);
    assert_close(all.n[wait], 2, 1e-12, "waits", 0);
    assert_close(all.n[ROTA_TERM_POSTED], 20, 1e-12, "posted", 0);
    assert_close(all.n[port], 40, 1e-12, "bytes", 1);
    m.ns[port] = 0; /* of the first step (10 + 20) / 2, of the second 35 / 2 */
    fit_combine(rank, 2, 4, &m, &all);
    assert_close(all.n[ROTA_TERM_POSTED], 4 * 32.5, 1e-12, "posted", 1);
}

static void order_and_errors(void **state)
{
    fit_sample sample[4];
    rota_machine m = {.network = {0}};
    int worst;

    (void)state;
    memset(sample, 0, sizeof sample);
    m.ns[0] = 1;
    for (int i = 0; i < 4; i++) {
        sample[i].ns = 10 * (i + 1);
        sample[i].terms.n[0] = i * i;
    }
    assert_true(fabs(fit_order(sample, 4, &m) - 1) < 1e-12);
    sample[1].weight = 2; /* twice |log(1 / 20)| */
    assert_true(fabs(fit_loss(&sample[1], 1, &m) - 2 * log(20)) < 1e-12);
    /* Errors are -1, -0.95, -13/15 and -0.775. */
    assert_true(fabs(fit_errors(sample, 4, &m, &worst) - 0.90833333) < 1e-6);
    assert_int_equal(worst, 0);
    for (int i = 0; i < 4; i++)
        sample[i].terms.n[0] = -i;
    assert_true(fabs(fit_order(sample, 4, &m) + 1) < 1e-12);
    /* Places 1 2 3 4 against 2 1 4 3: 1 - 6 * 4 / (4 * 15) = 0.6. */
    sample[0].terms.n[0] = 2;
    sample[1].terms.n[0] = 1;
    sample[2].terms.n[0] = 4;
    sample[3].terms.n[0] = 3;
    assert_true(fabs(fit_order(sample, 4, &m) - 0.6) < 1e-12);
    assert_true(isnan(fit_order(sample, 1, &m)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_prices_again),
        cmocka_unit_test(finds_them_in_noise),
        cmocka_unit_test(keeps_what_cannot_be_told),
        cmocka_unit_test(has_no_negative_price),
        cmocka_unit_test(starts_from_nothing),
        cmocka_unit_test(keeps_others),
        cmocka_unit_test(combines_what_counts),
        cmocka_unit_test(order_and_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
