/* pairs.h - pairs of vertices: packed in 64 bits, in vectors and in sets. */
#ifndef PAIRS_H
#define PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* Vertices are numbered 0 .. n-1 with n <= PAIR_MAX_VERTICES, whatever 64-bit
 * numbers they have for names (graph.h). A pair of wider numbers would take
 * twice the memory, and twice the bytes of every exchange of a closure. One
 * packed pair never occurs, NO_PAIR. */
#ifndef PAIR_MAX_VERTICES /* a test sets it */
#define PAIR_MAX_VERTICES UINT32_MAX
#endif
#define NO_PAIR UINT64_MAX

static inline uint64_t pair_pack(uint32_t x, uint32_t y)
{
    return (uint64_t)x << 32 | y;
}

static inline uint32_t pair_first(uint64_t pair)
{
    return (uint32_t)(pair >> 32);
}

static inline uint32_t pair_second(uint64_t pair)
{
    return (uint32_t)pair;
}

/* A bijection on 64 bits in which every bit of the result depends on every bit
 * of the argument (the finaliser of splitmix64). */
static inline uint64_t mix64(uint64_t k)
{
    k = (k ^ k >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    k = (k ^ k >> 27) * UINT64_C(0x94d049bb133111eb);
    return k ^ k >> 31;
}

/* The rank, of n_ranks, that holds what is partitioned by vertex v. */
static inline int vertex_owner(uint32_t v, int n_ranks)
{
    return (int)(mix64(v + UINT64_C(0x9e3779b97f4a7c15)) % (uint64_t)n_ranks);
}

/* A growing array of packed pairs, or of vertex names; all zero is empty.
 * Setting n to 0 keeps the memory. */
typedef struct {
    uint64_t *at;
    size_t n, capacity;
} u64_vec;

/* Make room for so many values in all, or for half as many again as now. */
void u64_vec_reserve(u64_vec *v, size_t capacity);
void u64_vec_sort(u64_vec *v);
void u64_vec_unique(u64_vec *v); /* of a sorted one */
void u64_vec_free(u64_vec *v);

static inline void u64_vec_push(u64_vec *v, uint64_t value)
{
    if (v->n == v->capacity)
        u64_vec_reserve(v, v->n + 512);
    v->at[v->n++] = value;
}

/* A set: open addressing with linear probing in 2^k slots of 8 bytes, doubled
 * when more than 70 % full. All zero is empty. */
typedef struct {
    uint64_t *slot; /* NO_PAIR where free */
    size_t n, n_slots;
} pair_set;

/* 1 if the pair was not yet in the set, else 0. */
int pair_set_add(pair_set *s, uint64_t pair);
/* Sum of mix64 over the set, mod 2^64: equal for equal sets in any order, and
 * the parts of a partitioned set simply add up. */
uint64_t pair_set_fingerprint(const pair_set *s);
void pair_set_free(pair_set *s);

/* A memory of pairs seen lately, of fixed size: one slot for each hash value,
 * the latest pair stays. It may forget, it never invents. */
typedef struct {
    uint64_t *slot; /* [n_slots], NO_PAIR where free */
    size_t n_slots; /* a power of two */
} pair_filter;

void pair_filter_make(pair_filter *f, size_t n_slots);
void pair_filter_free(pair_filter *f);

/* 1 if the pair is remembered; else it is from now on. */
static inline int pair_filter_seen(pair_filter *f, uint64_t pair)
{
    uint64_t *slot = &f->slot[mix64(pair) & (f->n_slots - 1)];
    int seen = *slot == pair;

    *slot = pair;
    return seen;
}

#endif
