/* grid_fft.c - see grid_fft.h. */
#include "grid_fft.h"

#include "local_fft.h"
#include "must.h"

#include <stdlib.h>
#include <string.h>

/* One transform on all that a rank has, plane by plane, each with the slowest
 * index fixed; the reshape that follows, if one does. */
typedef struct {
    local_fft plane;
    size_t planes, plane_points;
    reshape *next;
} grid_stage;

typedef struct {
    int n_stages;
    box has[GRID_RESHAPES + 1]; /* what this rank has at each stage */
    int order[GRID_RESHAPES + 1][3];
    grid_stage there[GRID_RESHAPES + 1], back[GRID_RESHAPES + 1];
    reshape there_to[GRID_RESHAPES], back_from[GRID_RESHAPES];
    MPI_Comm row, col;        /* ranks of this row, of this column */
    double complex *array[2]; /* stages alternate between them */
    const traffic_way *way;
    double scale;
} grid_fft;

/* How the grid lies at a stage: which axis rows and columns of ranks deal out
 * and the order in memory. The axes dealt out are the first one or two of the
 * order, and the others are those transformed. */
typedef struct {
    int by_row, by_col;
    int order[3];
} distribution;

static const distribution slabs[] = {{X, Y, {X, Y, Z}}, {Y, Z, {Y, Z, X}}};
static const distribution pencils[] = {
    {X, Y, {X, Y, Z}}, {X, Z, {X, Z, Y}}, {Y, Z, {Y, Z, X}}};

/* Slabs have one column, so nothing is dealt by columns. */
static const distribution *distributions(const grid_spec *spec)
{
    return spec->pencils ? pencils : slabs;
}

static box box_of(const grid_spec *spec, const distribution *d, int row,
                  int col)
{
    box b = {{0, 0, 0}, {spec->n[X], spec->n[Y], spec->n[Z]}};

    b = box_block(b, d->by_row, block_size(spec->n[d->by_row], spec->rows),
                  row);
    return box_block(b, d->by_col, block_size(spec->n[d->by_col], spec->cols),
                     col);
}

int grid_reshapes(const grid_spec *spec)
{
    return spec->pencils ? 2 : 1;
}

box grid_box(const grid_spec *spec, int reshapes, int row, int col)
{
    return box_of(spec, &distributions(spec)[reshapes], row, col);
}

box grid_input(const grid_spec *spec, int rank)
{
    return grid_box(spec, 0, rank / spec->cols, rank % spec->cols);
}

box grid_output(const grid_spec *spec, int rank)
{
    return grid_box(spec, grid_reshapes(spec), rank / spec->cols,
                    rank % spec->cols);
}

/* ---- Reshapes ------------------------------------------------------------ */

typedef struct {
    grid_fft *g;
    const grid_spec *spec;
    const traffic_way *way;
    traffic_cost *cost;
    int row, col; /* of this rank */
} maker;

/* Between two stages that differ in what is dealt out by the rows, the ranks of a
 * column exchange, else those of a row. */
static void make_reshape(const maker *m, int before, int after, reshape *r)
{
    const distribution *from = &distributions(m->spec)[before];
    const distribution *to = &distributions(m->spec)[after];
    const int in_column = from->by_row != to->by_row;
    const int P = in_column ? m->spec->rows : m->spec->cols;
    box *boxes = must_realloc(NULL, 2 * (size_t)P, sizeof *boxes);
    reshape_spec spec = {.way = m->way,
                         .cost = m->cost,
                         .comm = in_column ? m->g->col : m->g->row,
                         .from = boxes,
                         .to = boxes + P,
                         .n_batches = m->spec->n_batches,
                         .n_pairs = m->spec->n_batches > 1 ? 2 : 1,
                         .from_at = m->g->array[before % 2],
                         .to_at = m->g->array[after % 2]};

    for (int q = 0; q < P; q++) {
        const int row = in_column ? q : m->row, col = in_column ? m->col : q;

        boxes[q] = box_of(m->spec, from, row, col);
        boxes[P + q] = box_of(m->spec, to, row, col);
    }
    memcpy(spec.from_order, from->order, sizeof spec.from_order);
    memcpy(spec.to_order, to->order, sizeof spec.to_order);
    reshape_open(r, &spec);
    free(boxes);
}

/* ---- Stages -------------------------------------------------------------- */

static void make_stage(const maker *m, int i, int sign, grid_stage *s)
{
    const box has = m->g->has[i];
    const int *order = m->g->order[i];
    const size_t n[2] = {has.n[order[1]], has.n[order[2]]};

    s->planes = has.n[order[0]];
    s->plane_points = n[0] * n[1];
    s->next = NULL;
    if (i == 0 && !m->spec->pencils)
        local_fft_make(&s->plane, 2, n, 1, sign);
    else
        local_fft_make(&s->plane, 1, n + 1, n[0], sign);
}

static void transform(const grid_stage *s, double complex *at, size_t first,
                      size_t n)
{
    for (size_t i = first; i < first + n; i++) {
        local_fft_run(&s->plane, at + i * s->plane_points);
        if (s->next != NULL)
            reshape_test(s->next); /* moves the batch before this one */
    }
}

/* While a batch is under way the next one is transformed and packed, and the
 * one before unpacked. */
