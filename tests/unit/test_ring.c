/* test_ring.c - queues in shared memory, and bells, from two ends. */
#define _GNU_SOURCE
#include "exec/bell.h"
#include "exec/ring.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- ring ------------------------------------------------------------------ */

enum { ROOM = 100, ENTRIES = 8 };

typedef struct ends {
    void *memory;
    rota_ring sender, receiver;
} ends;

static ends make_ends(void)
{
    const size_t stride = rota_ring_stride(ROOM);
    const size_t bytes = rota_ring_bytes(stride, ENTRIES);
    ends e = {.memory = aligned_alloc(128, (bytes + 127) / 128 * 128)};

    memset(e.memory, 0xFF, bytes); /* of an earlier life */
    rota_ring_make(&e.sender, e.memory, stride, ENTRIES);
    rota_ring_open(&e.receiver, e.memory);
    return e;
}

static void has_room(void **state)
{
    ends e = make_ends();

    (void)state;
    assert_int_equal(rota_ring_stride(0), 64);
    assert_int_equal(rota_ring_stride(48), 64);
    assert_int_equal(rota_ring_stride(49), 128);
    assert_true(rota_ring_room(&e.sender) >= ROOM);
    assert_int_equal(rota_ring_room(&e.sender), rota_ring_room(&e.receiver));
    for (uint64_t i = 0; i < ENTRIES; i++)
        assert_int_equal((uintptr_t)rota_ring_entry(&e.sender, i) % 64, 0);
    assert_ptr_equal(rota_ring_entry(&e.sender, 0),
                     rota_ring_entry(&e.sender, ENTRIES));
    assert_ptr_equal(
        (char *)rota_ring_entry(&e.sender, ENTRIES - 1) + e.sender.stride,
        (char *)e.memory + rota_ring_bytes(e.sender.stride, ENTRIES));
    assert_null(rota_ring_look(&e.receiver));
    free(e.memory);
}

static void put_number(rota_ring *r, uint64_t n)
{
    rota_entry *const e = rota_ring_begin(r);

    assert_non_null(e);
    memcpy(e->data, &n, sizeof n);
    rota_ring_put(r, (rota_entry_kind)(n % 3), (size_t)n);
}

static void take_number(rota_ring *r, uint64_t n)
{
    rota_entry *const e = rota_ring_look(r);
    uint64_t found;

    assert_non_null(e);
    memcpy(&found, e->data, sizeof found);
    assert_int_equal(found, n);
    assert_int_equal(e->bytes, n);
    assert_int_equal(rota_entry_kind_of(e), n % 3);
    rota_ring_take(r);
}

static void is_full(void **state)
{
    ends e = make_ends();

    (void)state;
    for (uint64_t n = 0; n < ENTRIES; n++)
        put_number(&e.sender, n);
    assert_null(rota_ring_begin(&e.sender));
    assert_false(rota_ring_taken(&e.sender, 1));
    take_number(&e.receiver, 0);
    assert_true(rota_ring_taken(&e.sender, 1));
    assert_false(rota_ring_taken(&e.sender, 2));
    put_number(&e.sender, ENTRIES);
    assert_null(rota_ring_begin(&e.sender));
    for (uint64_t n = 1; n <= ENTRIES; n++)
        take_number(&e.receiver, n);
    assert_null(rota_ring_look(&e.receiver));
    assert_true(rota_ring_taken(&e.sender, ENTRIES + 1));
    free(e.memory);
}

/* With so many in it at a time, around and around. An old entry is never taken
 * for a new one. */
static void goes_around(void **state)
{
    (void)state;
    for (uint64_t ahead = 1; ahead <= ENTRIES; ahead++) {
        ends e = make_ends();
        for (uint64_t n = 0; n < 10 * ENTRIES; n++) {
            put_number(&e.sender, n);
            if (n + 1 >= ahead)
                take_number(&e.receiver, n + 1 - ahead);
            if (ahead == 1)
                assert_null(rota_ring_look(&e.receiver));
        }
        free(e.memory);
    }
}

/* The receiver's mark is taken off once, by whoever comes first. */
static void is_marked(void **state)
{
    ends e = make_ends();

    (void)state;
    assert_false(rota_ring_answer(&e.sender));
    rota_ring_await(&e.receiver);
    assert_true(rota_ring_answer(&e.sender));
    assert_false(rota_ring_answer(&e.sender));
    rota_ring_await(&e.receiver);
    put_number(&e.sender, 0);
    take_number(&e.receiver, 0);
    assert_false(rota_ring_answer(&e.sender));
    free(e.memory);
}

/* ---- bell ------------------------------------------------------------------- */

typedef struct shared {
    rota_bell bell[4];
    rota_gong gong;
    _Atomic uint64_t turn;
} shared;

