/* flow_check.c - see flow_check.h.
 *
 * Advection turns waves p and q into wave k = p + q: with u of wave p being
 * (i py, -i px) w(p) / p^2, the rate of change of w(k) is the sum over p of
 *
 *   (py qx - px qy) / p^2 * w(p) w(q)
 *
 * and the mean velocity U takes i U (kx + ky) w(k) away. */
#include "flow_check.h"

#include "check.h"
#include "must.h"

#include <math.h>
#include <stdlib.h>

/* All of w on every rank, [kx][ky]. */
static double complex *gather(const flow *f)
{
    const size_t n = f->spec.points;
    const size_t first = f->t.by_cols.lo[TRANSPOSE_COLS] * n;
    double complex *w = must_realloc(NULL, n * n, sizeof *w);

    for (size_t i = 0; i < n * n; i++)
        w[i] = 0;
    for (size_t i = 0; i < box_points(f->t.by_cols); i++)
        w[first + i] = f->w[i];
    MUST(MPI_Allreduce(MPI_IN_PLACE, w, (int)(n * n), MPI_C_DOUBLE_COMPLEX,
                       MPI_SUM, f->comm));
    return w;
}

static size_t place(int kx, int ky, int n)
{
    return (size_t)((kx + n) % n) * (size_t)n + (size_t)((ky + n) % n);
}

/* Waves kept are -most to most along each axis. */
static double complex convolve(const double complex *w, int n, int kx, int ky,
                               double *sizes)
{
    const int most = (n - 1) / 3;
    double complex sum = 0;

    *sizes = 0;
    for (int px = -most; px <= most; px++)
        for (int py = -most; py <= most; py++) {
            const int qx = kx - px, qy = ky - py;
            double complex term;

            if (abs(qx) > most || abs(qy) > most || (px == 0 && py == 0))
                continue;
            term = (double)(py * qx - px * qy) / (px * px + py * py) *
                   w[place(px, py, n)] * w[place(qx, qy, n)];
            sum += term;
            *sizes += cabs(term);
        }
    return sum;
}

/* What is expected of wave (kx, ky), which may be one that is not kept. */
static double complex rate(const flow *f, const double complex *w, int kx,
                           int ky, double *sizes)
{
    const int n = (int)f->spec.points, most = (n - 1) / 3;
    double complex drift;

    *sizes = 0;
    if (abs(kx) > most || abs(ky) > most)
        return 0;
    drift = f->spec.drift * (kx + ky) * I * w[place(kx, ky, n)];
    return convolve(w, n, kx, ky, sizes) - drift;
}

double flow_check_advection(flow *f)
{
    const int n = (int)f->spec.points;
    const box b = f->t.by_cols;
    double complex *w = gather(f);
    double error = 0, scale = 0;

    for (size_t i = 0; i < box_points(b); i++)
        f->stage[i] = f->w[i];
    flow_advect(f);
    for (size_t i = 0; i < box_points(b); i++) {
        const int kx = (int)(b.lo[TRANSPOSE_COLS] + i / (size_t)n);
        const int ky = (int)(i % (size_t)n);
        double sizes;
        const double complex expected = rate(f, w, 2 * kx <= n ? kx : kx - n,
                                             2 * ky <= n ? ky : ky - n, &sizes);

        error = check_worse(error, f->slope[i] - expected);
        scale = fmax(scale, sizes);
    }
    free(w);
    MUST(MPI_Allreduce(MPI_IN_PLACE, &scale, 1, MPI_DOUBLE, MPI_MAX, f->comm));
    return scale > 0 ? error / scale : error;
}
