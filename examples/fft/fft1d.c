/* fft1d.c - transform a vector that is dealt out in blocks, forward and back,
 * many times: four steps and three transposes, as in the global FFT of the HPC
 * Challenge benchmarks.
 *
 * With N = R * C, the vector is a matrix of R rows and C columns, and number
 * x[j1 * C + j2] of the input and X[k1 + R * k2] of the result are linked by
 *
 *   X[k1 + R * k2] = sum over j2 of w(C)^(j2 * k2) * w(N)^(j2 * k1) *
 *                    (sum over j1 of w(R)^(j1 * k1) * x[j1 * C + j2])
 *
 * with w(n) = exp(-2 pi i / n). So: transpose, transform along j1, multiply by
 * w(N)^(j2 * k1), transpose, transform along j2, transpose. Both ends lie in
 * their natural order. The first and the third transpose are the same exchange
 * and share a plan; so do two of the way back.
 *
 * Bailey, "FFTs in external or hierarchical memory", 1990. */
#include "check.h"
#include "local_fft.h"
#include "must.h"
#include "options.h"
#include "transpose.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "One-dimensional complex FFT in four steps, forward and back, many times.\n"
    "\n"
    "  mpiexec -n P fft1d [OPTIONS]\n"
    "\n"
    "  --points N         N points (65536), as a matrix as square as the\n"
    "                     divisors of N allow, rows and columns dealt out\n"
    "                     evenly\n"
    "  --memory MIB       instead, the greatest power of two of points for "
    "which\n"
    "                     arrays take so many MiB on a rank\n"
    "  --shape WHICH      instead, one of the sizes in section 6.1 of Fan et\n"
    "                     al., \"Parameterized algorithms for non-uniform\n"
    "                     all-to-all\", 2025:\n"
    "                       n1  ceil(5P/8) * ceil(25P/32) * 8 points: that\n"
    "                           many ranks have rows and columns, the others\n"
    "                           nothing\n"
    "                       n2  ((P-1) * 32 + 8) * P points: the last rank\n"
    "                           has a quarter of what the others "
    "have\n" CONTEST_HELP_OPTIONS
    "  --steps N          there and back in a round (20)\n"
    "  --verify           compare with a transform of all points on each rank\n"
    "  --help             this text\n"
    "\n" CONTEST_HELP_TABLE "GFlop/s are of all ranks by the rule of the HPC "
    "Challenge benchmarks, 5 N\n"
    "log2 N operations a transform, of which a step has two.\n"
    "That the way back gives what was put in is always checked. Exit code: 0\n"
    "if all went well, 1 for a wrong result, 2 for a wrong command line.\n";

typedef struct {
    const char *shape;
    contest_options contest;
    size_t points, memory;
    matrix_shape matrix;
    int verify;
} options;

typedef struct {
    transpose t;
    local_fft along_rows[2], along_cols[2]; /* forward, backward */
    double complex *array[2];               /* in rows; in columns */
    double complex *twiddle; /* [j2][k1] of this rank's columns */
    double scale;
} vector_fft;

/* ---- Shapes -------------------------------------------------------------- */

/* Rows: the greatest divisor of N that is at most its square root. */
static matrix_shape square_shape(size_t N, int P)
{
    matrix_shape s = {.rows = 1};

    for (size_t d = 1; d <= N / d; d++)
        if (N % d == 0)
            s.rows = d;
    s.cols = N / s.rows;
    s.row_block = block_size(s.rows, P);
    s.col_block = block_size(s.cols, P);
    return s;
}

/* The eight points between a rank that has rows and one that has columns are
 * two rows of four columns. (The paper says eight real numbers.) */
static matrix_shape n1_shape(int P)
{
    const size_t workers = ((size_t)P * 20 + 31) / 32;
    const size_t filled = ((size_t)P * 25 + 31) / 32;

    return (matrix_shape){2 * workers, 4 * filled, 2, 4};
}

static matrix_shape n2_shape(int P)
{
    return (matrix_shape){((size_t)P - 1) * 32 + 8, (size_t)P, 32, 1};
}

/* Vector, transform and twiddle factors. */
static size_t fitting_points(size_t mib, int P)
{
    const double fit =
        (double)mib * (1 << 20) * P / (3 * (double)sizeof(double complex));
    size_t n = 1;

    while ((double)n * 2 <= fit)
        n *= 2;
    return n;
}

