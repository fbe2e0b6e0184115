/* halo.c - rota_neighbor_alltoallv_init beside MPI_Neighbor_alltoallv and
 * MPI_Neighbor_alltoallv_init, in turn.
 *
 *     mpiexec -n P rota-halo [BYTES [ROUNDS [FILE]]]
 *
 * A halo of 27 points in a closed grid of P ranks: faces of BYTES bytes, edges and
 * corners of less. Or, of the graph in FILE (two numbers a line), whose vertices
 * are dealt to ranks in ranges of their numbers: each rank gets BYTES bytes for
 * every vertex of others that has an edge to one of its own. Medians, in
 * microseconds, of the slowest rank.
 */
#include "util.h"

#include <rota.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBORS = 26, MOST = 4096, MOST_ROUNDS = 2000 };
typedef enum way { MPI, PERSISTENT, ROTA, WAYS } way;

/* Sent and received. */
static int n_to, n_from, to[MOST], from[MOST];
static int count[2][MOST], displ[2][MOST + 1];

static void add(int side, int n, int bytes)
{
    count[side][n] = bytes;
    displ[side][n + 1] = displ[side][n] + bytes;
}

/* ---- the grid ---------------------------------------------------------------- */

static void make_grid(int bytes)
{
    int P, me, size[3] = {0}, periods[3] = {1, 1, 1}, at[3], n = 0;
    MPI_Comm grid;

    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Dims_create(P, 3, size);
    MPI_Cart_create(MPI_COMM_WORLD, 3, size, periods, 0, &grid);
    MPI_Comm_rank(grid, &me);
    MPI_Cart_coords(grid, me, 3, at);
    for (int i = 0; i < 27; i++) {
        const int d[3] = {i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1};
        const int zeros = !d[0] + !d[1] + !d[2];
        int there[3], back[3];
        if (zeros == 3)
            continue;
        for (int k = 0; k < 3; k++) {
            there[k] = at[k] + d[k];
            back[k] = at[k] - d[k];
        }
        MPI_Cart_rank(grid, there, &to[n]);
        MPI_Cart_rank(grid, back, &from[n]);
        for (int side = 0; side < 2; side++)
            add(side, n, zeros == 2 ? bytes : zeros == 1 ? bytes / 16 + 1 : 8);
        n++;
    }
    n_to = n_from = n;
    MPI_Comm_free(&grid);
}

/* ---- the graph --------------------------------------------------------------- */

/* Vertices of mine that a rank needs, and of its that this one needs. */
typedef struct needs {
    long n; /* vertices */
    int P, me;
    unsigned char *seen; /* [2][P][n] */
} needs;

static int owner(const needs *x, long v)
{
    return (int)(v * x->P / x->n);
}

static void see(needs *x, long u, long v)
{
    const int of_u = owner(x, u), of_v = owner(x, v);

    if (of_u == x->me && of_v != x->me)
        x->seen[(size_t)of_v * (size_t)x->n + (size_t)u] = 1;
    if (of_v == x->me && of_u != x->me)
        x->seen[(size_t)(x->P + of_u) * (size_t)x->n + (size_t)u] = 1;
}

static int count_seen(const needs *x, int side, int q)
{
    const unsigned char *const seen =
        x->seen + (size_t)(side * x->P + q) * (size_t)x->n;
    int n = 0;

    for (long v = 0; v < x->n; v++)
        n += seen[v];
    return n;
}

/* The edges, twice: once for the number of vertices. */
static void make_graph(const char *path, int bytes)
{
    FILE *const file = fopen(path, "r");
    needs x = {0};
    long u, v;

    if (!file)
        bench_die("%s cannot be read", path);
    MPI_Comm_size(MPI_COMM_WORLD, &x.P);
    MPI_Comm_rank(MPI_COMM_WORLD, &x.me);
    while (fscanf(file, "%ld %ld", &u, &v) == 2)
        x.n = u >= x.n ? u + 1 : v >= x.n ? v + 1 : x.n;
    x.seen = bench_calloc(2 * (size_t)x.P * (size_t)x.n, 1);
    rewind(file);
    while (fscanf(file, "%ld %ld", &u, &v) == 2) {
        see(&x, u, v);
        see(&x, v, u);
    }
    fclose(file);
    for (int q = 0; q < x.P; q++) {
        const int sent = count_seen(&x, 0, q), received = count_seen(&x, 1, q);
        if (sent > 0)
            add(0, n_to, sent * bytes), to[n_to++] = q;
        if (received > 0)
            add(1, n_from, received * bytes), from[n_from++] = q;
    }
    free(x.seen);
}

