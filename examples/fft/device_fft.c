/* device_fft.c - the transform of grid_fft.h where the grid lies on a device.
 *
 * There is no code of ours on the device: transforms and copies of rows do it
 * all. A transform over the last axes (two of slabs, one of pencils) writes its
 * result with those axes first:
 *
 *   slabs     x y z  ->  y z x
 *   pencils   x y z  ->  z x y  ->  y z x
 *
 * The first of them is the axis that is dealt out next, so what goes to each
 * rank lies together, apart from the others' and packed. What comes is packed,
 * too, but with a part of the last axis from each rank: rows of such a block,
 * whose length is that part, are copied to where they belong. The way back is
 * the reverse. */
#include "grid_fft.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

/* A transform and the exchange behind it, and back. */
typedef struct {
    device_transform *split; /* from the array before to apart */
    device_transform *join;  /* and back */
    double complex *apart;   /* in blocks of the first axis, by rank */
    double complex *packed;  /* in blocks of the last axis, by rank */
    double complex *array;   /* the last axis whole */
    traffic there, back;     /* between apart and packed */
    int P;                   /* ranks that exchange */
    size_t *part;            /* [P] of the last axis, from each rank */
    size_t last, rows;       /* of the array: length and number of rows */
} hop;

typedef struct {
    const device *device;
    void *stream;
    traffic_cost *cost;
    MPI_Comm row, col; /* ranks of this row, of this column */
    box input, output;
    double complex *first, *result; /* what was put, what came back */
    int n_hops;
    hop hop[GRID_RESHAPES];
    device_transform *whole_axis; /* the last one, in place */
    double scale;
} device_fft;

/* ---- Hops ---------------------------------------------------------------- */

typedef struct {
    device_fft *f;
    const grid_spec *spec;
    const traffic_way *way;
    int row, col; /* of this rank */
} maker;

static double complex *numbers(const device_fft *f, size_t n)
{
    return f->device->alloc(n * sizeof(double complex));
}

/* Over the first k axes of the order, which are the last ones of the array
 * before. */
static void make_transforms(const device_fft *f, hop *h, int k, box b,
                            const int order[3])
{
    const size_t points = box_points(b);
    const size_t at_once = b.n[order[0]] * (k == 2 ? b.n[order[1]] : 1);
    const size_t howmany = at_once > 0 ? points / at_once : 0;
    const device_layout split = {.rank = k,
                                 .n = {b.n[order[0]], b.n[order[1]]},
                                 .howmany = howmany,
                                 .from_stride = 1,
                                 .from_dist = at_once,
                                 .to_stride = howmany,
                                 .to_dist = 1};
    device_layout join = split;

    join.from_stride = split.to_stride;
    join.from_dist = split.to_dist;
    join.to_stride = split.from_stride;
    join.to_dist = split.from_dist;
    h->split = f->device->transform_make(f->stream, &split);
    h->join = f->device->transform_make(f->stream, &join);
}

static void make_traffic(const maker *m, hop *h, MPI_Comm comm,
                         const size_t sent[], const size_t received[])
{
    h->there = (traffic){.way = m->way,
                         .cost = m->f->cost,
                         .comm = comm,
                         .device = m->f->device,
                         .stream = m->f->stream,
                         .n_pairs = 1};
    h->back = h->there;
    h->there.send[0] = h->back.recv[0] = h->apart;
    h->there.recv[0] = h->back.send[0] = h->packed;
    traffic_open(&h->there, sent, received);
    traffic_open(&h->back, received, sent);
}

/* Hop i, to an array whose axes are in that order. The last hop is among the
 * ranks of a column, one before it among those of a row. */
static void make_hop(const maker *m, int i, const int order[3])
{
    hop *h = &m->f->hop[i];
    const int in_column = i + 1 == m->f->n_hops;
    const int P = in_column ? m->spec->rows : m->spec->cols;
    const int first = order[0], last = order[2];
    const box from = grid_box(m->spec, i, m->row, m->col);
    const box to = grid_box(m->spec, i + 1, m->row, m->col);
    size_t *sent = must_realloc(NULL, 2 * (size_t)P, sizeof *sent);

    h->P = P;
    h->last = to.n[last];
    h->rows = to.n[first] * to.n[order[1]];
    h->part = must_realloc(NULL, (size_t)P, sizeof *h->part);
    for (int q = 0; q < P; q++) {
        const int row = in_column ? q : m->row, col = in_column ? m->col : q;

        h->part[q] = grid_box(m->spec, i, row, col).n[last];
        sent[q] = grid_box(m->spec, i + 1, row, col).n[first] *
                  from.n[order[1]] * from.n[last];
        sent[P + q] = h->rows * h->part[q];
    }
    h->apart = numbers(m->f, box_points(from));
    h->packed = numbers(m->f, box_points(to));
    h->array = numbers(m->f, box_points(to));
    make_transforms(m->f, h, m->spec->pencils ? 1 : 2, from, order);
    make_traffic(m, h, in_column ? m->f->col : m->f->row, sent, sent + P);
    free(sent);
}

/* Buffers that plans send from must outlive those of all ranks. */
static void close_hop(const device_fft *f, hop *h)
{
    traffic_close(&h->there);
    traffic_close(&h->back);
    MUST(MPI_Barrier(h->there.comm));
    f->device->transform_free(h->split);
    f->device->transform_free(h->join);
    f->device->free(h->apart);
    f->device->free(h->packed);
    f->device->free(h->array);
    free(h->part);
}

