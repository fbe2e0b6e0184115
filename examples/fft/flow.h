/* flow.h - two-dimensional incompressible flow in a periodic square of side
 * 2 pi, by its vorticity w:
 *
 *   dw/dt + u . grad w = viscosity * laplacian w
 *
 * with the velocity u that has this vorticity and a given mean. Derivatives are
 * taken in Fourier space, products at points; wave numbers of a third of the
 * points and more are left out, so that products alias onto none that is kept.
 * Runge-Kutta of fourth order in time, with the viscous decay exact.
 *
 * Fields at points are dealt out by rows, y over the ranks and x in a row; in
 * Fourier space by columns, kx over the ranks and ky in a column. */
#ifndef FLOW_H
#define FLOW_H

#include "local_fft.h"
#include "transpose.h"

typedef struct {
    size_t points; /* along each axis */
    double viscosity, dt;
    double drift; /* mean velocity, the same along both axes */
} flow_spec;

typedef struct {
    flow_spec spec;
    MPI_Comm comm;
    transpose t;
    local_fft row[2], column[2];         /* one each: forward, backward */
    double complex *w;                   /* vorticity in Fourier space */
    double complex *stage, *sum, *slope; /* of Runge-Kutta */
    double complex *wave[2];             /* to be brought to points */
    double complex *at_points[2];        /* what it is there */
    double *half_decay; /* of each wave number, by viscosity, in dt / 2 */
} flow;

/* Energy of the flow without its mean, and half the mean square of vorticity,
 * both per area. */
typedef struct {
    double energy, enstrophy;
} flow_sums;

/* Begin with the vorticity start(x, y). Collective over comm, which must
 * outlive the flow. */
void flow_open(flow *f, const flow_spec *spec, double (*start)(double, double),
               const traffic_way *way, traffic_cost *cost, MPI_Comm comm);

/* slope := the rate of change, by advection, of the vorticity in stage.
 * Collective. */
void flow_advect(flow *f);

/* Advance by dt. Collective. */
void flow_step(flow *f);

/* Collective. */
flow_sums flow_measure(flow *f);

/* Vorticity at the points of this rank's rows, t.by_rows, as real parts; valid
 * until the next call. Collective. */
const double complex *flow_vorticity(flow *f);

void flow_close(flow *f);

#endif
