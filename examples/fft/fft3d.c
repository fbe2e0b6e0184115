/* fft3d.c - transform a grid of three axes, forward and back, many times.
 *
 * grid_fft.c has the transform, reshape.c the transposes, traffic.c the calls
 * to MPI and to Rota. */
#include "check.h"
#include "contest.h"
#include "grid_fft.h"
#include "must.h"
#include "options.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Three-dimensional complex FFT, forward and back, many times.\n"
    "\n"
    "  mpiexec -n P fft3d [OPTIONS]\n"
    "\n"
    "  --grid XxYxZ       points along each axis, any numbers (64x64x64)\n"
    "  --decompose WHAT   slab (default) or pencil\n"
    "  --ranks RxC        pencils: R ranks share x, C ranks share y; R times "
    "C\n"
    "                     is P (default: as square as can "
    "be)\n" CONTEST_HELP_OPTIONS
    "  --overlap          also with transposes in batches, each under way\n"
    "                     while the next one is computed (not with mpi, whose\n"
    "                     call returns when all is done)\n"
    "  --batches N        of a transpose with --overlap (4)\n"
    "  --steps N          there and back in a round (20)\n"
    "  --verify           compare with a transform of the whole grid on each\n"
    "                     rank (memory for all of it)\n"
    "  --help             this text\n"
    "\n" CONTEST_HELP_TABLE
    "That the way back gives what was put in is always checked. Exit code: 0\n"
    "if all went well, 1 for a wrong result, 2 for a wrong command line.\n";

typedef struct {
    grid_spec grid;
    const char *decompose;
    contest_options contest;
    size_t ranks[2], batches;
    int overlap, verify;
} options;

/* ---- Command line ---- */

static int set_ranks(options *o, int P)
{
    int dims[2] = {(int)o->ranks[0], (int)o->ranks[1]};

    o->grid.pencils = strcmp(o->decompose, "pencil") == 0;
    if (!o->grid.pencils && strcmp(o->decompose, "slab") != 0)
        return usage_error("--decompose wants slab or pencil, not \"%s\"",
                           o->decompose);
    if (!o->grid.pencils && dims[0] != 0)
        return usage_error("--ranks is for --decompose pencil");
    if (!o->grid.pencils)
        dims[0] = P, dims[1] = 1;
    if (dims[0] != 0 && o->ranks[0] * o->ranks[1] != (size_t)P &&
        o->grid.pencils)
        return usage_error("--ranks %dx%d is not %d ranks", dims[0], dims[1],
                           P);
    MUST(MPI_Dims_create(P, 2, dims));
    o->grid.rows = dims[0];
    o->grid.cols = dims[1];
    return 0;
}

/* What one rank transforms and exchanges must fit the ints of MPI and FFTW. */
static int check_size(const options *o)
{
    const box first = grid_input(&o->grid, 0);
    const size_t *n = first.n;

    if (n[0] > INT_MAX / n[1] || n[0] * n[1] > INT_MAX / n[2])
        return usage_error("a grid of %zux%zux%zu points has more than %d on "
                           "a rank; use more ranks or pencils",
                           o->grid.n[0], o->grid.n[1], o->grid.n[2], INT_MAX);
    return 0;
}

static int parse(int argc, char **argv, int P, options *o)
{
    const option table[] = {
        {"--grid", OPTION_SIZES, o->grid.n, 1, INT_MAX, 3},
        {"--decompose", OPTION_WORD, &o->decompose, 0, 0, 0},
        {"--ranks", OPTION_SIZES, o->ranks, 1, INT_MAX, 2},
        {"--overlap", OPTION_FLAG, &o->overlap, 0, 0, 0},
        {"--batches", OPTION_NUMBER, &o->batches, 2, 1024, 1},
        CONTEST_OPTIONS(&o->contest),
        {"--verify", OPTION_FLAG, &o->verify, 0, 0, 0},
        {NULL, OPTION_FLAG, NULL, 0, 0, 0}};
    int err;

    *o = (options){.grid.n = {64, 64, 64},
                   .decompose = "slab",
                   .contest = {.exchange = "all", .steps = 20, .rounds = 5},
                   .batches = 4};
    err = options_parse(argc, argv, table, help, NULL);
    if (err == 0)
        err = set_ranks(o, P);
    if (err == 0)
        err = check_size(o);
    return err;
}

/* ---- Input ---- */

static void fill(const size_t n[3], box b, double complex *at)
{
    for (size_t x = b.lo[0]; x < b.lo[0] + b.n[0]; x++)
        for (size_t y = b.lo[1]; y < b.lo[1] + b.n[1]; y++)
            for (size_t z = b.lo[2]; z < b.lo[2] + b.n[2]; z++)
                *at++ = check_input(((uint64_t)x * n[1] + y) * n[2] + z);
}

