/* parts.c - what parts hide: steps that pack a block for each rank, exchange, and
 * unpack each block, as a transpose does.
 *
 * usage: rota-parts [STEPS [EDGE [PARTS]]]
 *
 * The cube has EDGE (default 128) elements of 16 bytes along each side, in slabs. A
 * block leaves in so many PARTS (default 1), of as many planes each.
 *
 * Prints the medians, over STEPS (default 51), of the slowest rank's time of a step
 * that packs all, exchanges and unpacks all; of one that makes each part ready when
 * it is packed, and unpacks as parts arrive; and of packing, the exchange and
 * unpacking alone. The forms take turns.
 */
#include <rota.h>

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>

enum { WHOLE, PARTS, PACK, EXCHANGE, UNPACK, FORMS };
static const char *const names[FORMS] = {"pack, exchange, unpack",
                                         "the same by parts", "pack",
                                         "exchange", "unpack"};

typedef struct work {
    int P, me;
    int n;                    /* parts of a block */
    size_t edge, slab, block; /* elements */
    size_t planes;            /* of a part */
    double complex *field, *send, *recv, *turned;
    rota_plan *whole, *parts;
} work;

static void must(int err, const char *what)
{
    if (err == MPI_SUCCESS)
        return;
    fprintf(stderr, "rota-parts: %s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, err);
}

static double complex *room(size_t n)
{
    double complex *const p = calloc(n, sizeof *p);

    if (!p)
        must(MPI_ERR_NO_MEM, "calloc");
    return p;
}

/* A rank that is listed several times gets as many blocks: the parts. */
static void make_parts(work *w)
{
    const int n = (int)(w->block / (size_t)w->n), all = w->P * w->n;
    int *const ranks = calloc((size_t)all, sizeof *ranks);
    rota_graph *graph;

    if (!ranks)
        must(MPI_ERR_NO_MEM, "calloc");
    for (int i = 0; i < all; i++)
        ranks[i] = i / w->n;
    must(rota_graph_create_adjacent(MPI_COMM_WORLD, all, ranks, all, ranks,
                                    MPI_INFO_NULL, &graph),
         "rota_graph_create_adjacent");
    must(rota_neighbor_alltoall_init_graph(w->send, n, MPI_C_DOUBLE_COMPLEX,
                                           w->recv, n, MPI_C_DOUBLE_COMPLEX,
                                           graph, MPI_INFO_NULL, &w->parts),
         "rota_neighbor_alltoall_init_graph");
    must(rota_graph_free(&graph), "rota_graph_free");
    free(ranks);
}

static void prepare(work *w)
{
    const size_t all = (size_t)w->P * (w->block = w->slab * w->slab * w->edge);
    const int n = (int)w->block;

    w->field = room(all);
    w->send = room(all);
    w->recv = room(all);
    w->turned = room(all);
    must(rota_alltoall_init(w->send, n, MPI_C_DOUBLE_COMPLEX, w->recv, n,
                            MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &w->whole),
         "rota_alltoall_init");
    if (w->n > 1)
        make_parts(w);
    else
        must(rota_alltoall_init(w->send, n, MPI_C_DOUBLE_COMPLEX, w->recv, n,
                                MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &w->parts),
             "rota_alltoall_init");
    must(rota_plan_set_partitioned(w->parts), "rota_plan_set_partitioned");
}

/* The field is [slab][edge][edge]: of rank q are the rows q * slab and on. Part k of
 * all has the planes k * planes and on. */
static void pack(const work *w, int part)
{
    const size_t rows = w->slab * w->edge, q = (size_t)(part / w->n);
    const size_t first = (size_t)(part % w->n) * w->planes;
    double complex *to = w->send + q * w->block + first * rows;

    for (size_t i = first; i < first + w->planes; i++) {
        const double complex *const from =
            w->field + i * w->edge * w->edge + q * rows;
        for (size_t k = 0; k < rows; k++)
            *to++ = from[k];
    }
}

/* It becomes [slab][edge][edge] again: rank q has the middle rows q * slab. */
static void unpack(const work *w, int part)
{
    const size_t rows = w->slab * w->edge, q = (size_t)(part / w->n);
    const size_t first = (size_t)(part % w->n) * w->planes;
    const double complex *from = w->recv + q * w->block + first * rows;

    for (size_t i = first; i < first + w->planes; i++)
        for (size_t j = 0; j < w->slab; j++) {
            double complex *const to =
                w->turned + j * w->edge * w->edge + q * rows + i * w->edge;
            for (size_t k = 0; k < w->edge; k++)
                to[k] = *from++;
        }
}

/* The part that is i-th in turn: those of the next rank first. */
static int in_turn(const work *w, int i)
{
    return ((w->me + 1) * w->n + i) % (w->P * w->n);
}

static void each(const work *w, void (*act)(const work *w, int part))
{
    for (int i = 0; i < w->P * w->n; i++)
        act(w, in_turn(w, i));
}

static void exchange(const work *w)
{
    must(rota_start(w->whole), "rota_start");
    must(rota_wait(w->whole), "rota_wait");
}

static void by_parts(const work *w)
{
    int source;

    must(rota_start(w->parts), "rota_start");
    for (int i = 0; i < w->P * w->n; i++) {
        const int part = in_turn(w, i);
        pack(w, part);
        must(rota_pready(w->parts, part), "rota_pready");
    }
    must(rota_wait_arrival(w->parts, &source), "rota_wait_arrival");
    while (source != MPI_UNDEFINED) {
        unpack(w, source);
        must(rota_wait_arrival(w->parts, &source), "rota_wait_arrival");
    }
    must(rota_wait(w->parts), "rota_wait");
}

static double step(const work *w, int form)
{
    double mine, most;

    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    if (form == PARTS)
        by_parts(w);
    if (form == WHOLE || form == PACK)
        each(w, pack);
    if (form == WHOLE || form == EXCHANGE)
        exchange(w);
    if (form == WHOLE || form == UNPACK)
        each(w, unpack);
    mine = MPI_Wtime() - mine;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    work w = {.edge = argc > 2 ? strtoul(argv[2], NULL, 10) : 128,
              .n = argc > 3 ? atoi(argv[3]) : 1};
    const int steps = argc > 1 ? atoi(argv[1]) : 51;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &w.P);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.me);
    if (steps < 1 || w.edge < 1 || w.edge > 1024 || w.edge % (size_t)w.P != 0)
        must(MPI_ERR_ARG,
             "reading STEPS and EDGE, a multiple of P up to 1024,");
    w.slab = w.edge / (size_t)w.P;
    if (w.n < 1 || w.slab % (size_t)w.n != 0)
        must(MPI_ERR_ARG, "reading PARTS, of which EDGE / P is a multiple,");
    w.planes = w.slab / (size_t)w.n;
    prepare(&w);
    double *const times = calloc(FORMS * (size_t)steps, sizeof *times);
    if (!times)
        must(MPI_ERR_NO_MEM, "calloc");
    for (int i = 0; i < steps; i++)
        for (int f = 0; f < FORMS; f++)
            times[f * steps + i] = step(&w, f);
    for (int f = 0; f < FORMS; f++) {
        double *const t = times + f * steps;
        qsort(t, (size_t)steps, sizeof *t, compare);
        if (w.me == 0)
            printf("%-24s %10.1f us, quartiles %.1f to %.1f\n", names[f],
                   1e6 * t[steps / 2], 1e6 * t[steps / 4],
                   1e6 * t[3 * steps / 4]);
    }
    must(rota_plan_free(&w.whole), "rota_plan_free");
    must(rota_plan_free(&w.parts), "rota_plan_free");
    free(times);
    free(w.field);
    free(w.send);
    free(w.recv);
    free(w.turned);
    return MPI_Finalize();
}
