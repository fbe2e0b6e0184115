/* local_fft.h - many transforms of the same size on one rank, one behind the
 * other in memory, by FFTW. */
#ifndef LOCAL_FFT_H
#define LOCAL_FFT_H

#include <complex.h>
#include <stddef.h>

#include <fftw3.h>

typedef struct {
    fftw_plan plan; /* NULL where there is nothing to transform */
} local_fft;

/* Howmany transforms over the last rank axes of n, in place, in the direction
 * of sign (FFTW_FORWARD or FFTW_BACKWARD, without scaling). */
void local_fft_make(local_fft *f, int rank, const size_t n[], size_t howmany,
                    int sign);

void local_fft_run(const local_fft *f, double complex *at);

void local_fft_free(local_fft *f);

#endif
