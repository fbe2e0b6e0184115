/* rota_bench_types.c - transposes of 3-D arrays whose blocks are subarrays:
 * MPI_Alltoallw, Rota's plans, and a plain copy of the same bytes, in turns.
 *
 *   mpiexec -n P rota-bench-types [--sizes N,...] [--memory heap,malloc]
 *           [--shapes 0-1,1-0,...] [--seconds S] [--json FILE] [--attach]
 *
 * An array of N x N x N doubles is distributed over one axis and is to be over
 * another: in shape 0-1 each rank has a slab of axis 0 before and one of axis 1
 * after. In 1-2 and 2-1 the slabs are pencils, an array being distributed over
 * axis 0 as well, among ranks that have nothing to do with each other. heap is
 * memory of rota_mem_alloc. A time is that of the slowest rank, from a barrier on;
 * the median of at least six is told. The plain copy is one memcpy of what a rank
 * has, by all ranks at once. Results are checked before they are timed.
 *
 * --attach adds a fourth way: each rank reads its rows of others' blocks from
 * their memory by process_vm_readv, with lists of as many rows as it takes, and
 * copies those of its own block. Rota does not do this with rows; it is there to
 * tell why.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include "common/sync.h"
#include "common/util.h"

#include <rota.h>

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST = 2000, LEAST = 6, ROOM = 1024, LIST = 200 };

typedef enum way { BY_MPI, BY_ROTA, BY_COPY, BY_ATTACH, N_WAYS } way;

typedef struct options {
    char sizes[LIST], memory[LIST], shapes[LIST];
    double seconds; /* for each case, about */
    bool attach;
    const char *json;
} options;

static int P, me;

/* ---- an array and its blocks --------------------------------------------- */

/* One side: this rank's part of the array, and its blocks. */
typedef struct side {
    int part[3];  /* extents of the rank's part */
    int first[3]; /* where it begins in the array */
    double *data;
    size_t bytes;
    MPI_Datatype type[ROOM];
} side;

typedef struct transpose {
    int n, from, to; /* axes: distributed before, and after */
    side before, after;
    int counts[ROOM], displs[ROOM];
    rota_plan *plan;
    struct owner {
        double *data; /* of its side before */
        pid_t pid;
    } owner[ROOM];
} transpose;

static int begin_of(int n, int q)
{
    return (int)((long)n * q / P);
}

/* The side is distributed over one axis; its blocks are chunks of the other. */
static void make_side(side *s, int n, int distributed, int cut, bool heap)
{
    int sizes[3], starts[3] = {0};

    for (int i = 0; i < 3; i++) {
        s->part[i] = n;
        s->first[i] = 0;
    }
    s->first[distributed] = begin_of(n, me);
    s->part[distributed] = begin_of(n, me + 1) - s->first[distributed];
    memcpy(sizes, s->part, sizeof sizes);
    for (int q = 0; q < P; q++) {
        starts[cut] = begin_of(n, q);
        sizes[cut] = begin_of(n, q + 1) - starts[cut];
        bench_must(MPI_Type_create_subarray(3, s->part, sizes, starts,
                                            MPI_ORDER_C, MPI_DOUBLE,
                                            &s->type[q]),
                   "MPI_Type_create_subarray");
        bench_must(MPI_Type_commit(&s->type[q]), "MPI_Type_commit");
    }
    s->bytes = sizeof(double) * (size_t)s->part[0] * (size_t)s->part[1] *
               (size_t)s->part[2];
    if (heap)
        bench_must(
            rota_mem_alloc(s->bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &s->data),
            "rota_mem_alloc");
    else
        s->data = bench_calloc(s->bytes, 1);
    memset(s->data, 0, s->bytes);
}

static void free_side(side *s, bool heap)
{
    for (int q = 0; q < P; q++)
        MPI_Type_free(&s->type[q]);
    if (heap)
        rota_mem_free(&s->data);
    else
        free(s->data);
}

