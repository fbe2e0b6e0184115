/* halo.c - heat spreads in a periodic cube: a stencil of 7 points, or of 27,
 * whose halo is one plan. The ranks are a Cartesian communicator, and what a
 * neighbour needs is a subarray of the rank's box, so that nothing is packed.
 *
 *   mpiexec -n P halo [N [STEPS [POINTS]]]
 *
 * With 7 points the neighbours are those of the grid, and none is named. With 27,
 * edges and corners are neighbours as well, which makes a graph.
 *
 * A wave along the axes keeps its form and fades by the same factor in each step,
 * which tells what the numbers must be in the end.
 */
#include "must.h"

#include <rota.h>

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { FACES = 6, AROUND = 26, WAVES = 1 }; /* along axis i: WAVES + i */

static const double rate = 0.1, pi = 3.14159265358979323846;

/* This rank's part of the N x N x N points, with a layer of others' around it. */
typedef struct box {
    int n[3], first[3], whole[3]; /* whole: with that layer */
} box;

static box make_box(int N, MPI_Comm grid)
{
    int dims[3], periods[3], at[3];
    box b;

    MUST(MPI_Cart_get(grid, 3, dims, periods, at));
    for (int i = 0; i < 3; i++) {
        b.first[i] = N * at[i] / dims[i];
        b.n[i] = N * (at[i] + 1) / dims[i] - b.first[i];
        b.whole[i] = b.n[i] + 2;
    }
    return b;
}

/* ---- the halo ------------------------------------------------------------ */

/* The points at the end of the box that lies this way, -1, 0 or 1 along each
 * axis: the rank's own, or those around them. */
static MPI_Datatype layer(const box *b, const int way[3], int own)
{
    int n[3], at[3];
    MPI_Datatype type;

    for (int i = 0; i < 3; i++) {
        n[i] = way[i] ? 1 : b->n[i];
        at[i] = way[i] > 0 ? b->n[i] + !own : way[i] < 0 ? own : 1;
    }
    MUST(MPI_Type_create_subarray(3, b->whole, n, at, MPI_ORDER_C, MPI_DOUBLE,
                                  &type));
    MUST(MPI_Type_commit(&type));
    return type;
}

static rota_plan *plan_types(int n, MPI_Datatype out[], MPI_Datatype in[],
                             double *u, MPI_Comm comm)
{
    const MPI_Aint displs[AROUND] = {0};
    int counts[AROUND];
    rota_plan *plan;

    for (int i = 0; i < n; i++)
        counts[i] = 1;
    MUST(rota_neighbor_alltoallw_init(u, counts, displs, out, u, counts, displs,
                                      in, comm, MPI_INFO_NULL, &plan));
    for (int i = 0; i < n; i++) {
        MUST(MPI_Type_free(&out[i]));
        MUST(MPI_Type_free(&in[i]));
    }
    return plan;
}

/* Neighbours in a grid are in this order: of each axis the lower and the upper
 * one. */
static rota_plan *plan_faces(const box *b, double *u, MPI_Comm grid)
{
    MPI_Datatype out[FACES], in[FACES];

    for (int i = 0; i < FACES; i++) {
        int way[3] = {0};
        way[i / 2] = i % 2 ? 1 : -1;
        out[i] = layer(b, way, 1);
        in[i] = layer(b, way, 0);
    }
    return plan_types(FACES, out, in, u, grid);
}

static int rank_at(MPI_Comm grid, const int way[3])
{
    int dims[3], periods[3], at[3], rank;

    MUST(MPI_Cart_get(grid, 3, dims, periods, at));
    for (int i = 0; i < 3; i++)
        at[i] += way[i]; /* around the grid */
    MUST(MPI_Cart_rank(grid, at, &rank));
    return rank;
}

/* Both lists are in the order of the ways that data take. So if one rank is the
 * neighbour on several sides, the right blocks meet. */
