/* halo.c - rota_neighbor_alltoallv_init beside MPI_Neighbor_alltoallv and
 * MPI_Neighbor_alltoallv_init, in turn.
 *
 *     mpiexec -n P rota-halo [BYTES [ROUNDS [FILE]]]
 *
 * A halo of 27 points in a closed grid of P ranks: faces of BYTES bytes, edges and
 * corners of less. Or, of the graph in FILE (two numbers a line), whose vertices
 * are dealt to ranks in ranges of their numbers: each rank gets BYTES bytes for
 * every vertex of others that has an edge to one of its own. All that is sent is
 * written before, all that came is read after each exchange. Medians, in
 * microseconds, of the slowest rank, less what the same takes without exchanges.
 */
#include "common/neighborhood.h"
#include "common/touch.h"
#include "common/util.h"

#include <rota.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 2000 };
typedef enum way { MPI, PERSISTENT, ROTA, WAYS, NOTHING = WAYS } way;

/* Of this rank, sent and received. */
static int n_blocks[2], *peer[2], *count[2], *displ[2];

/* ---- whom and how much --------------------------------------------------- */

static void find_neighbors(const char *what, int bytes)
{
    neighborhood all;
    char why[300];
    int P, me;

    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (neighborhood_make(&all, what, P, (size_t)bytes, why, sizeof why) != 0)
        bench_die("%s", why);
    for (int side = 0; side < 2; side++) {
        const int n = neighborhood_degree(&all, side, me);
        const size_t first = all.first[side][me];
        n_blocks[side] = n;
        peer[side] = bench_calloc((size_t)n, sizeof(int));
        count[side] = bench_calloc((size_t)n, sizeof(int));
        displ[side] = bench_calloc((size_t)n + 1, sizeof(int));
        for (int i = 0; i < n; i++) {
            peer[side][i] = all.peer[side][first + (size_t)i];
            count[side][i] = (int)all.bytes[side][first + (size_t)i];
            displ[side][i + 1] = displ[side][i] + count[side][i];
        }
    }
    neighborhood_free(&all);
}

/* ---- the three ways ------------------------------------------------------ */

typedef struct halo {
    MPI_Comm comm;
    char *send, *recv;
    MPI_Request request;
    rota_plan *plan;
} halo;

static void make_halo(halo *h)
{
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_blocks[1], peer[1],
                                   MPI_UNWEIGHTED, n_blocks[0], peer[0],
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &h->comm);
    h->send = bench_calloc((size_t)displ[0][n_blocks[0]] + 1, 1);
    h->recv = bench_calloc((size_t)displ[1][n_blocks[1]] + 1, 1);
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
    } else if (w == PERSISTENT && MPI_VERSION >= 4) {
        MPI_Start(&h->request);
        MPI_Wait(&h->request, MPI_STATUS_IGNORE);
    }
}

/* Of the edges between two ranks, the nth sent is the nth received: no more than
 * that says which block is which, and MPICH's results do not always. */
static int nth_of(int side, int block)
{
    int n = 0;

    for (int i = 0; i < block; i++)
        n += peer[side][i] == peer[side][block];
    return n;
}

static void fill(char *data, int side, int me)
{
    for (int i = 0; i < n_blocks[side]; i++) {
        const int from = side ? peer[side][i] : me;
        const int to = side ? me : peer[side][i];
        for (int k = 0; k < count[side][i]; k++)
            data[displ[side][i] + k] =
                (char)(11 * from + 5 * to + 3 * nth_of(side, i) + k + 1);
    }
}

static void check(halo *h)
{
    const size_t n = (size_t)displ[1][n_blocks[1]];
    char *const right = bench_calloc(n + 1, 1);
    int me;

    MPI_Comm_rank(h->comm, &me);
    fill(h->send, 0, me);
    fill(right, 1, me);
    go(h, ROTA);
    if (memcmp(right, h->recv, n) != 0)
        bench_die("wrong data");
    free(right);
}

static double step_us(halo *h, way w)
{
    enum { IN_A_ROW = 10 };
    const touch_blocks sent = {(unsigned char *)h->send, count[0], displ[0],
                               n_blocks[0]};
    const touch_blocks received = {(unsigned char *)h->recv, count[1], displ[1],
                                   n_blocks[1]};

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int k = 0; k < IN_A_ROW; k++) {
        touch_write(&sent, (uint64_t)k);
        go(h, w);
        touch_read(&received);
    }
    return (MPI_Wtime() - begin) / IN_A_ROW * 1e6;
}

static double measure(halo *h, way w)
{
    const double us = step_us(h, w);

    return us - step_us(h, NOTHING);
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
    find_neighbors(argc > 3 ? argv[3] : "halo", bytes);
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