static int choose_shape(options *o, int P)
{
    matrix_shape *s = &o->matrix;

    if (o->points > 0 && o->shape != NULL)
        return usage_error("both --points and --shape given");
    if (o->memory > 0 && (o->points > 0 || o->shape != NULL))
        return usage_error("--memory does not go with --points or --shape");
    if (o->memory > 0)
        o->points = fitting_points(o->memory, P);
    if (o->shape == NULL)
        *s = square_shape(o->points > 0 ? o->points : 65536, P);
    else if (strcmp(o->shape, "n1") == 0)
        *s = n1_shape(P);
    else if (strcmp(o->shape, "n2") == 0)
        *s = n2_shape(P);
    else
        return usage_error("--shape wants n1 or n2, not \"%s\"", o->shape);
    if (s->row_block > INT_MAX / s->cols || s->col_block > INT_MAX / s->rows)
        return usage_error("a matrix of %zux%zu points has more than %d on a "
                           "rank; use more ranks",
                           s->rows, s->cols, INT_MAX);
    if (o->verify && s->rows > INT_MAX / s->cols)
        return usage_error("--verify is for %d points at most", INT_MAX);
    return 0;
}

/* ---- The transform ------------------------------------------------------- */

/* The product of indices is below N, so nothing is lost before the division. */
static void make_twiddle(vector_fft *v)
{
    const size_t rows = v->t.by_cols.n[TRANSPOSE_ROWS];
    const double unit = -2 * acos(-1) * v->scale;
    double complex *to;

    v->twiddle =
        must_realloc(NULL, box_points(v->t.by_cols), sizeof v->twiddle[0]);
    to = v->twiddle;
    for (size_t j2 = 0; j2 < v->t.by_cols.n[TRANSPOSE_COLS]; j2++)
        for (size_t k1 = 0; k1 < rows; k1++)
            *to++ =
                cexp(unit *
                     (double)((v->t.by_cols.lo[TRANSPOSE_COLS] + j2) * k1) * I);
}

static void make_local(vector_fft *v, const matrix_shape *s)
{
    const int sign[2] = {FFTW_FORWARD, FFTW_BACKWARD};

    for (int i = 0; i < 2; i++) {
        local_fft_make(&v->along_rows[i], 1, &s->rows,
                       v->t.by_cols.n[TRANSPOSE_COLS], sign[i]);
        local_fft_make(&v->along_cols[i], 1, &s->cols,
                       v->t.by_rows.n[TRANSPOSE_ROWS], sign[i]);
    }
    v->array[0] = must_pages(box_points(v->t.by_rows), sizeof(double complex));
    v->array[1] = must_pages(box_points(v->t.by_cols), sizeof(double complex));
}

/* Input to array[0], by rows; result in array[1], by columns. */
static void forward(vector_fft *v)
{
    double complex *rows = v->array[0], *cols = v->array[1];
    const size_t n = box_points(v->t.by_cols);

    reshape_run(&v->t.to_cols, rows, cols);
    local_fft_run(&v->along_rows[0], cols);
    for (size_t i = 0; i < n; i++)
        cols[i] *= v->twiddle[i];
    reshape_run(&v->t.to_rows, cols, rows);
    local_fft_run(&v->along_cols[0], rows);
    reshape_run(&v->t.to_cols, rows, cols);
}

static void backward(vector_fft *v)
{
    double complex *rows = v->array[0], *cols = v->array[1];
    const size_t n = box_points(v->t.by_cols);

    reshape_run(&v->t.to_rows, cols, rows);
    local_fft_run(&v->along_cols[1], rows);
    reshape_run(&v->t.to_cols, rows, cols);
    for (size_t i = 0; i < n; i++)
        cols[i] *= conj(v->twiddle[i]) * v->scale;
    local_fft_run(&v->along_rows[1], cols);
    reshape_run(&v->t.to_rows, cols, rows);
}

static void step(void *state)
{
    forward(state);
    backward(state);
}

static void close_state(void *state)
{
    vector_fft *v = state;

    transpose_close(&v->t);
    for (int i = 0; i < 2; i++) {
        local_fft_free(&v->along_rows[i]);
        local_fft_free(&v->along_cols[i]);
        free(v->array[i]);
    }
    free(v->twiddle);
}

/* ---- Checks -------------------------------------------------------------- */

static void fill(size_t first, size_t n, double complex *at)
{
    for (size_t i = 0; i < n; i++)
        at[i] = check_input(first + i);
}

static double complex *whole_spectrum(const matrix_shape *s)
{
    const size_t n = s->rows * s->cols;
    double complex *at = must_realloc(NULL, n, sizeof *at);
    fftw_plan plan =
        fftw_plan_dft_1d((int)n, at, at, FFTW_FORWARD, FFTW_ESTIMATE);

    if (plan == NULL)
        die("FFTW has no plan for all points");
    fill(0, n, at);
    fftw_execute(plan);
    fftw_destroy_plan(plan);
    return at;
}