static rota_plan *plan_all(const box *b, double *u, MPI_Comm grid)
{
    MPI_Datatype out[AROUND], in[AROUND];
    int to[AROUND], from[AROUND], n = 0;
    MPI_Comm graph;

    for (int k = 0; k < AROUND + 1; k++) {
        const int way[3] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
        const int back[3] = {-way[0], -way[1], -way[2]};
        if (k == AROUND / 2) /* the rank itself */
            continue;
        to[n] = rank_at(grid, way);
        out[n] = layer(b, way, 1);
        from[n] = rank_at(grid, back);
        in[n++] = layer(b, back, 0);
    }
    MUST(MPI_Dist_graph_create_adjacent(grid, AROUND, from, MPI_UNWEIGHTED,
                                        AROUND, to, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, 0, &graph));
    rota_plan *const plan = plan_types(AROUND, out, in, u, graph);
    MUST(MPI_Comm_free(&graph)); /* the plan does not need it */
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
static double fading(int N, int points)
{
    double sum = 0, product = 1;

    for (int i = 0; i < 3; i++) {
        const double change = 2 * cos(2 * pi * (WAVES + i) / N) - 2;
        sum += change;
        product *= 1 + rate * change;
    }
    return points == 7 ? 1 + rate * sum : product;
}

static double around_7(const double *u, size_t dx, size_t dy)
{
    return *u + rate * (u[-(ptrdiff_t)dx] + u[dx] + u[-(ptrdiff_t)dy] + u[dy] +
                        u[-1] + u[1] - 6 * *u);
}

/* Along one axis after the other. */
static double around_27(const double *u, size_t dx, size_t dy)
{
    const double weight[3] = {rate, 1 - 2 * rate, rate};
    double sum = 0;

    for (int k = 0; k < 27; k++)
        sum += weight[k / 9] * weight[k / 3 % 3] * weight[k % 3] *
               u[(k / 9 - 1) * (ptrdiff_t)dx + (k / 3 % 3 - 1) * (ptrdiff_t)dy +
                 k % 3 - 1];
    return sum;
}

static void step(const box *b, int points, const double *u, double *next)
{
    const size_t dx = place(b, 1, 0, 0), dy = place(b, 0, 1, 0);

    for (int x = 1; x <= b->n[0]; x++)
        for (int y = 1; y <= b->n[1]; y++)
            for (size_t i = place(b, x, y, 1); i < place(b, x, y, b->n[2] + 1);
                 i++)
                next[i] = points == 7 ? around_7(u + i, dx, dy)
                                      : around_27(u + i, dx, dy);
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
static double run(int N, int steps, int points, MPI_Comm grid, double *seconds)
{
    const box b = make_box(N, grid);
    const size_t bytes = place(&b, b.whole[0], 0, 0) * sizeof(double);
    double *u[2];

    for (int i = 0; i < 2; i++)
        MUST(rota_mem_alloc(bytes, grid, MPI_INFO_NULL, &u[i]));
    compare(&b, N, 1, u[0], 1);
    rota_plan *plan =
        points == 7 ? plan_faces(&b, u[0], grid) : plan_all(&b, u[0], grid);
    for (int k = 0; k < steps; k++) {
        const double began = MPI_Wtime();
        MUST(rota_plan_set_buffers(plan, u[k % 2], u[k % 2]));
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        *seconds += MPI_Wtime() - began;
        step(&b, points, u[k % 2], u[(k + 1) % 2]);
    }
    MUST(rota_plan_free(&plan));
    const double error =
        compare(&b, N, pow(fading(N, points), steps), u[steps % 2], 0);
    for (int i = 0; i < 2; i++)
        MUST(rota_mem_free(&u[i]));
    return error;
}

int main(int argc, char **argv)
{
    const int N = argc > 1 ? atoi(argv[1]) : 24;
    const int steps = argc > 2 ? atoi(argv[2]) : 20;
    const int points = argc > 3 ? atoi(argv[3]) : 7;
    const int around[3] = {1, 1, 1};
    int P, me, dims[3] = {0};
    double worst[2] = {0}; /* error, seconds */
    MPI_Comm grid;

    must_name(argv[0]);
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &P));
    MUST(MPI_Dims_create(P, 3, dims));
    if (N < dims[0] || steps < 1 || (points != 7 && points != 27)) {
        fprintf(stderr,
                "halo [N [STEPS [POINTS]]]: N at least %d, STEPS at least 1, "
                "POINTS 7 or 27\n",
                dims[0]);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, around, 0, &grid));
    MUST(MPI_Comm_rank(grid, &me));
    worst[0] = run(N, steps, points, grid, &worst[1]);
    MUST(MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, grid));
    if (me == 0)
        printf("%d^3 points on %dx%dx%d ranks, %d steps of %d points: halos "
               "took %.1f us each, greatest error %.1e\n",
               N, dims[0], dims[1], dims[2], steps, points,
               worst[1] / steps * 1e6, worst[0]);
    MUST(MPI_Comm_free(&grid));
    MUST(MPI_Finalize());
    return worst[0] < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
