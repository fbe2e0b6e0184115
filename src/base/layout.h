/* layout.h - where the data of a datatype lie: rows of equal width in regular
 * nests, in the order in which MPI packs them.
 */
#ifndef ROTA_LAYOUT_H
#define ROTA_LAYOUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* A deeper nest is written out as several; a layout has at most
 * ROTA_MOST_NESTS. */
enum { ROTA_NEST_DEPTH = 4, ROTA_MOST_NESTS = 1 << 16 };

/* A loop: n copies of the inner level, step bytes apart. */
typedef struct rota_dim {
    size_t n; /* at least 2 */
    ptrdiff_t step;
} rota_dim;

typedef struct rota_nest {
    ptrdiff_t at; /* bytes from the origin to the first row */
    size_t width; /* bytes of a row */
    int depth;
    rota_dim dim[ROTA_NEST_DEPTH]; /* [depth] outermost first */
    size_t before;                 /* bytes of data in all earlier nests; set by
                      rota_layout_seal */
} rota_nest;

/* The nests of a datatype. The layout owns them; a zero layout has no data. */
typedef struct rota_layout {
    rota_nest *nest; /* [n] */
    size_t n, room;
    bool unknown; /* too many nests, or a datatype that cannot be taken apart */
} rota_layout;

/* Bytes of data in a nest. */
static inline size_t rota_nest_bytes(const rota_nest *nest)
{
    size_t bytes = nest->width;

    for (int d = 0; d < nest->depth; d++)
        bytes *= nest->dim[d].n;
    return bytes;
}

/* Append a row. */
int rota_layout_add_row(rota_layout *l, ptrdiff_t at, size_t width);
/* Append another layout, shifted by shift bytes. */
int rota_layout_add(rota_layout *l, const rota_layout *more, ptrdiff_t shift);
/* Make n copies of the whole layout, step bytes apart; n = 0 empties it. */
int rota_layout_repeat(rota_layout *l, size_t n, ptrdiff_t step);
/* Finish the layout: nothing may be added afterwards. */
void rota_layout_seal(rota_layout *l);
void rota_layout_free(rota_layout *l);

#endif /* ROTA_LAYOUT_H */
