/* flow.c - see flow.h. */
#include "flow.h"

#include "must.h"

#include <math.h>
#include <stdlib.h>

enum { FORWARD, BACKWARD };

/* ---- Wave numbers -------------------------------------------------------- */

static double wave_number(size_t i, size_t n)
{
    return 2 * i <= n ? (double)i : (double)i - (double)n;
}

static int kept(double k, size_t n)
{
    return 3 * fabs(k) < (double)n;
}

/* Calls for every number in Fourier space: its place, kx and ky. */
typedef void (*visitor)(flow *f, size_t at, double kx, double ky);

static void for_each_wave(flow *f, visitor visit)
{
    const size_t n = f->spec.points;
    const box b = f->t.by_cols;
    size_t at = 0;

    for (size_t i = 0; i < b.n[TRANSPOSE_COLS]; i++)
        for (size_t j = 0; j < n; j++)
            visit(f, at++, wave_number(b.lo[TRANSPOSE_COLS] + i, n),
                  wave_number(j, n));
}

/* ---- Between points and Fourier space ------------------------------------ */

static void transform_columns(flow *f, double complex *at, int direction)
{
    for (size_t i = 0; i < f->t.by_cols.n[TRANSPOSE_COLS]; i++) {
        local_fft_run(&f->column[direction], at + i * f->spec.points);
        reshape_test(&f->t.to_rows); /* the field before this one */
    }
}

static void transform_rows(flow *f, double complex *at, int direction)
{
    for (size_t i = 0; i < f->t.by_rows.n[TRANSPOSE_ROWS]; i++) {
        local_fft_run(&f->row[direction], at + i * f->spec.points);
        reshape_test(&f->t.to_rows);
    }
}

/* Fields 0 to n - 1 of wave to points. While one is under way between the
 * ranks, the next one is transformed along y and the one before along x. */
static void to_points(flow *f, int n)
{
    reshape *r = &f->t.to_rows;

    for (int i = 0; i <= n; i++) {
        if (i < n) {
            transform_columns(f, f->wave[i], BACKWARD);
            reshape_pack(r, 0, i, f->wave[i]);
        }
        if (i > 0)
            reshape_wait(r);
        if (i < n)
            reshape_start(r, 0, i, f->at_points[i]);
        if (i > 0) {
            reshape_unpack(r, 0, i - 1, f->at_points[i - 1]);
            transform_rows(f, f->at_points[i - 1], BACKWARD);
        }
    }
}

/* at_points[0] to Fourier space, scaled, without what is not kept. */
static void to_waves(flow *f, double complex *to)
{
    const size_t n = f->spec.points;
    const double scale = 1 / ((double)n * (double)n);
    const box b = f->t.by_cols;

    transform_rows(f, f->at_points[0], FORWARD);
    reshape_run(&f->t.to_cols, f->at_points[0], to);
    transform_columns(f, to, FORWARD);
    for (size_t i = 0; i < b.n[TRANSPOSE_COLS]; i++) {
        const int keep = kept(wave_number(b.lo[TRANSPOSE_COLS] + i, n), n);

        for (size_t j = 0; j < n; j++)
            to[i * n + j] *= keep && kept(wave_number(j, n), n) ? scale : 0;
    }
}

/* ---- Advection ----------------------------------------------------------- */

/* Two real fields travel as one complex field: u + iv, and the derivatives
 * dw/dx + i dw/dy. With the stream function p, u = dp/dy, v = -dp/dx and
 * w = k^2 p. */
static void set_factors(flow *f, size_t at, double kx, double ky)
{
    const double complex k = kx + ky * I, w = f->stage[at];
    const double square = kx * kx + ky * ky;

    f->wave[0][at] = square > 0 ? k * w / square : f->spec.drift * (1 + 1 * I);
    f->wave[1][at] = I * k * w;
}

void flow_advect(flow *f)
{
    const size_t n = box_points(f->t.by_rows);

    for_each_wave(f, set_factors);
    to_points(f, 2);
    for (size_t i = 0; i < n; i++) {
        const double complex u = f->at_points[0][i], d = f->at_points[1][i];

        f->at_points[0][i] = -(creal(u) * creal(d) + cimag(u) * cimag(d));
    }
    to_waves(f, f->slope);
}

/* Decays E by dt / 2, slopes a, b, c, d:
 *   b at E (w + dt/2 a), c at E w + dt/2 b, d at E^2 w + dt E c,
 *   w := E^2 (w + dt/6 a) + dt/3 E (b + c) + dt/6 d */
