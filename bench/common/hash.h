/* hash.h - counter-based random numbers: every rank computes any draw of any
 * other rank without communication, and a run can be repeated from its seed.
 */
#ifndef BENCH_HASH_H
#define BENCH_HASH_H

#include <stdint.h>

/* 2^64 divided by the golden ratio, odd: multiples of it never repeat within
 * 2^64 steps (Weyl sequence). */
#define HASH_STEP UINT64_C(0x9E3779B97F4A7C15)

/* Finaliser of SplitMix64: a bijection in which every input bit changes every
 * output bit about half of the time. */
static inline uint64_t hash_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* The i-th number of the sequence that key names. */
static inline uint64_t hash_draw(uint64_t key, uint64_t i)
{
    return hash_mix(key + (i + 1) * HASH_STEP);
}

/* Key of the ordered pair (src, dst) in step. */
static inline uint64_t hash_pair(uint64_t seed, int src, int dst, uint64_t step)
{
    uint64_t key = hash_draw(seed, step);

    key = hash_draw(key, (uint64_t)src);
    return hash_draw(key, (uint64_t)dst);
}

#endif
