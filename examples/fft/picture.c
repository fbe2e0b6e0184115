/* picture.c - see picture.h. */
#include "picture.h"

#include "must.h"

#include <math.h>
#include <stdlib.h>

/* From 0, white, to 1 or -1. */
static void colour(double value, unsigned char rgb[3])
{
    const double size = fmin(fabs(value), 1);
    const unsigned char strong = (unsigned char)(255 - 60 * size);
    const unsigned char weak = (unsigned char)(255 - 235 * size);

    rgb[0] = value > 0 ? strong : weak;
    rgb[1] = weak;
    rgb[2] = value > 0 ? weak : strong;
}

static double greatest(const double complex *rows, size_t n, MPI_Comm comm)
{
    double size = 0;

    for (size_t i = 0; i < n; i++)
        size = fmax(size, fabs(creal(rows[i])));
    MUST(MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_DOUBLE, MPI_MAX, comm));
    return size > 0 ? size : 1;
}

static size_t rows_of(size_t n, size_t row_block, int me)
{
    const size_t first = (size_t)me * row_block;

    if (first >= n)
        return 0;
    return n - first < row_block ? n - first : row_block;
}

int picture_write(FILE *file, const double complex *rows, size_t n,
                  size_t row_block, MPI_Comm comm)
{
    unsigned char *line = must_realloc(NULL, n, 3);
    double size;
    int me, err = 0;

    MUST(MPI_Comm_rank(comm, &me));
    size = greatest(rows, n * rows_of(n, row_block, me), comm);
    if (me == 0)
        fprintf(file, "P6\n%zu %zu\n255\n", n, n);
    for (size_t row = n; row-- > 0;) {
        const int owner = (int)(row / row_block);

        if (me == owner)
            for (size_t i = 0; i < n; i++)
                colour(creal(rows[(row % row_block) * n + i]) / size,
                       line + 3 * i);
        if (me == owner && me != 0)
            MUST(MPI_Send(line, (int)(3 * n), MPI_BYTE, 0, 0, comm));
        if (me == 0 && owner != 0)
            MUST(MPI_Recv(line, (int)(3 * n), MPI_BYTE, owner, 0, comm,
                          MPI_STATUS_IGNORE));
        if (me == 0)
            fwrite(line, 3, n, file); /* ferror tells below */
    }
    if (me == 0) {
        err = ferror(file) != 0;
        err = fclose(file) != 0 || err ? -1 : 0;
    }
    MUST(MPI_Bcast(&err, 1, MPI_INT, 0, comm));
    free(line);
    return err;
}
