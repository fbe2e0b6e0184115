/* test_contest.c - which of two ways plans take as they run. */
#include "exec/move/contest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { RANKS = 3, CONTEST = ROTA_CONTEST_BEFORE + 2 * ROTA_CONTEST_TIMES };

typedef struct world {
    rota_contest rank[RANKS];
    uint32_t run;
    uint32_t first[RANKS]; /* run in which the rank asks for a contest */
    int64_t now_ns;
    int64_t ns[RANKS][2]; /* of a run, the first and second way */
} world;

/* One run of all ranks, each of which sends to all others. Returns how many went the
 * second way. */
static int run(world *w)
{
    int n = 0;

    for (int r = 0; r < RANKS; r++) {
        rota_contest *const c = &w->rank[r];
        c->open =
            c->open || (w->run > w->first[r] && rota_contest_opens(c, w->run));
        if (c->open)
            rota_contest_begin(c, w->run, w->now_ns);
        n += c->second;
    }
    for (int r = 0; r < RANKS; r++)
        for (int q = 0; q < RANKS; q++)
            if (q != r && w->rank[q].votes)
                rota_contest_note(&w->rank[r], w->rank[q].second);
    for (int r = 0; r < RANKS; r++)
        if (w->rank[r].open)
            rota_contest_end(&w->rank[r],
                             w->now_ns + w->ns[r][w->rank[r].second]);
    w->now_ns += 1000000;
    w->run++;
    return n;
}

static world make(int64_t first_ns, int64_t second_ns)
{
    world w = {.now_ns = 1};

    for (int r = 0; r < RANKS; r++) {
        w.ns[r][0] = first_ns;
        w.ns[r][1] = second_ns;
    }
    return w;
}

/* A whole contest, with the run in which all vote. */
static void contest(world *w)
{
    for (int i = 0; i <= CONTEST; i++)
        run(w);
}

static void test_faster_way_wins(void **state)
{
    world w = make(1000, 800);

    (void)state;
    assert_int_equal(run(&w), 0);
    assert_false(w.rank[0].judged);
    w = make(1000, 800);
    contest(&w);
    assert_true(w.rank[0].judged);
    assert_int_equal(run(&w), RANKS);
    w = make(1000, 1200);
    contest(&w);
    assert_true(w.rank[0].judged);
    assert_int_equal(run(&w), 0);
}

static void test_small_difference_does_not_count(void **state)
{
    world w = make(1000, 920);

    (void)state;
    contest(&w);
    assert_int_equal(run(&w), 0);
}

/* Each way as often, by all in the same run, and not every second time. */
static void test_ways_take_turns(void **state)
{
    world w = make(1000, 800);
    int second = 0, repeats = 0, last = -1;

    (void)state;
    for (int i = 0; i < ROTA_CONTEST_BEFORE; i++)
        assert_int_equal(run(&w), 0);
    for (int i = 0; i < 2 * ROTA_CONTEST_TIMES; i++) {
        const int n = run(&w);
        assert_true(n == 0 || n == RANKS);
        second += n / RANKS;
        repeats += n == last;
        last = n;
    }
    assert_int_equal(second, ROTA_CONTEST_TIMES);
    assert_true(repeats > 2);
}

/* A few runs that were disturbed do not decide. */
static void test_disturbed_runs_do_not_decide(void **state)
{
    world w = make(1000, 800);

    (void)state;
    for (int i = 0; i <= CONTEST; i++) {
        w.ns[0][1] = w.ns[1][1] = w.ns[2][1] = i % 6 == 3 ? 90000 : 800;
        run(&w);
    }
    assert_int_equal(run(&w), RANKS);
}

/* In the run of the vote each goes its own way, then all that of most. */
static void test_majority_decides(void **state)
{
    world w = make(1000, 800);

    (void)state;
    w.ns[1][1] = 2000;
    for (int i = 0; i < CONTEST; i++)
        run(&w);
    assert_int_equal(run(&w), 2);
    assert_int_equal(run(&w), RANKS);
    w = make(1000, 2000);
    w.ns[1][1] = 800;
    for (int i = 0; i < CONTEST; i++)
        run(&w);
    assert_int_equal(run(&w), 1);
    assert_int_equal(run(&w), 0);
}

static void test_contests_come_again(void **state)
{
    world w = make(1000, 800);

    (void)state;
    contest(&w);
    for (int i = CONTEST + 1; i < ROTA_CONTEST_EVERY; i++)
        assert_int_equal(run(&w), RANKS);
    for (int r = 0; r < RANKS; r++)
        w.ns[r][1] = 5000;
    contest(&w);
    assert_int_equal(run(&w), 0);
}

/* A rank that asks late enters a contest as the next one begins, and those that have
 * been in one then go on as they did, and show it. */
static void test_late_ranks_keep_in_step(void **state)
{
    world w = make(1000, 800);

    (void)state;
    for (w.first[2] = 1; w.first[2] < 2 * ROTA_CONTEST_OFFERED; w.first[2]++) {
        const uint32_t first = w.first[2];
        w = make(1000, 800);
        w.first[2] = first;
        w.ns[2][1] = 2000; /* by itself it would go the first way */
        contest(&w);
        assert_true(w.rank[0].judged && w.rank[0].won);
        while (!w.rank[2].judged) {
            const int n = run(&w);
            assert_true(w.run < first + 2 * ROTA_CONTEST_OFFERED);
            assert_true(w.rank[0].second || n < RANKS);
        }
        assert_int_equal(run(&w), RANKS);
        while (w.run < ROTA_CONTEST_EVERY)
            assert_int_equal(run(&w), RANKS);
        for (int i = 0; i < CONTEST; i++) {
            const int n = run(&w);
            assert_true(i == CONTEST - 1 || n == 0 || n == RANKS);
        }
        assert_true(w.rank[0].judged && w.rank[2].judged);
    }
}

/* Whoever enters one later has not timed all its runs. */
static void test_contests_open_as_they_begin(void **state)
{
    const rota_contest new = {0}, judged = {.judged = true};

    (void)state;
    for (uint32_t run = 0; run < 2 * ROTA_CONTEST_EVERY; run++) {
        assert_int_equal(rota_contest_opens(&new, run),
                         run % ROTA_CONTEST_OFFERED <= ROTA_CONTEST_BEFORE);
        assert_int_equal(rota_contest_opens(&judged, run),
                         run % ROTA_CONTEST_EVERY <= ROTA_CONTEST_BEFORE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faster_way_wins),
        cmocka_unit_test(test_small_difference_does_not_count),
        cmocka_unit_test(test_ways_take_turns),
        cmocka_unit_test(test_disturbed_runs_do_not_decide),
        cmocka_unit_test(test_majority_decides),
        cmocka_unit_test(test_contests_come_again),
        cmocka_unit_test(test_late_ranks_keep_in_step),
        cmocka_unit_test(test_contests_open_as_they_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