/* ---- the three ways ---------------------------------------------------------- */

typedef struct halo {
    MPI_Comm comm;
    char *send, *recv;
    MPI_Request request;
    rota_plan *plan;
} halo;

static void make_halo(halo *h)
{
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_from, from, MPI_UNWEIGHTED,
                                   n_to, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &h->comm);
    h->send = bench_calloc((size_t)displ[0][n_to] + 1, 1);
    h->recv = bench_calloc((size_t)displ[1][n_from] + 1, 1);
    for (int i = 0; i < displ[0][n_to]; i++)
        h->send[i] = (char)(i * 7 + 1);
    rota_neighbor_alltoallv_init(h->send, count[0], displ[0], MPI_BYTE, h->recv,
                                 count[1], displ[1], MPI_BYTE, h->comm,
                                 MPI_INFO_NULL, &h->plan);
#if MPI_VERSION >= 4
    MPI_Neighbor_alltoallv_init(h->send, count[0], displ[0], MPI_BYTE, h->recv,
                                count[1], displ[1], MPI_BYTE, h->comm,
                                MPI_INFO_NULL, &h->request);
#endif
}

static void free_halo(halo *h)
{
    rota_plan_free(&h->plan);
#if MPI_VERSION >= 4
    MPI_Request_free(&h->request);
#endif
    MPI_Comm_free(&h->comm);
    free(h->send);
    free(h->recv);
}

static void go(halo *h, way w)
{
    if (w == MPI) {
        MPI_Neighbor_alltoallv(h->send, count[0], displ[0], MPI_BYTE, h->recv,
                               count[1], displ[1], MPI_BYTE, h->comm);
    } else if (w == ROTA) {
        rota_start(h->plan);
        rota_wait(h->plan);
    } else if (MPI_VERSION >= 4) {
        MPI_Start(&h->request);
        MPI_Wait(&h->request, MPI_STATUS_IGNORE);
    }
}

static void check(halo *h)
{
    const size_t n = (size_t)displ[1][n_from];
    char *const right = bench_calloc(n + 1, 1);

    go(h, MPI);
    memcpy(right, h->recv, n);
    memset(h->recv, 0, n);
    go(h, ROTA);
    if (memcmp(right, h->recv, n) != 0)
        bench_die("wrong data");
    free(right);
}

static double measure(halo *h, way w)
{
    enum { IN_A_ROW = 10 };

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int k = 0; k < IN_A_ROW; k++)
        go(h, w);
    return (MPI_Wtime() - begin) / IN_A_ROW * 1e6;
}

int main(int argc, char **argv)
{
    static double took[WAYS][MOST_ROUNDS];
    const int bytes = argc > 1 ? atoi(argv[1]) : 1024;
    int rounds = argc > 2 ? atoi(argv[2]) : 200, me;
    halo h;

    bench_program = "rota-halo";
    MPI_Init(&argc, &argv);
    rounds = rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc > 3)
        make_graph(argv[3], bytes);
    else
        make_grid(bytes);
    make_halo(&h);
    check(&h);
    for (int i = 0; i < rounds; i++)
        for (int w = 0; w < WAYS; w++) {
            double mine = measure(&h, (way)w);
            MPI_Reduce(&mine, &took[w][i], 1, MPI_DOUBLE, MPI_MAX, 0,
                       MPI_COMM_WORLD);
        }
    if (me == 0) {
        double us[WAYS];
        for (int w = 0; w < WAYS; w++)
            us[w] = bench_median(took[w], rounds);
        printf("%d B: MPI %.2f us, persistent %.2f us, Rota %.2f us, %.2f and "
               "%.2f times as fast\n",
               bytes, us[MPI], us[PERSISTENT], us[ROTA], us[MPI] / us[ROTA],
               us[PERSISTENT] / us[ROTA]);
    }
    free_halo(&h);
    MPI_Finalize();
    return 0;
}
