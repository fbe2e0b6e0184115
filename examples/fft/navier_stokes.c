/* navier_stokes.c - a flow in two dimensions by its Fourier series, hundreds of
 * steps, twelve transposes a step; a picture of the vorticity at the end.
 *
 * flow.c has the flow, transpose.c and reshape.c the transposes, traffic.c the
 * calls to MPI and to Rota. */
#include "check.h"
#include "flow.h"
#include "flow_check.h"
#include "must.h"
#include "options.h"
#include "picture.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Two-dimensional flow in a periodic square, by its Fourier series.\n"
    "\n"
    "  mpiexec -n P navier_stokes [OPTIONS]\n"
    "\n"
    "  --points N         along each axis (128)\n"
    "  --start WHICH      shear        two layers of shear that roll up into\n"
    "                                  vortices (default)\n"
    "                     taylor_green a lattice of vortices whose decay is\n"
    "                                  known exactly; it is checked\n"
    "  --viscosity V      (0.0005)\n"
    "  --drift U          mean velocity along both axes (0)\n"
    "  --dt T             time of a step (2 / N / (1 + |U|))\n"
    "  --steps N          in a round (100)\n" CONTEST_HELP_OPTIONS
    "  --picture FILE     write the vorticity at the end as a PPM picture\n"
    "  --verify           check advection by a sum over all pairs of waves\n"
    "                     (up to 64 points)\n"
    "  --help             this text\n"
    "\n" CONTEST_HELP_TABLE
    "That all ways find the same flow, and that its energy does not grow, is\n"
    "always checked. Exit code: 0 if all went well, 1 for a wrong result or a\n"
    "picture that cannot be written, 2 for a wrong command line.\n";

typedef struct {
    const char *start, *picture;
    contest_options contest;
    flow_spec flow;
    int taylor_green, verify;
} options;

/* ---- Flows to begin with ------------------------------------------------- */

/* Thickness of a layer, and the wave that disturbs it. */
#define LAYER 0.2
#define WAVE 0.05

static double layer(double distance)
{
    const double c = cosh(distance / LAYER);

    return 1 / (LAYER * c * c);
}

/* Velocity 1 between the layers, at a quarter and three quarters of the height,
 * and -1 outside. */
static double shear(double x, double y)
{
    const double pi = acos(-1);

    return WAVE * cos(x) - layer(y - pi / 2) + layer(y - 3 * pi / 2);
}

static double taylor_green(double x, double y)
{
    return 2 * cos(x) * cos(y);
}

/* ---- Command line -------------------------------------------------------- */

static int check_options(options *o, int P)
{
    const size_t n = o->flow.points, block = block_size(n, P);

    if (o->flow.dt == 0)
        o->flow.dt = 2 / (double)n / (1 + fabs(o->flow.drift));
    o->taylor_green = strcmp(o->start, "taylor_green") == 0;
    if (!o->taylor_green && strcmp(o->start, "shear") != 0)
        return usage_error("--start wants shear or taylor_green, not \"%s\"",
                           o->start);
    if (o->verify && n > FLOW_CHECK_POINTS)
        return usage_error("--verify is for %d points at most",
                           FLOW_CHECK_POINTS);
    if (block > INT_MAX / n)
        return usage_error("%zux%zu points are more than %d on a rank; use "
                           "more ranks",
                           n, n, INT_MAX);
    return 0;
}

static int parse(int argc, char **argv, int P, options *o)
{
    const option table[] = {
        {"--points", OPTION_NUMBER, &o->flow.points, 4, 1e6, 1},
        {"--start", OPTION_WORD, &o->start, 0, 0, 0},
        {"--viscosity", OPTION_REAL, &o->flow.viscosity, 0, 1e6, 0},
        {"--drift", OPTION_REAL, &o->flow.drift, -1e6, 1e6, 0},
        {"--dt", OPTION_REAL, &o->flow.dt, 1e-12, 1e6, 0},
        CONTEST_OPTIONS(&o->contest),
        {"--picture", OPTION_WORD, &o->picture, 0, 0, 0},
        {"--verify", OPTION_FLAG, &o->verify, 0, 0, 0},
        {NULL, OPTION_FLAG, NULL, 0, 0, 0}};
    int err;

    *o = (options){.start = "shear",
                   .contest = {.exchange = "all", .steps = 100, .rounds = 5},
                   .flow = {.points = 128, .viscosity = 5e-4}};
    err = options_parse(argc, argv, table, help, NULL);
    if (err == 0)
        err = check_options(o, P);
    return err;
}

/* ---- Checks -------------------------------------------------------------- */

static size_t all_steps(const options *o)
{
    return o->contest.steps * (o->contest.rounds + 1);
}

/* Ways of exchanging change nothing in what is computed. */
static int check_same(const options *o, const entrant *e, const entrant *first)
{
    const flow *f = e->state, *g = first->state;
    const double n = (double)f->spec.points;
    double error = 0;

    for (size_t i = 0; i < box_points(f->t.by_cols); i++)
        error = check_worse(error, f->w[i] - g->w[i]);
    return check_verdict("same flow", e, error,
                         check_tolerance(n * n) * (double)all_steps(o));
}

static int check_advection(const entrant *e)
{
    flow *f = e->state;
    const double n = (double)f->spec.points;
    const double error = flow_check_advection(f);

    return check_verdict("advection", e, error, check_tolerance(n * n));
}

