/* grid_fft.h - transform of a complex grid of three axes over the ranks of a
 * communicator, forward and back.
 *
 * The ranks form a grid of rows x cols, rank r * cols + c at (r, c). Slabs: one
 * column of ranks, which deals out x; y and z are transformed where they lie,
 * then a reshape deals out y instead, and x is transformed. Pencils: rows deal
 * out x and columns y; z is transformed; a reshape within the ranks of a row
 * deals out z instead of y, y is transformed; one within those of a column
 * deals out y instead of x, x is transformed. The way back is the reverse.
 *
 * Where an axis is shorter than the ranks it is dealt to, some have no data. */
#ifndef GRID_FFT_H
#define GRID_FFT_H

#include "local_fft.h"
#include "reshape.h"

/* The most of reshapes on the way. */
#define GRID_RESHAPES 2

typedef struct {
    size_t n[3];
    int pencils; /* else slabs */
    int rows, cols;
    int n_batches; /* of each reshape; with 2 or more they overlap with
                      transforms */
} grid_spec;

/* One transform on all that a rank has, plane by plane, each with the slowest
 * index fixed; the reshape that follows, if one does. */
typedef struct {
    local_fft plane;
    size_t planes, plane_points;
    reshape *next;
} grid_stage;

typedef struct {
    int n_stages;
    box has[GRID_RESHAPES + 1]; /* what this rank has at each stage */
    int order[GRID_RESHAPES + 1][3];
    grid_stage there[GRID_RESHAPES + 1], back[GRID_RESHAPES + 1];
    reshape there_to[GRID_RESHAPES], back_from[GRID_RESHAPES];
    MPI_Comm row, col;        /* ranks of this row, of this column */
    double complex *array[2]; /* stages alternate between them */
    double scale;
} grid_fft;

/* What a rank has of the grid before the transform. */
box grid_input(const grid_spec *spec, int rank);

/* Collective over comm. */
void grid_fft_open(grid_fft *g, const grid_spec *spec, const traffic_way *way,
                   traffic_cost *cost, MPI_Comm comm);

/* Transform array[0], of has[0] in order[0]. Returns the array with the result:
 * the box and order of the last stage. */
double complex *grid_fft_forward(grid_fft *g);

/* Transform what grid_fft_forward returned back into array[0], scaled. */
void grid_fft_backward(grid_fft *g);

void grid_fft_close(grid_fft *g);

#endif
