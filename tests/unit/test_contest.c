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
    int64_t ns[RANKS][2]; /* of a step by the pool, directly */
    int64_t clock_ns[RANKS];
} world;

/* One run of all ranks, each of which sends to all others. Returns how many went
 * directly. */
static int run(world *w)
{
    int n = 0;

    for (int r = 0; r < RANKS; r++) {
        rota_contest *const c = &w->rank[r];
        if (w->run > w->first[r])
            rota_contest_begin(
                c, w->run,
                rota_contest_needs_time(c, w->run) ? w->clock_ns[r] : 0);
        n += c->direct;
    }
    for (int r = 0; r < RANKS; r++)
        for (int q = 0; q < RANKS; q++)
            if (q != r && w->rank[q].votes)
                rota_contest_note(&w->rank[r], w->rank[q].direct);
    for (int r = 0; r < RANKS; r++)
        w->clock_ns[r] += w->ns[r][w->rank[r].direct];
    w->run++;
    return n;
}

/* Ranks of private memory ask for a contest, which goes by the pool at first, as they
 * begin. */
static world make(int64_t pool_ns, int64_t direct_ns)
{
    world w = {0};

    for (int r = 0; r < RANKS; r++) {
        rota_contest_ask(&w.rank[r], false);
        w.ns[r][0] = pool_ns;
        w.ns[r][1] = direct_ns;
    }
    return w;
}

/* A whole contest, with the run in which all vote and the next one, in which they go
 * the way of most. Returns how many go directly. */
static int contest(world *w)
{
    int n = 0;

    for (int i = 0; i < CONTEST + 2; i++)
        n = run(w);
    return n;
}

static void test_faster_way_wins(void **state)
{
    world w = make(1000, 800);

    (void)state;
    assert_int_equal(run(&w), 0);
    assert_false(w.rank[0].judged);
    w = make(1000, 800);
    assert_int_equal(contest(&w), RANKS);
    assert_true(w.rank[0].judged);
    w = make(1000, 1200);
    assert_int_equal(contest(&w), 0);
    assert_true(w.rank[0].judged);
}

/* Where memory is shared, blocks are read where they lie unless that is slower. */
static void test_shared_memory_begins_directly(void **state)
{
    static const struct {
        int64_t pool_ns, direct_ns;
        int n;
    } cases[] = {{1000, 3000, 0}, {1000, 1000, RANKS}, {1000, 300, RANKS}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        world w = make(cases[i].pool_ns, cases[i].direct_ns);
        for (int r = 0; r < RANKS; r++)
            rota_contest_ask(&w.rank[r], true);
        assert_int_equal(run(&w), RANKS);
        w.run = 0;
        assert_int_equal(contest(&w), cases[i].n);
    }
}

/* Without a clear winner all go on as they did. */
static void test_equal_ways_stay(void **state)
{
    world w = make(1000, 1000);

    (void)state;
    assert_int_equal(contest(&w), 0);
    for (int r = 0; r < RANKS; r++)
        w.ns[r][1] = 500;
    while (w.run < ROTA_CONTEST_EVERY)
        run(&w);
    assert_int_equal(contest(&w), RANKS);
    for (int r = 0; r < RANKS; r++)
        w.ns[r][1] = 1000;
    while (w.run < 2 * ROTA_CONTEST_EVERY)
        run(&w);
    assert_int_equal(contest(&w), RANKS);
}

/* Each way as often, by all in the same run, and not every second time. */
static void test_ways_take_turns(void **state)
{
    world w = make(1000, 800);
    int direct = 0, repeats = 0, last = -1;

    (void)state;
    for (int i = 0; i < ROTA_CONTEST_BEFORE; i++)
        assert_int_equal(
            run(&w), i < ROTA_CONTEST_BEFORE - ROTA_CONTEST_NEW ? 0 : RANKS);
    for (int i = 0; i < 2 * ROTA_CONTEST_TIMES; i++) {
        const int n = run(&w);
        assert_true(n == 0 || n == RANKS);
        direct += n / RANKS;
        repeats += n == last;
        last = n;
    }
    assert_int_equal(direct, ROTA_CONTEST_TIMES);
    assert_true(repeats > 2);
}

/* A step that was disturbed does not decide, nor does a program that takes longer and
 * longer between starts. */
static void test_disturbed_runs_do_not_decide(void **state)
{
    world w = make(1000, 800);
    int n = 0;

    (void)state;
    for (int i = 0; i < CONTEST + 2; i++) {
        for (int r = 0; r < RANKS; r++) {
            w.ns[r][0] = 1000 + 10 * i;
            w.ns[r][1] = i == ROTA_CONTEST_BEFORE + 4 ? 90000 : 800 + 10 * i;
        }
        n = run(&w);
    }
    assert_int_equal(n, RANKS);
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
    while (w.run < ROTA_CONTEST_EVERY)
        assert_int_equal(run(&w), RANKS);
    for (int r = 0; r < RANKS; r++)
        w.ns[r][1] = 5000;
    assert_int_equal(contest(&w), 0);
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
            assert_true(w.rank[0].direct || n < RANKS);
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
    (void)state;
    for (uint32_t run = 0; run < 2 * ROTA_CONTEST_EVERY; run++) {
        rota_contest new = {0}, judged = {.judged = true};
        rota_contest_begin(&new, run, 1);
        rota_contest_begin(&judged, run, 1);
        assert_int_equal(new.open, run % ROTA_CONTEST_OFFERED <=
                                       ROTA_CONTEST_BEFORE - ROTA_CONTEST_NEW);
        assert_int_equal(judged.open,
                         run % ROTA_CONTEST_EVERY <= ROTA_CONTEST_BEFORE);
    }
}

/* No run is timed for both contests of a plan, whether judged or not. */
static void test_contests_are_apart(void **state)
{
    (void)state;
    for (uint32_t run = 0; run < 2 * ROTA_CONTEST_EVERY; run++)
        for (int judged = 0; judged < 4; judged++) {
            const rota_contest c[2] = {{.judged = judged & 1},
                                       {.judged = judged & 2}};
            assert_false(
                rota_contest_needs_time(&c[0], run) &&
                rota_contest_needs_time(&c[1], run + ROTA_CONTEST_APART));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faster_way_wins),
        cmocka_unit_test(test_shared_memory_begins_directly),
        cmocka_unit_test(test_equal_ways_stay),
        cmocka_unit_test(test_ways_take_turns),
        cmocka_unit_test(test_disturbed_runs_do_not_decide),
        cmocka_unit_test(test_majority_decides),
        cmocka_unit_test(test_contests_come_again),
        cmocka_unit_test(test_late_ranks_keep_in_step),
        cmocka_unit_test(test_contests_open_as_they_begin),
        cmocka_unit_test(test_contests_are_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
