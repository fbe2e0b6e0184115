/* device.h - memory of an accelerator, and what is done there: copies and
 * transforms, in the order in which they are put in a stream.
 *
 * There is one file for each kind of accelerator: device_cuda.c. What fails ends
 * the job. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stddef.h>

/* Rows of bytes, on either side memory of the device or of the host. */
typedef struct {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch; /* from one row to the next */
    size_t width, n;
} device_rows;

/* Howmany transforms of double complex numbers over one axis or two. Number
 * (i, j) of transform b is stride * (i * n[1] + j) + dist * b numbers behind the
 * first. */
typedef struct {
    int rank;
    size_t n[2], howmany;
    size_t from_stride, from_dist, to_stride, to_dist;
} device_layout;

typedef struct device_transform device_transform;

typedef struct {
    void *(*alloc)(size_t bytes);
    void (*free)(void *memory);
    void *(*alloc_host)(size_t bytes); /* memory of the host for copies */
    void (*free_host)(void *memory);

    void *(*stream_make)(void);
    void (*stream_free)(void *stream);
    void (*stream_wait)(void *stream); /* until all is done that is in it */
    void (*copy)(void *stream, const device_rows *rows);

    /* NULL where there is nothing to transform, which the others take. From and
     * to may be the same if both sides of the layout are. Not scaled. */
    device_transform *(*transform_make)(void *stream, const device_layout *l);
    void (*transform_run)(const device_transform *t, const void *from, void *to,
                          int backward);
    void (*transform_free)(device_transform *t);
} device;

/* One of that kind for rank number rank: they take those there are in turn.
 * NULL, and why, if there is none. */
const device *device_open(const char *kind, int rank, const char **why);

/* device_cuda.c, if CUDA's and cuFFT's headers were there. */
const device *device_cuda(int rank, const char **why);

#endif
