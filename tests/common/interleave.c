/* interleave.c - see interleave.h. */
#include "interleave.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 16, MOST_RESULTS = 160, MOST_STORES = 12 };

typedef struct store {
    int cell;
    bool releases;
    int64_t value;
} store;

typedef struct thread_state {
    bool ended;
    int asleep; /* 1 + the cell that it sleeps by; 0: it does not */
    int n_stores, n_results;
    store buffer[MOST_STORES];
    int64_t result[MOST_RESULTS]; /* of its operations so far */
} thread_state;

typedef struct world {
    int64_t memory[MOST_CELLS];
    thread_state thread[INTERLEAVE_THREADS];
} world;

static const volatile void *place_of[MOST_CELLS];
static int n_cells;
static int n_threads;
static const interleave_thread *threads;
static world begin;
static uint64_t n_seen;
static bool stuck;

static void must(bool good, const char *what)
{
    if (good)
        return;
    printf("interleave: %s\n", what);
    abort();
}

static int cell_of(const volatile void *place)
{
    int i = 0;

    while (i < n_cells && place_of[i] != place)
        i++;
    must(i < MOST_CELLS, "too many places");
    place_of[i] = place;
    n_cells = i < n_cells ? n_cells : i + 1;
    return i;
}

/* ---- one step of a thread ------------------------------------------------ */

static world *now; /* NULL outside threads */
static thread_state *me;
static int n_repeated; /* operations of this time, up to the one to be done */
static bool stepped;
static jmp_buf stop;

/* The next operation: is its result known? If not, it is done now, and the
 * thread stops at the one after it. */
static bool is_known(int64_t *result)
{
    if (n_repeated < me->n_results) {
        *result = me->result[n_repeated++];
        return true;
    }
    if (stepped)
        longjmp(stop, 1);
    return false;
}

static int64_t finish(thread_state *thread, int64_t result)
{
    must(thread->n_results < MOST_RESULTS, "a thread that does not end");
    thread->result[thread->n_results++] = result;
    n_repeated++;
    stepped = true;
    return result;
}

static void drain(void)
{
    if (me->n_stores > 0)
        longjmp(stop, 1);
}

int64_t interleave_load(const volatile void *place)
{
    const int cell = cell_of(place);
    int64_t value;

    if (!now)
        return begin.memory[cell];
    if (is_known(&value))
        return value;
    value = now->memory[cell];
    for (int i = 0; i < me->n_stores; i++)
        if (me->buffer[i].cell == cell)
            value = me->buffer[i].value;
    return finish(me, value);
}

void interleave_store(volatile void *place, int64_t value, memory_order order)
{
    const int cell = cell_of(place);
    int64_t known;

    if (!now) {
        begin.memory[cell] = value;
        return;
    }
    if (is_known(&known))
        return;
    must(me->n_stores < MOST_STORES, "too many stores without a fence");
    me->buffer[me->n_stores++] =
        (store){cell, order != memory_order_relaxed, value};
    finish(me, 0);
}

int64_t interleave_exchange(volatile void *place, int64_t value)
{
    const int cell = cell_of(place);
    int64_t before;

    if (is_known(&before))
        return before;
    drain();
    before = now->memory[cell];
    now->memory[cell] = value;
    return finish(me, before);
}

int64_t interleave_add(volatile void *place, int64_t value)
{
    const int cell = cell_of(place);
    int64_t before;

    if (is_known(&before))
        return before;
    drain();
    before = now->memory[cell];
    now->memory[cell] = before + value;
    return finish(me, before);
}

void interleave_fence(void)
{
    int64_t known;

    if (is_known(&known))
        return;
    drain();
    finish(me, 0);
}

static void wake(int cell)
{
    for (int t = 0; t < n_threads; t++)
        if (now->thread[t].asleep == cell + 1) {
            now->thread[t].asleep = 0;
            finish(&now->thread[t], 0);
        }
}

