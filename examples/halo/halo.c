/* halo.c - heat spreads in a periodic cube: a stencil of 7 points, or of 27,
 * whose halo is one plan. The ranks are a Cartesian communicator, and what a
 * neighbour needs is a subarray of the rank's box, so that nothing is packed.
 *
 *   mpiexec -n P halo [N [STEPS [POINTS [ROUNDS]]]]
 *
 * In one way of doing it the halo comes first, and then the step; in the other, the
 * points at the boundary come first, and the halo of the next step is under way
 * while those inside are computed. The two take turns, ROUNDS times.
 *
 * With 7 points the neighbours are those of the grid, and none is named. With 27,
 * edges and corners are neighbours as well, which makes a graph.
 *
 * A wave along the axes keeps its form and fades by the same factor in each step,
 * which tells what the numbers must be in the end.
 */
#include "must.h"
#include "rounds.h"

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

/* Points low to high along each axis; none if high < low. */
typedef struct region {
    int low[3], high[3];
} region;

static void step_plane(const box *b, int points, const region *r, int x,
                       const double *u, double *next)
{
    const size_t dx = place(b, 1, 0, 0), dy = place(b, 0, 1, 0);

    for (int y = r->low[1]; y <= r->high[1]; y++)
        for (int z = r->low[2]; z <= r->high[2]; z++) {
            const size_t i = place(b, x, y, z);
            next[i] = points == 7 ? around_7(u + i, dx, dy)
                                  : around_27(u + i, dx, dy);
        }
}

static void step(const box *b, int points, const region *r, const double *u,
                 double *next)
{
    for (int x = r->low[0]; x <= r->high[0]; x++)
        step_plane(b, points, r, x, u, next);
}

/* Without a layer at each end of the first axes; n_axes = 0: all points. */
static region without_layers(const box *b, int n_axes)
{
    region r;

    for (int i = 0; i < 3; i++) {
        r.low[i] = i < n_axes ? 2 : 1;
        r.high[i] = i < n_axes ? b->n[i] - 1 : b->n[i];
    }
    return r;
}

