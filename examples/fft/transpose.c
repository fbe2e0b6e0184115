/* transpose.c - see transpose.h. */
#include "transpose.h"

#include "must.h"

#include <stdlib.h>

void transpose_open(transpose *t, const matrix_shape *s, const traffic_way *way,
                    traffic_cost *cost, int n_pairs, MPI_Comm comm)
{
    const box whole = {{0, 0, 0}, {s->rows, 1, s->cols}};
    reshape_spec spec = {.way = way,
                         .cost = cost,
                         .comm = comm,
                         .from_order = {TRANSPOSE_ROWS, 1, TRANSPOSE_COLS},
                         .to_order = {TRANSPOSE_COLS, 1, TRANSPOSE_ROWS},
                         .n_batches = 1,
                         .n_pairs = n_pairs};
    reshape_spec back = spec;
    box *rows, *cols;
    int P, me;

    MUST(MPI_Comm_size(comm, &P));
    MUST(MPI_Comm_rank(comm, &me));
    rows = must_realloc(NULL, (size_t)P, sizeof *rows);
    cols = must_realloc(NULL, (size_t)P, sizeof *cols);
    for (int q = 0; q < P; q++) {
        rows[q] = box_block(whole, TRANSPOSE_ROWS, s->row_block, q);
        cols[q] = box_block(whole, TRANSPOSE_COLS, s->col_block, q);
    }
    t->by_rows = rows[me];
    t->by_cols = cols[me];
    spec.from = back.to = rows;
    spec.to = back.from = cols;
    for (int i = 0; i < 3; i++) {
        back.from_order[i] = spec.to_order[i];
        back.to_order[i] = spec.from_order[i];
    }
    reshape_open(&t->to_cols, &spec);
    reshape_open(&t->to_rows, &back);
    free(rows);
    free(cols);
}

void transpose_close(transpose *t)
{
    reshape_close(&t->to_cols);
    reshape_close(&t->to_rows);
}
