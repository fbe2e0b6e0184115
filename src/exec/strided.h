/* strided.h - copies of rows that lie in regular nests on both sides. */
#ifndef ROTA_STRIDED_H
#define ROTA_STRIDED_H

#include "base/problem.h"

/* Two nests, of one type each and with elements around them, whose loops are
 * cut where either's end. */
enum { ROTA_LOOPS = 2 * (ROTA_NEST_DEPTH + 2) };

/* What a run moves is written past the caches from so many bytes on: two ranks
 * with 128 x 128 x 128 doubles and more. */
enum { ROTA_STREAMED = 1 << 22 };

/* So many of what is within, from each to the next so many bytes on both
 * sides. */
typedef struct rota_loop {
    size_t n;
    ptrdiff_t to, from;
} rota_loop;

typedef struct rota_strided {
    ptrdiff_t to, from; /* the first row, from the origins */
    size_t width;       /* bytes of a row */
    bool streams;       /* past the caches, whatever there is to copy */
    int depth;
    rota_loop loop[ROTA_LOOPS]; /* [depth] in any order */
} rota_strided;

/* The copy from bytes of one type to as many of another, neither of them 0, as
 * one nest. Returns false if it is none, or if a layout is not known. */
bool rota_strided_match(const rota_type *to, const rota_type *from,
                        size_t bytes, rota_strided *c);

/* Make it. The origins are those of the first elements. */
void rota_strided_copy(const rota_strided *c, char *to, const char *from);

/* Bytes begin to end of a block as it is packed, to or from where begin is to
 * lie or lies; the layout is known. streams: past the caches. */
void rota_strided_pack(const rota_type *type, const char *block, size_t begin,
                       size_t end, bool streams, char *packed);
void rota_strided_unpack(const rota_type *type, const char *packed,
                         size_t begin, size_t end, bool streams, char *block);

#endif /* ROTA_STRIDED_H */