/* Rows of the blocks of all ranks, between packed and the array. */
static void copy_rows(const device_fft *f, const hop *h, const traffic_side *s,
                      int unpack)
{
    const size_t each = sizeof(double complex);
    const double began = MPI_Wtime();
    size_t at = 0;

    for (int q = 0; q < h->P; q++) {
        double complex *packed = h->packed + s->displs[q];
        double complex *array = h->array + at;
        const size_t width = h->part[q] * each, pitch = h->last * each;
        const device_rows rows = {.to = unpack ? array : packed,
                                  .from = unpack ? packed : array,
                                  .to_pitch = unpack ? pitch : width,
                                  .from_pitch = unpack ? width : pitch,
                                  .width = width,
                                  .n = h->rows};

        f->device->copy(f->stream, &rows);
        at += h->part[q];
    }
    f->cost->pack_s += MPI_Wtime() - began;
}

static void exchange(traffic *t)
{
    traffic_start(t, 0);
    traffic_wait(t);
}

/* ---- All of it ----------------------------------------------------------- */

static void make_hops(const maker *m)
{
    int order[3] = {X, Y, Z};
    const int k = m->spec->pencils ? 1 : 2; /* axes transformed at once */

    for (int i = 0; i < m->f->n_hops; i++) {
        const int before[3] = {order[0], order[1], order[2]};

        for (int j = 0; j < 3; j++)
            order[j] = before[(j + 3 - k) % 3];
        make_hop(m, i, order);
    }
}

static void make_arrays(device_fft *f)
{
    const hop *h = &f->hop[f->n_hops - 1];
    const device_layout whole_axis = {.rank = 1,
                                      .n = {h->last},
                                      .howmany = h->rows,
                                      .from_stride = 1,
                                      .from_dist = h->last,
                                      .to_stride = 1,
                                      .to_dist = h->last};

    f->first = numbers(f, box_points(f->input));
    f->result = numbers(f, box_points(f->input));
    f->whole_axis = f->device->transform_make(f->stream, &whole_axis);
}

static void *open_grid(const grid_spec *spec, const traffic_way *way,
                       traffic_cost *cost, MPI_Comm comm)
{
    device_fft *f = must_realloc(NULL, 1, sizeof *f);
    maker m = {.f = f, .spec = spec, .way = way};
    int me;

    MUST(MPI_Comm_rank(comm, &me));
    m.row = me / spec->cols;
    m.col = me % spec->cols;
    *f = (device_fft){.device = spec->device,
                      .cost = cost,
                      .input = grid_input(spec, me),
                      .output = grid_output(spec, me),
                      .n_hops = grid_reshapes(spec)};
    f->stream = f->device->stream_make();
    f->scale =
        1 / ((double)spec->n[X] * (double)spec->n[Y] * (double)spec->n[Z]);
    MUST(MPI_Comm_split(comm, m.row, m.col, &f->row));
    MUST(MPI_Comm_split(comm, m.col, m.row, &f->col));
    make_hops(&m);
    make_arrays(f);
    return f;
}

static void copy_and_wait(const device_fft *f, void *to, const void *from,
                          size_t n)
{
    const device_rows all = {
        .to = to, .from = from, .width = n * sizeof(double complex), .n = 1};

    f->device->copy(f->stream, &all);
    f->device->stream_wait(f->stream);
}

static void put(void *state, const double complex *from)
{
    const device_fft *f = state;

    copy_and_wait(f, f->first, from, box_points(f->input));
}

static void get_forward(void *state, double complex *to)
{
    const device_fft *f = state;

    copy_and_wait(f, to, f->hop[f->n_hops - 1].array, box_points(f->output));
}

static void get_backward(void *state, double complex *to)
{
    const device_fft *f = state;
    const size_t n = box_points(f->input);

    copy_and_wait(f, to, f->result, n);
    for (size_t i = 0; i < n; i++)
        to[i] *= f->scale;
}

static void forward(void *state)
{
    device_fft *f = state;
    const double complex *from = f->first;

    for (int i = 0; i < f->n_hops; i++) {
        hop *h = &f->hop[i];

        f->device->transform_run(h->split, from, h->apart, 0);
        exchange(&h->there);
        copy_rows(f, h, &h->there.in, 1);
        from = h->array;
    }
    f->device->transform_run(f->whole_axis, from, f->hop[f->n_hops - 1].array,
                             0);
}

/* All is done when this returns: what is timed is not the putting into a
 * stream. */
static void backward(void *state)
{
    device_fft *f = state;
    double complex *last = f->hop[f->n_hops - 1].array;

    f->device->transform_run(f->whole_axis, last, last, 1);
    for (int i = f->n_hops - 1; i >= 0; i--) {
        hop *h = &f->hop[i];

        copy_rows(f, h, &h->back.out, 0);
        exchange(&h->back);
        f->device->transform_run(h->join, h->apart,
                                 i > 0 ? f->hop[i - 1].array : f->result, 1);
    }
    f->device->stream_wait(f->stream);
}

static void close_grid(void *state)
{
    device_fft *f = state;

    for (int i = 0; i < f->n_hops; i++)
        close_hop(f, &f->hop[i]);
    f->device->transform_free(f->whole_axis);
    f->device->free(f->first);
    f->device->free(f->result);
    f->device->stream_free(f->stream);
    MUST(MPI_Comm_free(&f->row));
    MUST(MPI_Comm_free(&f->col));
}

const grid_method grid_on_device = {.open = open_grid,
                                    .put = put,
                                    .forward = forward,
                                    .backward = backward,
                                    .get_forward = get_forward,
                                    .get_backward = get_backward,
                                    .close = close_grid};
