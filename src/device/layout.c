/* layout.c - see layout.h. */
#include "device/layout.h"

#include <stdint.h>
#include <stdlib.h>

/* Pitches above this are beyond what devices copy as rows. */
enum { MOST_PITCH = INT32_MAX };

/* ---- finding strips ------------------------------------------------------------ */

/* For every byte of an element's data, in order, its place: found by packing an
 * element whose every byte holds a byte of its own place, as often as a place
 * has bytes. place: [size], from the true lower bound. */
static int find_places(const rota_type *t, MPI_Comm comm, MPI_Aint true_lb,
                       size_t true_extent, size_t place[])
{
    unsigned char *const image = malloc(true_extent + t->size);
    unsigned char *const packed = image + true_extent;
    int err = image ? MPI_SUCCESS : rota_fail_mem("looking at a datatype");

    for (size_t i = 0; i < t->size; i++)
        place[i] = 0;
    for (int shift = 0;
         err == MPI_SUCCESS && shift < 64 && (true_extent - 1) >> shift > 0;
         shift += 8) {
        int position = 0;
        for (size_t i = 0; i < true_extent; i++)
            image[i] = (unsigned char)(i >> shift & 0xff);
        err = MPI_Pack(image - true_lb, 1, t->mpi, packed, (int)t->size,
                       &position, comm);
        for (size_t i = 0; i < t->size; i++)
            place[i] |= (size_t)packed[i] << shift;
    }
    free(image);
    return err;
}

/* Bytes that lie end to end from place[0] on. */
static size_t run_of(const size_t place[], size_t n)
{
    size_t run = 1;

    while (run < n && place[run] == place[0] + run)
        run++;
    return run;
}

/* The longest strip that data from place[0] on begin with. */
static rota_strip strip_of(const size_t place[], size_t n, ptrdiff_t true_lb)
{
    rota_strip s = {
        .at = true_lb + (ptrdiff_t)place[0], .width = run_of(place, n), .n = 1};

    for (size_t i = s.width; i < n; i += s.width, s.n++) {
        const ptrdiff_t apart = (ptrdiff_t)(place[i] - place[i - s.width]);
        if (run_of(place + i, n - i) != s.width ||
            (s.n > 1 && apart != s.pitch))
            break;
        s.pitch = apart;
    }
    return s;
}

/* Counts strips, and keeps them if there is room for them. */
static size_t cut(const size_t place[], size_t n, ptrdiff_t true_lb,
                  rota_strip strip[])
{
    size_t n_strips = 0;

    for (size_t i = 0; i < n; n_strips++) {
        const rota_strip s = strip_of(place + i, n - i, true_lb);
        if (strip)
            strip[n_strips] = s;
        i += s.width * s.n;
    }
    return n_strips;
}

static int make_strips(const rota_type *t, MPI_Comm comm, size_t place[],
                       rota_layout *layout)
{
    MPI_Aint true_lb, true_extent;

    ROTA_TRY(MPI_Type_get_true_extent(t->mpi, &true_lb, &true_extent));
    ROTA_TRY(find_places(t, comm, true_lb, (size_t)true_extent, place));
    layout->n_strips = cut(place, t->size, true_lb, NULL);
    layout->strip = malloc(layout->n_strips * sizeof *layout->strip);
    if (!layout->strip)
        return rota_fail_mem("looking at a datatype");
    cut(place, t->size, true_lb, layout->strip);
    return MPI_SUCCESS;
}

int rota_layout_make(const rota_type *type, MPI_Comm comm, rota_layout *layout)
{
    *layout = (rota_layout){.size = type->size, .extent = type->extent};
    if (rota_type_is_bytes(type))
        return MPI_SUCCESS;
    size_t *const place = malloc(type->size * sizeof *place);
    const int err = place ? make_strips(type, comm, place, layout)
                          : rota_fail_mem("looking at a datatype");
    free(place);
    return err;
}

void rota_layout_free(rota_layout *layout)
{
    free(layout->strip);
    *layout = (rota_layout){0};
}

/* ---- copies ------------------------------------------------------------------ */

typedef struct copier {
    const rota_device *device;
    rota_queue *q;
    bool unpacks;
} copier;

/* Rows of a block, step apart, and packed, packed_step apart. */
static int copy_rows(const copier *c, char *block, ptrdiff_t step, char *packed,
                     size_t packed_step, size_t width, size_t n)
{
    const bool regular =
        n == 1 || (step >= (ptrdiff_t)width && step <= MOST_PITCH &&
                   packed_step <= MOST_PITCH);
    const size_t at_once = regular ? n : 1;
    /* Of a single row no pitch is used. */
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

/* A strip of n elements: row by row of them all, or element by element. */
static int copy_strip(const copier *c, const rota_layout *l,
                      const rota_strip *s, size_t n, char *block, char *packed)
{
    if (s->n <= n) {
        for (size_t i = 0; i < s->n; i++)
            ROTA_TRY(copy_rows(c, block + s->at + (ptrdiff_t)i * s->pitch,
                               l->extent, packed + i * s->width, l->size,
                               s->width, n));
        return MPI_SUCCESS;
    }
    for (size_t i = 0; i < n; i++)
        ROTA_TRY(copy_rows(c, block + s->at + (ptrdiff_t)i * l->extent,
                           s->pitch, packed + i * l->size, s->width, s->width,
                           s->n));
    return MPI_SUCCESS;
}

static int copy_block(const copier *c, const rota_layout *l, char *block,
                      size_t bytes, char *packed)
{
    size_t at = 0;

    if (bytes == 0)
        return MPI_SUCCESS;
    if (!l->strip)
        return copy_rows(c, block, 0, packed, 0, bytes, 1);
    for (size_t i = 0; i < l->n_strips; i++) {
        const rota_strip *const s = &l->strip[i];
        ROTA_TRY(copy_strip(c, l, s, bytes / l->size, block, packed + at));
        at += s->width * s->n;
    }
    return MPI_SUCCESS;
}

/* What is read is not written: one function serves both directions. */
int rota_layout_pack(const rota_layout *l, const rota_device *device,
                     rota_queue *q, const char *block, size_t bytes,
                     char *packed)
{
    const copier c = {.device = device, .q = q, .unpacks = false};

    return copy_block(&c, l, (char *)block, bytes, packed);
}

int rota_layout_unpack(const rota_layout *l, const rota_device *device,
                       rota_queue *q, const char *packed, size_t bytes,
                       char *block)
{
    const copier c = {.device = device, .q = q, .unpacks = true};

    return copy_block(&c, l, block, bytes, (char *)packed);
}
