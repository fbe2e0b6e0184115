/* adopting.c - the patterns of docs/adopting.md, which quotes them, in use. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 }; /* ranks */

/* ---- a reshape whose plan serves any scalar and batch ---------------------- */

typedef struct reshape {
    const int *sendcounts, *sdispls, *recvcounts, *rdispls; /* of one field */
    MPI_Comm comm;
    rota_plan *plan; /* NULL until the first call */
} reshape;

static void reshape_run(reshape *r, const void *in, void *out,
                        MPI_Datatype scalar, int batch)
{
    if (!r->plan) {
        MPI_Info info = test_info("rota_largest_unit", "1024", NULL, NULL);
        MUST(rota_alltoallv_init(in, r->sendcounts, r->sdispls, scalar, out,
                                 r->recvcounts, r->rdispls, scalar, r->comm,
                                 info, &r->plan));
        MPI_Info_free(&info);
    }
    MUST(rota_plan_set_unit(r->plan, scalar, batch));
    MUST(rota_plan_set_buffers(r->plan, in, out));
    MUST(rota_start(r->plan));
    MUST(rota_wait(r->plan));
}

static void test_reshape(void)
{
    int counts[MOST], displs[MOST];
    double a[3 * MOST], b[3 * MOST];
    float c[MOST], d[MOST];
    reshape r = {counts, displs, counts, displs, MPI_COMM_WORLD, NULL};

    for (int q = 0; q < test_P; q++) {
        counts[q] = 1;
        displs[q] = q;
        c[q] = (float)(10 * test_me + q);
        for (int i = 0; i < 3; i++)
            a[3 * q + i] = 100 * test_me + 10 * q + i;
    }
    reshape_run(&r, a, b, MPI_DOUBLE, 3);
    reshape_run(&r, c, d, MPI_FLOAT, 1);
    for (int q = 0; q < test_P; q++) {
        CHECK(d[q] == (float)(10 * q + test_me));
        for (int i = 0; i < 3; i++)
            CHECK(b[3 * q + i] == 100 * q + 10 * test_me + i);
    }
    MUST(rota_plan_free(&r.plan));
}

/* ---- counts, then data ----------------------------------------------------- */

static void test_counts(void)
{
    int counts[2 * MOST], displs[2 * MOST], came[2 * MOST], places[2 * MOST];
    const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    const int P = test_P;
    int index[MOST];
    double value[MOST];
    void *found[2];
    rota_plan *plan;

    for (int q = 0; q < P; q++) {
        counts[q] = counts[P + q] = (test_me + q) % 2;
        displs[q] = displs[P + q] = q;
        index[q] = 10 * test_me + q;
        value[q] = index[q] + 0.5;
    }
    MUST(rota_exchange_init_arrays(ROTA_UNBOUNDED, 2, types, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &plan));
    /* In place of MPI_Alltoall of counts and two MPI_Alltoallv: */
    const void *const send[] = {index, value};
    MUST(rota_exchange_start_arrays(plan, send, counts, displs));
    MUST(rota_exchange_wait_arrays(plan, found, came, places));
    const int *const indices = found[0];
    const double *const values = found[1];
    for (int q = 0; q < P; q++) {
        CHECK(came[q] == (test_me + q) % 2 && came[P + q] == came[q]);
        CHECK(!came[q] || indices[places[q]] == 10 * q + test_me);
        CHECK(!came[q] || values[places[P + q]] == 10 * q + test_me + 0.5);
    }
    MUST(rota_plan_free(&plan));
}

/* ---- partners by list, among requests of the program ----------------------- */

typedef struct link {
    int n_from, *from, n_to, *to; /* partners */
    int *recvcounts, *rdispls, *sendcounts, *sdispls;
    rota_graph *graph;
    rota_plan *plan;
} link;

static void link_make(link *l, MPI_Comm comm, const double *send, double *recv)
{
    MUST(rota_graph_create_adjacent(comm, l->n_from, l->from, l->n_to, l->to,
                                    MPI_INFO_NULL, &l->graph));
    MUST(rota_neighbor_alltoallv_init_graph(
        send, l->sendcounts, l->sdispls, MPI_DOUBLE, recv, l->recvcounts,
        l->rdispls, MPI_DOUBLE, l->graph, MPI_INFO_NULL, &l->plan));
}

static void link_exchange(link *l, MPI_Request *other)
{
    MPI_Request both[2] = {*other, MPI_REQUEST_NULL};
    MPI_Status status[2];
    MUST(rota_start_request(l->plan, &both[1]));
    MUST(MPI_Waitall(2, both, status));
    *other = MPI_REQUEST_NULL;
}

/* Each rank sends one number to the next one. */
static link ring(int *ints)
{
    link l = {.n_from = 1, .n_to = 1};

    l.from = ints;
    l.to = ints + 1;
    l.recvcounts = l.sendcounts = ints + 2;
    l.rdispls = l.sdispls = ints + 3;
    ints[0] = (test_me + test_P - 1) % test_P;
    ints[1] = (test_me + 1) % test_P;
    ints[2] = 1;
    ints[3] = 0;
    return l;
}

static void test_link(void)
{
    const double mine = test_me;
    double theirs = -1;
    MPI_Request other;
    int ints[4];
    link l = ring(ints);

    link_make(&l, MPI_COMM_WORLD, &mine, &theirs);
    MPI_Ibarrier(MPI_COMM_WORLD, &other);
    link_exchange(&l, &other);
    CHECK(theirs == l.from[0]);
    MUST(rota_plan_free(&l.plan));
    MUST(rota_graph_free(&l.graph));
}

/* ---- columns of a table, with the same counts ------------------------------ */

typedef struct row {
    double value;
    long index;
} row;

