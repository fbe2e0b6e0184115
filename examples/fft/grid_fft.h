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

#include "reshape.h"

/* The most of reshapes on the way. */
#define GRID_RESHAPES 2

/* Axes. */
enum { X, Y, Z };

typedef struct {
    size_t n[3];
    int pencils; /* else slabs */
    int rows, cols;
    /* Of each reshape; with 2 or more they overlap with transforms. */
    int n_batches;
    const device *device; /* on which the grid lies, or NULL */
} grid_spec;

/* Reshapes on the way, and what the rank at (row, col) has after so many. */
int grid_reshapes(const grid_spec *spec);
box grid_box(const grid_spec *spec, int reshapes, int row, int col);

/* What a rank has before and after the transform, the slowest axis first: in the
 * order x, y, z and y, z, x. */
box grid_input(const grid_spec *spec, int rank);
box grid_output(const grid_spec *spec, int rank);

/* Who transforms. A state is from malloc, and what close leaves is freed by the
 * caller. */
typedef struct {
    /* Collective over comm. */
    void *(*open)(const grid_spec *spec, const traffic_way *way,
                  traffic_cost *cost, MPI_Comm comm);
    void (*put)(void *state, const double complex *from); /* grid_input */
    void (*forward)(void *state);
    void (*backward)(void *state); /* from what forward gave, scaled */
    void (*get_forward)(void *state, double complex *to); /* grid_output */
    void (*get_backward)(void *state, double complex *to);
    void (*close)(void *state);
} grid_method;

/* grid_fft.c: by FFTW, where forward transforms what backward gave, if it was
 * called before. device_fft.c: on spec->device, where forward always transforms
 * what was put, and what backward gives is scaled when it is got. */
extern const grid_method grid_on_host, grid_on_device;

#endif
