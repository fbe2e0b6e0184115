/* layout.c - see layout.h. */
#include "device/layout.h"

#include <stdint.h>

/* Devices do not copy rows with larger pitches. */
enum { MOST_PITCH = INT32_MAX };

typedef struct copier {
    const rota_device *device;
    rota_queue *q;
    bool unpacks;
} copier;

/* A dimension to copy: n steps, and their bytes in the block and in packed
 * data. */
typedef struct dim {
    size_t n;
    ptrdiff_t step;
    size_t packed_step;
} dim;

enum { MOST_DIMS = ROTA_NEST_DEPTH + 1 };

/* Copy n rows: step bytes apart in the block, packed_step bytes when packed. */
static int copy_rows(const copier *c, char *block, ptrdiff_t step, char *packed,
                     size_t packed_step, size_t width, size_t n)
{
    const bool regular =
        n == 1 || (step >= (ptrdiff_t)width && step <= MOST_PITCH &&
                   packed_step <= MOST_PITCH);
    const size_t at_once = regular ? n : 1;
    /* A single row has no pitch. */
    const size_t pitch = regular && n > 1 ? (size_t)step : width;
    const size_t packed_pitch = at_once > 1 ? packed_step : width;

    for (size_t i = 0; i < n; i += at_once) {
        char *const there = block + (ptrdiff_t)i * step;
        char *const here = packed + i * packed_step;
        const rota_rows rows = {
            .to = c->unpacks ? there : here,
            .from = c->unpacks ? here : there,
            .to_pitch = c->unpacks ? pitch : packed_pitch,
            .from_pitch = c->unpacks ? packed_pitch : pitch,
            .width = width,
            .n = at_once,
        };
        ROTA_TRY(c->device->copy(c->q, &rows));
    }
    return MPI_SUCCESS;
}

/* Copy rows along the first dimension, for all positions in the others. */
static int copy_dims(const copier *c, const dim d[], int n, size_t width,
                     char *block, char *packed)
{
    if (n == 1)
        return copy_rows(c, block, d[0].step, packed, d[0].packed_step, width,
                         d[0].n);
    for (size_t i = 0; i < d[n - 1].n; i++)
        ROTA_TRY(copy_dims(c, d, n - 1, width,
                           block + (ptrdiff_t)i * d[n - 1].step,
                           packed + i * d[n - 1].packed_step));
    return MPI_SUCCESS;
}

/* Copy a nest in each of n elements. */
static int copy_nest(const copier *c, const rota_type *type,
                     const rota_nest *nest, size_t n, char *block, char *packed)
{
    dim d[MOST_DIMS] = {{n, type->extent, type->size}};
    size_t step = nest->width;
    int most = 0;

    for (int i = nest->depth; i > 0; i--) {
        d[i] = (dim){nest->dim[i - 1].n, nest->dim[i - 1].step, step};
        step *= d[i].n;
    }
    for (int i = 1; i <= nest->depth; i++)
        most = d[i].n > d[most].n ? i : most;
    const dim first = d[0];
    d[0] = d[most];
    d[most] = first;
    return copy_dims(c, d, nest->depth + 1, nest->width, block + nest->at,
                     packed);
}

static int copy_block(const copier *c, const rota_type *type, char *block,
                      size_t bytes, char *packed)
{
    size_t at = 0;

    if (bytes == 0)
        return MPI_SUCCESS;
    if (rota_type_is_bytes(type))
        return copy_rows(c, block, 0, packed, 0, bytes, 1);
    for (size_t i = 0; i < type->layout->n; i++) {
        const rota_nest *const nest = &type->layout->nest[i];
        ROTA_TRY(
            copy_nest(c, type, nest, bytes / type->size, block, packed + at));
        at += rota_nest_bytes(nest);
    }
    return MPI_SUCCESS;
}

/* One function serves both directions: what is only read is not written. */
int rota_device_pack(const rota_type *type, const rota_device *device,
                     rota_queue *q, const char *block, size_t bytes,
                     char *packed)
{
    const copier c = {.device = device, .q = q, .unpacks = false};

    return copy_block(&c, type, (char *)block, bytes, packed);
}

int rota_device_unpack(const rota_type *type, const rota_device *device,
                       rota_queue *q, const char *packed, size_t bytes,
                       char *block)
{
    const copier c = {.device = device, .q = q, .unpacks = true};

    return copy_block(&c, type, block, bytes, (char *)packed);
}