/* The layer at an end of the box, without what layers before it have. */
static region face(const box *b, int i)
{
    const int axis = i / 2, n = b->n[axis];
    region r = without_layers(b, axis);

    if (i % 2 == 0)
        r.high[axis] = 1;
    else
        r.low[axis] = n > 1 ? n : 2;
    return r;
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

typedef enum way { HALO_FIRST, BOUNDARY_FIRST, WAYS } way;

typedef struct heat {
    box b;
    int points, steps;
    double *u[2]; /* of even and odd steps */
    rota_plan *plan;
} heat;

static void step_halo_first(const heat *h, const double *u, double *next)
{
    const region all = without_layers(&h->b, 0);

    MUST(rota_plan_set_buffers(h->plan, (void *)u, (void *)u));
    MUST(rota_start(h->plan));
    MUST(rota_wait(h->plan));
    step(&h->b, h->points, &all, u, next);
}

/* A face can leave when it is computed, since those before it have its edges;
 * what is sent beside faces, when all are. */
static void step_faces(const heat *h, const double *u, double *next)
{
    for (int i = 0; i < FACES; i++) {
        const region r = face(&h->b, i);
        step(&h->b, h->points, &r, u, next);
        if (h->points == 7)
            MUST(rota_pready(h->plan, i));
    }
    if (h->points == 27)
        MUST(rota_pready_range(h->plan, 0, AROUND - 1));
}

/* The halo of u is there; afterwards that of next is. */
static void step_boundary_first(const heat *h, const double *u, double *next)
{
    const region inside = without_layers(&h->b, 3);
    int done;

    MUST(rota_plan_set_buffers(h->plan, next, next));
    MUST(rota_start(h->plan));
    step_faces(h, u, next);
    for (int x = inside.low[0]; x <= inside.high[0]; x++) {
        step_plane(&h->b, h->points, &inside, x, u, next);
        MUST(rota_test(h->plan, &done)); /* moves what is under way */
    }
    MUST(rota_wait(h->plan));
}

static void steps_halo_first(const heat *h)
{
    for (int k = 0; k < h->steps; k++)
        step_halo_first(h, h->u[k % 2], h->u[(k + 1) % 2]);
}

/* The first halo, and the last step, have nothing to go with. */
static void steps_boundary_first(const heat *h)
{
    const int last = h->steps - 1, n = h->points == 7 ? FACES : AROUND;
    const region all = without_layers(&h->b, 0);

    MUST(rota_plan_set_partitioned(h->plan));
    MUST(rota_start(h->plan));
    MUST(rota_pready_range(h->plan, 0, n - 1));
    MUST(rota_wait(h->plan));
    for (int k = 0; k < last; k++)
        step_boundary_first(h, h->u[k % 2], h->u[(k + 1) % 2]);
    step(&h->b, h->points, &all, h->u[last % 2], h->u[(last + 1) % 2]);
}

/* The error in the end; *seconds of a step. */
static double run(int N, int steps, int points, way way, MPI_Comm grid,
                  double *seconds)
{
    heat h = {.b = make_box(N, grid), .points = points, .steps = steps};
    const size_t bytes = place(&h.b, h.b.whole[0], 0, 0) * sizeof(double);

    for (int i = 0; i < 2; i++)
        MUST(rota_mem_alloc(bytes, grid, MPI_INFO_NULL, &h.u[i]));
    compare(&h.b, N, 1, h.u[0], 1);
    compare(&h.b, N, 1, h.u[1], 1); /* so that its pages are there */
    h.plan = points == 7 ? plan_faces(&h.b, h.u[0], grid)
                         : plan_all(&h.b, h.u[0], grid);
    MUST(MPI_Barrier(grid));
    const double began = MPI_Wtime();
    if (way == HALO_FIRST)
        steps_halo_first(&h);
    else
        steps_boundary_first(&h);
    *seconds = (MPI_Wtime() - began) / steps;
    MUST(rota_plan_free(&h.plan));
    const double error =
        compare(&h.b, N, pow(fading(N, points), steps), h.u[steps % 2], 0);
    for (int i = 0; i < 2; i++)
        MUST(rota_mem_free(&h.u[i]));
    return error;
}

/* The greatest error of both ways; prints what a step took. */
static double contest(int N, int steps, int points, size_t rounds,
                      MPI_Comm grid)
{
    static const char *const name[WAYS] = {"halo first", "boundary first"};
    double *const times = must_realloc(NULL, WAYS * rounds, sizeof *times);
    double worst = 0;
    int me;

    MUST(MPI_Comm_rank(grid, &me));
    for (size_t k = 0; k < rounds; k++)
        for (int turn = 0; turn < WAYS; turn++) {
            const int way = round_turn(k, turn, WAYS);
            double most[2];
            most[1] = run(N, steps, points, (enum way)way, grid, &most[0]);
            MUST(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX,
                               grid));
            times[(size_t)way * rounds + k] = most[0];
            worst = fmax(worst, most[1]);
        }
    for (int way = 0; me == 0 && way < WAYS; way++)
        printf("%-14s %10.1f us a step\n", name[way],
               1e6 * quantile(times + (size_t)way * rounds, rounds, 0.5));
    free(times);
    return worst;
}

int main(int argc, char **argv)
{
    const int N = argc > 1 ? atoi(argv[1]) : 24;
    const int steps = argc > 2 ? atoi(argv[2]) : 20;
    const int points = argc > 3 ? atoi(argv[3]) : 7;
    const int rounds = argc > 4 ? atoi(argv[4]) : 3;
    const int around[3] = {1, 1, 1};
    int P, me, dims[3] = {0};
    MPI_Comm grid;

    must_name(argv[0]);
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_size(MPI_COMM_WORLD, &P));
    MUST(MPI_Dims_create(P, 3, dims));
    if (N < dims[0] || steps < 1 || (points != 7 && points != 27) ||
        rounds < 1) {
        fprintf(stderr,
                "halo [N [STEPS [POINTS [ROUNDS]]]]: N at least %d, STEPS and "
                "ROUNDS at least 1, POINTS 7 or 27\n",
                dims[0]);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 3, dims, around, 0, &grid));
    MUST(MPI_Comm_rank(grid, &me));
    const double worst = contest(N, steps, points, (size_t)rounds, grid);
    if (me == 0)
        printf("%d^3 points on %dx%dx%d ranks, %d steps of %d points: greatest "
               "error %.1e\n",
               N, dims[0], dims[1], dims[2], steps, points, worst);
    MUST(MPI_Comm_free(&grid));
    MUST(MPI_Finalize());
    return worst < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
