/* facts.c - see facts.h. Two hash tables with linear probing, of facts and of
 * addresses, which are doubled together. */
#include "facts.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_address(uint64_t variable, uint64_t contour)
{
    return mix64(mix64(variable + 1) ^ contour);
}

uint64_t address_hash(const uint64_t *fact)
{
    return hash_address((uint64_t)fact_variable(fact), fact[1]);
}

uint64_t fact_hash(const uint64_t *fact, size_t width)
{
    uint64_t hash = width;

    for (size_t i = 0; i < width; i++)
        hash = mix64(hash ^ fact[i]);
    return hash;
}

static size_t *find_slot(const fact_set *s, const uint64_t *fact)
{
    const size_t mask = s->n_slots - 1;
    size_t i = (size_t)fact_hash(fact, s->width) & mask;

    while (s->slot[i] != FACT_NONE &&
           memcmp(fact_at(s, s->slot[i]), fact, s->width * sizeof fact[0]) != 0)
        i = (i + 1) & mask;
    return &s->slot[i];
}

static size_t *find_address(const fact_set *s, uint64_t variable,
                            uint64_t contour)
{
    const size_t mask = s->n_slots - 1;
    size_t i = (size_t)hash_address(variable, contour) & mask;

    for (; s->address_slot[i] != FACT_NONE; i = (i + 1) & mask) {
        const fact_address *a = &s->address[s->address_slot[i]];

        if (a->variable == variable && a->contour == contour)
            break;
    }
    return &s->address_slot[i];
}

static size_t *no_slots(size_t *old, size_t n)
{
    size_t *slot = must_realloc(old, n, sizeof slot[0]);

    memset(slot, 0xff, n * sizeof slot[0]); /* FACT_NONE */
    return slot;
}

static void rehash(fact_set *s, size_t n_slots)
{
    s->n_slots = n_slots;
    s->slot = no_slots(s->slot, n_slots);
    s->address_slot = no_slots(s->address_slot, n_slots);
    for (size_t i = 0; i < s->n; i++)
        *find_slot(s, fact_at(s, i)) = i;
    for (size_t i = 0; i < s->n_addresses; i++)
        *find_address(s, s->address[i].variable, s->address[i].contour) = i;
}

void fact_set_make(fact_set *s, size_t width)
{
    *s = (fact_set){.width = width};
    rehash(s, 1024);
}

void fact_set_free(fact_set *s)
{
    free(s->at);
    free(s->older);
    free(s->slot);
    free(s->address);
    free(s->address_slot);
    *s = (fact_set){0};
}

/* Room for one more fact, and one more address. */
static void make_room(fact_set *s)
{
    if (s->n == s->capacity) {
        s->capacity += s->capacity / 2 + 256;
        s->at = must_realloc(s->at, s->capacity, s->width * sizeof s->at[0]);
        s->older = must_realloc(s->older, s->capacity, sizeof s->older[0]);
    }
    if (s->n_addresses == s->address_capacity) {
        s->address_capacity += s->address_capacity / 2 + 256;
        s->address =
            must_realloc(s->address, s->address_capacity, sizeof s->address[0]);
    }
    if (s->n >= s->n_slots / 10 * 7)
        rehash(s, s->n_slots * 2);
}

/* Put fact i, of that kind, before the others of its address. */
static void link_fact(fact_set *s, size_t i)
{
    const uint64_t *fact = fact_at(s, i);
    size_t *slot = find_address(s, (uint64_t)fact_variable(fact), fact[1]);
    size_t *latest;

    if (*slot == FACT_NONE) {
        fact_address *a = &s->address[ *slot = s->n_addresses++];

        a->variable = (uint64_t)fact_variable(fact);
        a->contour = fact[1];
        for (int kind = 0; kind < FACT_KINDS; kind++)
            a->latest[kind] = FACT_NONE;
    }
    latest = &s->address[*slot].latest[fact_kind(fact)];
    s->older[i] = *latest;
    *latest = i;
}

int fact_set_add(fact_set *s, const uint64_t *fact)
{
    size_t *slot;

    make_room(s);
    slot = find_slot(s, fact);
    if (*slot != FACT_NONE)
        return 0;
    *slot = s->n++;
    memcpy(s->at + *slot * s->width, fact, s->width * sizeof fact[0]);
    link_fact(s, *slot);
    return 1;
}

size_t fact_set_find(const fact_set *s, int kind, int variable,
                     uint64_t contour)
{
    const size_t slot = *find_address(s, (uint64_t)variable, contour);

    return slot == FACT_NONE ? FACT_NONE : s->address[slot].latest[kind];
}
