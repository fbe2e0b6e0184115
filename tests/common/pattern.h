/* pattern.h - who sends how much to whom, and what the bytes are. */
#ifndef ROTA_TEST_PATTERN_H
#define ROTA_TEST_PATTERN_H

#include <stddef.h>
#include <stdint.h>

typedef enum pattern {
    UNIFORM,       /* every block of the largest size */
    RANDOM,        /* 0 to the largest */
    WINDOW,        /* half the largest to the largest */
    NORMAL,        /* bell-shaped around half the largest */
    POWER_LAW,     /* few large blocks, many small ones */
    SPARSE,        /* one block in ten has bytes */
    ONE_BYTE,      /* every block of a byte */
    ALL_ZERO,      /* nothing */
    SELF_ONLY,     /* every rank to itself */
    ONE_TO_ALL,    /* only the middle rank sends */
    ALL_TO_ONE,    /* only the middle rank receives */
    EMPTY_ROWS,    /* every other rank sends nothing */
    EMPTY_COLUMNS, /* every other rank receives nothing */
    BAND,          /* neighbours only */
    HUGE_SINGLE,   /* one block of 64 times the largest size, no others */
    N_PATTERNS
} pattern;

extern const char *const pattern_name[N_PATTERNS];

/* Bytes from rank src to rank dst of P, at most largest (64 times that for
 * HUGE_SINGLE). The same arguments give the same result everywhere. */
size_t pattern_bytes(pattern p, uint64_t seed, int P, size_t largest, int src,
                     int dst);

/* A well-mixed 64-bit hash. */
uint64_t test_hash(uint64_t x);

/* Byte i of the block from src to dst in the given iteration; blocks, bytes
 * and iterations differ from each other. */
static inline unsigned char payload(int src, int dst, size_t i, int iteration)
{
    const uint64_t block =
        ((uint64_t)src << 32 ^ (uint64_t)dst << 8 ^ (uint64_t)iteration) *
        0x9e3779b97f4a7c15u;
    const uint64_t x = (block ^ i) * 0xd6e8feb86659fd93u;

    return (unsigned char)(x >> 56);
}

#endif /* ROTA_TEST_PATTERN_H */
