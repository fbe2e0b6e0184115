/* test_arena.c - memory that other processes map. */
#define _GNU_SOURCE
#include "exec/memory/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static size_t page;
static rota_arena_address own;

/* No larger may the arena grow. */
enum { ARENA_BYTES = 1 << 24 };

static int set_up(void **state)
{
    const struct rlimit limit = {ARENA_BYTES, RLIM_INFINITY};

    (void)state;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return -1;
    page = (size_t)sysconf(_SC_PAGESIZE);
    return rota_arena_open(&own);
}

/* Bytes of memory behind the arena, in pages. */
static size_t backed(void)
{
    struct stat status;

    assert_int_equal(fstat((int)own.fd, &status), 0);
    return (size_t)status.st_blocks * 512 / page;
}

static char *take(size_t pages)
{
    char *const p = rota_arena_alloc(pages * page);

    assert_non_null(p);
    return p;
}

/* ---- ranges -------------------------------------------------------------- */

static void opens_once(void **state)
{
    rota_arena_address again;

    (void)state;
    assert_int_equal(rota_arena_open(&again), MPI_SUCCESS);
    assert_memory_equal(&again, &own, sizeof own);
    assert_int_equal(own.pid, getpid());
    assert_int_equal(rota_arena_own()->cookie, own.cookie);
    assert_int_equal(backed(), 1); /* the head only */
}

static void knows_its_own(void **state)
{
    char *const p = take(2);
    rota_place at;
    char other;

    (void)state;
    assert_true(rota_arena_find(p, 2 * page, &at));
    assert_ptr_equal(rota_peer_at(rota_arena_self(), at), p);
    assert_true(rota_arena_find(p + 5, 1, &at));
    assert_ptr_equal(rota_peer_at(rota_arena_self(), at), p + 5);
    assert_false(rota_arena_find(p, ARENA_BYTES, &at));
    assert_false(rota_arena_find(p, SIZE_MAX, &at));
    assert_false(rota_arena_find(&other, 1, &at));
    assert_false(rota_arena_find(NULL, 0, &at));
    rota_arena_free(p);
}

static void rounds_to_pages(void **state)
{
    char *const a = rota_arena_alloc(1), *const b = rota_arena_alloc(page + 1);

    (void)state;
    assert_int_equal((uintptr_t)a % page, 0);
    assert_int_equal((uintptr_t)b % page, 0);
    assert_int_equal(backed(), 1 + 1 + 2);
    rota_arena_free(a);
    rota_arena_free(b);
    assert_int_equal(backed(), 1);
}

static void is_zeroed_again(void **state)
{
    char *const zeros = calloc(3, page);
    char *const a = take(3);

    (void)state;
    assert_memory_equal(a, zeros, 3 * page);
    memset(a, 0x5A, 3 * page);
    rota_arena_free(a);
    char *const b = take(3);
    assert_ptr_equal(a, b);
    assert_memory_equal(b, zeros, 3 * page);
    rota_arena_free(b);
    free(zeros);
}

static void refuses(void **state)
{
    (void)state;
    assert_null(rota_arena_alloc(0));
    assert_null(rota_arena_alloc(ARENA_BYTES)); /* more than files may have */
    assert_null(rota_arena_alloc(SIZE_MAX));
    rota_arena_free(NULL);
    rota_arena_free(rota_arena_own()); /* which was never allocated */
    assert_int_equal(rota_arena_own()->cookie, own.cookie);
    assert_int_equal(backed(), 1);
}

/* Whatever was freed in whatever order becomes one range again: the next
 * allocation of the sum of all begins where the first did. */
static void joins(const int order[], int n)
{
    enum { MOST = 8 };
    char *p[MOST];
    size_t sum = 0;

    for (int i = 0; i < n; i++) {
        p[i] = take((size_t)i + 1);
        sum += (size_t)i + 1;
    }
    char *const first = p[0];
    for (int i = 0; i < n; i++)
        rota_arena_free(p[order[i]]);
    char *const whole = take(sum);
    assert_ptr_equal(whole, first);
    char *const behind = take(1);
    assert_ptr_equal(behind, first + sum * page);
    rota_arena_free(whole);
    rota_arena_free(behind);
    assert_int_equal(backed(), 1);
}

static void joins_in_any_order(void **state)
{
    const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3},
                             {1, 3, 0, 2}, {2, 0, 3, 1}, {1, 2, 0, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        joins(orders[i], 4);
}

/* A hole that is filled exactly leaves nothing behind that would keep its
 * neighbours apart. */
static void fills_holes(void **state)
{
    char *const a = take(2), *const b = take(3), *const c = take(1);

    (void)state;
    for (int i = 0; i < 3; i++) {
        rota_arena_free(b);
        char *const again = take(3);
        assert_ptr_equal(again, b);
    }
    rota_arena_free(c);
    char *const longer = take(2);
    assert_ptr_equal(longer, c);
    rota_arena_free(longer);
    rota_arena_free(a);
    rota_arena_free(b);
    char *const whole = take(6);
    assert_ptr_equal(whole, a);
    rota_arena_free(whole);
}

