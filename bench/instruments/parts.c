/* parts.c - what parts hide: steps that pack a block for each rank, exchange, and
 * unpack each block, as a transpose does.
 *
 * usage: rota-parts [STEPS [EDGE]]
 *
 * The cube has EDGE (default 128) elements of 16 bytes along each side, in slabs.
 * Prints the medians, over STEPS (default 51), of the slowest rank's time of a step
 * that packs all, exchanges and unpacks all; of one that makes each block ready when
 * it is packed, and unpacks as blocks arrive; and of packing, the exchange and
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
    size_t edge, slab, block; /* elements */
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
    must(rota_alltoall_init(w->send, n, MPI_C_DOUBLE_COMPLEX, w->recv, n,
                            MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &w->parts),
         "rota_alltoall_init");
    must(rota_plan_set_partitioned(w->parts), "rota_plan_set_partitioned");
}

/* The field is [slab][edge][edge]: of rank q are the rows q * slab and on. */
static void pack(const work *w, int q)
{
    const size_t rows = w->slab * w->edge;
    double complex *to = w->send + (size_t)q * w->block;

    for (size_t i = 0; i < w->slab; i++) {
        const double complex *const from =
            w->field + i * w->edge * w->edge + (size_t)q * rows;
        for (size_t k = 0; k < rows; k++)
            *to++ = from[k];
    }
}

/* It becomes [slab][edge][edge] again: rank q has the middle rows q * slab. */
static void unpack(const work *w, int q)
{
    const size_t rows = w->slab * w->edge;
    const double complex *from = w->recv + (size_t)q * w->block;

    for (size_t i = 0; i < w->slab; i++)
        for (size_t j = 0; j < w->slab; j++) {
            double complex *const to = w->turned + j * w->edge * w->edge +
                                       (size_t)q * rows + i * w->edge;
            for (size_t k = 0; k < w->edge; k++)
                to[k] = *from++;
        }
}

static void each(const work *w, void (*act)(const work *w, int q))
{
    for (int i = 1; i <= w->P; i++)
        act(w, (w->me + i) % w->P);
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
    for (int i = 1; i <= w->P; i++) {
        const int q = (w->me + i) % w->P;
        pack(w, q);
        must(rota_pready(w->parts, q), "rota_pready");
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
    work w = {.edge = argc > 2 ? strtoul(argv[2], NULL, 10) : 128};
    const int steps = argc > 1 ? atoi(argv[1]) : 51;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &w.P);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.me);
    if (steps < 1 || w.edge < 1 || w.edge > 1024 || w.edge % (size_t)w.P != 0)
        must(MPI_ERR_ARG,
             "reading STEPS and EDGE, a multiple of P up to 1024,");
    w.slab = w.edge / (size_t)w.P;
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
