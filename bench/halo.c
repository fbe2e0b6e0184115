/* halo.c - rota_neighbor_alltoallv_init beside MPI_Neighbor_alltoallv, in turn.
 *
 *     mpiexec -n P rota-halo [BYTES [ROUNDS]]
 *
 * A halo of 27 points in a closed grid of P ranks: faces of BYTES bytes, edges and
 * corners of less. Medians, in microseconds, of the slowest rank.
 */
#include "util.h"

#include <rota.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBORS = 26, MOST_ROUNDS = 2000 };

static int to[NEIGHBORS], from[NEIGHBORS], count[NEIGHBORS], displ[NEIGHBORS];

static MPI_Comm make_halo(int bytes)
{
    int P, me, size[3] = {0}, periods[3] = {1, 1, 1}, at[3], n = 0;
    MPI_Comm grid, halo;

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
        count[n] = zeros == 2 ? bytes : zeros == 1 ? bytes / 16 + 1 : 8;
        displ[n] = n > 0 ? displ[n - 1] + count[n - 1] : 0;
        n++;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, from, MPI_UNWEIGHTED, n,
                                   to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &halo);
    MPI_Comm_free(&grid);
    return halo;
}

int main(int argc, char **argv)
{
    static double took[2][MOST_ROUNDS];
    const int bytes = argc > 1 ? atoi(argv[1]) : 1024;
    int rounds = argc > 2 ? atoi(argv[2]) : 200, me;
    rota_plan *plan;

    MPI_Init(&argc, &argv);
    rounds = rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm halo = make_halo(bytes);
    const size_t room = (size_t)(displ[NEIGHBORS - 1] + count[NEIGHBORS - 1]);
    char *const send = calloc(room, 1), *const recv = calloc(room, 1);
    rota_neighbor_alltoallv_init(send, count, displ, MPI_BYTE, recv, count,
                                 displ, MPI_BYTE, halo, MPI_INFO_NULL, &plan);
    for (int i = 0; i < rounds; i++)
        for (int way = 0; way < 2; way++) {
            enum { IN_A_ROW = 10 };
            MPI_Barrier(MPI_COMM_WORLD);
            const double begin = MPI_Wtime();
            for (int k = 0; k < IN_A_ROW; k++)
                if (way == 0) {
                    MPI_Neighbor_alltoallv(send, count, displ, MPI_BYTE, recv,
                                           count, displ, MPI_BYTE, halo);
                } else {
                    rota_start(plan);
                    rota_wait(plan);
                }
            double mine = (MPI_Wtime() - begin) / IN_A_ROW * 1e6;
            MPI_Reduce(&mine, &took[way][i], 1, MPI_DOUBLE, MPI_MAX, 0,
                       MPI_COMM_WORLD);
        }
    if (me == 0) {
        const double mpi = bench_median(took[0], rounds),
                     rota = bench_median(took[1], rounds);
        printf("faces %d B: MPI %.2f us, Rota %.2f us, %.2f times as fast\n",
               bytes, mpi, rota, mpi / rota);
    }
    rota_plan_free(&plan);
    MPI_Comm_free(&halo);
    free(send);
    free(recv);
    MPI_Finalize();
    return 0;
}
