/* test_yields.c - when ranks of a node sleep instead of yielding, and for how long
 * they poll before. */
#include "exec/memory/node.h"
#include "exec/memory/yields.h"
#include "exec/run/waiting.h"
#include "exec/step/steps.h"

#include <sched.h>
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

/* ---- more ranks than cores ------------------------------------------------ */

static int yields_made;

/* In place of the C library's. */
int sched_yield(void)
{
    yields_made++;
    return 0;
}

/* What a wait waits for comes with the first poll after a yield. */
static int poll_until_yield(void *arg, rota_outlook *o)
{
    wait *const w = arg;

    w->polls++;
    o->elsewhere = w->helped;
    o->done = yields_made > 0;
    return 0;
}

static int polls_of_crowded_wait(bool elsewhere)
{
    rota_yields y = {0};
    wait w = {.helped = elsewhere};

    yields_made = 0;
    rota_wait_share(&y);
    assert_int_equal(rota_wait_for(poll_until_yield, &w), 0);
    rota_wait_share(NULL);
    return w.polls - 1;
}

static void test_waits_for_other_cores_poll_before_they_yield(void **state)
{
    enum { FEW = 20 };

    (void)state;
    rota_wait_set_crowded();
    assert_int_equal(polls_of_crowded_wait(false), 1);
    assert_int_equal(polls_of_crowded_wait(true), 1 + FEW);
}

/* Rank 0 of four, of which 2 is on its core: receives from those named by bits, of
 * which others are open. */
static bool wants_core(unsigned named, unsigned open)
{
    enum { P = 4, MINE = 1, OTHER = 2 };
    static rota_arena_head head[P];
    static rota_peer peer[P];
    static const rota_path path;
    rota_near near[P] = {0};
    int of[P];
    rota_node node = {.n = P, .me = 0, .of = of, .near = near};
    rota_msg msg[P] = {0};
    rota_sched s = {.P = P, .msgs[ROTA_RECV] = {.msg = msg}};
    const rota_payload payload = {.tells = true};
    uint32_t message[P], left[P];
    rota_batch batch = {.via = &path,
                        .payload = &payload,
                        .dir = ROTA_RECV,
                        .message = message,
                        .open = left};
    const rota_step step = {.batch = &batch, .n_batches = 1};
    const rota_exec x = {.shared = &node, .blocks = {.s = &s}};

    for (int q = 0; q < P; q++) {
        of[q] = q;
        peer[q].head = &head[q];
        atomic_store(&head[q].core, q == 0 || q == 2 ? MINE : OTHER);
        near[q].peer = &peer[q];
        if (!(named >> q & 1))
            continue;
        msg[batch.n].peer = q;
        message[batch.n] = batch.n;
        if (open >> q & 1)
            left[batch.n_open++] = batch.n;
        batch.n++;
    }
    return rota_step_bulk.wants_core(&x, &step, MINE);
}

static void test_who_waits_for_other_cores(void **state)
{
    enum { ALL = 0xe, MATE = 0x4, OTHERS = 0xa };

    (void)state;
    assert_true(wants_core(ALL, ALL));
    assert_true(wants_core(ALL, MATE));
    assert_false(wants_core(ALL, OTHERS));
    /* The mate sends nothing, so it may not have had its turn. */
    assert_true(wants_core(OTHERS, OTHERS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_yields_go_on),
        cmocka_unit_test(test_pauses_grow_up_to_a_second),
        cmocka_unit_test(test_pauses_are_short_after_yields_have_paid),
        cmocka_unit_test(test_one_trial_counts_once),
        cmocka_unit_test(test_waits_poll_less_where_yields_help),
        cmocka_unit_test(test_who_waits_for_other_cores),
        /* The last one: no other rank has a core of its own any more. */
        cmocka_unit_test(test_waits_for_other_cores_poll_before_they_yield),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
