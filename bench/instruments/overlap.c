/* overlap.c - does gathering overlap with messages between nodes?
 *
 *     mpiexec -n P rota-overlap BYTES STRIDE ROUNDS ALGO[:key=value]...
 *
 * Every rank has BYTES bytes for each rank of the other nodes, and gets as many.
 * First these are the column of a matrix, one byte every STRIDE bytes, so that
 * it takes long to gather them; the same column goes to all. Then they lie end to
 * end. Prints the median of ROUNDS rounds of the slowest rank in milliseconds, for
 * both and for each ALGO, which take turns. What was received is checked.
 */
#include "common/spec.h"
#include "common/sync.h"
#include "common/util.h"

#include <rota.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ALGOS = 16, MOST_ROUNDS = 200 };
typedef enum form { COLUMN, END_TO_END, N_FORMS } form;

static int P, me, bytes, stride;
static int *count, *from, *to; /* [P] bytes, and where they lie */
static unsigned char *matrix, *row, *arrived;
static MPI_Datatype spread; /* a byte that takes STRIDE bytes */

/* Byte i for every rank. */
static unsigned char byte_of(int rank, int i)
{
    return (unsigned char)(31 * rank + i + 1);
}

/* Ranks of a node have nothing for each other. */
static void find_blocks(void)
{
    MPI_Comm node;
    int members;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    MPI_Comm_size(node, &members);
    int *const member = bench_calloc((size_t)members, sizeof *member);
    MPI_Allgather(&me, 1, MPI_INT, member, 1, MPI_INT, node);
    for (int q = 0; q < P; q++) {
        count[q] = bytes;
        to[q] = q * bytes;
    }
    for (int i = 0; i < members; i++)
        count[member[i]] = 0;
    free(member);
    MPI_Comm_free(&node);
}

static void make_memory(void)
{
    const size_t n = (size_t)bytes;

    count = bench_calloc((size_t)P, sizeof *count);
    from = bench_calloc((size_t)P, sizeof *from);
    to = bench_calloc((size_t)P, sizeof *to);
    matrix = bench_calloc(n, (size_t)stride);
    row = bench_calloc(n, 1);
    arrived = bench_calloc((size_t)P, n);
    memset(matrix, 0, n * (size_t)stride); /* so that all pages are there */
    find_blocks();
}

static void write_sent(void)
{
    for (int i = 0; i < bytes; i++)
        matrix[(size_t)i * (size_t)stride] = row[i] = byte_of(me, i);
}

static void free_memory(void)
{
    free(count);
    free(from);
    free(to);
    free(matrix);
    free(row);
    free(arrived);
    MPI_Type_free(&spread);
}

/* The plan for one ALGO, which is split at its colons. */
static rota_plan *make_plan(char *algo, form f)
{
    char text[sizeof(algo_spec)], *rest = strchr(strcpy(text, algo), ':');
    char *key, *value, name[96];
    rota_plan *plan;
    MPI_Info info;

    if (rest)
        *rest++ = '\0';
    MPI_Info_create(&info);
    MPI_Info_set(info, "rota_algorithm", text);
    while (rest && spec_next_param(&rest, &key, &value)) {
        snprintf(name, sizeof name, "rota_%s", key);
        MPI_Info_set(info, name, value);
    }
    bench_must(rota_alltoallv_init(f == COLUMN ? matrix : row, count, from,
                                   f == COLUMN ? spread : MPI_BYTE, arrived,
                                   count, to, MPI_BYTE, MPI_COMM_WORLD, info,
                                   &plan),
               algo);
    MPI_Info_free(&info);
    return plan;
}

static void check(const char *algo)
{
    for (int q = 0; q < P; q++)
        for (int i = 0; i < count[q]; i++)
            if (arrived[to[q] + i] != byte_of(q, i))
                bench_die("%s: wrong byte %d of rank %d", algo, i, q);
}

/* Milliseconds of the slowest rank. All that is sent is written before, all that came
 * read after. */
static double run(rota_plan *plan, const char *algo)
{
    memset(arrived, 0, (size_t)P * (size_t)bytes);
    write_sent();
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = sync_now_us();
    bench_must(rota_start(plan), algo);
    bench_must(rota_wait(plan), algo);
    double ms = (sync_now_us() - began) / 1e3;
    check(algo);
    MPI_Allreduce(MPI_IN_PLACE, &ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return ms;
}

static void measure(int rounds, int n, char *algo[])
{
    static double ms[MOST_ALGOS][N_FORMS][MOST_ROUNDS];
    rota_plan *plan[MOST_ALGOS][N_FORMS];

    for (int a = 0; a < n; a++)
        for (int f = 0; f < N_FORMS; f++) {
            plan[a][f] = make_plan(algo[a], (form)f);
            run(plan[a][f], algo[a]);
        }
    for (int i = 0; i < rounds; i++)
        for (int a = 0; a < n; a++)
            for (int f = 0; f < N_FORMS; f++)
                ms[a][f][i] = run(plan[a][f], algo[a]);
    for (int a = 0; a < n; a++) {
        for (int f = 0; f < N_FORMS; f++)
            bench_must(rota_plan_free(&plan[a][f]), algo[a]);
        if (me == 0)
            printf("%-50s columns %8.2f  end to end %8.2f\n", algo[a],
                   bench_median(ms[a][COLUMN], rounds),
                   bench_median(ms[a][END_TO_END], rounds));
    }
}

int main(int argc, char *argv[])
{
    bench_program = "rota-overlap";
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const int rounds = argc > 4 ? atoi(argv[3]) : 0;
    if (argc > 4) {
        bytes = atoi(argv[1]);
        stride = atoi(argv[2]);
    }
    if (bytes < 1 || stride < 1 || rounds < 1 || rounds > MOST_ROUNDS ||
        argc - 4 > MOST_ALGOS)
        bench_die("usage: rota-overlap BYTES STRIDE ROUNDS ALGO..., up to %d "
                  "rounds and %d algorithms",
                  MOST_ROUNDS, MOST_ALGOS);
    for (int a = 4; a < argc; a++)
        if (strlen(argv[a]) >= sizeof(algo_spec))
            bench_die("%s: too long", argv[a]);
    MPI_Type_create_resized(MPI_BYTE, 0, stride, &spread);
    MPI_Type_commit(&spread);
    make_memory();
    measure(rounds, argc - 4, argv + 4);
    free_memory();
    MPI_Finalize();
    return 0;
}
