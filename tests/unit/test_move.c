/* test_move.c - copies of bytes, at every alignment. */
#include "exec/move/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { AREA = 1 << 13, GUARD = 0x5a };

static char from[AREA], to[AREA];

/* n bytes between places so far behind a cache line's begin. */
static void check(void (*copy)(void *, const void *, size_t), size_t behind_to,
                  size_t behind_from, size_t n)
{
    const size_t at = 128 + behind_to;

    memset(to, GUARD, sizeof to);
    copy(to + at, from + behind_from, n);
    assert_memory_equal(to + at, from + behind_from, n);
    for (size_t i = 0; i < at; i++)
        assert_int_equal(to[i], GUARD);
    for (size_t i = at + n; i < sizeof to; i++)
        assert_int_equal(to[i], GUARD);
}

static void all_lengths(void (*copy)(void *, const void *, size_t))
{
    static const size_t length[] = {0,   1,   7,   8,   9,    15,  16,
                                    17,  63,  64,  65,  127,  128, 129,
                                    191, 192, 300, 511, 1024, 4095};

    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7 + i / 256);
    for (size_t i = 0; i < sizeof length / sizeof *length; i++)
        for (size_t t = 0; t < 64; t += 3)
            for (size_t f = 0; f < 64; f += 7)
                check(copy, t, f, length[i]);
}

static void test_fast(void **state)
{
    (void)state;
    all_lengths(rota_copy_fast);
}

static void test_stream(void **state)
{
    (void)state;
    all_lengths(rota_copy_stream);
}

static void test_short(void **state)
{
    (void)state;
    all_lengths(rota_copy_short);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fast),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
