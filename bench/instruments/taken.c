/* taken.c - how many exchanges of a program the drop-in takes.
 *
 *     rota-run mpiexec -n P rota-taken [--untouched] KIND BYTES CALLS [NAP]
 *     rota-run mpiexec -n P rota-taken [--yielding] datalog BYTES STEPS
 *     mpiexec -n P rota-taken [--untouched] --plan KIND BYTES CALLS
 *     mpiexec -n P rota-taken --pairs KIND BYTES PAIRS
 *     rota-run mpiexec -n P rota-taken --lives KIND BYTES CALLS
 *     ROTA_MPI_AFTER=CALLS-1 rota-run mpiexec -n P rota-taken --last KIND BYTES CALLS
 *
 * KIND: alltoall, alltoallv, alltoallw, or neighbor_ and one of these, in one loop,
 * in which all bytes are written before and read after (unless --untouched); BYTES is
 * a block's. With _init behind it, a persistent request is started and waited for
 * instead; with --plan, a fixed plan of Rota's. The last rank calls NAP milliseconds
 * after the others, for calls.sh. datalog: steps of a Datalog engine: MPI_Alltoall of
 * counts, two MPI_Allreduce, and MPI_Alltoallv with other counts, of BYTES on
 * average, and other buffers each time. Prints, for either half of the calls, how
 * many there were and how many did not come to MPI on rank 0; and how long there
 * steps of the last tenth took or, of a Datalog engine, all exchanges. --yielding:
 * there MPI_Allreduce is MPI_Iallreduce, and yields the core while it waits. --pairs:
 * MPI and a plan in pairs, in random order; prints, a line each, the microseconds of
 * both, summed over all ranks. --lives: each call is on a duplicate of the
 * communicator, which is then freed; not among neighbours. --last: prints how long
 * the last call took, from the last rank's call to the last return, after which ranks
 * sleep: by the drop-in it makes the first plan.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <rota.h>
#include <sched.h>
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
static MPI_Comm graph, world = MPI_COMM_WORLD; /* of calls */

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

#define OF_ONE                                                                 \
    (const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt, \
     MPI_Comm comm)
COUNTED(PMPI_Alltoall, OF_ONE, (s, sn, st, r, rn, rt, comm))
COUNTED(PMPI_Neighbor_alltoall, OF_ONE, (s, sn, st, r, rn, rt, comm))
#define OF_V                                                                   \
    (const void *s, const int sn[], const int sd[], MPI_Datatype st, void *r,  \
     const int rn[], const int rd[], MPI_Datatype rt, MPI_Comm comm)
#define ARGUMENTS (s, sn, sd, st, r, rn, rd, rt, comm)
COUNTED(PMPI_Alltoallv, OF_V, ARGUMENTS)
COUNTED(PMPI_Neighbor_alltoallv, OF_V, ARGUMENTS)
#define OF_W(displ)                                                            \
    (const void *s, const int sn[], const displ sd[], const MPI_Datatype st[], \
     void *r, const int rn[], const displ rd[], const MPI_Datatype rt[],       \
     MPI_Comm comm)
COUNTED(PMPI_Alltoallw, OF_W(int), ARGUMENTS)
COUNTED(PMPI_Neighbor_alltoallw, OF_W(MPI_Aint), ARGUMENTS)

/* ---- loops --------------------------------------------------------------- */

/* Arguments of each call. */
#define ARGS_ONE(from, to, displs)                                             \
    from, (int)block, MPI_BYTE, to, (int)block, MPI_BYTE
#define ARGS_V(from, to, displs)                                               \
    from, counts, displs, MPI_BYTE, to, counts, displs, MPI_BYTE
#define ARGS_W(from, to, displs)                                               \
    from, counts, displs, types, to, counts, displs, types

static MPI_Request request;
static rota_plan *plan;

