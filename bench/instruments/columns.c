/* columns.c - what an exchange of a table costs that lies by column, with fixed
 * counts that are the same for all columns.
 *
 * usage: rota-columns [STEPS [ROWS...]]
 *
 * There are three columns, of 4, 8 and 8 bytes, with ROWS (default 1, 16, 256, 4,096
 * and 65,536) for each rank. Printed are medians over STEPS (default 101) of the
 * slowest rank's time in microseconds. The forms take turns:
 *
 * MPI        MPI_Alltoallv, column after column
 * in turn    a plan for each column, one after the other
 * together   the same plans, started and waited for together
 * types      one plan, with a type for each block that has all columns
 * functions  one plan, whose blocks are rows: functions make them of columns
 * exchange   an exchange of arrays, whose receivers need not know the counts
 */
#include "common/util.h"

#include <rota.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, FORMS = 6, ROW = 20 };
static const char *const names[FORMS] = {"MPI",   "in turn",   "together",
                                         "types", "functions", "exchange"};
static const int width[COLUMNS] = {4, 8, 8};

typedef struct work {
    int P, me, rows;
    char *send[COLUMNS], *recv[COLUMNS];
    void *found[COLUMNS]; /* what came, in the order of ranks */
    int *counts, *displs; /* [COLUMNS * P], the same for each column */
    MPI_Datatype item[COLUMNS];
    rota_plan *each[COLUMNS], *types, *functions, *exchange;
} work;

/* ---- plans ---------------------------------------------------------------- */

static int to_rows(void *context, int dest, MPI_Count begin, MPI_Count end,
                   void *to)
{
    const work *const w = context;
    const size_t at = (size_t)(w->displs[dest] + begin / ROW);
    const size_t n = (size_t)(end - begin) / ROW;
    char *const rows = to;

    for (size_t i = 0; i < n; i++) {
        memcpy(rows + i * ROW, w->send[0] + (at + i) * 4, 4);
        memcpy(rows + i * ROW + 4, w->send[1] + (at + i) * 8, 8);
        memcpy(rows + i * ROW + 12, w->send[2] + (at + i) * 8, 8);
    }
    return 0;
}

static int to_columns(void *context, int source, MPI_Count begin, MPI_Count end,
                      const void *from)
{
    const work *const w = context;
    const size_t at = (size_t)(w->displs[source] + begin / ROW);
    const size_t n = (size_t)(end - begin) / ROW;
    const char *const rows = from;

    for (size_t i = 0; i < n; i++) {
        memcpy(w->recv[0] + (at + i) * 4, rows + i * ROW, 4);
        memcpy(w->recv[1] + (at + i) * 8, rows + i * ROW + 4, 8);
        memcpy(w->recv[2] + (at + i) * 8, rows + i * ROW + 12, 8);
    }
    return 0;
}

static void plan_functions(work *w)
{
    const size_t all = (size_t)w->P * (size_t)w->rows;
    char *const any = bench_calloc(2 * all, ROW); /* neither read nor written */
    MPI_Datatype row;

    bench_must(MPI_Type_contiguous(ROW, MPI_BYTE, &row), "a type");
    bench_must(MPI_Type_commit(&row), "a type");
    bench_must(rota_alltoallv_init(any, w->counts, w->displs, row,
                                   any + all * ROW, w->counts, w->displs, row,
                                   MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &w->functions),
               "rota_alltoallv_init");
    bench_must(rota_plan_set_pack(w->functions, to_rows, to_columns, w),
               "rota_plan_set_pack");
    bench_must(MPI_Type_free(&row), "freeing a type");
    free(any);
}

/* All columns for rank q, or from it, by their addresses. */
static MPI_Datatype block(const work *w, char *const column[], int q)
{
    int n[COLUMNS];
    MPI_Aint at[COLUMNS];
    MPI_Datatype type;

    for (int c = 0; c < COLUMNS; c++) {
        n[c] = w->rows;
        bench_must(
            MPI_Get_address(column[c] + (size_t)w->displs[q] * (size_t)width[c],
                            &at[c]),
            "MPI_Get_address");
    }
    bench_must(MPI_Type_create_struct(COLUMNS, n, at, w->item, &type),
               "a type");
    bench_must(MPI_Type_commit(&type), "a type");
    return type;
}

static void plan_types(work *w)
{
    const size_t P = (size_t)w->P;
    int *const ones = bench_calloc(2 * P, sizeof *ones), *const zeros =
                                                             ones + P;
    MPI_Datatype *const send = bench_calloc(2 * P, sizeof *send), *const recv =
                                                                      send + P;

    for (int q = 0; q < w->P; q++) {
        ones[q] = 1;
        send[q] = block(w, w->send, q);
        recv[q] = block(w, w->recv, q);
    }
    bench_must(rota_alltoallw_init(MPI_BOTTOM, ones, zeros, send, MPI_BOTTOM,
                                   ones, zeros, recv, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &w->types),
               "rota_alltoallw_init");
    for (size_t i = 0; i < 2 * P; i++)
        bench_must(MPI_Type_free(&send[i]), "freeing a type");
    free(send);
    free(ones);
}