/* Each number tells its place in the array. Returns whether all do, if they are
 * only to be looked at. */
static bool number(side *s, int n, bool look)
{
    double *at = s->data;
    bool right = true;

    for (int i = 0; i < s->part[0]; i++)
        for (int j = 0; j < s->part[1]; j++)
            for (int k = 0; k < s->part[2]; k++, at++) {
                const double value =
                    ((double)(s->first[0] + i) * n + (s->first[1] + j)) * n +
                    (s->first[2] + k);
                if (look)
                    right = right && *at == value;
                else
                    *at = value;
            }
    return right;
}

static void make_transpose(transpose *t, int n, int from, int to, bool heap)
{
    *t = (transpose){.n = n, .from = from, .to = to};
    make_side(&t->before, n, from, to, heap);
    make_side(&t->after, n, to, from, heap);
    for (int q = 0; q < P; q++)
        t->counts[q] = 1;
    t->owner[me] = (struct owner){t->before.data, getpid()};
    bench_must(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, t->owner,
                             sizeof t->owner[0], MPI_BYTE, MPI_COMM_WORLD),
               "MPI_Allgather");
    bench_must(rota_alltoallw_init(t->before.data, t->counts, t->displs,
                                   t->before.type, t->after.data, t->counts,
                                   t->displs, t->after.type, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &t->plan),
               "rota_alltoallw_init");
}

static void free_transpose(transpose *t, bool heap)
{
    bench_must(rota_plan_free(&t->plan), "rota_plan_free");
    free_side(&t->before, heap);
    free_side(&t->after, heap);
}

/* ---- rows from others' memory -------------------------------------------- */

/* How many numbers of such a block lie end to end in such a part. */
static size_t run_of(const int part[3], const int block[3])
{
    size_t run = (size_t)block[2];

    if (block[2] == part[2])
        run *= (size_t)block[1];
    if (block[2] == part[2] && block[1] == part[1])
        run *= (size_t)block[0];
    return run;
}

/* The row of a block that begins with its i-th number. first: [3] the block's
 * place in the part. */
static struct iovec row_at(double *data, const int part[3], const int first[3],
                           const int block[3], size_t i, size_t row)
{
    const size_t z = i % (size_t)block[2], y = i / (size_t)block[2];
    const size_t at =
        ((y / (size_t)block[1] + (size_t)first[0]) * (size_t)part[1] +
         y % (size_t)block[1] + (size_t)first[1]) *
            (size_t)part[2] +
        z + (size_t)first[2];

    return (struct iovec){data + at, row * sizeof(double)};
}

static void move_rows(const struct owner *o, bool mine, const struct iovec *to,
                      const struct iovec *from, size_t n)
{
    if (!mine) {
        const ssize_t bytes = (ssize_t)(n * to->iov_len);
        if (process_vm_readv(o->pid, to, n, from, n, 0) != bytes)
            bench_die("process_vm_readv cannot read another rank's memory");
        return;
    }
    for (size_t k = 0; k < n; k++)
        memcpy(to[k].iov_base, from[k].iov_base, to[k].iov_len);
}

/* The block that rank q has for this one. */
static void attach_block(transpose *t, int q)
{
    enum { AT_ONCE = 1024 }; /* as many as the kernel takes in a list */
    struct iovec to[AT_ONCE], from[AT_ONCE];
    int part[3] = {t->n, t->n, t->n}, block[3], there[3] = {0}, here[3] = {0};
    size_t n = 0;

    memcpy(block, t->after.part, sizeof block);
    block[t->from] = begin_of(t->n, q + 1) - begin_of(t->n, q);
    part[t->from] = block[t->from];
    there[t->to] = t->after.first[t->to];
    here[t->from] = begin_of(t->n, q);
    const size_t all = (size_t)block[0] * (size_t)block[1] * (size_t)block[2];
    const size_t a = run_of(part, block), b = run_of(t->after.part, block);
    const size_t row = a < b ? a : b;
    for (size_t i = 0; i < all; i += row) {
        to[n] = row_at(t->after.data, t->after.part, here, block, i, row);
        from[n] = row_at(t->owner[q].data, part, there, block, i, row);
        if (++n == AT_ONCE || i + row == all) {
            move_rows(&t->owner[q], q == me, to, from, n);
            n = 0;
        }
    }
}

