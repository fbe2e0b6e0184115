/* dropin_cost.c - what librota_mpi costs and gains, in one process: it catches
 * MPI_... and leaves PMPI_... alone, so the two are timed in turn.
 *
 *   rota-run mpiexec -n 2 rota-dropin-cost [iterations]
 *
 * Without rota-run both are MPI, and the ratios tell how noisy the machine is.
 * A column says - where MPI has no persistent collectives, as Open MPI 4.1.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 100001, CALLS = 100000, LIVE = 8, WARM_UP = 100, PAGE = 4096 };

static int P, me, iterations = 2001;
static MPI_Status statuses[LIVE];

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of the slowest rank, per iteration. */
static double median(double seconds[], int n)
{
    MPI_Allreduce(MPI_IN_PLACE, seconds, n, MPI_DOUBLE, MPI_MAX,
                  MPI_COMM_WORLD);
    qsort(seconds, (size_t)n, sizeof *seconds, by_value);
    return seconds[n / 2];
}

/* ---- exchanges ----------------------------------------------------------- */

typedef struct exchange {
    int *sendcounts, *recvcounts, *displs;
    char *send, *recv;
    MPI_Request rota, mpi;
} exchange;

#define V(x)                                                                   \
    (x)->send, (x)->sendcounts, (x)->displs, MPI_BYTE, (x)->recv,              \
        (x)->recvcounts, (x)->displs, MPI_BYTE, MPI_COMM_WORLD

/* Sizes uniform in [0, largest]. */
static int block(int largest, int src, int dst)
{
    return (int)((2654435761u * (unsigned)(src * P + dst + 1) >> 8) %
                 (unsigned)(largest + 1));
}

static exchange make(int largest)
{
    /* Half a page apart: were it next to none, loads of a rank's copy to
     * itself would wait for stores to addresses that look the same. */
    const size_t pages = (size_t)P * (size_t)largest / PAGE + 1;
    exchange x;

    x.sendcounts = malloc((size_t)P * sizeof(int));
    x.recvcounts = malloc((size_t)P * sizeof(int));
    x.displs = malloc((size_t)P * sizeof(int));
    x.send = calloc(2 * pages + 1, PAGE);
    x.recv = x.send + pages * PAGE + PAGE / 2;
    for (int q = 0; q < P; q++) {
        x.sendcounts[q] = block(largest, me, q);
        x.recvcounts[q] = block(largest, q, me);
        x.displs[q] = q * largest;
    }
    x.rota = x.mpi = MPI_REQUEST_NULL;
#if ROTA_MPI_HAS_PERSISTENT
    MPI_Alltoallv_init(V(&x), MPI_INFO_NULL, &x.rota);
    PMPI_Alltoallv_init(V(&x), MPI_INFO_NULL, &x.mpi);
#endif
    for (int i = 0; i < WARM_UP; i++)
        MPI_Alltoallv(V(&x));
    return x;
}

static void destroy(exchange *x)
{
    if (x->rota != MPI_REQUEST_NULL)
        MPI_Request_free(&x->rota);
    if (x->mpi != MPI_REQUEST_NULL)
        PMPI_Request_free(&x->mpi);
    free(x->sendcounts);
    free(x->recvcounts);
    free(x->displs);
    free(x->send); /* and recv */
}

enum { ROTA_BLOCKING, MPI_BLOCKING, ROTA_PERSISTENT, MPI_PERSISTENT, WAYS };
enum { TIMED = ROTA_MPI_HAS_PERSISTENT ? WAYS : ROTA_PERSISTENT };

static double run(exchange *x, int way)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin = PMPI_Wtime();
    switch (way) {
    case ROTA_PERSISTENT:
        MPI_Start(&x->rota);
        MPI_Wait(&x->rota, MPI_STATUS_IGNORE);
        break;
    case MPI_PERSISTENT:
        PMPI_Start(&x->mpi);
        PMPI_Wait(&x->mpi, MPI_STATUS_IGNORE);
        break;
    case ROTA_BLOCKING:
        MPI_Alltoallv(V(x));
        break;
    default:
        PMPI_Alltoallv(V(x));
    }
    return PMPI_Wtime() - begin;
}

static void print_pair(double mpi, double rota)
{
    printf("  %10.2f %10.2f %6.2f", mpi, rota, mpi / rota);
}

static void exchanges(int largest)
{
    static double seconds[WAYS][MOST];
    exchange x = make(largest);
    double us[WAYS];

    for (int i = 0; i < iterations; i++)
        for (int way = 0; way < TIMED; way++)
            seconds[(way + i) % TIMED][i] = run(&x, (way + i) % TIMED);
    for (int way = 0; way < TIMED; way++)
        us[way] = median(seconds[way], iterations) * 1e6;
    if (me == 0) {
        printf("%8d", largest);
        if (ROTA_MPI_HAS_PERSISTENT)
            print_pair(us[MPI_PERSISTENT], us[ROTA_PERSISTENT]);
        else
            printf("  %10s %10s %6s", "-", "-", "-");
        print_pair(us[MPI_BLOCKING], us[ROTA_BLOCKING]);
        printf("\n");
    }
    destroy(&x);
}