static void run_stage(const grid_stage *s, double complex *from,
                      double complex *to)
{
    reshape *r = s->next;
    int k = 0;

    if (r == NULL) {
        transform(s, from, 0, s->planes);
        return;
    }
    for (; k < r->n_batches; k++) {
        transform(s, from, r->batch[k].first, r->batch[k].n);
        reshape_pack(r, k, k % r->n_pairs, from);
        if (k > 0)
            reshape_wait(r);
        reshape_start(r, k, k % r->n_pairs, to);
        if (k > 0)
            reshape_unpack(r, k - 1, (k - 1) % r->n_pairs, to);
    }
    reshape_wait(r);
    reshape_unpack(r, k - 1, (k - 1) % r->n_pairs, to);
}

/* ---- All of it ----------------------------------------------------------- */

static void place_stages(const maker *m)
{
    const distribution *d = distributions(m->spec);
    grid_fft *g = m->g;

    for (int i = 0; i < g->n_stages; i++) {
        g->has[i] = box_of(m->spec, &d[i], m->row, m->col);
        memcpy(g->order[i], d[i].order, sizeof g->order[i]);
    }
}

static void make_stages(const maker *m)
{
    grid_fft *g = m->g;

    for (int i = 0; i < g->n_stages; i++) {
        make_stage(m, i, FFTW_FORWARD, &g->there[i]);
        make_stage(m, i, FFTW_BACKWARD, &g->back[i]);
    }
    for (int i = 0; i + 1 < g->n_stages; i++) {
        make_reshape(m, i, i + 1, &g->there_to[i]);
        make_reshape(m, i + 1, i, &g->back_from[i]);
        g->there[i].next = &g->there_to[i];
        g->back[i + 1].next = &g->back_from[i];
    }
}

/* Datatypes say where blocks lie in them, and other ranks of the node may copy
 * from there. */
static void make_arrays(const maker *m, MPI_Comm comm)
{
    grid_fft *g = m->g;
    size_t points = 0;

    for (int i = 0; i < g->n_stages; i++)
        if (box_points(g->has[i]) > points)
            points = box_points(g->has[i]);
    for (int i = 0; i < 2; i++)
        g->array[i] = m->way->typed
                          ? traffic_buffer(m->way, points, comm)
                          : must_pages(points, sizeof(double complex));
}

static void *open_grid(const grid_spec *spec, const traffic_way *way,
                       traffic_cost *cost, MPI_Comm comm)
{
    grid_fft *g = must_realloc(NULL, 1, sizeof *g);
    maker m = {.g = g, .spec = spec, .way = way, .cost = cost};
    int me;

    MUST(MPI_Comm_rank(comm, &me));
    m.row = me / spec->cols;
    m.col = me % spec->cols;
    *g = (grid_fft){.n_stages = grid_reshapes(spec) + 1, .way = way};
    g->scale =
        1 / ((double)spec->n[X] * (double)spec->n[Y] * (double)spec->n[Z]);
    MUST(MPI_Comm_split(comm, m.row, m.col, &g->row));
    MUST(MPI_Comm_split(comm, m.col, m.row, &g->col));
    place_stages(&m);
    make_arrays(&m, comm);
    make_stages(&m);
    return g;
}

static void put(void *state, const double complex *from)
{
    const grid_fft *g = state;

    memcpy(g->array[0], from, box_points(g->has[0]) * sizeof *from);
}

static void get_backward(void *state, double complex *to)
{
    const grid_fft *g = state;

    memcpy(to, g->array[0], box_points(g->has[0]) * sizeof *to);
}

static void get_forward(void *state, double complex *to)
{
    const grid_fft *g = state;
    const int last = g->n_stages - 1;

    memcpy(to, g->array[last % 2], box_points(g->has[last]) * sizeof *to);
}

static void forward(void *state)
{
    grid_fft *g = state;

    for (int i = 0; i < g->n_stages; i++)
        run_stage(&g->there[i], g->array[i % 2], g->array[(i + 1) % 2]);
}

static void backward(void *state)
{
    grid_fft *g = state;
    const size_t n = box_points(g->has[0]);

    for (int i = g->n_stages - 1; i >= 0; i--)
        run_stage(&g->back[i], g->array[i % 2], g->array[(i + 1) % 2]);
    for (size_t i = 0; i < n; i++)
        g->array[0][i] *= g->scale;
}

static void close_grid(void *state)
{
    grid_fft *g = state;

    for (int i = 0; i < g->n_stages; i++) {
        local_fft_free(&g->there[i].plane);
        local_fft_free(&g->back[i].plane);
    }
    for (int i = 0; i + 1 < g->n_stages; i++) {
        reshape_close(&g->there_to[i]);
        reshape_close(&g->back_from[i]);
    }
    for (int i = 0; i < 2; i++)
        if (g->way->typed)
            traffic_buffer_free(g->way, g->array[i]);
        else
            free(g->array[i]);
    MUST(MPI_Comm_free(&g->row));
    MUST(MPI_Comm_free(&g->col));
}

const grid_method grid_on_host = {.open = open_grid,
                                  .put = put,
                                  .forward = forward,
                                  .backward = backward,
                                  .get_forward = get_forward,
                                  .get_backward = get_backward,
                                  .close = close_grid};
