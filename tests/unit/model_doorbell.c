/* model_doorbell.c - no wake-up is lost (exec/memory/doorbell.h), in whatever order
 * the steps of the sleeper and of those that it waits for take effect.
 *
 * The library's own lines and doorbell are used; what lines.c and active.c do
 * with them is repeated here in short. The sleeps have no limit. That each of the
 * steps on which it depends is needed shows that its loss would be found.
 */
#include "common/quick.h"
#include "interleave.h"

#include "exec/memory/doorbell.c"
#include "exec/memory/line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A queue's memory. */
typedef struct memory {
    rota_entry entry[ROTA_LINE_ENTRIES];
    _Alignas(64) _Atomic uint64_t taken;
} memory;

enum { A, B, N_WRITERS };

static memory to_sleeper[N_WRITERS], to_a;
static rota_doorbell bell;
static rota_wake_word word;

/* The sleeper's interest in each, in lines of their own since the model knows
 * places by 8 bytes. */
static struct {
    _Alignas(64) rota_interest flag;
} interest[N_WRITERS];

/* The name of the shared word, the sleeper's bit, and another sleeper's. */
enum { WORD = 7, BIT = 3, OTHER_BIT = 4 };

/* What the sleeper waits for: entries that come from each, entries that A is to
 * take. */
static int n_from[N_WRITERS], n_to_a;

/* All true in the library. */
static struct {
    bool arm_first;     /* before flags are set */
    bool sleeper_fence; /* before it looks */
    bool writer_fence;  /* before it looks at the doorbell */
    bool look_again;    /* after flags were set */
} keep;

static bool by_word;         /* the sleeper sleeps */
static bool wakes_for_other; /* B, at some time */

static rota_line end_of(memory *m)
{
    return (rota_line){.entries = (char *)m->entry,
                       .taken = &m->taken,
                       .stride = sizeof(rota_entry)};
}

/* ---- the sleeper --------------------------------------------------------- */

typedef struct waiting {
    rota_line from[N_WRITERS], to_a;
    bool flagged[N_WRITERS];
} waiting;

static bool brings(const waiting *w, int writer)
{
    return w->from[writer].next < (uint64_t)n_from[writer];
}

static bool takes(const waiting *w)
{
    return w->to_a.seen < (uint64_t)n_to_a;
}

static bool is_awaited(const waiting *w, int writer)
{
    return brings(w, writer) || (writer == A && takes(w));
}

/* Flags of an earlier sleep go. */
static int count(waiting *w)
{
    int n = 0;

    for (int i = 0; i < N_WRITERS; i++) {
        n += is_awaited(w, i);
        if (w->flagged[i] && !is_awaited(w, i))
            atomic_store_explicit(&interest[i].flag, 0, memory_order_relaxed);
        w->flagged[i] = is_awaited(w, i);
    }
    return n;
}

static void flag(const waiting *w)
{
    for (int i = 0; i < N_WRITERS; i++)
        if (is_awaited(w, i))
            atomic_store_explicit(&interest[i].flag, 1, memory_order_release);
}

static uint32_t arm(waiting *w)
{
    const int n = count(w);

    if (!keep.arm_first)
        flag(w);
    const uint32_t armed_at = rota_doorbell_arm(&bell, n, by_word ? WORD : 0);
    if (keep.arm_first)
        flag(w);
    if (keep.sleeper_fence)
        rota_doorbell_fence();
    return armed_at;
}

/* Has anything got on? */
static bool poll(waiting *w)
{
    const uint64_t seen = w->to_a.seen;
    bool moved = false;

    for (int i = 0; i < N_WRITERS; i++)
        while (brings(w, i) && rota_line_look(&w->from[i])) {
            rota_line_take(&w->from[i]);
            moved = true;
        }
    if (takes(w))
        rota_line_taken(&w->to_a, (uint64_t)n_to_a);
    return moved || w->to_a.seen != seen;
}

static void sleeper(void)
{
    waiting w = {
        .from = {end_of(&to_sleeper[A]), end_of(&to_sleeper[B])},
        .to_a = end_of(&to_a),
    };

    for (bool armed = false; is_awaited(&w, A) || is_awaited(&w, B);) {
        const uint32_t armed_at = armed ? arm(&w) : 0;
        const bool moved = (!armed || keep.look_again) && poll(&w);
        if (armed && !moved && by_word)
            rota_wake_word_sleep(&word, BIT, &bell, 1);
        else if (armed && !moved)
            rota_doorbell_sleep(&bell, armed_at, 1);
        armed = !moved && !armed;
    }
}

/* ---- the writers --------------------------------------------------------- */

static void flush(int writer)
{
    if (keep.writer_fence)
        rota_doorbell_fence();
    if (!rota_doorbell_ring(&bell, &interest[writer].flag))
        return;
    if (rota_doorbell_shared(&bell) == WORD)
        rota_wake_word_wake(&word, (uint32_t)1 << BIT);
    else
        rota_doorbell_wake(&bell);
}

static void write_all(int writer)
{
    rota_line l = end_of(&to_sleeper[writer]);

    for (int i = 0; i < n_from[writer]; i++) {
        rota_line_put(&l, rota_line_entry(&l, l.next), ROTA_ENTRY_DATA, 0);
        flush(writer);
    }
}

/* What the sleeper has put for A is there from the beginning. */
static void writer_a(void)
{
    rota_line l = end_of(&to_a);

    for (int i = 0; i < n_to_a; i++) {
        rota_line_take(&l);
        flush(A);
    }
    write_all(A);
}

static void writer_b(void)
{
    if (wakes_for_other)
        rota_wake_word_wake(&word, (uint32_t)1 << OTHER_BIT);
    write_all(B);
}

/* ---- tests --------------------------------------------------------------- */

static bool all_end(int from_a, int from_b, int to)
{
    const interleave_thread thread[] = {sleeper, writer_a, writer_b};
    uint64_t states;

    n_from[A] = from_a;
    n_from[B] = from_b;
    n_to_a = to;
    const bool good = interleave_all_end(from_b > 0 || wakes_for_other ? 3 : 2,
                                         thread, &states);
    printf("%d of A, %d of B, %d taken: %llu states%s\n", from_a, from_b, to,
           (unsigned long long)states, good ? "" : ", stuck");
    return good;
}

static int keep_all(void **state)
{
    (void)state;
    keep.arm_first = keep.sleeper_fence = keep.writer_fence = true;
    keep.look_again = true;
    by_word = wakes_for_other = false;
    return 0;
}

static void loses_no_wake(void **state)
{
    (void)state;
    assert_true(all_end(2, 0, 0));
    assert_true(test_is_slow() ? all_end(1, 1, 0) : all_end(2, 1, 0));
    assert_true(all_end(0, 0, 3));
    assert_true(all_end(1, 0, 2));
    assert_true(all_end(0, 1, 2));
}

static void loses_no_wake_by_word(void **state)
{
    (void)state;
    by_word = true;
    assert_true(all_end(2, 0, 0));
    assert_true(all_end(1, 1, 0));
    assert_true(all_end(1, 0, 2));
    wakes_for_other = true;
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
        cmocka_unit_test_setup(loses_no_wake, keep_all),
        cmocka_unit_test_setup(loses_no_wake_by_word, keep_all),
        cmocka_unit_test_setup(needs_order, keep_all),
        cmocka_unit_test_setup(needs_sleepers_fence, keep_all),
        cmocka_unit_test_setup(needs_writers_fence, keep_all),
        cmocka_unit_test_setup(needs_another_look, keep_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
