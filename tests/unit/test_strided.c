/* test_strided.c - packing, unpacking and copying by layouts, against every byte
 * by itself.
 */
#include "exec/move/strided.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CASES = 4000, ROOM = 1 << 18, MIDDLE = ROOM / 2, MOST_BYTES = 1 << 12 };

static uint64_t state;

static unsigned draw(unsigned bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % bound;
}

/* ---- types --------------------------------------------------------------- */

/* A type and the place of each byte of an element, in the order of packing. */
typedef struct drawn {
    rota_type type;
    rota_layout layout;
    ptrdiff_t place[MOST_BYTES];
    size_t n;
} drawn;

static void make_row(drawn *t, ptrdiff_t at, size_t width)
{
    assert_int_equal(rota_layout_add_row(&t->layout, at, width), MPI_SUCCESS);
    for (size_t i = 0; i < width; i++)
        t->place[t->n++] = at + (ptrdiff_t)i;
}

static void make_more(drawn *t, size_t n, ptrdiff_t step)
{
    const size_t before = t->n;

    assert_int_equal(rota_layout_repeat(&t->layout, n, step), MPI_SUCCESS);
    for (size_t k = 1; k < n; k++)
        for (size_t i = 0; i < before; i++)
            t->place[t->n++] = t->place[i] + (ptrdiff_t)k * step;
}

static void finish(drawn *t, ptrdiff_t extent)
{
    rota_layout_seal(&t->layout);
    t->type = (rota_type){.mpi = MPI_DATATYPE_NULL,
                          .size = t->n,
                          .extent = extent,
                          .layout = &t->layout};
}

/* The bytes of a box of that many elements of unit bytes, which lie in an order
 * of the dimensions of their own: no two at one place. */
static void make_box(drawn *t, const size_t n[3], size_t unit)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int *const order = orders[draw(6)];
    const size_t gap = draw(2) ? unit * draw(3) : draw(5);
    ptrdiff_t step[3], reach = (ptrdiff_t)unit;

    *t = (drawn){0};
    for (int i = 0; i < 3; i++) {
        step[order[i]] = reach;
        reach = reach * (ptrdiff_t)n[order[i]] + (draw(2) ? (ptrdiff_t)gap : 0);
    }
    make_row(t, (ptrdiff_t)draw(9) - 4, unit);
    for (int i = 0; i < 3; i++)
        make_more(t, n[i], step[i] * (draw(8) ? 1 : -1));
    finish(t, reach);
}

/* Pieces in any order. */
static void make_pieces(drawn *t)
{
    const unsigned rows = 1 + draw(9);
    ptrdiff_t at = 0;

    *t = (drawn){0};
    for (unsigned i = 0; i < rows; i++) {
        const size_t width = 1 + draw(draw(4) ? 9 : 300);
        at += (ptrdiff_t)(draw(3) ? draw(12) : 0);
        make_row(t, draw(2) ? at : -at - (ptrdiff_t)width - 400, width);
        at += (ptrdiff_t)width;
    }
    if (t->n < 300)
        make_more(t, 1 + draw(3), 2 * at + 900);
    finish(t, 4 * at + 2000);
}

static ptrdiff_t place_of(const drawn *t, size_t byte)
{
    return t->place[byte % t->n] + (ptrdiff_t)(byte / t->n) * t->type.extent;
}

/* ---- comparing ----------------------------------------------------------- */

static unsigned char a[ROOM], b[ROOM], want[ROOM];

static int begin(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ROOM; i++)
        a[i] = (unsigned char)draw(256);
    return 0;
}

static void clear(void)
{
    memset(b, 0x5a, ROOM);
    memset(want, 0x5a, ROOM);
}

