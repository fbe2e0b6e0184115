/* dist.h - who sends how much to whom (--dist). */
#ifndef BENCH_DIST_H
#define BENCH_DIST_H

#include "common/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum dist_type {
    DIST_UNIFORM,
    DIST_WINDOW,
    DIST_NORMAL,
    DIST_NORMAL_MID,
    DIST_POWERLAW,
    DIST_POWERLAW_4096, /* of the shape that DIST_POWERLAW has at 4096 ranks */
    DIST_FFT1,
    DIST_FFT2,
    DIST_SPARSE,
    DIST_MATRIX,
    DIST_RECORDED
} dist_type;

typedef struct dist {
    dist_type type;
    const char *text; /* as on the command line; borrowed */
    const char
        *path;      /* of a matrix or recording, else NULL; points into text */
    double param;   /* window: percent; powerlaw: base; sparse: density */
    size_t *matrix; /* [P*P] bytes, row = source, once read; else NULL */
    size_t matrix_max;
    recording *recorded; /* set by who reads it; else NULL */
    uint64_t first;      /* of its exchanges, in step 0 of a fixed plan */
    bool one;            /* only that one */
} dist;

/* What the help says about each distribution, one line each. */
extern const char *const dist_help[];

/* Parse text ("uniform", "window:50", ...), which must outlive d. Returns 0, or
 * -1 with the reason in error [errlen]. */
int dist_parse(const char *text, dist *d, char *error, size_t errlen);

/* Read the P x P integers of d->path into d->matrix (the caller frees it with
 * free). Returns as dist_parse. Local. */
int dist_read_matrix(dist *d, int P, char *error, size_t errlen);

/* Bytes from src to dst, at most max, in step. Random distributions draw by
 * (seed, src, dst, step); FFT shapes and matrices are shifted by step along
 * the diagonal, so that they change from step to step as well, keeping their
 * shape. Pure; the same on every rank. */
size_t dist_bytes(const dist *d, size_t max, int P, uint64_t seed, int src,
                  int dst, uint64_t step);

#endif