typedef struct table { /* by column */
    double value[2 * MOST];
    long index[2 * MOST];
    const int *displs; /* [P] rows for each rank, or from it */
} table;

typedef struct sides {
    table *send, *recv;
} sides;

static int to_rows(void *context, int dest, MPI_Count begin, MPI_Count end,
                   void *to)
{
    const MPI_Count n = (end - begin) / (MPI_Count)sizeof(row);
    const table *const t = ((const sides *)context)->send;
    const MPI_Count at = t->displs[dest] + begin / (MPI_Count)sizeof(row);

    for (MPI_Count i = 0; i < n; i++)
        ((row *)to)[i] = (row){t->value[at + i], t->index[at + i]};
    return 0;
}

static int to_columns(void *context, int source, MPI_Count begin, MPI_Count end,
                      const void *from)
{
    const MPI_Count n = (end - begin) / (MPI_Count)sizeof(row);
    table *const t = ((const sides *)context)->recv;
    const MPI_Count at = t->displs[source] + begin / (MPI_Count)sizeof(row);

    for (MPI_Count i = 0; i < n; i++) {
        t->value[at + i] = ((const row *)from)[i].value;
        t->index[at + i] = ((const row *)from)[i].index;
    }
    return 0;
}

static void check_columns(table *recv, const int *counts)
{
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < counts[q]; i++) {
            const int at = recv->displs[q] + i;
            CHECK(recv->index[at] == 100 * q + 10 * test_me + i);
            CHECK(recv->value[at] == (double)recv->index[at] + 0.5);
        }
    memset(recv->index, 0, sizeof recv->index);
    memset(recv->value, 0, sizeof recv->value);
}

/* A plan for each column, and one for rows that functions make. */
static void test_columns(void)
{
    int counts[MOST], displs[MOST];
    table send = {.displs = displs}, recv = {.displs = displs};
    sides both = {&send, &recv};
    rota_plan *plans[2], *rows;
    MPI_Datatype type;

    for (int q = 0; q < test_P; q++) {
        counts[q] = 1 + (test_me + q) % 2;
        displs[q] = 2 * q;
        for (int i = 0; i < 2; i++) {
            send.index[2 * q + i] = 100 * test_me + 10 * q + i;
            send.value[2 * q + i] = (double)send.index[2 * q + i] + 0.5;
        }
    }
    MUST(rota_alltoallv_init(send.value, counts, displs, MPI_DOUBLE, recv.value,
                             counts, displs, MPI_DOUBLE, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &plans[0]));
    MUST(rota_alltoallv_init(send.index, counts, displs, MPI_LONG, recv.index,
                             counts, displs, MPI_LONG, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &plans[1]));
    MUST(rota_startall(2, plans));
    MUST(rota_waitall(2, plans));
    check_columns(&recv, counts);
    MPI_Type_contiguous((int)sizeof(row), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    row sent[2 * MOST], came[2 * MOST]; /* neither read nor written */
    MUST(rota_alltoallv_init(sent, counts, displs, type, came, counts, displs,
                             type, MPI_COMM_WORLD, MPI_INFO_NULL, &rows));
    MUST(rota_plan_set_pack(rows, to_rows, to_columns, &both));
    MUST(rota_start(rows));
    MUST(rota_wait(rows));
    check_columns(&recv, counts);
    MPI_Type_free(&type);
    MUST(rota_plan_free(&rows));
    MUST(rota_plan_free(&plans[0]));
    MUST(rota_plan_free(&plans[1]));
}

/* ---- a halo with components, and its sum ----------------------------------- */

/* Adds to roots what was added to leaves, of so many components. */
static void sum_up(rota_plan *sum, const double *leaves, double *roots,
                   int components)
{
    MUST(rota_plan_set_unit(sum, MPI_DOUBLE, components));
    MUST(rota_plan_set_buffers(sum, leaves, roots));
    MUST(rota_start(sum));
    MUST(rota_wait(sum));
}

/* All ranks have a copy of root 1 of rank 0, and add to it. */
static void test_sum(void)
{
    enum { COMPONENTS = 3 };
    int all[MOST], ones[MOST];
    double leaves[COMPONENTS], roots[2 * COMPONENTS] = {0};
    MPI_Info info = test_info("rota_largest_unit", "64", NULL, NULL);
    const int zero = 0;
    link halo = {.n_from = 1,
                 .from = (int[]){0},
                 .n_to = test_me == 0 ? test_P : 0,
                 .to = all},
         *const l = &halo;
    rota_plan *sum;

    for (int q = 0; q < test_P; q++) {
        all[q] = q;
        ones[q] = 1;
    }
    for (int i = 0; i < COMPONENTS; i++)
        leaves[i] = test_me + i;
    MUST(rota_graph_create_adjacent(MPI_COMM_WORLD, l->n_from, l->from, l->n_to,
                                    l->to, MPI_INFO_NULL, &l->graph));
    MUST(rota_neighbor_alltoallv_init_graph(roots, ones, ones, MPI_DOUBLE,
                                            leaves, ones, &zero, MPI_DOUBLE,
                                            l->graph, info, &l->plan));
    MUST(rota_plan_init_reverse(l->plan, leaves, roots, MPI_DOUBLE, MPI_SUM,
                                info, &sum));
    sum_up(sum, leaves, roots, COMPONENTS);
    for (int i = 0; i < COMPONENTS && test_me == 0; i++)
        CHECK(roots[i] == 0 &&
              roots[COMPONENTS + i] == test_P * (test_P - 1) / 2 + i * test_P);
    MUST(rota_plan_free(&sum));
    MUST(rota_plan_free(&l->plan));
    MUST(rota_graph_free(&l->graph));
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    test_reshape();
    test_counts();
    test_link();
    test_columns();
    test_sum();
    return test_end();
}
