/* copy.h - copying bytes. */
#ifndef ROTA_COPY_H
#define ROTA_COPY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline size_t rota_smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* "rep movsb", with which the C library copies large amounts, is up to ten
 * times slower on AMD's Zen 3 if the destination begins 1 to 31 bytes behind
 * the source, modulo the page size (256 KiB on one core: 88 us, not 8). Arrays
 * of whole pages that malloc lays one behind the other are 16 bytes apart in
 * this way. */
enum { ROTA_COPY_PAGE = 1 << 12 };

static inline bool rota_copy_is_slow(const void *to, uintptr_t from)
{
    return ((uintptr_t)to - from - 1) % ROTA_COPY_PAGE < 31;
}

/* memcpy that avoids the slow case. */
void rota_copy_fast(void *to, const void *from, size_t bytes);

/* memcpy that writes past the caches of this core, where the compiler has such
 * stores. */
void rota_copy_stream(void *to, const void *from, size_t bytes);

/* Whether the second is faster for what another core reads next: what a plan of this
 * process has last found, and false before (contest.h). */
extern _Atomic bool rota_copy_streams_well;

/* One or the other. */
static inline void rota_copy_bulk(void *to, const void *from, size_t bytes,
                                  bool streams)
{
    if (streams)
        rota_copy_stream(to, from, bytes);
    else
        rota_copy_fast(to, from, bytes);
}

/* memcpy for copies of mostly a word or two. */
static inline void rota_copy_short(void *to, const void *from, size_t bytes)
{
    uint64_t first, last;

    if (bytes < 8 || bytes > 16) {
        rota_copy_fast(to, from, bytes);
        return;
    }
    memcpy(&first, from, 8);
    memcpy(&last, (const char *)from + bytes - 8, 8);
    memcpy(to, &first, 8);
    memcpy((char *)to + bytes - 8, &last, 8);
}

#endif /* ROTA_COPY_H */