/* The lattice drifts and decays, each of its waves as exp(-2 viscosity t), and
 * the four together are nowhere larger than 2. A wave that drifts by the angle
 * z in a step is off by z^5 / 120 at most after a step of Runge-Kutta. */
static int check_decay(const options *o, const entrant *e)
{
    flow *f = e->state;
    const size_t n = f->spec.points, steps = all_steps(o);
    const double t = (double)steps * f->spec.dt, side = 2 * acos(-1);
    const double size = exp(-2 * f->spec.viscosity * t);
    const double z = 2 * fabs(f->spec.drift) * f->spec.dt;
    const double complex *w = flow_vorticity(f);
    const box b = f->t.by_rows;
    double error = 0;

    for (size_t j = 0; j < b.n[TRANSPOSE_ROWS]; j++)
        for (size_t i = 0; i < n; i++) {
            const double x = side * (double)i / (double)n;
            const double y =
                side * (double)(b.lo[TRANSPOSE_ROWS] + j) / (double)n;

            error = check_worse(error,
                                w[j * n + i] -
                                    size * taylor_green(x - f->spec.drift * t,
                                                        y - f->spec.drift * t));
        }
    return check_verdict(
        "decay", e, error,
        (double)steps * (2 * pow(z, 5) / 120 + check_tolerance((double)n)));
}

/* Viscosity takes energy, and nothing gives any. */
static int check_energy(flow_sums began, flow_sums now)
{
    if (now.energy <= began.energy * (1 + 1e-6))
        return 0;
    complain("the energy grew from %g to %g: --dt is too large for this flow",
             began.energy, now.energy);
    return EXIT_WRONG;
}

static int check(const options *o, const entrant e[], int n, flow_sums began,
                 flow_sums now)
{
    int err = check_energy(began, now);

    for (int i = 0; i < n && err == 0; i++) {
        if (i > 0)
            err |= check_same(o, &e[i], &e[0]);
        if (o->verify)
            err |= check_advection(&e[i]);
        if (o->taylor_green)
            err |= check_decay(o, &e[i]);
    }
    return err;
}

static int write_picture(const options *o, FILE *file, flow *f, int P)
{
    const size_t n = f->spec.points;

    if (o->picture == NULL)
        return 0;
    if (picture_write(file, flow_vorticity(f), n, block_size(n, P),
                      MPI_COMM_WORLD) == 0)
        return 0;
    complain("%s: cannot be written", o->picture);
    return EXIT_WRONG;
}

/* ---- All of it ----------------------------------------------------------- */

static void step(void *state)
{
    flow_step(state);
}

static void close_state(void *state)
{
    flow_close(state);
}

static void enter(const options *o, entrant *e)
{
    flow *f = must_realloc(NULL, 1, sizeof *f);

    flow_open(f, &o->flow, o->taylor_green ? taylor_green : shear, e->way,
              &e->cost, MPI_COMM_WORLD);
    e->state = f;
    e->step = step;
    e->close = close_state;
}

static void print_head(const options *o, int P)
{
    printf("%s, %zux%zu points, %d ranks, %zu steps of %g, viscosity %g, drift "
           "%g\n",
           o->start, o->flow.points, o->flow.points, P, all_steps(o),
           o->flow.dt, o->flow.viscosity, o->flow.drift);
    fflush(stdout);
}

static void print_flow(const options *o, flow_sums began, flow_sums now)
{
    const double t = (double)all_steps(o) * o->flow.dt;

    printf("energy      %.10g at the beginning, %.10g at time %g\n",
           began.energy, now.energy, t);
    printf("enstrophy   %.10g at the beginning, %.10g\n", began.enstrophy,
           now.enstrophy);
    if (o->taylor_green)
        printf("decay rate  %.10g of the energy, %.10g expected\n",
               log(began.energy / now.energy) / t, 4 * o->flow.viscosity);
}

static int run_all(const options *o, int rank, int P, FILE *file, entrant e[],
                   int n)
{
    flow_sums began, now;
    int err;

    if (rank == 0)
        print_head(o, P);
    for (int i = 0; i < n; i++)
        enter(o, &e[i]);
    began = flow_measure(e[n - 1].state);
    contest_run(e, n, &o->contest, MPI_COMM_WORLD);
    now = flow_measure(e[n - 1].state);
    if (rank == 0)
        print_flow(o, began, now);
    err = check(o, e, n, began, now);
    err |= write_picture(o, file, e[n - 1].state, P);
    if (rank == 0)
        contest_print(e, n);
    contest_close(e, n);
    return err;
}

static int run(const options *o, int rank, int P)
{
    FILE *file;
    entrant *e;
    int n, err = contest_enter(o->contest.exchange, (contest_kinds){0}, &e, &n);

    if (err != 0)
        return err;
    err = options_open(o->picture, MPI_COMM_WORLD, &file); /* before the work */
    if (err == 0)
        return run_all(o, rank, P, file, e, n);
    free(e);
    return err;
}

int main(int argc, char **argv)
{
    options o;
    int rank, P, err;

    application_begin(&argc, &argv, &rank, &P);
    err = parse(argc, argv, P, &o);
    if (err == 0)
        err = run(&o, rank, P);
    return application_end(err);
}
