/* alike.h - hashes, and lists of named values that must be equal on all
 * ranks. */
#ifndef ROTA_ALIKE_H
#define ROTA_ALIKE_H

#include "base/err.h"

#include <stdint.h>

/* Mix a value into a hash. */
static inline uint64_t rota_mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x100000001b3u + 0x9e3779b97f4a7c15u;
}

/* A bijection in which every bit depends on all others (splitmix64). */
static inline uint64_t rota_scramble(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Every rank has the same number of values, with the same names: those of all
 * hints, and up to ROTA_MOST_OTHERS more. */
enum { ROTA_MOST_ALIKE = 40, ROTA_MOST_OTHERS = 8 };

typedef struct rota_alike {
    int n;
    const char *what[ROTA_MOST_ALIKE]; /* names; borrowed */
    uint64_t value[ROTA_MOST_ALIKE];
} rota_alike;

static inline void rota_alike_add(rota_alike *a, const char *what,
                                  uint64_t value)
{
    ROTA_ASSERT(a->n < ROTA_MOST_ALIKE);
    a->what[a->n] = what;
    a->value[a->n++] = value;
}

static inline uint64_t rota_alike_hash(const rota_alike *a)
{
    uint64_t h = 0;

    for (int i = 0; i < a->n; i++)
        h = rota_mix(h, a->value[i]);
    return h;
}

#endif /* ROTA_ALIKE_H */