void flow_step(flow *f)
{
    const size_t n = box_points(f->t.by_cols);
    const double dt = f->spec.dt, *E = f->half_decay;
    double complex *const w = f->w, *const slope = f->slope;

    for (size_t i = 0; i < n; i++)
        f->stage[i] = w[i];
    flow_advect(f);
    for (size_t i = 0; i < n; i++) {
        f->sum[i] = E[i] * E[i] * (w[i] + dt / 6 * slope[i]);
        f->stage[i] = E[i] * (w[i] + dt / 2 * slope[i]);
    }
    flow_advect(f);
    for (size_t i = 0; i < n; i++) {
        f->sum[i] += dt / 3 * E[i] * slope[i];
        f->stage[i] = E[i] * w[i] + dt / 2 * slope[i];
    }
    flow_advect(f);
    for (size_t i = 0; i < n; i++) {
        f->sum[i] += dt / 3 * E[i] * slope[i];
        f->stage[i] = E[i] * (E[i] * w[i] + dt * slope[i]);
    }
    flow_advect(f);
    for (size_t i = 0; i < n; i++)
        w[i] = f->sum[i] + dt / 6 * slope[i];
}

/* ---- Results ------------------------------------------------------------- */

flow_sums flow_measure(flow *f)
{
    const size_t n = f->spec.points;
    const box b = f->t.by_cols;
    double sums[2] = {0, 0};

    for (size_t i = 0; i < b.n[TRANSPOSE_COLS]; i++)
        for (size_t j = 0; j < n; j++) {
            const double kx = wave_number(b.lo[TRANSPOSE_COLS] + i, n);
            const double ky = wave_number(j, n);
            const double size = cabs(f->w[i * n + j]);
            const double square = kx * kx + ky * ky;

            sums[0] += square > 0 ? size * size / square / 2 : 0;
            sums[1] += size * size / 2;
        }
    MUST(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, f->comm));
    return (flow_sums){sums[0], sums[1]};
}

const double complex *flow_vorticity(flow *f)
{
    for (size_t i = 0; i < box_points(f->t.by_cols); i++)
        f->wave[0][i] = f->w[i];
    to_points(f, 1);
    return f->at_points[0];
}

/* ---- Making -------------------------------------------------------------- */

static void set_decay(flow *f, size_t at, double kx, double ky)
{
    f->half_decay[at] =
        exp(-f->spec.viscosity * (kx * kx + ky * ky) * f->spec.dt / 2);
}

static void set_start(flow *f, double (*start)(double, double))
{
    const size_t n = f->spec.points;
    const double side = 2 * acos(-1);
    const box b = f->t.by_rows;

    for (size_t j = 0; j < b.n[TRANSPOSE_ROWS]; j++)
        for (size_t i = 0; i < n; i++)
            f->at_points[0][j * n + i] =
                start(side * (double)i / (double)n,
                      side * (double)(b.lo[TRANSPOSE_ROWS] + j) / (double)n);
    to_waves(f, f->w);
}

static double complex *new_field(box b)
{
    return must_pages(box_points(b), sizeof(double complex));
}

void flow_open(flow *f, const flow_spec *spec, double (*start)(double, double),
               const traffic_way *way, traffic_cost *cost, MPI_Comm comm)
{
    const size_t n = spec->points;
    matrix_shape s = {.rows = n, .cols = n};
    int P;

    *f = (flow){.spec = *spec, .comm = comm};
    MUST(MPI_Comm_size(comm, &P));
    s.row_block = s.col_block = block_size(n, P);
    transpose_open(&f->t, &s, way, cost, 2, comm);
    for (int i = 0; i < 2; i++) {
        const int sign = i == FORWARD ? FFTW_FORWARD : FFTW_BACKWARD;

        local_fft_make(&f->row[i], 1, &n, 1, sign);
        local_fft_make(&f->column[i], 1, &n, 1, sign);
        f->wave[i] = new_field(f->t.by_cols);
        f->at_points[i] = new_field(f->t.by_rows);
    }
    f->w = new_field(f->t.by_cols);
    f->stage = new_field(f->t.by_cols);
    f->sum = new_field(f->t.by_cols);
    f->slope = new_field(f->t.by_cols);
    f->half_decay =
        must_realloc(NULL, box_points(f->t.by_cols), sizeof(double));
    for_each_wave(f, set_decay);
    set_start(f, start);
}

void flow_close(flow *f)
{
    transpose_close(&f->t);
    for (int i = 0; i < 2; i++) {
        local_fft_free(&f->row[i]);
        local_fft_free(&f->column[i]);
        free(f->wave[i]);
        free(f->at_points[i]);
    }
    free(f->w);
    free(f->stage);
    free(f->sum);
    free(f->slope);
    free(f->half_decay);
}
