/* fft3d.c - transform a grid of three axes, forward and back, many times.
 *
 * grid_fft.c has the transform, reshape.c the transposes, traffic.c the calls
 * to MPI and to Rota; device_fft.c the transform on a device. */
#include "check.h"
#include "contest.h"
#include "grid_fft.h"
#include "must.h"
#include "options.h"

#include <fftw3.h>
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
    "  --types            also with transposes from array to array, without\n"
    "                     packing: each block is a datatype. WHICH may then\n"
    "                     also be\n"
    "                       mpi_types       MPI_Alltoallw\n"
    "                       rota_types      Rota plans of datatypes\n"
    "                       rota_types_mem  on arrays of rota_mem_alloc\n"
    "  --device cuda      the grid lies on a GPU for each rank, transforms "
    "are\n"
    "                     by cuFFT. WHICH is then\n"
    "                       mpi             MPI_Alltoallv, between copies to\n"
    "                                       and from page-locked memory that\n"
    "                                       is allocated in every call\n"
    "                       mpi_kept        in memory that is kept\n"
    "                       rota            Rota plans in the stream of the\n"
    "                                       transforms\n"
    "                     Times of exchanges have in them what is still in "
    "the\n"
    "                     stream before; packing is put there\n"
    "  --steps N          there and back in a round (20)\n"
    "  --verify           compare with a transform of the whole grid on each\n"
    "                     rank (memory for all of it)\n"
    "  --help             this text\n"
    "\n" CONTEST_HELP_TABLE
    "That the way back gives what was put in is always checked. Exit code: 0\n"
    "if all went well, 1 for a wrong result, 2 for a wrong command line.\n";

typedef struct {
    grid_spec grid;
    const char *decompose, *device;
    contest_options contest;
    size_t ranks[2], batches;
    int overlap, types, verify;
} options;

/* ---- Command line -------------------------------------------------------- */

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
        {"--device", OPTION_WORD, &o->device, 0, 0, 0},
        {"--overlap", OPTION_FLAG, &o->overlap, 0, 0, 0},
        {"--types", OPTION_FLAG, &o->types, 0, 0, 0},
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
    if (err == 0 && o->device != NULL && o->overlap)
        err = usage_error("--overlap is not for --device");
    if (err == 0 && o->device != NULL && o->types)
        err = usage_error("--types is not for --device");
    return err;
}

