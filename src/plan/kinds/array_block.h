/* array_block.h - what a rank sends another of several arrays: the count of each
 * array, and their parts, each from a multiple of ALIGNED bytes. Where all are
 * empty, nothing is sent.
 */
#ifndef ROTA_ARRAY_BLOCK_H
#define ROTA_ARRAY_BLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where counts and parts lie: a program may borrow them. */
enum { ROTA_ARRAY_ALIGNED = 8 };

/* Bytes in front of the parts. */
static inline size_t rota_array_head(int n)
{
    return (size_t)n * sizeof(uint64_t);
}

/* From a part to the next one. */
static inline size_t rota_array_padded(size_t bytes)
{
    return (bytes + ROTA_ARRAY_ALIGNED - 1) / ROTA_ARRAY_ALIGNED *
           ROTA_ARRAY_ALIGNED;
}

/* Bytes of a block of n parts, of which part i has bytes[i * step]; above
 * PTRDIFF_MAX: too many. */
static inline size_t rota_array_block_bytes(int n, const size_t bytes[],
                                            size_t step)
{
    size_t all = 0;

    for (int i = 0; i < n && all <= PTRDIFF_MAX; i++)
        all += rota_array_padded(bytes[(size_t)i * step]);
    return all > 0 ? all + rota_array_head(n) : 0;
}

/* Elements of part i. */
static inline void rota_array_tell(char *block, int i, uint64_t count)
{
    memcpy(block + (size_t)i * sizeof count, &count, sizeof count);
}

static inline uint64_t rota_array_told(const char *block, int i)
{
    uint64_t count;

    memcpy(&count, block + (size_t)i * sizeof count, sizeof count);
    return count;
}

#endif /* ROTA_ARRAY_BLOCK_H */
