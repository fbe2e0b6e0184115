/* neighborhood.h - whom each of P ranks sends to and receives from, and how much:
 * a halo, or the vertices of a graph that ranks need of each other. Needs no MPI.
 */
#ifndef BENCH_NEIGHBORHOOD_H
#define BENCH_NEIGHBORHOOD_H

#include <stddef.h>

/* Of rank r, side s (0: it sends, 1: it receives), the blocks are those from
 * first[s][r] up to first[s][r + 1]. Of several blocks from one rank to another
 * the first that is sent is the first that is received. */
typedef struct neighborhood {
    int P;
    size_t *first[2]; /* [P+1] */
    int *peer[2];
    size_t *bytes[2];
} neighborhood;

static inline int neighborhood_degree(const neighborhood *n, int side, int r)
{
    return (int)(n->first[side][r + 1] - n->first[side][r]);
}

/* what is one of
 *
 *     halo   27 points in a closed grid of three dimensions, as even as may be,
 *            the last one varying fastest: faces of so many bytes, edges of a
 *            sixteenth and 1, corners of 8
 *     random:K
 *            K ranks for each, drawn anew, none twice: so many bytes to each
 *     FILE   a graph, two vertices a line, further words and lines that begin
 *            with # or % passed over. Its vertices are dealt to ranks in ranges of
 *            their numbers; a rank gets so many bytes for every vertex of others
 *            that has an edge to one of its own.
 *
 * Returns 0, or -1 with the reason in why. Dies for want of memory. Free with
 * neighborhood_free, also what failed. */
int neighborhood_make(neighborhood *n, const char *what, int P, size_t bytes,
                      char why[], size_t room);
void neighborhood_free(neighborhood *n);

#endif
