/* sparse.c - breadth-first search: each step sends the vertices reached to their
 * owners. A block is a header, the level of its vertices, and the vertices. */
#include <rota.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 20000, MOST = 4 * N };
static long reached[MOST], send[MOST], level[N]; /* level 0: not reached */
static int dests[MOST], sendcounts[MOST], sdispls[MOST];

static void must(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static int compare(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* Blocks for the owners of the n vertices reached. Returns how many. */
static int make_blocks(int n, long step, int per_rank)
{
    int blocks = 0, at = 0;
    qsort(reached, (size_t)n, sizeof *reached, compare);
    for (int i = 0; i < n; i++) {
        const int owner = (int)(reached[i] / per_rank);
        if (blocks == 0 || dests[blocks - 1] != owner) {
            dests[blocks] = owner;
            sdispls[blocks] = at;
            sendcounts[blocks++] = 1;
            send[at++] = step;
        }
        send[at++] = reached[i];
        sendcounts[blocks - 1]++;
    }
    return blocks;
}

int main(int argc, char **argv)
{
    int P, me, n_sources, found = 0, all = 0, before = -1, n;
    rota_plan *plan;
    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    must(rota_exchange_init_sparse(MPI_LONG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &plan));
    n = me == 0; /* from vertex 0 */
    for (long step = 1; all > before; step++) {
        const int *sources, *counts, *displs;
        void *recvbuf; /* the plan's, valid until the next start */
        n = make_blocks(n, step, (N + P - 1) / P);
        must(rota_exchange_start_sparse(plan, send, n, dests, sendcounts,
                                        sdispls));
        must(rota_exchange_wait_sparse(plan, &recvbuf, &n_sources, &sources,
                                       &counts, &displs));
        n = 0;
        for (int b = 0; b < n_sources; b++)
            for (int i = 1; i < counts[b]; i++) {
                const long *const block = (const long *)recvbuf + displs[b];
                if (level[block[i]])
                    continue;
                level[block[i]] = block[0];
                reached[n++] = (block[i] + 1) % N; /* its neighbours */
                reached[n++] = block[i] * 7 % N;
                found++;
            }
        before = all;
        must(MPI_Allreduce(&found, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    }
    if (me == 0)
        printf("%d of %d vertices reached\n", all, N);
    must(rota_plan_free(&plan));
    must(MPI_Finalize());
    return all == N ? EXIT_SUCCESS : EXIT_FAILURE;
}
