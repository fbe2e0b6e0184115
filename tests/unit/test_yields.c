/* test_yields.c - when ranks of a node sleep instead of yielding, and for how long
 * they poll before. */
#include "exec/memory/yields.h"
#include "exec/run/waiting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { US = 1000, MS = 1000 * US, LONG = 3 * MS, FIRST = MS, TIMES = 4 };

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

/* A trial that goes wrong, after yields had gone well for so long. Returns the
 * pause after it. */
static int64_t try_in_vain(rota_yields *y, int64_t *now, int64_t well)
{
    rota_yields_note(y, *now, *now + LONG, &well);
    assert_int_equal(well, 0);
    *now += LONG;
    return pause_after(y, *now);
}

static void test_short_yields_go_on(void **state)
{
    rota_yields y = {0};
    int64_t well = 0;

    (void)state;
    for (int64_t now = 5 * MS; now < 6 * MS; now += 100 * US) {
        assert_true(rota_yields_pay(&y, now));
        rota_yields_note(&y, now, now + 100 * US, &well);
    }
    assert_true(rota_yields_pay(&y, 6 * MS));
    assert_int_equal(well, MS);
}

static void test_pauses_grow_up_to_a_second(void **state)
{
    const int64_t most = 1000LL * MS;
    rota_yields y = {0};
    int64_t now = 77LL * MS, expected = FIRST;

    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(try_in_vain(&y, &now, 100 * US), expected);
        now += expected;
        expected = TIMES * expected < most ? TIMES * expected : most;
    }
    assert_int_equal(expected, most);
}

static void test_pauses_are_short_after_yields_have_paid(void **state)
{
    rota_yields y = {0};
    int64_t now = 9LL * MS;

    (void)state;
    for (int i = 0; i < 4; i++)
        now += try_in_vain(&y, &now, 0);
    assert_int_equal(try_in_vain(&y, &now, 5 * MS), FIRST);
    now += FIRST;
    assert_int_equal(try_in_vain(&y, &now, 0), TIMES * FIRST);
}

/* Ranks that come back late from one and the same trial. */
static void test_one_trial_counts_once(void **state)
{
    const int64_t begin = 50LL * MS;
    rota_yields y = {0};
    int64_t now = begin, well = 0;

    (void)state;
    assert_int_equal(try_in_vain(&y, &now, 0), FIRST);
    rota_yields_note(&y, begin + US, now + US, &well);
    rota_yields_note(&y, begin - US, now + LONG, &well);
    assert_int_equal(pause_after(&y, now), FIRST);
    now += FIRST;
    assert_int_equal(try_in_vain(&y, &now, 0), TIMES * FIRST);
}

/* What a wait waits for comes with the poll after its first yield, or with the one
 * after that. */
typedef struct wait {
    bool helped;
    int polls; /* before the first yield */
    int later; /* after it */
} wait;

static int poll_wait(void *arg, rota_outlook *o)
{
    wait *const w = arg;

    if (w->later > 0 || o->idle)
        w->later++;
    else
        w->polls++;
    o->done = w->later > (w->helped ? 1 : 2);
    return 0;
}

/* How many polls a wait makes before it yields, which is not paused. */
static int polls_of_wait(bool helped)
{
    rota_yields y = {0};
    wait w = {.helped = helped};

    rota_wait_share(&y);
    assert_int_equal(rota_wait_for(poll_wait, &w), 0);
    rota_wait_share(NULL);
    return w.polls;
}

/* Beside other processes most yields take too long to count. */
static void try_until(int polls, bool helped)
{
    enum { TRIES = 3000 };
    int i = 0;

    while (i < TRIES && polls_of_wait(helped) != polls)
        i++;
    assert_true(i < TRIES);
}

static void test_waits_poll_less_where_yields_help(void **state)
{
    enum { ALL = 10000, FEWEST = 20 };

    (void)state;
    assert_int_equal(polls_of_wait(false), ALL);
    try_until(FEWEST, true);
    try_until(ALL, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_yields_go_on),
        cmocka_unit_test(test_pauses_grow_up_to_a_second),
        cmocka_unit_test(test_pauses_are_short_after_yields_have_paid),
        cmocka_unit_test(test_one_trial_counts_once),
        cmocka_unit_test(test_waits_poll_less_where_yields_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
