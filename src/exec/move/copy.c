/* copy.c - see copy.h. */
#include "exec/move/copy.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Pieces as short as this are copied by other instructions: 16 us for 256
 * KiB. */
enum { SHORT_PIECE = 1 << 10 };

_Atomic bool rota_copy_streams_well;

void rota_copy_fast(void *to, const void *from, size_t bytes)
{
    const size_t step =
        rota_copy_is_slow(to, (uintptr_t)from) ? SHORT_PIECE : bytes;

    for (size_t at = 0; at < bytes; at += step)
        memcpy((char *)to + at, (const char *)from + at,
               step < bytes - at ? step : bytes - at);
}

#ifdef __SSE2__
/* Copy n bytes, in whole cache lines, to the beginning of a cache line. */
static void stream_lines(char *to, const char *from, size_t n)
{
    for (size_t at = 0; at < n; at += 4 * sizeof(__m128i)) {
        const __m128i *const f = (const void *)(from + at);
        __m128i *const t = (void *)(to + at);
        const __m128i a = _mm_loadu_si128(f), b = _mm_loadu_si128(f + 1);
        const __m128i c = _mm_loadu_si128(f + 2), d = _mm_loadu_si128(f + 3);

        _mm_stream_si128(t, a);
        _mm_stream_si128(t + 1, b);
        _mm_stream_si128(t + 2, c);
        _mm_stream_si128(t + 3, d);
    }
    _mm_sfence();
}

void rota_copy_stream(void *to, const void *from, size_t bytes)
{
    const size_t line = 64, ahead = -(uintptr_t)to % line;
    const size_t first = ahead < bytes ? ahead : bytes;
    const size_t n = (bytes - first) / line * line;

    memcpy(to, from, first);
    stream_lines((char *)to + first, (const char *)from + first, n);
    memcpy((char *)to + first + n, (const char *)from + first + n,
           bytes - first - n);
}
#else
void rota_copy_stream(void *to, const void *from, size_t bytes)
{
    rota_copy_fast(to, from, bytes);
}
#endif
