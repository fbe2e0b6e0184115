/* test_blocks.c - random steps of the long blocks of the heap: none lies in another,
 * what is said to be zero is, and what is free is one block in the end.
 */
#define _GNU_SOURCE
#include "heap/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { ALL = 1 << 26, HELD = 60, STEPS = 20000, MOST = 3 << 20 };

static char *base;
static size_t page;
static bool refuses; /* the system, to give pages back */

static bool remove_pages(char *from, size_t bytes)
{
    return !refuses && madvise(from, bytes, MADV_DONTNEED) == 0;
}

typedef struct block {
    unsigned char *p;
    size_t bytes;
} block;

static unsigned state = 1;

static size_t draw(size_t bound)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % bound;
}

/* Each page begins with the number of its block, and the last one ends with it. */
static void mark(const block *b, int number)
{
    for (size_t i = 0; i < b->bytes; i += page)
        b->p[i] = (unsigned char)number;
    if (b->bytes > 0)
        b->p[b->bytes - 1] = (unsigned char)number;
}

static void check(const block *b, size_t bytes, int number)
{
    for (size_t i = 0; i < bytes; i += page)
        assert_int_equal(b->p[i], number);
}

static void allocate(block *b)
{
    const size_t alignment = page >> 2 << draw(8);
    bool zero = false;

    b->bytes = draw(draw(4) ? MOST / 16 : MOST);
    b->p = rota_blocks_alloc(b->bytes, alignment, &zero);
    if (!b->p)
        return;
    assert_true((uintptr_t)b->p % alignment == 0);
    assert_true(rota_blocks_holds(b->p));
    assert_true(rota_blocks_room(b->p) >= b->bytes);
    assert_true((char *)b->p >= base && (char *)b->p + b->bytes <= base + ALL);
    if (zero && b->bytes > 0)
        assert_true(b->p[0] == 0 && !memcmp(b->p, b->p + 1, b->bytes - 1));
}

static void resize(block *b, int number)
{
    const size_t bytes = draw(MOST);

    if (!rota_blocks_resize(b->p, bytes))
        return;
    assert_true(rota_blocks_room(b->p) >= bytes);
    check(b, b->bytes < bytes ? b->bytes : bytes, number);
    b->bytes = bytes;
    mark(b, number);
}

static size_t pages_held(const block held[])
{
    size_t n = 0;

    for (int i = 0; i < HELD; i++)
        n += held[i].p ? rota_blocks_room(held[i].p) : 0;
    return n;
}

static size_t resident(void)
{
    static unsigned char there[ALL / 4096];
    size_t n = 0;

    assert_int_equal(mincore(base, ALL, there), 0);
    for (size_t i = 0; i < ALL / page; i++)
        n += (there[i] & 1u) * page;
    return n;
}

static void steps(block held[], size_t carved)
{
    size_t now, most;

    for (int i = 0; i < STEPS; i++) {
        const int k = (int)draw(HELD);
        block *const b = &held[k];
        refuses = i / 1000 % 5 == 0;
        if (b->p)
            check(b, b->bytes, k);
        if (b->p && draw(3) == 0) {
            resize(b, k);
            continue;
        }
        if (b->p)
            rota_blocks_release(b->p);
        allocate(b);
        if (b->p)
            mark(b, k);
    }
    rota_blocks_count(&now, &most);
    assert_int_equal(now, pages_held(held) + carved);
    assert_true(most >= now && most <= ALL);
}

static void random_steps(void **unused)
{
    enum { CARVED = 1 << 20, KEPT = 1 << 23 };
    static block held[HELD];
    char *const end = rota_blocks_carve(CARVED, CARVED);
    bool zero;

    (void)unused;
    assert_true(end == base + ALL - CARVED && !rota_blocks_holds(end));
    memset(end, 255, CARVED);
    steps(held, CARVED);
    refuses = false;
    for (int i = 0; i < HELD; i++)
        if (held[i].p)
            rota_blocks_release(held[i].p);
    assert_true(resident() <= KEPT + CARVED);
    for (size_t i = 0; i < CARVED; i++)
        assert_int_equal((unsigned char)end[i], 255);
    assert_null(rota_blocks_alloc(ALL - CARVED + 1, 1, &zero));
    assert_null(rota_blocks_alloc(SIZE_MAX, 1, &zero));
    assert_null(rota_blocks_alloc(1, (size_t)1 << 62, &zero));
    char *const all = rota_blocks_alloc(ALL - CARVED, 1, &zero);
    assert_ptr_equal(all, base);
    assert_null(rota_blocks_carve(1, 1));
    assert_false(rota_blocks_resize(all, ALL));
    memset(all, 1, ALL - CARVED);
    rota_blocks_release(all); /* longer than ROTA_BLOCKS_ALONE */
    assert_true(resident() <= CARVED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_steps)};

    page = (size_t)sysconf(_SC_PAGESIZE);
    base = mmap(NULL, ALL, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED || !rota_blocks_begin(base, ALL, remove_pages))
        return EXIT_FAILURE;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