/* A rank without a device is one too many. */
static int open_device(options *o, int rank)
{
    const char *why = "another rank has none";
    int there, all;

    o->grid.device = device_open(o->device, rank, &why);
    there = o->grid.device != NULL;
    MUST(MPI_Allreduce(&there, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    return all ? 0 : usage_error("no --device %s: %s", o->device, why);
}

/* ---- Input --------------------------------------------------------------- */

static void fill(const size_t n[3], box b, double complex *at)
{
    for (size_t x = b.lo[0]; x < b.lo[0] + b.n[0]; x++)
        for (size_t y = b.lo[1]; y < b.lo[1] + b.n[1]; y++)
            for (size_t z = b.lo[2]; z < b.lo[2] + b.n[2]; z++)
                *at++ = check_input(((uint64_t)x * n[1] + y) * n[2] + z);
}

static double complex *input(const options *o, int rank)
{
    const box b = grid_input(&o->grid, rank);
    double complex *at = must_realloc(NULL, box_points(b), sizeof *at);

    fill(o->grid.n, b, at);
    return at;
}

/* ---- Checks -------------------------------------------------------------- */

static const grid_method *method(const options *o)
{
    return o->grid.device != NULL ? &grid_on_device : &grid_on_host;
}

static double points(const size_t n[3])
{
    return (double)n[0] * (double)n[1] * (double)n[2];
}

/* Transform, and compare with the spectrum of the whole grid, [x][y][z]. */
static int check_forward(const entrant *e, const options *o, int rank,
                         const double complex *whole)
{
    const size_t *n = o->grid.n;
    const box b = grid_output(&o->grid, rank);
    const double rms = sqrt(CHECK_SQUARE * points(n));
    double complex *is = must_realloc(NULL, box_points(b), sizeof *is);
    const double complex *at = is;
    double error = 0;

    method(o)->forward(e->state);
    method(o)->get_forward(e->state, is);
    for (size_t y = b.lo[Y]; y < b.lo[Y] + b.n[Y]; y++)
        for (size_t z = b.lo[Z]; z < b.lo[Z] + b.n[Z]; z++)
            for (size_t x = b.lo[X]; x < b.lo[X] + b.n[X]; x++)
                error = check_worse(error,
                                    *at++ - whole[(x * n[Y] + y) * n[Z] + z]);
    free(is);
    return check_verdict("forward", e, error / rms, check_tolerance(points(n)));
}

/* Errors of steps add up as those of a random walk do, or worse. */
static int check_identity(const entrant *e, const options *o, size_t steps,
                          box b, const double complex *was)
{
    double complex *is = must_realloc(NULL, box_points(b), sizeof *is);
    double error = 0;

    method(o)->get_backward(e->state, is);
    for (size_t i = 0; i < box_points(b); i++)
        error = check_worse(error, is[i] - was[i]);
    free(is);
    return check_verdict("there and back", e, error,
                         check_tolerance(points(o->grid.n)) *
                             (double)(steps + 1));
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

static int check(const options *o, int rank, const entrant e[], int n)
{
    const size_t steps = o->contest.steps * (o->contest.rounds + 1);
    const box b = grid_input(&o->grid, rank);
    double complex *whole = o->verify ? whole_spectrum(o->grid.n) : NULL;
    double complex *was = input(o, rank);
    int err = 0;

    for (int i = 0; i < n; i++) {
        err |= check_identity(&e[i], o, steps, b, was);
        if (whole == NULL)
            continue;
        method(o)->put(e[i].state, was);
        err |= check_forward(&e[i], o, rank, whole);
    }
    free(whole);
    free(was);
    return err;
}

/* ---- All of it ----------------------------------------------------------- */

static void host_step(void *state)
{
    grid_on_host.forward(state);
    grid_on_host.backward(state);
}

static void device_step(void *state)
{
    grid_on_device.forward(state);
    grid_on_device.backward(state);
}

static void enter(const options *o, int rank, entrant *e)
{
    grid_spec spec = o->grid;
    double complex *was = input(o, rank);

    spec.n_batches = e->overlapped ? (int)o->batches : 1;
    e->state = method(o)->open(&spec, e->way, &e->cost, MPI_COMM_WORLD);
    method(o)->put(e->state, was);
    e->step = spec.device != NULL ? device_step : host_step;
    e->close = method(o)->close;
    free(was);
}

static void print_head(const options *o, int P)
{
    const grid_spec *s = &o->grid;

    printf("grid %zux%zux%zu, %d ranks", s->n[0], s->n[1], s->n[2], P);
    if (s->pencils)
        printf(", pencils on %dx%d ranks", s->rows, s->cols);
    else
        printf(", slabs");
    if (o->device != NULL)
        printf(", on %s", o->device);
    printf(", %zu rounds of %zu steps\n", o->contest.rounds, o->contest.steps);
    fflush(stdout);
}

static int run(const options *o, int rank, int P)
{
    entrant *e;
    const contest_kinds kinds = {.on_device = o->device != NULL,
                                 .types = o->types,
                                 .overlap = o->overlap};
    int n, err = contest_enter(o->contest.exchange, kinds, &e, &n);

    if (err != 0)
        return err;
    if (rank == 0)
        print_head(o, P);
    for (int i = 0; i < n; i++)
        enter(o, rank, &e[i]);
    contest_run(e, n, &o->contest, MPI_COMM_WORLD);
    err = check(o, rank, e, n);
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
    if (err == 0 && o.device != NULL)
        err = open_device(&o, rank);
    if (err == 0)
        err = run(&o, rank, P);
    return application_end(err);
}