static void start(const void *from, void *to)
{
    (void)from;
    (void)to;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void start_plan(const void *from, void *to)
{
    (void)from;
    (void)to;
    rota_start(plan);
    rota_wait(plan);
}

#define KINDS(KIND)                                                            \
    KIND(alltoall, MPI_Alltoall, ONE, displs, world)                           \
    KIND(alltoallv, MPI_Alltoallv, V, displs, world)                           \
    KIND(alltoallw, MPI_Alltoallw, W, displs, world)                           \
    KIND(neighbor_alltoall, MPI_Neighbor_alltoall, ONE, displs, graph)         \
    KIND(neighbor_alltoallv, MPI_Neighbor_alltoallv, V, displs, graph)         \
    KIND(neighbor_alltoallw, MPI_Neighbor_alltoallw, W, places, graph)

#if HAS_PERSISTENT
#define MAKE_REQUEST(mpi, shape, displs, comm)                                 \
    mpi##_init(ARGS_##shape(sent, got, displs), comm, MPI_INFO_NULL, &request)
#else
#define MAKE_REQUEST(mpi, shape, displs, comm)                                 \
    MPI_Abort(comm, EXIT_FAILURE) /* this MPI has none */
#endif

#define FUNCTIONS(name, mpi, shape, displs, comm)                              \
    static void name(const void *from, void *to)                               \
    {                                                                          \
        mpi(ARGS_##shape(from, to, displs), comm);                             \
    }                                                                          \
    static void request_##name(void)                                           \
    {                                                                          \
        MAKE_REQUEST(mpi, shape, displs, comm);                                \
    }                                                                          \
    static void plan_##name(void)                                              \
    {                                                                          \
        rota_##name##_init(ARGS_##shape(sent, got, displs), comm,              \
                           MPI_INFO_NULL, &plan);                              \
    }
KINDS(FUNCTIONS)

static const struct kind {
    const char *name;
    void (*call)(const void *from, void *to);
    void (*make)(void);      /* what it starts; or NULL */
    void (*make_plan)(void); /* a plan that does the same */
} kinds[] = {
#define LINES(name, mpi, shape, displs, comm)                                  \
    {#name, name, NULL, plan_##name},                                          \
        {#name "_init", start, request_##name, plan_##name},
    KINDS(LINES)};

static long wrong;
static bool late, untouched, lives;
static struct timespec nap;
static double tenth_began;

/* A call of the second half, for calls.sh. */
void repeated(const struct kind *k, const void *from, void *to);

__attribute__((noinline)) void repeated(const struct kind *k, const void *from,
                                        void *to)
{
    k->call(from, to);
}

static void call(const struct kind *k, int half, long i)
{
    const size_t all = untouched ? 0 : block * (size_t)P;
    unsigned sum = 0;

    memset(sent, (int)(i & 127), all);
    if (late)
        nanosleep(&nap, NULL);
    if (lives)
        MPI_Comm_dup(MPI_COMM_WORLD, &world);
    if (half)
        repeated(k, sent, got);
    else
        k->call(sent, got);
    if (lives)
        MPI_Comm_free(&world);
    for (size_t j = 0; j < all; j++)
        sum += got[j];
    wrong += sum != (unsigned)((size_t)(i & 127) * all);
}

static void loop(const struct kind *k, int half, long from, long to)
{
    const long tenth = to - (to - from) / 5; /* of all: a fifth of a half */

    for (long i = from; i < to; i++) {
        if (i == tenth)
            tenth_began = MPI_Wtime();
        call(k, half, i);
    }
}

static void print_tenth(long n)
{
    printf("last tenth: %.4f us a step\n",
           1e6 * (MPI_Wtime() - tenth_began) / (double)(n / 2 / 5));
}

/* ---- pairs ---------------------------------------------------------------- */

/* Seconds of a call by MPI, or by a plan. */
static double timed(const struct kind *k, bool by_plan)
{
    const double begin = MPI_Wtime();

    if (by_plan)
        start_plan(sent, got);
    else
        k->call(sent, got);
    return MPI_Wtime() - begin;
}

static void print_pairs(const struct kind *k, long n, int rank)
{
    double *const seconds = calloc(2 * (size_t)n, sizeof *seconds);
    unsigned lot = 1;

    if (k->make)
        k->make();
    k->make_plan();
    for (long i = -n / 10; seconds && i < n; i++) { /* warm at first */
        lot = lot * 1664525u + 1013904223u;
        for (int half = 0; half < 2; half++) {
            const bool by_plan = (lot >> 31) == (unsigned)half;
            const double now = timed(k, by_plan);
            if (i >= 0)
                seconds[2 * i + by_plan] = now;
        }
    }
    MPI_Reduce(rank ? seconds : MPI_IN_PLACE, seconds, 2 * (int)n, MPI_DOUBLE,
               MPI_SUM, 0, MPI_COMM_WORLD);
    for (long i = 0; seconds && rank == 0 && i < n; i++)
        printf("%.4g %.4g\n", 1e6 * seconds[2 * i], 1e6 * seconds[2 * i + 1]);
    free(seconds);
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

/* Of each exchange, on this rank: when it was called, and when it returned. */
static double *called, *returned;

static bool yielding;

static void reduce(const int *mine, int *all, MPI_Op op)
{
    MPI_Request r;
    int done = 0;

    if (!yielding) {
        MPI_Allreduce(mine, all, 1, MPI_INT, op, MPI_COMM_WORLD);
        return;
    }
    MPI_Iallreduce(mine, all, 1, MPI_INT, op, MPI_COMM_WORLD, &r);
    for (;;) {
        MPI_Test(&r, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        sched_yield();
    }
}

static void step(long i, int *n)
{
    int *const out = n, *const in = n + P, *const from = n + 2 * P,
               *const to = n + 3 * P;
    int mine[2] = {1, 2}, all[2];

    for (int q = 0; q < P; q++)
        out[q] = (int)((size_t)(i * 7 + q * 5) % 16 * block / 8);
    called[2 * i] = MPI_Wtime();
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    returned[2 * i] = MPI_Wtime();
    char *const sendbuf = calloc((size_t)line_up(out, from) + 1, 1);
    char *const recvbuf = malloc((size_t)line_up(in, to) + 1);
    reduce(&mine[0], &all[0], MPI_SUM);
    called[2 * i + 1] = MPI_Wtime();
    MPI_Alltoallv(sendbuf, out, from, MPI_BYTE, recvbuf, in, to, MPI_BYTE,
                  MPI_COMM_WORLD);
    returned[2 * i + 1] = MPI_Wtime();
    reduce(&mine[1], &all[1], MPI_MAX);
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

/* Ranks of one node have one clock. What comes before an exchange may keep some of
 * them: that is not the time of the exchange. */
static void print_exchanges(int n, int rank)
{
    double within = 0, after = 0;

    for (int i = 0; i < n; i++)
        within += returned[i] - called[i];
    MPI_Reduce(rank ? called : MPI_IN_PLACE, called, n, MPI_DOUBLE, MPI_MAX, 0,
               MPI_COMM_WORLD);
    MPI_Reduce(rank ? returned : MPI_IN_PLACE, returned, n, MPI_DOUBLE, MPI_MAX,
               0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        after += returned[i] - called[i];
    if (rank == 0)
        printf("exchanges: %.3f ms from the last call to the last return, "
               "%.3f ms within them on rank 0\n",
               1e3 * after, 1e3 * within);
}

/* ---- the last call --------------------------------------------------------- */

/* A rank that went on would take the core of one that is still making the plan. */
static void print_last(const struct kind *k, long n, int rank)
{
    const struct timespec pause = {.tv_nsec = 200000000};

    for (long i = 0; i < n; i++) {
        called[0] = MPI_Wtime();
        k->call(sent, got);
        returned[0] = MPI_Wtime();
    }
    nanosleep(&pause, NULL);
    print_exchanges(1, rank);
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

/* Options come first. */
static bool by_plan, in_pairs, only_last;

static void read_options(int *argc, char ***argv)
{
    for (; *argc > 1 && (*argv)[1][0] == '-'; --*argc, ++*argv) {
        untouched = untouched || strcmp((*argv)[1], "--untouched") == 0;
        by_plan = by_plan || strcmp((*argv)[1], "--plan") == 0;
        yielding = yielding || strcmp((*argv)[1], "--yielding") == 0;
        in_pairs = in_pairs || strcmp((*argv)[1], "--pairs") == 0;
        lives = lives || strcmp((*argv)[1], "--lives") == 0;
        only_last = only_last || strcmp((*argv)[1], "--last") == 0;
    }
}

/* What runs: of this kind, or a plan in its place. */
static struct kind choose(const struct kind *k)
{
    struct kind chosen = *k;

    if (by_plan) {
        chosen.call = start_plan;
        chosen.make = k->make_plan;
    }
    if (chosen.make)
        chosen.make();
    return chosen;
}

static void tear_down(void)
{
    if (plan)
        rota_plan_free(&plan);
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    MPI_Comm_free(&graph);
    free(sent);
    free(got);
    free(counts);
    free(displs);
    free(places);
    free(types);
    free(called);
    free(returned);
}

/* Half of the calls, and how many were taken. */
static void run(const struct kind *k, int half, long from, long to, int rank)
{
    const long calls = (k ? 1 : 2) * (to - from);

    passed = 0;
    if (k)
        loop(k, half, from, to);
    else
        steps(from, to);
    if (rank == 0)
        printf("half %d: calls %ld taken %ld (%.1f %%)\n", half + 1, calls,
               calls - passed,
               100.0 * (double)(calls - passed) / (double)calls);
}

/* Both halves, of this kind or of a Datalog engine. */
static void run_all(const struct kind *k, long n, int rank)
{
    struct kind chosen = {0};

    if (k)
        chosen = choose(k);
    for (int half = 0; half < 2; half++)
        run(k ? &chosen : NULL, half, half * (n / 2), half ? n : n / 2, rank);
    if (rank == 0 && k && n >= 10)
        print_tenth(n);
    if (!k)
        print_exchanges(2 * (int)n, rank);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    read_options(&argc, &argv);
    const struct kind *const k = argc > 1 ? find(argv[1]) : NULL;
    const long n = argc > 3 ? atol(argv[3]) : 0;
    const long ms = argc > 4 ? atol(argv[4]) : 0;
    int rank;

    request = MPI_REQUEST_NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    block = argc > 2 ? (size_t)atol(argv[2]) : 0;
    if (block == 0 || n <= 0 ||
        (!k && (in_pairs || strcmp(argv[1], "datalog") != 0))) {
        fprintf(stderr,
                "usage: rota-taken [--untouched] [--yielding] [--lives] "
                "[--plan|--pairs|--last] KIND|datalog BYTES CALLS [NAP]\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    set_up();
    called = calloc(2 * (size_t)n, sizeof *called);
    returned = calloc(2 * (size_t)n, sizeof *returned);
    late = ms > 0 && rank == P - 1;
    nap = (struct timespec){ms / 1000, ms % 1000 * 1000000};
    if (in_pairs)
        print_pairs(k, n, rank);
    else if (k && only_last)
        print_last(k, n, rank);
    else
        run_all(k, n, rank);
    tear_down();
    MPI_Finalize();
    return wrong > 0;
}
