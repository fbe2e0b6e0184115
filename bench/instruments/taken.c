/* taken.c - how many exchanges of a program the drop-in takes.
 *
 *     rota-run mpiexec -n P rota-taken KIND BYTES CALLS
 *     rota-run mpiexec -n P rota-taken datalog BYTES STEPS
 *
 * KIND: alltoall, alltoallv, alltoallw or neighbor, in one loop, in which all bytes
 * are written before and read after; BYTES is a block's. datalog: steps of a Datalog
 * engine: MPI_Alltoall of counts, two MPI_Allreduce, and MPI_Alltoallv with other
 * counts, of BYTES on average, and other buffers each time. Prints, for either half
 * of the calls, how many there were and how many did not come to MPI on rank 0.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int P;
static size_t block;
static int *counts, *displs;
static MPI_Datatype *types;
static MPI_Comm graph;

/* ---- what comes to MPI --------------------------------------------------- */

static long passed;

/* The drop-in calls these for a call that goes to MPI. */
#define COUNTED(name, parameters, arguments)                                   \
    int name parameters                                                        \
    {                                                                          \
        static int(*mpi) parameters;                                           \
        if (!mpi)                                                              \
            *(void **)&mpi = dlsym(RTLD_NEXT, #name);                          \
        passed++;                                                              \
        return mpi arguments;                                                  \
    }

COUNTED(PMPI_Alltoall,
        (const void *s, int sn, MPI_Datatype st, void *r, int rn,
         MPI_Datatype rt, MPI_Comm comm),
        (s, sn, st, r, rn, rt, comm))
#define V                                                                      \
    (const void *s, const int sn[], const int sd[], MPI_Datatype st, void *r,  \
     const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm comm)
#define ARGUMENTS (s, sn, sd, st, r, rn, rd, rt, comm)
COUNTED(PMPI_Alltoallv, V, ARGUMENTS)
COUNTED(PMPI_Neighbor_alltoallv, V, ARGUMENTS)
COUNTED(PMPI_Alltoallw,
        (const void *s, const int sn[], const int sd[], const MPI_Datatype st[],
         void *r, const int rn[], const int rd[], const MPI_Datatype rt[],
         MPI_Comm comm),
        ARGUMENTS)

/* ---- loops --------------------------------------------------------------- */

static void alltoall(const void *from, void *to)
{
    MPI_Alltoall(from, (int)block, MPI_BYTE, to, (int)block, MPI_BYTE,
                 MPI_COMM_WORLD);
}

static void alltoallv(const void *from, void *to)
{
    MPI_Alltoallv(from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE,
                  MPI_COMM_WORLD);
}

static void alltoallw(const void *from, void *to)
{
    MPI_Alltoallw(from, counts, displs, types, to, counts, displs, types,
                  MPI_COMM_WORLD);
}

static void neighbor(const void *from, void *to)
{
    MPI_Neighbor_alltoallv(from, counts, displs, MPI_BYTE, to, counts, displs,
                           MPI_BYTE, graph);
}

static const struct kind {
    const char *name;
    void (*call)(const void *from, void *to);
} kinds[] = {{"alltoall", alltoall},
             {"alltoallv", alltoallv},
             {"alltoallw", alltoallw},
             {"neighbor", neighbor}};

static long wrong;

static void call(const struct kind *k, unsigned char *from, unsigned char *to,
                 long i)
{
    const size_t all = block * (size_t)P;
    unsigned sum = 0;

    memset(from, (int)(i & 127), all);
    k->call(from, to);
    for (size_t j = 0; j < all; j++)
        sum += to[j];
    wrong += sum != (unsigned)((size_t)(i & 127) * all);
}

static void loop(const struct kind *k, long from, long to)
{
    unsigned char *const send = calloc((size_t)P, block);
    unsigned char *const recv = calloc((size_t)P, block);

    for (long i = from; send && recv && i < to; i++)
        call(k, send, recv, i);
    free(send);
    free(recv);
}

/* ---- a Datalog engine ---------------------------------------------------- */

/* Blocks end to end; returns the bytes of all. */
static int line_up(const int n[], int at[])
{
    int sum = 0;

    for (int q = 0; q < P; q++) {
        at[q] = sum;
        sum += n[q];
    }
    return sum;
}

static void step(long i, int *n)
{
    int *const sent = n, *const got = n + P, *const from = n + 2 * P,
               *const to = n + 3 * P;
    int mine[2] = {1, 2}, all[2];

    for (int q = 0; q < P; q++)
        sent[q] = (int)((size_t)(i * 7 + q * 5) % 16 * block / 8);
    MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD);
    char *const out = calloc((size_t)line_up(sent, from) + 1, 1);
    char *const in = malloc((size_t)line_up(got, to) + 1);
    MPI_Allreduce(&mine[0], &all[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoallv(out, sent, from, MPI_BYTE, in, got, to, MPI_BYTE,
                  MPI_COMM_WORLD);
    MPI_Allreduce(&mine[1], &all[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    free(out);
    free(in);
}

static void steps(long from, long to)
{
    int *const n = calloc((size_t)P, 4 * sizeof *n);

    for (long i = from; n && i < to; i++)
        step(i, n);
    free(n);
}

/* ---- begin and end ------------------------------------------------------- */

static void set_up(void)
{
    const size_t n = (size_t)P;
    int *const ranks = calloc(n, sizeof *ranks);

    counts = calloc(n, sizeof *counts);
    displs = calloc(n, sizeof *displs);
    types = calloc(n, sizeof *types);
    if (!ranks || !counts || !displs || !types)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    for (int q = 0; q < P; q++) {
        ranks[q] = q;
        counts[q] = (int)block;
        displs[q] = q * (int)block;
        types[q] = MPI_BYTE;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, P, ranks, MPI_UNWEIGHTED, P,
                                   ranks, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    free(ranks);
}

static const struct kind *find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct kind *const k = argc > 1 ? find(argv[1]) : NULL;
    const long n = argc > 3 ? atol(argv[3]) : 0;
    const long each = k ? 1 : 2;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    block = argc > 2 ? (size_t)atol(argv[2]) : 0;
    if (block == 0 || n <= 0 || (!k && strcmp(argv[1], "datalog") != 0)) {
        fprintf(stderr, "usage: rota-taken KIND|datalog BYTES CALLS\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    set_up();
    for (int half = 0; half < 2; half++) {
        const long from = half * (n / 2), to = half ? n : n / 2;
        passed = 0;
        if (k)
            loop(k, from, to);
        else
            steps(from, to);
        const long calls = each * (to - from);
        if (rank == 0)
            printf("half %d: calls %ld taken %ld (%.1f %%)\n", half + 1, calls,
                   calls - passed,
                   100.0 * (double)(calls - passed) / (double)calls);
    }
    MPI_Comm_free(&graph);
    free(counts);
    free(displs);
    free(types);
    MPI_Finalize();
    return wrong > 0;
}