/* Against a map of pages: no two allocations overlap, and none is lost. */
static void survives_chance(void **state)
{
    enum { SLOTS = 24, ROUNDS = 3000 };
    unsigned char *p[SLOTS] = {NULL};
    size_t pages[SLOTS] = {0}, used = 0;
    unsigned random = 1;
    char *const first = take(1);

    (void)state;
    rota_arena_free(first);
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1103515245u + 12345u;
        const int k = (int)(random >> 16) % SLOTS;
        if (p[k]) {
            for (size_t j = 0; j < pages[k]; j++)
                assert_int_equal(p[k][j * page], k + 1);
            rota_arena_free(p[k]);
            used -= pages[k];
            p[k] = NULL;
        } else {
            pages[k] = 1 + (random >> 8) % 5;
            p[k] = (unsigned char *)take(pages[k]);
            for (size_t j = 0; j < pages[k]; j++) {
                assert_int_equal(p[k][j * page], 0);
                p[k][j * page] = (unsigned char)(k + 1);
            }
            used += pages[k];
        }
        assert_int_equal(backed(), 1 + used);
    }
    for (int k = 0; k < SLOTS; k++)
        rota_arena_free(p[k]);
    assert_int_equal(backed(), 1);
    char *const again = take(1); /* the first idle page, as before */
    assert_ptr_equal(again, first);
    rota_arena_free(again);
}

/* ---- segments ------------------------------------------------------------ */

/* Each is at least half of all before it; what there is does not move. */
static void grows_by_segments(void **state)
{
    enum { N = 24 };
    char *p[N];
    size_t bytes = 0, segments, is_backed;

    (void)state;
    const size_t before = rota_arena_bytes(&is_backed);
    for (int i = 0; i < N; i++) {
        p[i] = take(40);
        memset(p[i], i + 1, 40 * page);
        bytes += 40 * page;
    }
    segments = (size_t)rota_arena_self()->n_segments;
    assert_true(segments < 12);
    assert_int_equal(atomic_load(&rota_arena_own()->n_segments), segments);
    assert_true(rota_arena_bytes(&is_backed) <= before + 2 * bytes);
    for (int i = 0; i < N; i++) {
        rota_place at;
        assert_int_equal(p[i][40 * page - 1], i + 1);
        assert_true(rota_arena_find(p[i], 40 * page, &at));
        assert_true(rota_peer_has(rota_arena_self(), at));
        rota_arena_free(p[i]);
    }
    assert_int_equal(backed(), 1);
}

/* As much as files may have, and not a byte more. */
static void stops_at_the_limit(void **state)
{
    size_t is_backed;
    char *const most =
        rota_arena_alloc(ARENA_BYTES - rota_arena_bytes(&is_backed));

    (void)state;
    assert_non_null(most);
    assert_int_equal(rota_arena_bytes(&is_backed), ARENA_BYTES);
    assert_null(rota_arena_alloc(ARENA_BYTES / 2 + page));
    rota_arena_free(most);
}

/* ---- lines and counters -------------------------------------------------- */

static void hands_out_lines(void **state)
{
    enum { N = 50 };
    char *p[N];
    rota_place at[N];

    (void)state;
    for (int i = 0; i < N; i++) {
        p[i] = rota_arena_take(ROTA_ENTRIES, (size_t)(i + 1) * 40, &at[i]);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % ROTA_CACHE_LINE, 0);
        assert_ptr_equal(rota_peer_at(rota_arena_self(), at[i]), p[i]);
        memset(p[i], i, (size_t)(i + 1) * 40);
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < (i + 1) * 40; k++)
            assert_int_equal(p[i][k], i);
    for (int i = 0; i < N; i++)
        rota_arena_put(ROTA_ENTRIES, p[i]);
    char *const again = rota_arena_take(ROTA_ENTRIES, 40, &at[0]);
    assert_ptr_equal(again, p[0]);
    rota_arena_put(ROTA_ENTRIES, again);
}

/* A counter is nothing else, ever: its count is still there. */
static void counters_stay(void **state)
{
    rota_place at, other;
    uint64_t *const c = rota_arena_take(ROTA_COUNTERS, sizeof *c, &at);

    (void)state;
    assert_int_equal(*c, 0);
    *c = 17;
    rota_arena_put(ROTA_COUNTERS, c);
    char *const lines = rota_arena_take(ROTA_ENTRIES, 1 << 15, &other);
    memset(lines, 0x5A, 1 << 15);
    uint64_t *const again = rota_arena_take(ROTA_COUNTERS, sizeof *c, &other);
    assert_int_equal(other, at);
    assert_int_equal(*again, 17);
    rota_arena_put(ROTA_COUNTERS, again);
    rota_arena_put(ROTA_ENTRIES, lines);
}

/* ---- the others ---------------------------------------------------------- */