static int check_identity(const entrant *e, const matrix_shape *s, size_t steps)
{
    const vector_fft *v = e->state;
    const size_t first = v->t.by_rows.lo[TRANSPOSE_ROWS] * s->cols;
    double error = 0;

    for (size_t i = 0; i < box_points(v->t.by_rows); i++)
        error = check_worse(error, v->array[0][i] - check_input(first + i));
    return check_verdict("there and back", e, error,
                         check_tolerance(1 / v->scale) * (double)(steps + 1));
}

static int check_forward(const entrant *e, const matrix_shape *s,
                         const double complex *whole)
{
    vector_fft *v = e->state;
    const size_t first = v->t.by_cols.lo[TRANSPOSE_COLS] * s->rows;
    double error = 0;

    fill(v->t.by_rows.lo[TRANSPOSE_ROWS] * s->cols, box_points(v->t.by_rows),
         v->array[0]);
    forward(v);
    for (size_t i = 0; i < box_points(v->t.by_cols); i++)
        error = check_worse(error, v->array[1][i] - whole[first + i]);
    return check_verdict("forward", e, error / sqrt(CHECK_SQUARE / v->scale),
                         check_tolerance(1 / v->scale));
}

static int check(const options *o, const matrix_shape *s, const entrant e[],
                 int n)
{
    double complex *whole = o->verify ? whole_spectrum(s) : NULL;
    int err = 0;

    for (int i = 0; i < n; i++) {
        err |= check_identity(&e[i], s,
                              o->contest.steps * (o->contest.rounds + 1));
        if (whole != NULL)
            err |= check_forward(&e[i], s, whole);
    }
    free(whole);
    return err;
}

/* ---- All of it ----------------------------------------------------------- */

static void enter(entrant *e, const matrix_shape *s)
{
    vector_fft *v = must_realloc(NULL, 1, sizeof *v);

    transpose_open(&v->t, s, e->way, &e->cost, 1, MPI_COMM_WORLD);
    v->scale = 1 / ((double)s->rows * (double)s->cols);
    make_local(v, s);
    make_twiddle(v);
    fill(v->t.by_rows.lo[TRANSPOSE_ROWS] * s->cols, box_points(v->t.by_rows),
         v->array[0]);
    e->state = v;
    e->step = step;
    e->close = close_state;
}

static void print_head(const options *o, const matrix_shape *s, int P)
{
    printf("%zu points, %zu rows on %zu of %d ranks, %zu columns on %zu, %zu "
           "rounds of %zu steps\n",
           s->rows * s->cols, s->rows,
           (s->rows + s->row_block - 1) / s->row_block, P, s->cols,
           (s->cols + s->col_block - 1) / s->col_block, o->contest.rounds,
           o->contest.steps);
    fflush(stdout);
}

static void print_rates(const entrant e[], int n, const matrix_shape *s)
{
    const double N = (double)s->rows * (double)s->cols;

    for (int i = 0; i < n; i++)
        printf("GFlop/s, %s: %.4g\n", e[i].way->name,
               2 * 5 * N * log2(N) / e[i].step_s * 1e-9);
}

static int run(const options *o, int rank, int P)
{
    const matrix_shape *s = &o->matrix;
    entrant *e;
    int n, err = contest_enter(o->contest.exchange, (contest_kinds){0}, &e, &n);

    if (err != 0)
        return err;
    if (rank == 0)
        print_head(o, s, P);
    for (int i = 0; i < n; i++)
        enter(&e[i], s);
    contest_run(e, n, &o->contest, MPI_COMM_WORLD);
    err = check(o, s, e, n);
    if (rank == 0) {
        contest_print(e, n);
        print_rates(e, n, s);
    }
    contest_close(e, n);
    return err;
}

static int parse(int argc, char **argv, int P, options *o)
{
    const option table[] = {{"--points", OPTION_NUMBER, &o->points, 1, 1e12, 1},
                            {"--memory", OPTION_NUMBER, &o->memory, 1, 1e6, 1},
                            {"--shape", OPTION_WORD, &o->shape, 0, 0, 0},
                            CONTEST_OPTIONS(&o->contest),
                            {"--verify", OPTION_FLAG, &o->verify, 0, 0, 0},
                            {NULL, OPTION_FLAG, NULL, 0, 0, 0}};
    int err;

    *o = (options){.contest = {.exchange = "all", .steps = 20, .rounds = 5}};
    err = options_parse(argc, argv, table, help, NULL);
    return err == 0 ? choose_shape(o, P) : err;
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
