/* local_fft.c - see local_fft.h. */
#include "local_fft.h"

#include "must.h"

#include <limits.h>
#include <stdlib.h>

/* Without trials, so that all ranks and runs compute the same. A plan serves
 * rows that begin anywhere in memory from malloc: where FFTW tells numbers in
 * one array apart by their alignment, it is told not to rely on any, which on
 * one machine took twice the time. */
static unsigned plan_flags(fftw_complex *array)
{
    return FFTW_ESTIMATE | (fftw_alignment_of((double *)array) ==
                                    fftw_alignment_of((double *)(array + 1))
                                ? 0
                                : FFTW_UNALIGNED);
}

void local_fft_make(local_fft *f, int rank, const size_t n[], size_t howmany,
                    int sign)
{
    int sizes[2];
    size_t points = 1;
    fftw_complex *unused;

    f->plan = NULL;
    for (int i = 0; i < rank; i++) {
        if (n[i] > INT_MAX)
            die("a transform over %zu points is more than FFTW takes", n[i]);
        sizes[i] = (int)n[i];
        points *= n[i];
    }
    if (points == 0 || howmany == 0)
        return;
    if (points > INT_MAX || howmany > INT_MAX)
        die("%zu transforms of %zu points are more than FFTW takes", howmany,
            points);
    unused = must_realloc(NULL, points * howmany + 1, sizeof *unused);
    f->plan = fftw_plan_many_dft(rank, sizes, (int)howmany, unused, NULL, 1,
                                 (int)points, unused, NULL, 1, (int)points,
                                 sign, plan_flags(unused));
    free(unused);
    if (f->plan == NULL)
        die("FFTW has no plan for %zu transforms of %zu points", howmany,
            points);
}

void local_fft_run(const local_fft *f, double complex *at)
{
    if (f->plan != NULL)
        fftw_execute_dft(f->plan, at, at);
}

void local_fft_free(local_fft *f)
{
    if (f->plan != NULL)
        fftw_destroy_plan(f->plan);
    f->plan = NULL;
}
