/* transpose.h - a matrix dealt out by rows, each of them contiguous, and the
 * same matrix dealt out by columns, each of them contiguous. */
#ifndef TRANSPOSE_H
#define TRANSPOSE_H

#include "reshape.h"

/* Axes of the boxes; the one between has a single index. */
enum { TRANSPOSE_ROWS = 0, TRANSPOSE_COLS = 2 };

/* The matrix and the blocks in which rows and columns are dealt out. */
typedef struct {
    size_t rows, cols, row_block, col_block;
} matrix_shape;

typedef struct {
    box by_rows, by_cols; /* what this rank has */
    reshape to_cols, to_rows;
} transpose;

/* n_pairs: as in reshape_spec. Collective over comm, which must outlive the
 * transpose. */
void transpose_open(transpose *t, const matrix_shape *s, const traffic_way *way,
                    traffic_cost *cost, int n_pairs, MPI_Comm comm);

void transpose_close(transpose *t);

#endif
