/* parts.c - what parts hide, and what copies functions and types save: steps that
 * pack a block for each rank, exchange, and unpack each block, as a transpose does.
 *
 * usage: rota-parts [STEPS [EDGE [PARTS]]]
 *
 * The cube has EDGE (default 128) elements of 16 bytes along each side, in slabs. A
 * block leaves in so many PARTS (default 1), of as many planes each.
 *
 * Prints the medians, over STEPS (default 51), of the slowest rank's time of a step
 * that packs all, exchanges and unpacks all, in memory of malloc and of
 * rota_mem_alloc; of one that makes each part ready when it is packed, and unpacks
 * as parts arrive; of one in which the plan calls functions that pack and unpack
 * (rota_plan_set_pack), and one that has types for blocks; and of packing, the
 * exchange and unpacking alone. The forms take turns; what they write is checked.
 */
#include "common/util.h"

#include <rota.h>

#include <complex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WHOLE,
    SHARED,
    PARTS,
    FUNCTIONS,
    TYPES,
    STEPS, /* those that do all */
    PACK = STEPS,
    EXCHANGE,
    UNPACK,
    FORMS
};
static const char *const names[FORMS] = {
    [WHOLE] = "pack, exchange, unpack",
    [SHARED] = "the same, shared memory",
    [PARTS] = "the same by parts",
    [FUNCTIONS] = "by functions",
    [TYPES] = "by types",
    [PACK] = "pack",
    [EXCHANGE] = "exchange",
    [UNPACK] = "unpack",
};

typedef struct work {
    int P, me;
    int n;                    /* parts of a block */
    size_t edge, slab, block; /* elements */
    double complex *field, *turned;
    double complex *send, *recv;     /* of the form under way */
    double complex *memory, *shared; /* send and then recv */
    rota_plan *plan[STEPS];
    MPI_Datatype slices[2]; /* a block in field, in turned */
} work;

/* A rank that is listed several times gets as many blocks: the parts. */
static void make_parts(work *w)
{
    const int n = (int)(w->block / (size_t)w->n), all = w->P * w->n;
    int *const ranks = bench_calloc((size_t)all, sizeof *ranks);
    rota_graph *graph;

    for (int i = 0; i < all; i++)
        ranks[i] = i / w->n;
    bench_must(rota_graph_create_adjacent(MPI_COMM_WORLD, all, ranks, all,
                                          ranks, MPI_INFO_NULL, &graph),
               "rota_graph_create_adjacent");
    bench_must(rota_neighbor_alltoall_init_graph(
                   w->send, n, MPI_C_DOUBLE_COMPLEX, w->recv, n,
                   MPI_C_DOUBLE_COMPLEX, graph, MPI_INFO_NULL, &w->plan[PARTS]),
               "rota_neighbor_alltoall_init_graph");
    bench_must(rota_graph_free(&graph), "rota_graph_free");
    free(ranks);
}

/* Use the buffers of a form that packs. */
static void use(work *w, int form)
{
    w->send = form == SHARED ? w->shared : w->memory;
    w->recv = w->send + (size_t)w->P * w->block;
}

static void make_whole(work *w, int form)
{
    const int n = (int)w->block;

    use(w, form);
    bench_must(rota_alltoall_init(w->send, n, MPI_C_DOUBLE_COMPLEX, w->recv, n,
                                  MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, &w->plan[form]),
               "rota_alltoall_init");
}

/* Block q begins q * rows behind block 0 in both arrays. */
static void make_types(work *w)
{
    const MPI_Aint edge = (MPI_Aint)(w->edge * sizeof *w->field);
    const int P = w->P, run = (int)w->edge, slab = (int)w->slab;
    int *const ones = bench_calloc(2 * (size_t)P, sizeof *ones), *const at =
                                                                     ones + P;
    MPI_Datatype *const types = bench_calloc(2 * (size_t)P, sizeof *types), row,
                        rows;

    MPI_Type_contiguous(run, MPI_C_DOUBLE_COMPLEX, &row);
    MPI_Type_create_hvector(slab, slab, edge * run, row, &w->slices[0]);
    MPI_Type_create_hvector(slab, 1, edge * run, row, &rows);
    MPI_Type_create_hvector(slab, 1, edge, rows, &w->slices[1]);
    for (int side = 0; side < 2; side++)
        MPI_Type_commit(&w->slices[side]);
    for (int q = 0; q < P; q++) {
        ones[q] = 1;
        at[q] = q * slab * (int)edge;
        types[q] = w->slices[0];
        types[P + q] = w->slices[1];
    }
    bench_must(rota_alltoallw_init(w->field, ones, at, types, w->turned, ones,
                                   at, types + P, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &w->plan[TYPES]),
               "rota_alltoallw_init");
    MPI_Type_free(&row);
    MPI_Type_free(&rows);
    free(ones);
    free(types);
}