long interleave_futex(const volatile void *place, int operation,
                      int64_t expected, const void *limit, const void *unused,
                      uint32_t bits)
{
    const int cell = cell_of(place);
    int64_t known;

    (void)limit;
    (void)unused;
    (void)bits;
    if (is_known(&known))
        return (long)known;
    drain();
    if (operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET) {
        wake(cell);
    } else if (now->memory[cell] == expected) {
        me->asleep = cell + 1;
        stepped = true;
        longjmp(stop, 1);
    }
    return (long)finish(me, 0);
}

/* Returns false if it has to wait for its buffer. */
static bool step(world *w, int t)
{
    now = w;
    me = &w->thread[t];
    n_repeated = 0;
    stepped = false;
    if (setjmp(stop) == 0) {
        threads[t]();
        me->ended = true;
        stepped = true;
    }
    now = NULL;
    return stepped;
}

static bool may_arrive(const thread_state *thread, int i)
{
    for (int k = 0; k < i; k++)
        if (thread->buffer[i].releases ||
            thread->buffer[k].cell == thread->buffer[i].cell)
            return false;
    return true;
}

static void arrive(world *w, thread_state *thread, int i)
{
    w->memory[thread->buffer[i].cell] = thread->buffer[i].value;
    thread->n_stores--;
    for (int k = i; k < thread->n_stores; k++)
        thread->buffer[k] = thread->buffer[k + 1];
}

/* ---- all orders ---------------------------------------------------------- */

/* Hashes of states, which stand for them. */
static struct {
    uint64_t *slot;
    uint64_t n; /* a power of two */
} seen;

static uint64_t mix(uint64_t h, int64_t value)
{
    h = (h ^ (uint64_t)value) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_of(const world *w)
{
    uint64_t h = 1;

    for (int i = 0; i < n_cells; i++)
        h = mix(h, w->memory[i]);
    for (int t = 0; t < n_threads; t++) {
        const thread_state *const s = &w->thread[t];
        h = mix(mix(mix(h, s->ended), s->asleep), s->n_stores);
        for (int i = 0; i < s->n_stores; i++)
            h = mix(mix(h, s->buffer[i].cell), s->buffer[i].value);
        h = mix(h, s->n_results);
        for (int i = 0; i < s->n_results; i++)
            h = mix(h, s->result[i]);
    }
    return h | 1; /* 0 is a slot without one */
}

static bool enter(uint64_t hash)
{
    uint64_t i = hash >> 1 & (seen.n - 1);

    while (seen.slot[i] && seen.slot[i] != hash)
        i = (i + 1) & (seen.n - 1);
    if (seen.slot[i])
        return false;
    seen.slot[i] = hash;
    return true;
}

static void grow(void)
{
    const uint64_t n = seen.n;
    uint64_t *const old = seen.slot;

    seen.n = n ? 2 * n : 1 << 16;
    seen.slot = calloc(seen.n, sizeof *seen.slot);
    must(seen.slot != NULL, "no memory");
    for (uint64_t i = 0; i < n; i++)
        if (old[i])
            enter(old[i]);
    free(old);
}

static void follow(const world *w)
{
    bool ended = true, goes_on = false;

    if (2 * n_seen >= seen.n)
        grow();
    if (stuck || !enter(hash_of(w)))
        return;
    n_seen++;
    for (int t = 0; t < n_threads; t++) {
        const thread_state *const s = &w->thread[t];
        world next = *w;
        ended = ended && s->ended;
        if (!s->ended && !s->asleep && step(&next, t)) {
            goes_on = true;
            follow(&next);
        }
        for (int i = 0; i < s->n_stores; i++)
            if (may_arrive(s, i)) {
                next = *w;
                arrive(&next, &next.thread[t], i);
                goes_on = true;
                follow(&next);
            }
    }
    stuck = stuck || (!goes_on && !ended);
}

bool interleave_all_end(int n, const interleave_thread thread[],
                        uint64_t *states)
{
    n_threads = n;
    threads = thread;
    n_seen = 0;
    stuck = false;
    follow(&begin);
    *states = n_seen;
    free(seen.slot);
    seen.slot = NULL;
    seen.n = 0;
    begin = (world){0};
    return !stuck;
}