static void prepare(work *w)
{
    const size_t P = (size_t)w->P, all = P * (size_t)w->rows;

    w->counts = bench_calloc(2 * COLUMNS * P, sizeof *w->counts);
    w->displs = w->counts + COLUMNS * P;
    for (int k = 0; k < COLUMNS * w->P; k++) {
        w->counts[k] = w->rows;
        w->displs[k] = k % w->P * w->rows;
    }
    for (int c = 0; c < COLUMNS; c++) {
        w->send[c] = bench_calloc(all, (size_t)width[c]);
        w->recv[c] = bench_calloc(all, (size_t)width[c]);
        memset(w->send[c], w->me * COLUMNS + c, all * (size_t)width[c]);
        bench_must(MPI_Type_contiguous(width[c], MPI_BYTE, &w->item[c]),
                   "a type");
        bench_must(MPI_Type_commit(&w->item[c]), "a type");
        bench_must(rota_alltoallv_init(w->send[c], w->counts, w->displs,
                                       w->item[c], w->recv[c], w->counts,
                                       w->displs, w->item[c], MPI_COMM_WORLD,
                                       MPI_INFO_NULL, &w->each[c]),
                   "rota_alltoallv_init");
    }
    bench_must(rota_exchange_init_arrays(ROTA_UNBOUNDED, COLUMNS, w->item,
                                         MPI_COMM_WORLD, MPI_INFO_NULL,
                                         &w->exchange),
               "rota_exchange_init_arrays");
    plan_types(w);
    plan_functions(w);
}

static void clean(work *w)
{
    rota_plan **const others[] = {&w->types, &w->functions, &w->exchange};

    for (int i = 0; i < 3; i++)
        bench_must(rota_plan_free(others[i]), "rota_plan_free");
    for (int c = 0; c < COLUMNS; c++) {
        bench_must(rota_plan_free(&w->each[c]), "rota_plan_free");
        bench_must(MPI_Type_free(&w->item[c]), "freeing a type");
        free(w->send[c]);
        free(w->recv[c]);
    }
    free(w->counts);
}

/* ---- forms ---------------------------------------------------------------- */

static void by_mpi(work *w)
{
    for (int c = 0; c < COLUMNS; c++)
        bench_must(MPI_Alltoallv(w->send[c], w->counts, w->displs, w->item[c],
                                 w->recv[c], w->counts, w->displs, w->item[c],
                                 MPI_COMM_WORLD),
                   "MPI_Alltoallv");
}

static void together(work *w, int n, rota_plan *plans[])
{
    (void)w;
    bench_must(rota_startall(n, plans), "rota_startall");
    bench_must(rota_waitall(n, plans), "rota_waitall");
}

static void exchange(work *w)
{
    bench_must(rota_exchange_start_arrays(w->exchange,
                                          (const void *const *)w->send,
                                          w->counts, w->displs),
               "rota_exchange_start_arrays");
    bench_must(rota_exchange_wait_arrays(w->exchange, w->found, NULL, NULL),
               "rota_exchange_wait_arrays");
}

static void once(work *w, int form)
{
    switch (form) {
    case 0:
        by_mpi(w);
        break;
    case 1:
        for (int c = 0; c < COLUMNS; c++)
            together(w, 1, &w->each[c]);
        break;
    case 2:
        together(w, COLUMNS, w->each);
        break;
    case 3:
        together(w, 1, &w->types);
        break;
    case 4:
        together(w, 1, &w->functions);
        break;
    default:
        exchange(w);
    }
}

/* The last byte from each rank; and removes what came. */
static void check(work *w)
{
    for (int c = 0; c < COLUMNS; c++) {
        const size_t bytes = (size_t)w->rows * (size_t)width[c];
        const char *const came = w->found[c];
        for (int q = 0; q < w->P; q++)
            if (came[(size_t)(q + 1) * bytes - 1] != (char)(q * COLUMNS + c))
                bench_die("what has come is wrong");
        memset(w->recv[c], -1, (size_t)w->P * bytes);
    }
}

/* Short ones several times, so that the clock does not matter. */
static double run(work *w, int form)
{
    const int times = w->rows > 1024 ? 1 : 5;
    double most;

    for (int c = 0; c < COLUMNS; c++)
        w->found[c] = w->recv[c];
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < times; i++)
        once(w, form);
    const double time = (MPI_Wtime() - begin) / times;
    check(w);
    MPI_Allreduce(&time, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static void compare_forms(work *w, int steps)
{
    double *const times = bench_calloc(FORMS * (size_t)steps, sizeof *times);

    prepare(w);
    for (int i = 0; i < steps; i++)
        for (int f = 0; f < FORMS; f++)
            times[f * steps + i] = run(w, f);
    if (w->me == 0)
        printf("%8d", w->rows);
    for (int f = 0; f < FORMS; f++) {
        const double median = bench_median(times + f * steps, steps);
        if (w->me == 0)
            printf("  %s %.2f", names[f], 1e6 * median);
    }
    if (w->me == 0)
        printf("\n");
    clean(w);
    free(times);
}

int main(int argc, char **argv)
{
    static const int usual[] = {1, 16, 256, 4096, 65536};
    const int steps = argc > 1 ? atoi(argv[1]) : 101;
    const int n = argc > 2 ? argc - 2 : (int)(sizeof usual / sizeof *usual);
    int me, P;

    bench_program = "rota-columns";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    if (steps < 1)
        bench_die("STEPS is not at least 1");
    if (me == 0)
        printf("rows for each rank, and us of each form\n");
    for (int i = 0; i < n; i++) {
        const int rows = argc > 2 ? atoi(argv[2 + i]) : usual[i];
        if (rows < 1 || rows > (1 << 24) / P)
            bench_die("ROWS are none or too many");
        compare_forms(&(work){.P = P, .me = me, .rows = rows}, steps);
    }
    return MPI_Finalize();
}
