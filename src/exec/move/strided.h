/* strided.h - copies of rows that lie in regular nests on both sides. */
#ifndef ROTA_STRIDED_H
#define ROTA_STRIDED_H

#include "base/problem.h"

/* Loops of a copy: those of one nest on either side, cut wherever a loop of the
 * other side ends. */
enum { ROTA_LOOPS = 2 * (ROTA_NEST_DEPTH + 2) };

/* Copies of at least this many bytes are written past the caches: 2 ranks with
 * 128 x 128 x 128 doubles. */
enum { ROTA_STREAMED = 1 << 22 };

/* Repeat what is within n times, at these distances in bytes on either side. */
typedef struct rota_loop {
    size_t n;
    ptrdiff_t to, from;
} rota_loop;

typedef struct rota_strided {
    ptrdiff_t to, from; /* offsets of the first row from the origins */
    size_t width;       /* bytes of a row */
    bool streams;       /* past the caches, however little there is to copy */
    int depth;
    rota_loop loop[ROTA_LOOPS]; /* [depth] in any order */
} rota_strided;

/* Make the copy of `bytes` bytes, not 0, from elements of one type to those of
 * another. Returns false if it is not one nest, or a layout is not known. */
bool rota_strided_match(const rota_type *to, const rota_type *from,
                        size_t bytes, rota_strided *c);

/* Carry it out. to, from: the first elements. */
void rota_strided_copy(const rota_strided *c, char *to, const char *from);

/* Pack or unpack bytes begin to end of what packing the block gives; packed is
 * where byte begin goes or lies. The layout is known. streams: write past the
 * caches. */
void rota_strided_pack(const rota_type *type, const char *block, size_t begin,
                       size_t end, bool streams, char *packed);
void rota_strided_unpack(const rota_type *type, const char *packed,
                         size_t begin, size_t end, bool streams, char *block);

#endif /* ROTA_STRIDED_H */
