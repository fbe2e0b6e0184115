/* picture.h - a real field over the ranks as a picture. */
#ifndef PICTURE_H
#define PICTURE_H

#include <complex.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

/* Write n x n numbers, the real parts of rows that are dealt out in blocks, as
 * a PPM picture: row 0 at the bottom; white is 0, red the greatest size of a
 * number, blue the same below 0. The file is rank 0's; it is closed. 0, or -1
 * on all ranks if it could not be written. Collective. */
int picture_write(FILE *file, const double complex *rows, size_t n,
                  size_t row_block, MPI_Comm comm);

#endif
