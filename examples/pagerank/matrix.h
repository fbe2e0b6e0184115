/* matrix.h - what one rank holds of a graph as a sparse matrix.
 *
 * Vertex v lies with rank v mod P, which has the row of v: the edges u -> v. A
 * row is split into its part of vertices of this rank, which can be multiplied
 * at once, and that of others, whose numbers must come first. */
#ifndef MATRIX_H
#define MATRIX_H

#include "graph.h"
#include "halo.h"

/* A part of the rows: those of row i are column[first[i]] .. first[i+1]-1. */
typedef struct {
    size_t *first; /* [n_rows+1] */
    uint32_t *column;
} rows;

typedef struct {
    uint64_t n_vertices, n_edges; /* of the whole graph */
    MPI_Comm comm;
    int P, me;
    size_t n_rows;       /* vertices of this rank: me, me + P, ... */
    uint32_t *outdegree; /* [n_rows] */
    rows local;          /* columns are rows of this rank, by number */
    rows remote;         /* columns are places in the receive buffer */
    uint32_t *give;      /* [n_give] rows whose numbers others need, by rank */
    size_t n_give;
    halo_layout at;
} matrix;

/* At the head of each block between two ranks, for what is to be summed. */
enum { BLOCK_HEAD = 2 };

/* Deal out g, which is only looked at on rank 0. Collective; blocks. */
void matrix_make(matrix *m, const graph *g, MPI_Comm comm);
void matrix_free(matrix *m);

#endif