/* Nobody may change what others read: all wait for each other at the end. */
static void attach(transpose *t, bench_sync *sync)
{
    for (int q = 0; q < P; q++)
        attach_block(t, q);
    sync_barrier(sync, false);
}

/* ---- the ways ------------------------------------------------------------ */

static void go(transpose *t, way w, bench_sync *sync)
{
    switch (w) {
    case BY_MPI:
        bench_must(MPI_Alltoallw(t->before.data, t->counts, t->displs,
                                 t->before.type, t->after.data, t->counts,
                                 t->displs, t->after.type, MPI_COMM_WORLD),
                   "MPI_Alltoallw");
        break;
    case BY_ROTA:
        bench_must(rota_start(t->plan), "rota_start");
        bench_must(rota_wait(t->plan), "rota_wait");
        break;
    case BY_ATTACH:
        attach(t, sync);
        break;
    default:
        memcpy(t->after.data, t->before.data,
               t->before.bytes < t->after.bytes ? t->before.bytes
                                                : t->after.bytes);
    }
}

static bool check(transpose *t, way w, bench_sync *sync)
{
    number(&t->before, t->n, false);
    memset(t->after.data, 0, t->after.bytes);
    sync_barrier(sync, false);
    go(t, w, sync);
    return !sync_barrier(sync, !number(&t->after, t->n, true));
}

/* The i-th way of a round. What a way leaves in the caches tells on the next
 * one: they take turns in either direction, from each of them on. */
static way turn(int round, int i, int n_ways)
{
    const int k = (round / 2 + i) % n_ways;

    return (way)(round % 2 == 0 ? k : n_ways - 1 - k);
}

static void measure(transpose *t, bench_sync *sync, const options *o,
                    double us[N_WAYS])
{
    const int n_ways = o->attach ? N_WAYS : BY_ATTACH;
    static double all[N_WAYS][MOST];
    const double begin = sync_now_us();
    int n = 0;

    for (bool enough = false; !enough; n++) {
        for (int i = 0; i < n_ways; i++) {
            const way w = turn(n, i, n_ways);
            sync_barrier(sync, false);
            const double start = sync_now_us();
            go(t, w, sync);
            all[w][n] = sync_now_us() - start;
        }
        enough = sync_barrier(
            sync, n + 1 >= LEAST && (n + 1 == MOST ||
                                     sync_now_us() - begin > o->seconds * 1e6));
    }
    us[BY_ATTACH] = 0;
    for (int w = 0; w < n_ways; w++) {
        bench_must(MPI_Allreduce(MPI_IN_PLACE, all[w], n, MPI_DOUBLE, MPI_MAX,
                                 MPI_COMM_WORLD),
                   "MPI_Allreduce");
        us[w] = bench_median(all[w], n);
    }
}

/* ---- telling ------------------------------------------------------------- */

static void tell(const options *o, const transpose *t, const char *memory,
                 const double us[N_WAYS])
{
    FILE *const file = o->json ? fopen(o->json, "a") : NULL;

    printf("%4d  %d-%d  %-7s %10.1f %10.1f %10.1f  %6.2f %6.2f", t->n, t->from,
           t->to, memory, us[BY_MPI], us[BY_ROTA], us[BY_COPY],
           us[BY_MPI] / us[BY_ROTA], us[BY_ROTA] / us[BY_COPY]);
    if (o->attach)
        printf("  attached %10.1f", us[BY_ATTACH]);
    printf("\n");
    fflush(stdout);
    if (o->json && !file)
        bench_die("%s cannot be written", o->json);
    if (!file)
        return;
    fprintf(file,
            "{\"n\":%d,\"from\":%d,\"to\":%d,\"mem\":\"%s\",\"P\":%d,"
            "\"mpi_us\":%.1f,\"rota_us\":%.1f,\"copy_us\":%.1f,"
            "\"attach_us\":%.1f}\n",
            t->n, t->from, t->to, memory, P, us[BY_MPI], us[BY_ROTA],
            us[BY_COPY], us[BY_ATTACH]);
    fclose(file);
}

