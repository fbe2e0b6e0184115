/* test_yields.c - when ranks of a node sleep instead of yielding. */
#include "exec/yields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { US = 1000, MS = 1000 * US, LONG = 3 * MS, FIRST = 200 * US };

/* How long nobody yields after a yield that ended then. */
static int64_t pause_after(rota_yields *y, int64_t to)
{
    int64_t least = 0, most = 4000LL * MS;

    assert_true(rota_yields_pay(y, to + most));
    while (least < most) {
        const int64_t middle = (least + most) / 2;
        if (rota_yields_pay(y, to + middle))
            most = middle;
        else
            least = middle + 1;
    }
    return least;
}

/* A trial as soon as they are tried again; returns the pause after it. */
static int64_t fail_again(rota_yields *y, int64_t *now)
{
    *now += pause_after(y, *now);
    rota_yields_note(y, *now, *now + LONG);
    *now += LONG;
    return pause_after(y, *now);
}

static void test_short_yields_go_on(void **state)
{
    rota_yields y = {0};

    (void)state;
    for (int64_t now = 5 * MS; now < 6 * MS; now += 100 * US) {
        assert_true(rota_yields_pay(&y, now));
        rota_yields_note(&y, now, now + 100 * US);
    }
    assert_true(rota_yields_pay(&y, 6 * MS));
}

static void test_pauses_double_up_to_a_second(void **state)
{
    rota_yields y = {0};
    int64_t now = 77LL * MS, expected = FIRST;

    (void)state;
    rota_yields_note(&y, now, now + LONG);
    now += LONG;
    assert_int_equal(pause_after(&y, now), FIRST);
    for (int i = 0; i < 20; i++) {
        expected = 2 * expected < 1000LL * MS ? 2 * expected : 1000LL * MS;
        assert_int_equal(fail_again(&y, &now), expected);
    }
    assert_int_equal(expected, 1000LL * MS);
}

static void test_pauses_are_short_after_it_went_well(void **state)
{
    rota_yields y = {0};
    int64_t now = 9LL * MS;

    (void)state;
    rota_yields_note(&y, now, now + LONG);
    now += LONG;
    while (fail_again(&y, &now) < 100 * MS)
        ;
    const int64_t pause = pause_after(&y, now);
    now += pause + 2 * pause; /* not for long */
    rota_yields_note(&y, now, now + LONG);
    now += LONG;
    assert_int_equal(pause_after(&y, now), 2 * pause);
    now += 2 * pause + 40 * pause;
    rota_yields_note(&y, now, now + LONG);
    assert_int_equal(pause_after(&y, now + LONG), FIRST);
}

/* Ranks that come back late from one and the same trial. */
static void test_one_trial_counts_once(void **state)
{
    rota_yields y = {0};
    const int64_t now = 50LL * MS;

    (void)state;
    rota_yields_note(&y, now, now + LONG);
    rota_yields_note(&y, now + US, now + LONG + US);
    rota_yields_note(&y, now - US, now + 2 * (int64_t)LONG);
    assert_int_equal(pause_after(&y, now + LONG), FIRST);
    assert_int_equal(fail_again(&y, &(int64_t){now + LONG}), 2 * FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_yields_go_on),
        cmocka_unit_test(test_pauses_double_up_to_a_second),
        cmocka_unit_test(test_pauses_are_short_after_it_went_well),
        cmocka_unit_test(test_one_trial_counts_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
