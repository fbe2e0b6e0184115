/* test_arena.c - memory that other processes map. */
#define _GNU_SOURCE
#include "exec/arena.h"

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
static rota_arena_card own;

/* The arena is as large as files may be. */
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

/* ---- ranges ---------------------------------------------------------------- */

static void opens_once(void **state)
{
    rota_arena_card again;

    (void)state;
    assert_int_equal(rota_arena_open(&again), MPI_SUCCESS);
    assert_memory_equal(&again, &own, sizeof own);
    assert_int_equal(own.pid, getpid());
    assert_int_equal(own.address, (uint64_t)(uintptr_t)rota_arena_own());
    assert_int_equal(rota_arena_own()->cookie, own.cookie);
    assert_int_equal(backed(), 1); /* the head only */
}

static void knows_its_own(void **state)
{
    char *const p = take(2);
    char other;

    (void)state;
    assert_true(rota_arena_holds(p, 2 * page));
    assert_true(rota_arena_holds(rota_arena_own(), own.bytes));
    assert_false(rota_arena_holds(rota_arena_own(), own.bytes + 1));
    assert_false(rota_arena_holds(p, SIZE_MAX));
    assert_false(rota_arena_holds(&other, 1));
    assert_false(rota_arena_holds(NULL, 0));
    assert_int_equal(rota_arena_offset(p), p - (char *)rota_arena_own());
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
    assert_null(rota_arena_alloc(own.bytes)); /* the head is in it */
    assert_null(rota_arena_alloc(own.bytes + 1));
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

/* Against a map of pages: no two allocations overlap, none is lost, and in the
 * end all is one range. */
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
    char *const whole = take(5 * SLOTS);
    assert_ptr_equal(whole, first);
    rota_arena_free(whole);
}

/* ---- kept ranges ------------------------------------------------------------ */

static void is_handed_out_again(void **state)
{
    char *const a = rota_arena_take(3 * page), *const b = take(1);

    (void)state;
    memset(a, 0x5A, 3 * page);
    assert_true(rota_arena_put(a));
    assert_false(rota_arena_put(a));
    assert_int_equal(backed(), 1 + 3 + 1);
    char *const zeroed = take(3); /* not what is kept */
    assert_ptr_not_equal(zeroed, a);
    assert_int_equal(zeroed[0], 0);
    char *const longer = rota_arena_take(4 * page);
    assert_ptr_not_equal(longer, a);
    char *const shorter = rota_arena_take(page); /* less than half */
    assert_ptr_not_equal(shorter, a);
    char *const again = rota_arena_take(2 * page + 1);
    assert_ptr_equal(again, a);
    assert_int_equal(again[0], 0x5A);
    rota_arena_free(again);
    rota_arena_free(zeroed);
    rota_arena_free(longer);
    rota_arena_free(shorter);
    rota_arena_free(b);
    assert_int_equal(backed(), 1);
}

static void takes_the_smallest(void **state)
{
    char *p[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        p[i] = rota_arena_take((size_t)(6 - i) * page);
    for (int i = 0; i < 3; i++)
        rota_arena_put(p[i]);
    for (int i = 2; i >= 0; i--)
        assert_ptr_equal(rota_arena_take(4 * page), p[i]);
    for (int i = 0; i < 3; i++)
        rota_arena_free(p[i]);
    assert_int_equal(backed(), 1);
}

/* Of 12 MiB put back, 8 stay; and they go when there is no other room. */
static void keeps_so_much(void **state)
{
    const size_t third = (size_t)1 << 22;
    char *p[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_non_null(p[i] = rota_arena_take(third));
    for (int i = 0; i < 3; i++)
        assert_true(rota_arena_put(p[i]));
    assert_int_equal(backed(), 1 + 2 * third / page);
    char *const all = rota_arena_alloc(ARENA_BYTES - page);
    assert_non_null(all);
    assert_int_equal(backed(), ARENA_BYTES / page);
    assert_null(rota_arena_take(third));
    rota_arena_free(all);
    assert_int_equal(backed(), 1);
}

/* ---- the others ------------------------------------------------------------ */

/* In another process, which has only the card; its exit status. */
static int in_child(int (*run)(const rota_arena_card *card, uint64_t offset),
                    const rota_arena_card *card, uint64_t offset)
{
    int status = -1;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(run(card, offset));
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int answers(const rota_arena_card *card, uint64_t offset)
{
    rota_arena_head *head, *again;

    if (rota_arena_map(card, &head) != MPI_SUCCESS ||
        rota_arena_map(card, &again) != MPI_SUCCESS)
        return 1;
    char *const p = (char *)head + offset;
    if (head == rota_arena_own() || again != head || strcmp(p, "ping") != 0)
        return 2;
    rota_arena_drop(again);
    memcpy(p, "pong", 5); /* still mapped */
    rota_arena_drop(head);
    return 0;
}

static void is_seen_by_others(void **state)
{
    char *const p = take(1);

    (void)state;
    memcpy(p, "ping", 5);
    assert_int_equal(in_child(answers, &own, rota_arena_offset(p)), 0);
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

/* What is allocated later is there at once. */
static void is_mapped_whole(void **state)
{
    rota_arena_head *head;

    (void)state;
    const int before = count_mappings();
    assert_int_equal(rota_arena_map(&own, &head), MPI_SUCCESS);
    assert_ptr_not_equal(head, rota_arena_own());
    assert_int_equal(count_mappings(), before + 1);
    char *const p = take(3);
    p[2 * page] = 'x';
    assert_int_equal(((char *)head + rota_arena_offset(p))[2 * page], 'x');
    rota_arena_free(p);
    rota_arena_drop(head);
    assert_int_equal(count_mappings(), before);
    rota_arena_drop(head); /* unknown by now */
}

static void must_refuse(const rota_arena_card *card, const char *words)
{
    rota_arena_head *head = NULL;
    const int before = count_mappings();

    rota_fail_clear();
    assert_int_equal(rota_arena_map(card, &head), MPI_ERR_NO_MEM);
    assert_non_null(strstr(rota_fail_text(), words));
    assert_int_equal(count_mappings(), before);
}

static void refuses_what_it_is_not(void **state)
{
    rota_arena_card card = own;
    int pipes[2];

    (void)state;
    card.cookie ^= 1;
    must_refuse(&card, "is another process's memory");
    card = own;
    card.cookie ^= 1;
    card.bytes -= page;
    must_refuse(&card, "is another file");
    card = own;
    card.cookie ^= 2;
    card.fd = 9999;
    must_refuse(&card, "No such file");
    assert_int_equal(pipe(pipes), 0);
    card.fd = pipes[0];
    must_refuse(&card, "is another file");
    close(pipes[0]);
    close(pipes[1]);
    card.pid = 1 << 30;
    must_refuse(&card, "No such file");
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
        cmocka_unit_test(is_handed_out_again),
        cmocka_unit_test(takes_the_smallest),
        cmocka_unit_test(keeps_so_much),
        cmocka_unit_test(is_seen_by_others),
        cmocka_unit_test(is_mapped_whole),
        cmocka_unit_test(refuses_what_it_is_not),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
