/* model_bell.c - no ring of a bell is lost (exec/bell.h), in whatever order the
 * steps of the sleeper and of those that it waits for come.
 *
 * The library's own rings and bell are used; what shm.c and exec.c do with
 * them is repeated here in short. The sleeps have no limit. That each of the
 * steps on which it depends is needed shows that its loss would be found.
 */
#include "interleave.h"

#include "exec/bell.c"
#include "exec/ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Entries of a ring; more than any writer puts. */
enum { ENTRIES = 4, STRIDE = ROTA_CACHE_LINE };

typedef struct memory {
    _Alignas(2 * ROTA_CACHE_LINE)
        rota_entry place[ENTRIES + sizeof(rota_ring_head) / STRIDE];
} memory;

enum { A, B, N_WRITERS };

static memory to_sleeper[N_WRITERS], to_a;
static rota_bell bell;
static rota_gong gong;

/* The name of the gong, the sleeper's seat, and one of another sleeper. */
enum { GONG = 7, SEAT = 3, OTHER_SEAT = 4 };

/* What the sleeper waits for: entries that come from each, entries that A is to
 * take. */
static int n_from[N_WRITERS], n_to_a;

/* All true in the library. */
static struct {
    bool arm_first;     /* before marks are set */
    bool sleeper_fence; /* before it looks */
    bool writer_fence;  /* before it looks at the bell */
    bool look_again;    /* after marks were set */
} keep;

static bool by_gong;           /* the sleeper sleeps */
static bool strikes_for_other; /* B, at some time */

static rota_ring end_of(memory *m)
{
    return (rota_ring){.head = (void *)m, .stride = STRIDE, .entries = ENTRIES};
}

/* ---- the sleeper ------------------------------------------------------------- */

typedef struct waiting {
    rota_ring from[N_WRITERS], to_a;
} waiting;

static bool is_awaited(const waiting *w, int writer)
{
    return w->from[writer].next < (uint64_t)n_from[writer];
}

static bool awaits_taking(const waiting *w)
{
    return w->to_a.seen < (uint64_t)n_to_a;
}

static void mark(waiting *w)
{
    for (int i = 0; i < N_WRITERS; i++)
        if (is_awaited(w, i))
            rota_ring_await(&w->from[i]);
}

static uint32_t arm(waiting *w)
{
    const int n = is_awaited(w, A) + is_awaited(w, B) + awaits_taking(w);

    if (!keep.arm_first)
        mark(w);
    const uint32_t armed_at =
        rota_bell_arm(&bell, n, awaits_taking(w), by_gong ? GONG : 0);
    if (keep.arm_first)
        mark(w);
    if (keep.sleeper_fence)
        rota_bell_fence();
    return armed_at;
}

/* Has anything got on? */
static bool poll(waiting *w)
{
    const uint64_t seen = w->to_a.seen;
    bool moved = false;

    for (int i = 0; i < N_WRITERS; i++)
        while (is_awaited(w, i) && rota_ring_look(&w->from[i])) {
            rota_ring_take(&w->from[i]);
            moved = true;
        }
    if (awaits_taking(w))
        rota_ring_taken(&w->to_a, (uint64_t)n_to_a);
    return moved || w->to_a.seen != seen;
}

static void sleeper(void)
{
    waiting w = {
        .from = {end_of(&to_sleeper[A]), end_of(&to_sleeper[B])},
        .to_a = end_of(&to_a),
    };

    for (bool armed = false;
         is_awaited(&w, A) || is_awaited(&w, B) || awaits_taking(&w);) {
        const uint32_t armed_at = armed ? arm(&w) : 0;
        const bool moved = (!armed || keep.look_again) && poll(&w);
        if (armed && !moved && by_gong)
            rota_gong_sleep(&gong, SEAT, &bell, 1);
        else if (armed && !moved)
            rota_bell_sleep(&bell, armed_at, 1);
        armed = !moved && !armed;
    }
}

/* ---- the writers ------------------------------------------------------------- */