/* Elements of a block, for the plan and for steps that pack by themselves. The field
 * is [slab][edge][edge]: of rank q are the rows q * slab and on. */
static int pack_part(void *context, int q, MPI_Count begin, MPI_Count end,
                     void *to)
{
    const work *const w = context;
    const size_t size = sizeof *w->field, rows = w->slab * w->edge;
    size_t e = (size_t)begin / size;
    char *at = to;

    for (size_t n; e < (size_t)end / size; e += n, at += n * size) {
        const size_t i = e / rows, k = e % rows, left = (size_t)end / size - e;
        n = rows - k < left ? rows - k : left;
        memcpy(at, w->field + i * w->edge * w->edge + (size_t)q * rows + k,
               n * size);
    }
    return 0;
}

/* It becomes [slab][edge][edge] again: rank q has the middle rows q * slab. */
static int unpack_part(void *context, int q, MPI_Count begin, MPI_Count end,
                       const void *from)
{
    const work *const w = context;
    const size_t size = sizeof *w->field, rows = w->slab * w->edge;
    size_t e = (size_t)begin / size;
    const char *at = from;

    for (size_t n; e < (size_t)end / size; e += n, at += n * size) {
        const size_t i = e / rows, j = e % rows / w->edge, k = e % w->edge;
        const size_t left = (size_t)end / size - e;
        n = w->edge - k < left ? w->edge - k : left;
        memcpy(w->turned + j * w->edge * w->edge + (size_t)q * rows +
                   i * w->edge + k,
               at, n * size);
    }
    return 0;
}

/* Part k of all has the planes k * planes and on. */
static void move(work *w, int part, bool packs)
{
    const int q = part / w->n;
    const size_t bytes = w->block / (size_t)w->n * sizeof *w->field;
    const MPI_Count begin = (MPI_Count)((size_t)(part % w->n) * bytes);
    const MPI_Count end = begin + (MPI_Count)bytes;
    char *const block =
        (char *)((packs ? w->send : w->recv) + (size_t)q * w->block);

    if (packs)
        pack_part(w, q, begin, end, block + begin);
    else
        unpack_part(w, q, begin, end, block + begin);
}

static void pack(work *w, int part)
{
    move(w, part, true);
}

static void unpack(work *w, int part)
{
    move(w, part, false);
}

static void prepare(work *w)
{
    const size_t all = (size_t)w->P * (w->block = w->slab * w->slab * w->edge);

    w->field = bench_calloc(all, sizeof *w->field);
    w->turned = bench_calloc(all, sizeof *w->field);
    w->memory = bench_calloc(2 * all, sizeof *w->field);
    bench_must(rota_mem_alloc(2 * all * sizeof *w->shared, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &w->shared),
               "rota_mem_alloc");
    for (size_t i = 0; i < all; i++)
        w->field[i] = (double)((size_t)w->me * all + i);
    for (int form = 0; form < TYPES; form++)
        if (form != PARTS || w->n == 1)
            make_whole(w, form);
    if (w->n > 1)
        make_parts(w);
    bench_must(rota_plan_set_partitioned(w->plan[PARTS]),
               "rota_plan_set_partitioned");
    bench_must(
        rota_plan_set_pack(w->plan[FUNCTIONS], pack_part, unpack_part, w),
        "rota_plan_set_pack");
    make_types(w);
}

/* The part that is i-th in turn: those of the next rank first. */
static int in_turn(const work *w, int i)
{
    return ((w->me + 1) * w->n + i) % (w->P * w->n);
}