/* A communicator that lives for one call: make, exchange, free. */
static double live_once(const exchange *x, int way)
{
    MPI_Comm comm;

    PMPI_Barrier(MPI_COMM_WORLD);
    const double begin = PMPI_Wtime();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (way == ROTA_BLOCKING)
        MPI_Alltoallv(x->send, x->sendcounts, x->displs, MPI_BYTE, x->recv,
                      x->recvcounts, x->displs, MPI_BYTE, comm);
    else
        PMPI_Alltoallv(x->send, x->sendcounts, x->displs, MPI_BYTE, x->recv,
                       x->recvcounts, x->displs, MPI_BYTE, comm);
    MPI_Comm_free(&comm);
    return PMPI_Wtime() - begin;
}

static void short_lived(int largest)
{
    static double seconds[2][MOST];
    exchange x = make(largest);
    double us[2];

    for (int i = 0; i < iterations; i++)
        for (int k = 0; k < 2; k++)
            seconds[(k + i) % 2][i] =
                live_once(&x, (k + i) % 2 ? ROTA_BLOCKING : MPI_BLOCKING);
    for (int k = 0; k < 2; k++)
        us[k] = median(seconds[k], iterations) * 1e6;
    if (me == 0)
        printf("%8d  %10.2f %10.2f %6.3f\n", largest, us[0], us[1],
               us[0] / us[1]);
    destroy(&x);
}

/* ---- calls that are none of ours ----------------------------------------- */

static int test_one(MPI_Request *r)
{
    int flag;

    return MPI_Test(r, &flag, MPI_STATUS_IGNORE);
}

static int ptest_one(MPI_Request *r)
{
    int flag;

    return PMPI_Test(r, &flag, MPI_STATUS_IGNORE);
}

static int test_eight(MPI_Request *r)
{
    int flag;

    return MPI_Testall(LIVE, r, &flag, statuses);
}

static int ptest_eight(MPI_Request *r)
{
    int flag;

    return PMPI_Testall(LIVE, r, &flag, statuses);
}

/* Blocks of calls in turn; medians of the blocks, in ns a call. */
static double cost(int (*mpi)(MPI_Request *), int (*pmpi)(MPI_Request *),
                   MPI_Request *r)
{
    enum { BLOCKS = 101, PER_BLOCK = CALLS / 100 };
    static double with[BLOCKS], without[BLOCKS];

    for (int b = 0; b < BLOCKS; b++)
        for (int k = 0; k < 2; k++) {
            int (*const call)(MPI_Request *) = (b + k) % 2 ? mpi : pmpi;
            const double begin = PMPI_Wtime();
            for (int i = 0; i < PER_BLOCK; i++)
                call(r);
            ((b + k) % 2 ? with : without)[b] =
                (PMPI_Wtime() - begin) / PER_BLOCK * 1e9;
        }
    return median(with, BLOCKS) - median(without, BLOCKS);
}

static void other_calls(const char *when)
{
    MPI_Request r[LIVE];
    char byte[LIVE];

    /* Receives that nothing comes for. */
    for (int i = 0; i < LIVE; i++)
        MPI_Recv_init(&byte[i], 1, MPI_BYTE, me, i, MPI_COMM_WORLD, &r[i]);
    const double one = cost(test_one, ptest_one, r);
    const double eight = cost(test_eight, ptest_eight, r);
    if (me == 0)
        printf("%s: MPI_Test %+.0f ns, MPI_Testall of %d %+.0f ns\n", when, one,
               LIVE, eight);
    for (int i = 0; i < LIVE; i++)
        MPI_Request_free(&r[i]);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 512, 4096, 65536, 262144, 1048576};
    exchange x;

    MPI_Init(&argc, &argv);
    if (argc > 1)
        iterations = atoi(argv[1]);
    if (iterations < 1 || iterations > MOST) {
        fprintf(stderr, "rota-dropin-cost: iterations from 1 to %d\n", MOST);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    other_calls("requests of MPI, none of Rota's alive");
    if (ROTA_MPI_HAS_PERSISTENT) { /* no other requests are Rota's */
        x = make(8);
        other_calls("requests of MPI, one of Rota's alive");
        destroy(&x);
    }
    if (me == 0)
        printf("%8s  %10s %10s %6s  %10s %10s %6s\n", "size", "persistent",
               "drop-in", "ratio", "Alltoallv", "drop-in", "ratio");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        exchanges(sizes[i]);
    if (me == 0)
        printf("a communicator for each call\n%8s  %10s %10s %6s\n", "size",
               "Alltoallv", "drop-in", "ratio");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        short_lived(sizes[i]);
    MPI_Finalize();
    return 0;
}
