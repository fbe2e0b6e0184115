/* halo.c - heat spreads in a periodic cube: a stencil of 7 points, whose halo is
 * one plan. The ranks are a Cartesian communicator, and a face is a subarray of
 * the rank's box, so that nothing is packed and no neighbour is named.
 *
 *   mpiexec -n P halo [N [STEPS]]
 *
 * A wave along the axes keeps its form and fades by the same factor in each step,
 * which tells what the numbers must be in the end.
 */
#include <rota.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FACES = 6, WAVES = 1 }; /* along axis i there are WAVES + i */

static const double rate = 0.1, pi = 3.14159265358979323846;

/* This rank's part of the N x N x N points, with a layer of others' around it. */
typedef struct box {
    int n[3], first[3], whole[3]; /* whole: with that layer */
} box;

static void must(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "%s\n", text);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static box make_box(int N, MPI_Comm grid)
{
    int dims[3], periods[3], at[3];
    box b;

    must(MPI_Cart_get(grid, 3, dims, periods, at));
    for (int i = 0; i < 3; i++) {
        b.first[i] = N * at[i] / dims[i];
        b.n[i] = N * (at[i] + 1) / dims[i] - b.first[i];
        b.whole[i] = b.n[i] + 2;
    }
    return b;
}

/* ---- the halo ------------------------------------------------------------ */

/* The layer of points at the lower or upper end of an axis: the rank's own, or
 * those around them. */
static MPI_Datatype face(const box *b, int axis, int upper, int own)
{
    int n[3] = {b->n[0], b->n[1], b->n[2]}, at[3] = {1, 1, 1};
    MPI_Datatype type;

    n[axis] = 1;
    at[axis] = upper ? b->n[axis] + !own : own;
    must(MPI_Type_create_subarray(3, b->whole, n, at, MPI_ORDER_C, MPI_DOUBLE,
                                  &type));
    must(MPI_Type_commit(&type));
    return type;
}

/* Neighbours in a grid are in this order: of each axis the lower and the upper
 * one. */
static rota_plan *plan_halo(const box *b, double *u, MPI_Comm grid)
{
    const int counts[FACES] = {1, 1, 1, 1, 1, 1};
    const MPI_Aint displs[FACES] = {0};
    MPI_Datatype out[FACES], in[FACES];
    rota_plan *plan;

    for (int i = 0; i < FACES; i++) {
        out[i] = face(b, i / 2, i % 2, 1);
        in[i] = face(b, i / 2, i % 2, 0);
    }
    must(rota_neighbor_alltoallw_init(u, counts, displs, out, u, counts, displs,
                                      in, grid, MPI_INFO_NULL, &plan));
    for (int i = 0; i < FACES; i++) {
        must(MPI_Type_free(&out[i]));
        must(MPI_Type_free(&in[i]));
    }
    return plan;
}

/* ---- the points ---------------------------------------------------------- */

static size_t place(const box *b, int x, int y, int z)
{
    return ((size_t)x * (size_t)b->whole[1] + (size_t)y) * (size_t)b->whole[2] +
           (size_t)z;
}

static double wave(const box *b, int N, int x, int y, int z)
{
    const int at[3] = {x, y, z};
    double value = 1;

    for (int i = 0; i < 3; i++)
        value *= cos(2 * pi * (WAVES + i) * (b->first[i] + at[i] - 1) / N);
    return value;
}

/* By how much it fades in a step. */
static double fading(int N)
{
    double sum = 0;

    for (int i = 0; i < 3; i++)
        sum += 2 * cos(2 * pi * (WAVES + i) / N) - 2;
    return 1 + rate * sum;
}

static void step(const box *b, const double *u, double *next)
{
    const size_t dx = place(b, 1, 0, 0), dy = place(b, 0, 1, 0);

    for (int x = 1; x <= b->n[0]; x++)
        for (int y = 1; y <= b->n[1]; y++)
            for (size_t i = place(b, x, y, 1); i < place(b, x, y, b->n[2] + 1);
                 i++)
                next[i] =
                    u[i] + rate * (u[i - dx] + u[i + dx] + u[i - dy] +
                                   u[i + dy] + u[i - 1] + u[i + 1] - 6 * u[i]);
}

/* Set the rank's points to so many times the wave, or see how far they are from
 * it. */
static double compare(const box *b, int N, double factor, double *u, int set)
{
    double worst = 0;

    for (int x = 1; x <= b->n[0]; x++)
        for (int y = 1; y <= b->n[1]; y++)
            for (int z = 1; z <= b->n[2]; z++) {
                double *const at = &u[place(b, x, y, z)];
                const double is = factor * wave(b, N, x, y, z);
                if (set)
                    *at = is;
                worst = fmax(worst, fabs(*at - is));
            }
    return worst;
}

/* ---- all of it ----------------------------------------------------------- */

/* The error in the end, and what exchanges took. */
static double run(int N, int steps, MPI_Comm grid, double *seconds)
{
    const box b = make_box(N, grid);
    const size_t bytes = place(&b, b.whole[0], 0, 0) * sizeof(double);
    double *u[2];

    for (int i = 0; i < 2; i++)
        must(rota_mem_alloc(bytes, grid, MPI_INFO_NULL, &u[i]));
    compare(&b, N, 1, u[0], 1);
    rota_plan *plan = plan_halo(&b, u[0], grid);
    for (int k = 0; k < steps; k++) {
        const double began = MPI_Wtime();
        must(rota_plan_set_buffers(plan, u[k % 2], u[k % 2]));
        must(rota_start(plan));
        must(rota_wait(plan));
        *seconds += MPI_Wtime() - began;
        step(&b, u[k % 2], u[(k + 1) % 2]);
    }
    must(rota_plan_free(&plan));
    const double error = compare(&b, N, pow(fading(N), steps), u[steps % 2], 0);
    for (int i = 0; i < 2; i++)
        must(rota_mem_free(&u[i]));
    return error;
}

int main(int argc, char **argv)
{
    const int N = argc > 1 ? atoi(argv[1]) : 24;
    const int steps = argc > 2 ? atoi(argv[2]) : 20;
    const int around[3] = {1, 1, 1};
    int P, me, dims[3] = {0};
    double worst[2] = {0}; /* error, seconds */
    MPI_Comm grid;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Dims_create(P, 3, dims));
    if (N < dims[0] || steps < 1) {
        fprintf(stderr, "halo [N [STEPS]]: N at least %d, STEPS at least 1\n",
                dims[0]);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    must(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, around, 0, &grid));
    must(MPI_Comm_rank(grid, &me));
    worst[0] = run(N, steps, grid, &worst[1]);
    must(MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, grid));
    if (me == 0)
        printf("%d^3 points on %dx%dx%d ranks, %d steps: halos took %.1f us "
               "each, greatest error %.1e\n",
               N, dims[0], dims[1], dims[2], steps, worst[1] / steps * 1e6,
               worst[0]);
    must(MPI_Comm_free(&grid));
    must(MPI_Finalize());
    return worst[0] < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