static void run_case(const options *o, bench_sync *sync, int n,
                     const char *shape, const char *memory)
{
    const bool heap = strcmp(memory, "heap") == 0;
    double us[N_WAYS];
    transpose t;
    int from, to;

    if (sscanf(shape, "%d-%d", &from, &to) != 2 || from == to || from < 0 ||
        to < 0 || from > 2 || to > 2)
        bench_die("%s is no shape", shape);
    make_transpose(&t, n, from, to, heap);
    if (!check(&t, BY_MPI, sync) || !check(&t, BY_ROTA, sync) ||
        (o->attach && !check(&t, BY_ATTACH, sync)))
        bench_die("wrong numbers for n = %d, shape %s", n, shape);
    measure(&t, sync, o, us);
    if (me == 0)
        tell(o, &t, memory, us);
    free_transpose(&t, heap);
}

/* The next word of a list, or NULL; the list is shortened. */
static char *next_word(char **list)
{
    char *const word = *list;

    if (!word || !*word)
        return NULL;
    *list = strchr(word, ',');
    if (*list)
        *(*list)++ = '\0';
    return word;
}

static void run_all(const options *o, bench_sync *sync)
{
    char memories[LIST], sizes[LIST], shapes[LIST];

    strcpy(memories, o->memory);
    for (char *m = memories, *memory; (memory = next_word(&m));) {
        strcpy(sizes, o->sizes);
        for (char *s = sizes, *size; (size = next_word(&s));) {
            strcpy(shapes, o->shapes);
            for (char *h = shapes, *shape; (shape = next_word(&h));)
                run_case(o, sync, atoi(size), shape, memory);
        }
    }
}

static void set_list(char list[LIST], const char *value)
{
    if (strlen(value) >= LIST)
        bench_die("%s is too long", value);
    strcpy(list, value);
}

static options read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"sizes", required_argument, NULL, 's'},
        {"memory", required_argument, NULL, 'm'},
        {"shapes", required_argument, NULL, 'h'},
        {"seconds", required_argument, NULL, 't'},
        {"json", required_argument, NULL, 'j'},
        {"attach", no_argument, NULL, 'a'},
        {NULL, 0, NULL, 0}};
    options o = {.sizes = "64,128,256",
                 .memory = "heap,malloc",
                 .shapes = "0-1,1-0,0-2,2-0,1-2,2-1",
                 .seconds = 0.5};

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;)
        switch (c) {
        case 's':
            set_list(o.sizes, optarg);
            break;
        case 'm':
            set_list(o.memory, optarg);
            break;
        case 'h':
            set_list(o.shapes, optarg);
            break;
        case 't':
            o.seconds = atof(optarg);
            break;
        case 'a':
            o.attach = true;
            break;
        case 'j':
            o.json = optarg;
            break;
        default:
            bench_die("see the beginning of rota_bench_types.c");
        }
    return o;
}

int main(int argc, char **argv)
{
    bench_sync sync;

    bench_program = "rota-bench-types";
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (P > ROOM)
        bench_die("more than %d ranks", ROOM);
    const options o = read_options(argc, argv);
    sync_create(&sync, MPI_COMM_WORLD, false, true);
    if (me == 0)
        printf("   n  axes memory     MPI [us]  Rota [us]  copy [us]  "
               "gain   over copy\n");
    run_all(&o, &sync);
    sync_destroy(&sync);
    MPI_Finalize();
    return 0;
}
