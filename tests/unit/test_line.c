/* test_line.c - queues of two entries, and the pool's pieces. */
#include "exec/memory/line.h"
#include "exec/memory/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 200 };

/* ---- lines --------------------------------------------------------------- */

typedef struct queue {
    rota_line in, out;
    char *entries;
    _Atomic uint64_t taken;
} queue;

static void open_queue(queue *q, uint64_t counted)
{
    const size_t stride = rota_line_stride(ROOM);

    q->entries = aligned_alloc(64, ROTA_LINE_ENTRIES * stride);
    assert_non_null(q->entries);
    memset(q->entries, 0xA5, ROTA_LINE_ENTRIES * stride); /* was used before */
    atomic_store(&q->taken, counted);
    rota_line_make(&q->in, q->entries, &q->taken, stride);
    rota_line_open(&q->out, q->entries, &q->taken, stride);
}

static void put(queue *q, int value)
{
    rota_entry *const e = rota_line_begin(&q->out);

    assert_non_null(e);
    memcpy(e->data, &value, sizeof value);
    rota_line_put(&q->out, e, ROTA_ENTRY_PIECE, (size_t)value);
}

static void take(queue *q, int value)
{
    const rota_entry *const e = rota_line_look(&q->in);
    int found;

    assert_non_null(e);
    memcpy(&found, e->data, sizeof found);
    assert_int_equal(found, value);
    assert_int_equal(e->bytes, value);
    assert_int_equal(rota_entry_kind_of(e), ROTA_ENTRY_PIECE);
    rota_line_take(&q->in);
}

static void keeps_order(void **state)
{
    queue q;

    (void)state;
    open_queue(&q, 0);
    assert_true(rota_line_room(&q.out) >= ROOM);
    for (int i = 0; i < 10; i++) {
        assert_null(rota_line_look(&q.in));
        put(&q, 2 * i);
        put(&q, 2 * i + 1);
        take(&q, 2 * i);
        take(&q, 2 * i + 1);
    }
    free(q.entries);
}

static void has_two_entries(void **state)
{
    queue q;

    (void)state;
    open_queue(&q, 0);
    put(&q, 1);
    put(&q, 2);
    assert_null(rota_line_begin(&q.out));
    assert_false(rota_line_taken(&q.out, 1));
    take(&q, 1);
    assert_true(rota_line_taken(&q.out, 1));
    assert_false(rota_line_taken(&q.out, 2));
    put(&q, 3);
    assert_null(rota_line_begin(&q.out));
    take(&q, 2);
    take(&q, 3);
    free(q.entries);
}

/* The memory was another queue's: numbers go on. */
static void counts_on(void **state)
{
    queue q;

    (void)state;
    open_queue(&q, 41);
    assert_true(rota_line_taken(&q.out, 41));
    assert_null(rota_line_look(&q.in));
    put(&q, 1);
    put(&q, 2);
    assert_null(rota_line_begin(&q.out));
    take(&q, 1);
    take(&q, 2);
    assert_int_equal(atomic_load(&q.taken), 43);
    free(q.entries);
}

/* One message a start each way: an entry is known to be free, and the count is
 * never read. What was put in the last start is not. */
static void proves_what_was_taken(void **state)
{
    queue q;

    (void)state;
    open_queue(&q, 0);
    for (int i = 1; i <= 6; i++) {
        rota_line_mark(&q.out);
        assert_int_equal(q.out.seen, i > 1 ? i - 2 : 0);
        put(&q, i);
        take(&q, i);
        rota_line_prove(&q.out);
        assert_int_equal(q.out.seen, i - 1);
    }
    free(q.entries);
}

/* ---- pieces -------------------------------------------------------------- */

static bool is_taken(void *owner, uint64_t entry)
{
    return entry <= *(const uint64_t *)owner;
}