/* A range of a block of up to three elements. */
static void check_packing(const drawn *t)
{
    const size_t bytes = t->n * (1 + draw(3));
    const size_t first = draw(2) ? 0 : draw((unsigned)bytes);
    const size_t end =
        draw(2) ? bytes : first + draw((unsigned)(bytes - first) + 1);

    clear();
    for (size_t i = first; i < end; i++)
        want[i - first] = a[MIDDLE + place_of(t, i)];
    rota_strided_pack(&t->type, (char *)a + MIDDLE, first, end, draw(2),
                      (char *)b);
    assert_memory_equal(b, want, ROOM);
    clear();
    for (size_t i = first; i < end; i++)
        want[MIDDLE + place_of(t, i)] = a[i - first];
    rota_strided_unpack(&t->type, (char *)a, first, end, draw(2),
                        (char *)b + MIDDLE);
    assert_memory_equal(b, want, ROOM);
}

static void check_copy(const drawn *to, const drawn *from, size_t bytes)
{
    rota_strided c;

    if (!rota_strided_match(&to->type, &from->type, bytes, &c))
        return;
    clear();
    for (size_t i = 0; i < bytes; i++)
        want[MIDDLE + place_of(to, i)] = a[MIDDLE + place_of(from, i)];
    c.streams = draw(2);
    rota_strided_copy(&c, (char *)b + MIDDLE, (char *)a + MIDDLE);
    assert_memory_equal(b, want, ROOM);
}

static void free_drawn(drawn *t)
{
    rota_layout_free(&t->layout);
}

/* ---- tests --------------------------------------------------------------- */

static void boxes(void **unused)
{
    static const size_t units[] = {1,  2,   3,   4,   8,   12,  16,   24,  32,
                                   64, 100, 160, 256, 300, 600, 1000, 2100};

    (void)unused;
    for (state = 0; state < CASES;) {
        const uint64_t next = state + 1;
        static drawn t, other;
        const size_t unit = units[draw(17)];
        size_t n[3] = {1 + draw(5), 1 + draw(4), 1 + draw(4)};
        if (draw(2) && unit < 24) { /* so that tiles are whole, and not */
            n[draw(3)] = 1 + draw(20);
            n[draw(3)] = 1 + draw(20);
        }
        while (n[0] * n[1] * n[2] * unit > MOST_BYTES)
            n[draw(3)] = 1;
        make_box(&t, n, unit);
        make_box(&other, n, unit);
        check_packing(&t);
        check_copy(&t, &other, t.n);
        free_drawn(&t);
        free_drawn(&other);
        state = next;
    }
}

static void pieces(void **unused)
{
    (void)unused;
    for (state = 0; state < CASES;) {
        const uint64_t next = state + 1;
        static drawn t;
        make_pieces(&t);
        check_packing(&t);
        free_drawn(&t);
        state = next;
    }
}

/* Blocks whose rows are cut differently, and one that is plain bytes. */
static void unlike(void **unused)
{
    static drawn rows, columns, plain;
    const size_t n[3] = {6, 4, 10}, m[3] = {12, 5, 2};
    rota_strided c;

    (void)unused;
    for (state = 0; state < 200;) {
        const uint64_t next = state + 1;
        make_box(&rows, n, 4);
        make_box(&columns, m, 8);
        check_copy(&rows, &columns, rows.n);
        check_copy(&columns, &rows, rows.n);
        plain = (drawn){.type = rota_type_bytes, .n = rows.n};
        for (size_t i = 0; i < plain.n; i++)
            plain.place[i] = (ptrdiff_t)i;
        assert_true(rota_strided_match(&plain.type, &rows.type, rows.n, &c));
        check_copy(&plain, &rows, rows.n);
        check_copy(&rows, &plain, rows.n);
        free_drawn(&rows);
        free_drawn(&columns);
        state = next;
    }
    rota_type unknown = {.size = 8, .extent = 8};
    assert_false(rota_strided_match(&unknown, &rota_type_bytes, 8, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes),
        cmocka_unit_test(pieces),
        cmocka_unit_test(unlike),
    };

    return cmocka_run_group_tests(tests, begin, NULL);
}