static void each(work *w, void (*act)(work *w, int part))
{
    for (int i = 0; i < w->P * w->n; i++)
        act(w, in_turn(w, i));
}

static void exchange(const work *w, int form)
{
    bench_must(rota_start(w->plan[form]), "rota_start");
    bench_must(rota_wait(w->plan[form]), "rota_wait");
}

static void by_parts(work *w)
{
    rota_plan *const plan = w->plan[PARTS];
    int source;

    bench_must(rota_start(plan), "rota_start");
    for (int i = 0; i < w->P * w->n; i++) {
        const int part = in_turn(w, i);
        pack(w, part);
        bench_must(rota_pready(plan, part), "rota_pready");
    }
    bench_must(rota_wait_arrival(plan, &source), "rota_wait_arrival");
    while (source != MPI_UNDEFINED) {
        unpack(w, source);
        bench_must(rota_wait_arrival(plan, &source), "rota_wait_arrival");
    }
    bench_must(rota_wait(plan), "rota_wait");
}

static double step(work *w, int form)
{
    const bool packed = form == WHOLE || form == SHARED;
    double mine, most;

    use(w, form);
    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    if (form == PARTS)
        by_parts(w);
    if (packed || form == PACK)
        each(w, pack);
    if (packed || form == FUNCTIONS || form == TYPES)
        exchange(w, form);
    else if (form == EXCHANGE)
        exchange(w, WHOLE);
    if (packed || form == UNPACK)
        each(w, unpack);
    mine = MPI_Wtime() - mine;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* Row j of plane i of rank q's field is row q * slab + i of plane j, of this rank's
 * part of the rows. */
static void check(work *w, int form)
{
    const size_t all = (size_t)w->P * w->block;

    memset(w->turned, 0, all * sizeof *w->turned);
    step(w, form);
    for (size_t at = 0; at < all; at++) {
        const size_t k = at % w->edge, row = at / w->edge % w->edge;
        const size_t j = at / w->edge / w->edge, i = row % w->slab;
        const size_t q = row / w->slab, place = (size_t)w->me * w->slab + j;
        const size_t from = (i * w->edge + place) * w->edge + k;
        if (w->turned[at] != (double)(q * all + from))
            bench_die("%s: what has come is wrong", names[form]);
    }
}

int main(int argc, char **argv)
{
    work w = {.edge = argc > 2 ? strtoul(argv[2], NULL, 10) : 128,
              .n = argc > 3 ? atoi(argv[3]) : 1};
    const int steps = argc > 1 ? atoi(argv[1]) : 51;

    bench_program = "rota-parts";
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &w.P);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.me);
    if (steps < 1 || w.edge < 1 || w.edge > 1024 || w.edge % (size_t)w.P != 0)
        bench_die(
            "STEPS is not at least 1, or EDGE no multiple of P up to 1024");
    w.slab = w.edge / (size_t)w.P;
    if (w.n < 1 || w.slab % (size_t)w.n != 0)
        bench_die("EDGE / P is no multiple of PARTS");
    prepare(&w);
    double *const times = bench_calloc(FORMS * (size_t)steps, sizeof *times);
    for (int f = 0; f < STEPS; f++)
        check(&w, f);
    for (int i = 0; i < steps; i++)
        for (int f = 0; f < FORMS; f++)
            times[f * steps + i] = step(&w, f);
    for (int f = 0; f < FORMS; f++) {
        double *const t = times + f * steps;
        const double median = bench_median(t, steps); /* sorts them */
        if (w.me == 0)
            printf("%-24s %10.1f us, quartiles %.1f to %.1f\n", names[f],
                   1e6 * median, 1e6 * t[steps / 4], 1e6 * t[3 * steps / 4]);
    }
    for (int f = 0; f < STEPS; f++)
        bench_must(rota_plan_free(&w.plan[f]), "rota_plan_free");
    for (int side = 0; side < 2; side++)
        MPI_Type_free(&w.slices[side]);
    bench_must(rota_mem_free(&w.shared), "rota_mem_free");
    free(times);
    free(w.field);
    free(w.memory);
    free(w.turned);
    return MPI_Finalize();
}