static shared *share(void)
{
    shared *const s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(s != MAP_FAILED);
    return s;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void ring(rota_bell *bell)
{
    if (rota_bell_count(bell))
        rota_bell_wake(bell);
}

static void ends_in_time(void **state)
{
    shared *const s = share();

    (void)state;
    const uint32_t at = rota_bell_arm(&s->bell[0], 2, false, 0);
    ring(&s->bell[0]);
    const double begin = now();
    assert_false(rota_bell_sleep(&s->bell[0], at, 20000000));
    assert_true(now() - begin >= 0.019);
    munmap(s, sizeof *s);
}

/* What was rung after it was armed ends the sleep at once, however late that
 * begins, even if another thread has armed it again since. */
static void remembers(void **state)
{
    shared *const s = share();

    (void)state;
    assert_false(rota_bell_is_armed(&s->bell[0]));
    const uint32_t at = rota_bell_arm(&s->bell[0], 3, true, 0);
    assert_true(rota_bell_heeds_taking(&s->bell[0]));
    for (int i = 0; i < 3; i++) {
        assert_true(rota_bell_is_armed(&s->bell[0]));
        ring(&s->bell[0]);
    }
    assert_false(rota_bell_is_armed(&s->bell[0]));
    const double begin = now();
    assert_true(rota_bell_sleep(&s->bell[0], at, 900000000));
    rota_bell_arm(&s->bell[0], 1, false, 0);
    assert_true(rota_bell_sleep(&s->bell[0], at, 900000000));
    assert_true(now() - begin < 0.5);
    munmap(s, sizeof *s);
}

/* Two processes in turn: me waits for even or odd numbers, adds one, and rings
 * the other. Sleeps are longer than the test may take, so that a ring that is
 * lost is seen. Returns how many sleeps came to the end of their time. */
enum { ROUNDS = 20000, NEVER_NS = 900000000 };

enum { GONG = 7 }; /* its name */

static void sleep_by(shared *s, uint64_t me, bool by_gong, uint32_t armed_at)
{
    if (by_gong)
        rota_gong_sleep(&s->gong, (int)me, &s->bell[me], NEVER_NS);
    else
        rota_bell_sleep(&s->bell[me], armed_at, NEVER_NS);
}

static void ring_other(shared *s, uint64_t other)
{
    if (!rota_bell_is_armed(&s->bell[other]) ||
        !rota_bell_count(&s->bell[other]))
        return;
    if (rota_bell_gong(&s->bell[other]) == GONG)
        rota_gong_strike(&s->gong, (uint32_t)1 << other);
    else
        rota_bell_wake(&s->bell[other]);
}

static int take_turns(shared *s, uint64_t me, bool by_gong)
{
    int overslept = 0;

    for (uint64_t n = me; n < ROUNDS; n += 2) {
        while (atomic_load_explicit(&s->turn, memory_order_acquire) != n) {
            const uint32_t at =
                rota_bell_arm(&s->bell[me], 1, false, by_gong ? GONG : 0);
            rota_bell_fence();
            if (atomic_load_explicit(&s->turn, memory_order_acquire) == n)
                break;
            const double begin = now();
            sleep_by(s, me, by_gong, at);
            overslept += now() - begin > 1e-9 * NEVER_NS;
            if (overslept > 2)
                return overslept;
        }
        atomic_store_explicit(&s->turn, n + 1, memory_order_release);
        rota_bell_fence();
        ring_other(s, 1 - me);
    }
    return overslept;
}

static void lose_no_ring(bool by_gong)
{
    shared *const s = share();
    int status = -1;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(take_turns(s, 1, by_gong));
    const int overslept = take_turns(s, 0, by_gong);
    if (overslept > 0)
        kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(overslept, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    munmap(s, sizeof *s);
}

static void loses_no_ring(void **state)
{
    (void)state;
    lose_no_ring(false);
}

static void loses_no_ring_by_gong(void **state)
{
    (void)state;
    lose_no_ring(true);
}

/* With what status the process exits. */
static int exit_of(pid_t child)
{
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void wait_for_turn(shared *s, uint64_t turn)
{
    while (atomic_load(&s->turn) < turn)
        usleep(1000);
}

/* Of those who sleep by a gong, it wakes the ones whose marks are off: not who
 * has others left, though the gong was struck for a seat that is also its own. */
static void wakes_by_gong(void **state)
{
    enum { SLEEPERS = 4, SHORT_NS = 100000000 };
    static const int seat[SLEEPERS] = {0, 5, 31, 5}, marks[] = {1, 1, 1, 2};
    shared *const s = share();
    pid_t child[SLEEPERS];

    (void)state;
    for (int i = 0; i < SLEEPERS; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            rota_bell_arm(&s->bell[i], marks[i], false, GONG);
            atomic_fetch_add(&s->turn, 1);
            _exit(rota_gong_sleep(&s->gong, seat[i], &s->bell[i],
                                  marks[i] > 1 ? SHORT_NS : NEVER_NS));
        }
    }
    wait_for_turn(s, SLEEPERS);
    uint32_t seats = 0;
    for (int i = 0; i < SLEEPERS; i++)
        if (rota_bell_count(&s->bell[i]))
            seats |= (uint32_t)1 << seat[i];
    assert_int_equal(seats, 0x80000021);
    rota_gong_strike(&s->gong, seats);
    for (int i = 0; i < SLEEPERS; i++)
        assert_int_equal(exit_of(child[i]), marks[i] == 1);
    munmap(s, sizeof *s);
}

/* All threads of control that sleep on one bell are woken by one ring. */
static void wakes_all(void **state)
{
    enum { SLEEPERS = 4 };
    shared *const s = share();
    pid_t child[SLEEPERS];

    (void)state;
    for (int i = 0; i < SLEEPERS; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            const uint32_t at = rota_bell_arm(&s->bell[0], 1, false, 0);
            atomic_fetch_add(&s->turn, 1);
            const double begin = now();
            rota_bell_sleep(&s->bell[0], at, NEVER_NS);
            _exit(now() - begin > 1e-9 * NEVER_NS);
        }
    }
    wait_for_turn(s, SLEEPERS);
    ring(&s->bell[0]);
    for (int i = 0; i < SLEEPERS; i++)
        assert_int_equal(exit_of(child[i]), 0);
    munmap(s, sizeof *s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_room),
        cmocka_unit_test(is_full),
        cmocka_unit_test(goes_around),
        cmocka_unit_test(is_marked),
        cmocka_unit_test(ends_in_time),
        cmocka_unit_test(remembers),
        cmocka_unit_test(loses_no_ring),
        cmocka_unit_test(loses_no_ring_by_gong),
        cmocka_unit_test(wakes_by_gong),
        cmocka_unit_test(wakes_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
