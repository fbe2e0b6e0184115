/* fuzz.h - what a target of the fuzz drivers is.
 *
 * A target makes a case of any bytes at all, by drawing numbers from them, and
 * aborts if the case goes wrong, after printing what it was. Its entry points
 * have the names that libFuzzer calls, so either drives it:
 *
 *   fuzz.c     bytes drawn from a seed, with any compiler; CTest runs this
 *   libFuzzer  bytes chosen by what they reach, with clang (ROTA_LIBFUZZER)
 *
 * Another target is another source beside this one and a line in
 * CMakeLists.txt.
 */
#ifndef ROTA_FUZZ_H
#define ROTA_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* To be defined: once, before the first case; and for each. Both return 0. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* What is left of a case's bytes. */
typedef struct fuzz_bytes {
    const uint8_t *at;
    size_t left;
} fuzz_bytes;

/* A number below bound; 0 for ever once the bytes are used up. */
static inline uint64_t fuzz_draw(fuzz_bytes *b, uint64_t bound)
{
    uint64_t draw = 0;

    for (uint64_t most = bound - 1; most > 0 && b->left > 0; most >>= 8) {
        draw = draw << 8 | *b->at++;
        b->left--;
    }
    return draw % bound;
}

#endif /* ROTA_FUZZ_H */
