/* facts.h - facts of the analysis, and sets of them.
 *
 * A fact is a row of width values of 64 bits:
 *
 *     [0]  kind, variable and id, see below
 *     [1]  contour: with the variable it makes the address, by which facts are
 *          joined, and by whose hash they are dealt to ranks
 *     [2]  ..  contours: an environment, zeros behind it
 *
 *     FACT_VALUE  what lies at the address may be the closure of lambda id in
 *                 the environment
 *     FACT_CALL   lambda id is entered in the environment, and its body calls
 *                 what lies at the address. A body that calls a lambda written
 *                 there, or nothing, has an address of its own.
 *     FACT_FLOW   what lies at the address also lies at that of variable id and
 *                 contour [2] */
#ifndef FACTS_H
#define FACTS_H

#include "pairs.h"

enum { FACT_VALUE, FACT_CALL, FACT_FLOW, FACT_KINDS };
enum { FACT_HEAD = 2 };

static inline uint64_t fact_head(int kind, int variable, int id)
{
    return (uint64_t)kind << 60 | (uint64_t)variable << 30 | (uint64_t)id;
}

static inline int fact_kind(const uint64_t *fact)
{
    return (int)(fact[0] >> 60);
}

static inline int fact_variable(const uint64_t *fact)
{
    return (int)(fact[0] >> 30 & 0x3fffffff);
}

static inline int fact_id(const uint64_t *fact)
{
    return (int)(fact[0] & 0x3fffffff);
}

/* Of the address of a fact, or of all of it. */
uint64_t address_hash(const uint64_t *fact);
uint64_t fact_hash(const uint64_t *fact, size_t width);

/* Nothing follows. */
#define FACT_NONE SIZE_MAX

typedef struct {
    uint64_t variable, contour;
    size_t latest[FACT_KINDS]; /* a fact of each kind, or FACT_NONE */
} fact_address;

/* Numbered in the order in which they were added. */
typedef struct {
    size_t width, n;
    uint64_t *at;  /* [n * width] */
    size_t *older; /* [n] the fact before it of its address and kind */
    size_t capacity;
    size_t *slot; /* [n_slots] hash table of facts, FACT_NONE where free */
    fact_address *address;
    size_t n_addresses, address_capacity;
    size_t *address_slot; /* [n_slots] as slot */
    size_t n_slots;
} fact_set;

void fact_set_make(fact_set *s, size_t width);
void fact_set_free(fact_set *s);

/* 1 if the fact was not yet in the set, else 0. */
int fact_set_add(fact_set *s, const uint64_t *fact);

static inline const uint64_t *fact_at(const fact_set *s, size_t i)
{
    return s->at + i * s->width;
}

/* The latest fact of that kind at the address of variable and contour, or
 * FACT_NONE; older has those before it. */
size_t fact_set_find(const fact_set *s, int kind, int variable,
                     uint64_t contour);

#endif
