/* taken.c - how many exchanges of a program the drop-in takes.
 *
 *     rota-run mpiexec -n P rota-taken KIND BYTES CALLS [NAP]
 *     rota-run mpiexec -n P rota-taken datalog BYTES STEPS
 *
 * KIND: alltoall, alltoallv, alltoallw, or neighbor_ and one of these, in one loop,
 * in which all bytes are written before and read after; BYTES is a block's. The last
 * rank calls NAP milliseconds after the others, for calls.sh. datalog: steps of a
 * Datalog engine: MPI_Alltoall of counts, two MPI_Allreduce, and MPI_Alltoallv with
 * other counts, of BYTES on average, and other buffers each time. Prints, for either
 * half of the calls, how many there were and how many did not come to MPI on rank 0.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int P;
static size_t block;
static unsigned char *sent, *got; /* [P * block] */
static int *counts, *displs;
static MPI_Aint *places;
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

#define ONE                                                                    \
    (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, \
     MPI_Comm comm)
COUNTED(PMPI_Alltoall, ONE, (s, sn, st, r, rn, rt, comm))
COUNTED(PMPI_Neighbor_alltoall, ONE, (s, sn, st, r, rn, rt, comm))
#define V                                                                      \
    (const void *s, const int sn[], const int sd[], MPI_Datatype st, void *r,  \
     const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm comm)
#define ARGUMENTS (s, sn, sd, st, r, rn, rd, rt, comm)
COUNTED(PMPI_Alltoallv, V, ARGUMENTS)
COUNTED(PMPI_Neighbor_alltoallv, V, ARGUMENTS)
#define W(displ)                                                               \
    (const void *s, const int sn[], const displ sd[], const MPI_Datatype st[], \
     void *r, const int rn[], const displ rd[], const MPI_Datatype rt[],       \
     MPI_Comm comm)
COUNTED(PMPI_Alltoallw, W(int), ARGUMENTS)
COUNTED(PMPI_Neighbor_alltoallw, W(MPI_Aint), ARGUMENTS)

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

static void neighbor_alltoall(const void *from, void *to)
{
    MPI_Neighbor_alltoall(from, (int)block, MPI_BYTE, to, (int)block, MPI_BYTE,
                          graph);
}

static void neighbor_alltoallw(const void *from, void *to)
{
    MPI_Neighbor_alltoallw(from, counts, places, types, to, counts, places,
                           types, graph);
}

static void neighbor_alltoallv(const void *from, void *to)
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
             {"neighbor_alltoall", neighbor_alltoall},
             {"neighbor_alltoallv", neighbor_alltoallv},
             {"neighbor_alltoallw", neighbor_alltoallw}};

static long wrong;
static bool late;
static struct timespec nap;

/* A call of the second half, for calls.sh. */
void repeated(const struct kind *k, const void *from, void *to);

__attribute__((noinline)) void repeated(const struct kind *k, const void *from,
                                        void *to)
{
    k->call(from, to);
}

static void call(const struct kind *k, int half, long i)
{
    const size_t all = block * (size_t)P;
    unsigned sum = 0;

    memset(sent, (int)(i & 127), all);
    if (late)
        nanosleep(&nap, NULL);
    if (half)
        repeated(k, sent, got);
    else
        k->call(sent, got);
    for (size_t j = 0; j < all; j++)
        sum += got[j];
    wrong += sum != (unsigned)((size_t)(i & 127) * all);
}

static void loop(const struct kind *k, int half, long from, long to)
{
    for (long i = from; i < to; i++)
        call(k, half, i);
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
    int *const out = n, *const in = n + P, *const from = n + 2 * P,
               *const to = n + 3 * P;
    int mine[2] = {1, 2}, all[2];

    for (int q = 0; q < P; q++)
        out[q] = (int)((size_t)(i * 7 + q * 5) % 16 * block / 8);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    char *const sendbuf = calloc((size_t)line_up(out, from) + 1, 1);
    char *const recvbuf = malloc((size_t)line_up(in, to) + 1);
    MPI_Allreduce(&mine[0], &all[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoallv(sendbuf, out, from, MPI_BYTE, recvbuf, in, to, MPI_BYTE,
                  MPI_COMM_WORLD);
    MPI_Allreduce(&mine[1], &all[1], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    free(sendbuf);
    free(recvbuf);
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
    places = calloc(n, sizeof *places);
    types = calloc(n, sizeof *types);
    sent = calloc(n, block);
    got = calloc(n, block);
    if (!ranks || !sent || !got || !counts || !displs || !places || !types)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    for (int q = 0; q < P; q++) {
        ranks[q] = q;
        counts[q] = (int)block;
        displs[q] = q * (int)block;
        places[q] = displs[q];
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
    const long each = k ? 1 : 2, ms = argc > 4 ? atol(argv[4]) : 0;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    block = argc > 2 ? (size_t)atol(argv[2]) : 0;
    if (block == 0 || n <= 0 || (!k && strcmp(argv[1], "datalog") != 0)) {
        fprintf(stderr, "usage: rota-taken KIND|datalog BYTES CALLS [NAP]\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    set_up();
    late = ms > 0 && rank == P - 1;
    nap = (struct timespec){ms / 1000, ms % 1000 * 1000000};
    for (int half = 0; half < 2; half++) {
        const long from = half * (n / 2), to = half ? n : n / 2;
        passed = 0;
        if (k)
            loop(k, half, from, to);
        else
            steps(from, to);
        const long calls = each * (to - from);
        if (rank == 0)
            printf("half %d: calls %ld taken %ld (%.1f %%)\n", half + 1, calls,
                   calls - passed,
                   100.0 * (double)(calls - passed) / (double)calls);
    }
    MPI_Comm_free(&graph);
    free(sent);
    free(got);
    free(counts);
    free(displs);
    free(places);
    free(types);
    MPI_Finalize();
    return wrong > 0;
}