static void flush(const rota_ring *written, bool taken)
{
    if (keep.writer_fence)
        rota_bell_fence();
    if (!rota_bell_is_armed(&bell))
        return;
    bool last = false;
    if (written && rota_ring_answer(written))
        last = rota_bell_count(&bell);
    if (taken && rota_bell_heeds_taking(&bell))
        last = rota_bell_count(&bell);
    if (last && rota_bell_gong(&bell) == GONG)
        rota_gong_strike(&gong, (uint32_t)1 << SEAT);
    else if (last)
        rota_bell_wake(&bell);
}

static void write_all(int writer)
{
    rota_ring r = end_of(&to_sleeper[writer]);

    for (int i = 0; i < n_from[writer]; i++) {
        rota_ring_put(&r, ROTA_ENTRY_DATA, 0);
        flush(&r, false);
    }
}

/* What the sleeper has put for A is there from the begin. */
static void writer_a(void)
{
    rota_ring r = end_of(&to_a);

    for (int i = 0; i < n_to_a; i++) {
        rota_ring_take(&r);
        flush(NULL, true);
    }
    write_all(A);
}

static void writer_b(void)
{
    if (strikes_for_other)
        rota_gong_strike(&gong, (uint32_t)1 << OTHER_SEAT);
    write_all(B);
}

/* ---- tests ------------------------------------------------------------------- */

static bool all_end(int from_a, int from_b, int to)
{
    const interleave_thread thread[] = {sleeper, writer_a, writer_b};
    uint64_t states;

    n_from[A] = from_a;
    n_from[B] = from_b;
    n_to_a = to;
    const bool good = interleave_all_end(
        from_b > 0 || strikes_for_other ? 3 : 2, thread, &states);
    printf("%d of A, %d of B, %d taken: %llu states%s\n", from_a, from_b, to,
           (unsigned long long)states, good ? "" : ", stuck");
    return good;
}

static int keep_all(void **state)
{
    (void)state;
    keep.arm_first = keep.sleeper_fence = keep.writer_fence = true;
    keep.look_again = true;
    by_gong = strikes_for_other = false;
    return 0;
}

static void loses_no_ring(void **state)
{
    (void)state;
    assert_true(all_end(3, 0, 0));
    assert_true(getenv("ROTA_TEST_QUICK") ? all_end(1, 1, 0)
                                          : all_end(2, 1, 0));
    assert_true(all_end(0, 0, 3));
    assert_true(all_end(1, 0, 2));
    assert_true(all_end(0, 1, 2));
}

static void loses_no_ring_by_gong(void **state)
{
    (void)state;
    by_gong = true;
    assert_true(all_end(2, 0, 0));
    assert_true(all_end(1, 1, 0));
    assert_true(all_end(1, 0, 2));
    strikes_for_other = true;
    assert_true(all_end(2, 0, 0));
    assert_true(all_end(0, 1, 1));
}

static void needs_order(void **state)
{
    (void)state;
    keep.arm_first = false;
    assert_false(all_end(2, 0, 0));
}

static void needs_sleepers_fence(void **state)
{
    (void)state;
    keep.sleeper_fence = false;
    assert_false(all_end(1, 0, 0));
    assert_false(all_end(0, 0, 1));
}

static void needs_writers_fence(void **state)
{
    (void)state;
    keep.writer_fence = false;
    assert_false(all_end(1, 0, 0));
    assert_false(all_end(0, 0, 1));
}

static void needs_another_look(void **state)
{
    (void)state;
    keep.look_again = false;
    assert_false(all_end(1, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(loses_no_ring, keep_all),
        cmocka_unit_test_setup(loses_no_ring_by_gong, keep_all),
        cmocka_unit_test_setup(needs_order, keep_all),
        cmocka_unit_test_setup(needs_sleepers_fence, keep_all),
        cmocka_unit_test_setup(needs_writers_fence, keep_all),
        cmocka_unit_test_setup(needs_another_look, keep_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