static bool get(rota_piece *p, size_t bytes, uint64_t *owner, uint64_t entry)
{
    *p = (rota_piece){.is_taken = is_taken, .owner = owner};
    if (!rota_pool_take(p, bytes, rota_arena_self()))
        return false;
    p->entry = entry;
    memset(p->memory, 0x5A, p->bytes);
    return true;
}

static int open_pool(void **state)
{
    rota_arena_address address;

    (void)state;
    if (rota_arena_open(&address) != MPI_SUCCESS)
        return -1;
    rota_pool_allow(256); /* 512 KiB */
    return 0;
}

static void grows_to_its_bound(void **state)
{
    size_t most;

    (void)state;
    assert_int_equal(rota_pool_bytes(&most), 0);
    assert_int_equal(most, 512 << 10);
    rota_pool_reserve(100000);
    assert_int_equal(rota_pool_bytes(&most), 2 * ROTA_PIECE);
    rota_pool_reserve(SIZE_MAX);
    assert_int_equal(rota_pool_bytes(&most), most);
    rota_pool_allow(2); /* the first bound is the least */
    rota_pool_bytes(&most);
    assert_int_equal(most, 512 << 10);
}

static void pieces_are_apart(void **state)
{
    enum { N = 64 };
    rota_piece piece[N];
    uint64_t none = 0;
    int n = 0;

    (void)state;
    while (n < N && get(&piece[n], (size_t)(1 + n % 5) * 1500, &none, 1))
        n++;
    assert_true(n > 20);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_true(piece[i].memory + piece[i].bytes <= piece[k].memory ||
                        piece[k].memory + piece[k].bytes <= piece[i].memory);
    for (int i = 0; i < n; i++) {
        rota_place at;
        assert_true(rota_arena_find(piece[i].memory, piece[i].bytes, &at));
        assert_int_equal(at, piece[i].at);
        rota_pool_put(&piece[i]);
        assert_null(piece[i].memory);
    }
}

/* Pieces that were read go to others, the others do not. */
static void takes_back_what_was_read(void **state)
{
    enum { N = 8 };
    rota_piece piece[N], more;
    uint64_t read = 0, never = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        assert_true(get(&piece[i], ROTA_PIECE, &read, (uint64_t)i + 1));
    assert_false(get(&more, 1, &never, 1));
    read = 3;
    assert_true(get(&more, ROTA_PIECE, &never, 1));
    assert_non_null(more.memory);
    assert_non_null(piece[3].memory);
    rota_pool_put(&more);
    for (int i = 0; i < N; i++)
        rota_pool_put(&piece[i]);
}

/* A shorter one where there is none as long. */
static void gives_what_there_is(void **state)
{
    enum { N = 8 };
    rota_piece piece[N], small, large;
    uint64_t none = 0;

    (void)state;
    for (int i = 0; i < N - 1; i++)
        assert_true(get(&piece[i], ROTA_PIECE, &none, 1));
    assert_true(get(&small, 1, &none, 1));
    assert_int_equal(small.bytes, 1024);
    assert_true(get(&large, ROTA_PIECE, &none, 1));
    assert_int_equal(large.bytes, ROTA_PIECE / 2);
    rota_pool_put(&small);
    rota_pool_put(&large);
    for (int i = 0; i < N - 1; i++)
        rota_pool_put(&piece[i]);
    assert_true(get(&large, ROTA_PIECE, &none, 1));
    assert_int_equal(large.bytes, ROTA_PIECE);
    rota_pool_put(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_order),
        cmocka_unit_test(has_two_entries),
        cmocka_unit_test(counts_on),
        cmocka_unit_test(proves_what_was_taken),
        cmocka_unit_test(grows_to_its_bound),
        cmocka_unit_test(pieces_are_apart),
        cmocka_unit_test(takes_back_what_was_read),
        cmocka_unit_test(gives_what_there_is),
    };

    return cmocka_run_group_tests(tests, open_pool, NULL);
}
