/* layout.h - where the data of a datatype lie: rows of equal width in regular
 * nests, in the order in which MPI packs them.
 */
#ifndef ROTA_LAYOUT_H
#define ROTA_LAYOUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* Nests that are deeper are written out; a layout has at most so many. */
enum { ROTA_NEST_DEPTH = 4, ROTA_MOST_NESTS = 1 << 16 };

/* So many of what is within, from each to the next so many bytes. */
typedef struct rota_dim {
    size_t n; /* at least 2 */
    ptrdiff_t step;
} rota_dim;

typedef struct rota_nest {
    ptrdiff_t at; /* bytes from the origin to the first row */
    size_t width; /* bytes of a row */
    int depth;
    rota_dim dim[ROTA_NEST_DEPTH]; /* [depth] the outermost first */
    size_t before; /* bytes of data in all nests before it, once sealed */
} rota_nest;

/* Owned; zero: no data. */
typedef struct rota_layout {
    rota_nest *nest; /* [n] */
    size_t n, room;
    bool unknown;  /* too many, or of a kind that is not looked at */
    bool overlaps; /* some bytes come twice */
} rota_layout;

/* Bytes of data in a nest. */
static inline size_t rota_nest_bytes(const rota_nest *nest)
{
    size_t bytes = nest->width;

    for (int d = 0; d < nest->depth; d++)
        bytes *= nest->dim[d].n;
    return bytes;
}

/* Add a row behind what there is. */
int rota_layout_add_row(rota_layout *l, ptrdiff_t at, size_t width);
/* Add another layout, shift bytes from where it is. */
int rota_layout_add(rota_layout *l, const rota_layout *more, ptrdiff_t shift);
/* n of all, step bytes apart; of none nothing is left. */
int rota_layout_repeat(rota_layout *l, size_t n, ptrdiff_t step);
/* Nothing will be added any more. */
void rota_layout_seal(rota_layout *l);
void rota_layout_free(rota_layout *l);

#endif /* ROTA_LAYOUT_H */