/* In another process, which has only the address; its exit status. */
static int in_child(int (*run)(const rota_arena_address *address, uint64_t at),
                    const rota_arena_address *address, uint64_t at)
{
    int status = -1;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(run(address, at));
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A process does not map its own arena; one that has forked takes another name. */
static int answers(const rota_arena_address *address, uint64_t at)
{
    rota_peer *peer, *again;

    if (rota_arena_map(address, &peer) != MPI_SUCCESS ||
        rota_arena_map(address, &again) != MPI_SUCCESS)
        return 1;
    char *const p = rota_peer_at(peer, at);
    if (peer == rota_arena_self() || again != peer || strcmp(p, "ping") != 0)
        return 2;
    rota_arena_drop(again);
    memcpy(p, "pong", 5); /* still mapped */
    rota_arena_drop(peer);
    return peer->head ? 3 : 0;
}

static void is_seen_by_others(void **state)
{
    char *const p = take(1);
    rota_place at;

    (void)state;
    memcpy(p, "ping", 5);
    assert_true(rota_arena_find(p, 5, &at));
    assert_int_equal(in_child(answers, &own, at), 0);
    assert_string_equal(p, "pong");
    rota_arena_free(p);
}

static int count_mappings(void)
{
    FILE *const f = fopen("/proc/self/maps", "r");
    char line[400];
    int n = 0;

    while (f && fgets(line, sizeof line, f))
        n += strstr(line, "memfd:rota") != NULL;
    if (f)
        fclose(f);
    return n;
}

/* What is added later is there after an update, and told. */
static void is_mapped_as_it_grows(void **state)
{
    rota_peer *peer;
    rota_place at;

    (void)state;
    const int before = count_mappings();
    assert_int_equal(rota_arena_map(&own, &peer), MPI_SUCCESS);
    assert_ptr_not_equal(peer->head, rota_arena_own());
    assert_int_equal(peer->n_segments, rota_arena_self()->n_segments);
    const int slot = peer->slot, segments = peer->n_segments;
    assert_true(slot > 0);
    assert_int_equal(atomic_load(&rota_arena_own()->mapped[slot]), segments);
    char *const p = rota_arena_alloc(3 << 20);
    assert_non_null(p);
    assert_true(rota_arena_find(p, 1, &at));
    assert_int_equal(rota_place_segment(at), segments);
    p[2 * page] = 'x';
    assert_true(rota_arena_update(peer));
    assert_int_equal(atomic_load(&rota_arena_own()->mapped[slot]),
                     segments + 1);
    assert_int_equal(rota_peer_at(peer, at)[2 * page], 'x');
    rota_arena_free(p);
    rota_arena_hold(peer);
    rota_arena_drop(peer);
    assert_non_null(peer->head);
    rota_arena_drop(peer);
    assert_int_equal(count_mappings(), before + 1); /* its own, grown */
    assert_int_equal(atomic_load(&rota_arena_own()->mapped[slot]), 0);
    assert_int_equal(rota_arena_map(&own, &peer), MPI_SUCCESS);
    assert_int_equal(peer->slot, slot); /* a process that was met before */
    rota_arena_drop(peer);
}

static void must_refuse(const rota_arena_address *address, const char *words)
{
    rota_peer *peer = NULL;
    const int before = count_mappings();

    rota_fail_clear();
    assert_int_equal(rota_arena_map(address, &peer), MPI_ERR_NO_MEM);
    assert_non_null(strstr(rota_fail_text(), words));
    assert_int_equal(count_mappings(), before);
}

static void refuses_what_it_is_not(void **state)
{
    rota_arena_address address = own;
    int pipes[2];

    (void)state;
    address.cookie ^= 1;
    must_refuse(&address, "is another process's memory");
    address = own;
    address.cookie ^= 3;
    address.bytes = ARENA_BYTES + page; /* longer than it is */
    must_refuse(&address, "is another file");
    address = own;
    address.cookie ^= 2;
    address.fd = 9999;
    must_refuse(&address, "No such file");
    assert_int_equal(pipe(pipes), 0);
    address.fd = pipes[0];
    must_refuse(&address, "is another file");
    close(pipes[0]);
    close(pipes[1]);
    address.pid = 1 << 30;
    must_refuse(&address, "No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_once),
        cmocka_unit_test(knows_its_own),
        cmocka_unit_test(rounds_to_pages),
        cmocka_unit_test(is_zeroed_again),
        cmocka_unit_test(refuses),
        cmocka_unit_test(joins_in_any_order),
        cmocka_unit_test(fills_holes),
        cmocka_unit_test(survives_chance),
        cmocka_unit_test(is_seen_by_others),
        cmocka_unit_test(grows_by_segments),
        cmocka_unit_test(is_mapped_as_it_grows),
        cmocka_unit_test(refuses_what_it_is_not),
        cmocka_unit_test(hands_out_lines),
        cmocka_unit_test(counters_stay),
        cmocka_unit_test(stops_at_the_limit),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
