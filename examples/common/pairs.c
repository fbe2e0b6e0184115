/* pairs.c - see pairs.h. */
#include "pairs.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

void u64_vec_reserve(u64_vec *v, size_t capacity)
{
    if (capacity <= v->capacity)
        return;
    if (capacity < v->capacity + v->capacity / 2)
        capacity = v->capacity + v->capacity / 2;
    v->at = must_realloc(v->at, capacity, sizeof v->at[0]);
    v->capacity = capacity;
}

void u64_vec_free(u64_vec *v)
{
    free(v->at);
    *v = (u64_vec){0};
}

static int compare_u64(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

void u64_vec_sort(u64_vec *v)
{
    if (v->n > 1)
        qsort(v->at, v->n, sizeof v->at[0], compare_u64);
}

void u64_vec_unique(u64_vec *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->n; i++)
        if (kept == 0 || v->at[i] != v->at[kept - 1])
            v->at[kept++] = v->at[i];
    v->n = kept;
}

static uint64_t *new_slots(size_t n_slots)
{
    uint64_t *slot = must_realloc(NULL, n_slots, sizeof slot[0]);

    memset(slot, 0xff, n_slots * sizeof slot[0]); /* NO_PAIR everywhere */
    return slot;
}

/* Where the pair is, or the free slot where it belongs. */
static uint64_t *find_slot(const pair_set *s, uint64_t pair)
{
    const size_t mask = s->n_slots - 1;
    size_t i = (size_t)mix64(pair) & mask;

    while (s->slot[i] != pair && s->slot[i] != NO_PAIR)
        i = (i + 1) & mask;
    return &s->slot[i];
}

static void grow(pair_set *s)
{
    pair_set bigger = {.n = s->n};

    bigger.n_slots = s->n_slots > 0 ? s->n_slots * 2 : 1024;
    bigger.slot = new_slots(bigger.n_slots);
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slot[i] != NO_PAIR)
            *find_slot(&bigger, s->slot[i]) = s->slot[i];
    free(s->slot);
    *s = bigger;
}

int pair_set_add(pair_set *s, uint64_t pair)
{
    uint64_t *slot;

    if (s->n >= s->n_slots / 10 * 7)
        grow(s);
    slot = find_slot(s, pair);
    if (*slot == pair)
        return 0;
    *slot = pair;
    s->n++;
    return 1;
}

uint64_t pair_set_fingerprint(const pair_set *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slot[i] != NO_PAIR)
            sum += mix64(s->slot[i]);
    return sum;
}

void pair_set_free(pair_set *s)
{
    free(s->slot);
    *s = (pair_set){0};
}

void pair_filter_make(pair_filter *f, size_t n_slots)
{
    f->n_slots = n_slots;
    f->slot = new_slots(n_slots);
}

void pair_filter_free(pair_filter *f)
{
    free(f->slot);
    *f = (pair_filter){0};
}