/* ---- Checks ---- */

static double points(const size_t n[3])
{
    return (double)n[0] * (double)n[1] * (double)n[2];
}

/* Transform, and compare with the spectrum of the whole grid, [x][y][z]. */
static int check_forward(const entrant *e, const size_t n[3],
                         const double complex *whole)
{
    const size_t stride[3] = {n[1] * n[2], n[2], 1};
    grid_fft *g = e->state;
    const double complex *at = grid_fft_forward(g);
    const box b = g->has[g->n_stages - 1];
    const int *order = g->order[g->n_stages - 1];
    const double rms = sqrt(CHECK_SQUARE * points(n));
    double error = 0;
    size_t i[3];

    for (i[0] = 0; i[0] < b.n[order[0]]; i[0]++)
        for (i[1] = 0; i[1] < b.n[order[1]]; i[1]++)
            for (i[2] = 0; i[2] < b.n[order[2]]; i[2]++) {
                size_t there = 0;

                for (int k = 0; k < 3; k++)
                    there += (b.lo[order[k]] + i[k]) * stride[order[k]];
                error = check_worse(error, *at++ - whole[there]);
            }
    grid_fft_backward(g);
    return check_verdict("forward", e, error / rms, check_tolerance(points(n)));
}

/* Errors of steps add up as those of a random walk do, or worse. */
static int check_identity(const entrant *e, const size_t n[3], size_t steps)
{
    const grid_fft *g = e->state;
    const box b = g->has[0];
    double complex *was = must_realloc(NULL, box_points(b), sizeof *was);
    double error = 0;

    fill(n, b, was);
    for (size_t i = 0; i < box_points(b); i++)
        error = check_worse(error, g->array[0][i] - was[i]);
    free(was);
    return check_verdict("there and back", e, error,
                         check_tolerance(points(n)) * (double)(steps + 1));
}

static double complex *whole_spectrum(const size_t n[3])
{
    const box b = {{0, 0, 0}, {n[0], n[1], n[2]}};
    double complex *at = must_realloc(NULL, box_points(b), sizeof *at);
    fftw_plan plan = fftw_plan_dft_3d((int)n[0], (int)n[1], (int)n[2], at, at,
                                      FFTW_FORWARD, FFTW_ESTIMATE);

    if (plan == NULL)
        die("FFTW has no plan for the whole grid");
    fill(n, b, at);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return at;
}

static int check(const options *o, const entrant e[], int n)
{
    const size_t steps = o->contest.steps * (o->contest.rounds + 1);
    double complex *whole = o->verify ? whole_spectrum(o->grid.n) : NULL;
    int err = 0;

    for (int i = 0; i < n; i++) {
        err |= check_identity(&e[i], o->grid.n, steps);
        if (whole == NULL)
            continue;
        fill(o->grid.n, ((grid_fft *)e[i].state)->has[0],
             ((grid_fft *)e[i].state)->array[0]);
        err |= check_forward(&e[i], o->grid.n, whole);
    }
    free(whole);
    return err;
}

/* ---- All of it ---- */

static void step(void *state)
{
    grid_fft_forward(state);
    grid_fft_backward(state);
}

static void close_state(void *state)
{
    grid_fft_close(state);
}

static void enter(const options *o, entrant *e)
{
    grid_spec spec = o->grid;
    grid_fft *g = must_realloc(NULL, 1, sizeof *g);

    spec.n_batches = e->overlapped ? (int)o->batches : 1;
    grid_fft_open(g, &spec, e->way, &e->cost, MPI_COMM_WORLD);
    fill(spec.n, g->has[0], g->array[0]);
    e->state = g;
    e->step = step;
    e->close = close_state;
}

static void print_head(const options *o, int P)
{
    const grid_spec *s = &o->grid;

    printf("grid %zux%zux%zu, %d ranks", s->n[0], s->n[1], s->n[2], P);
    if (s->pencils)
        printf(", pencils on %dx%d ranks", s->rows, s->cols);
    else
        printf(", slabs");
    printf(", %zu rounds of %zu steps\n", o->contest.rounds, o->contest.steps);
    fflush(stdout);
}

static int run(const options *o, int rank, int P)
{
    entrant *e;
    int n, err = contest_enter(o->contest.exchange, o->overlap, &e, &n);

    if (err != 0)
        return err;
    if (rank == 0)
        print_head(o, P);
    for (int i = 0; i < n; i++)
        enter(o, &e[i]);
    contest_run(e, n, &o->contest, MPI_COMM_WORLD);
    err = check(o, e, n);
    if (rank == 0)
        contest_print(e, n);
    contest_close(e, n);
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
