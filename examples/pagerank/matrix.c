/* matrix.c - see matrix.h. */
#include "matrix.h"

#include "deal.h"
#include "exchange.h"
#include "must.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* While a matrix is made. */
typedef struct {
    matrix *m;
    u64_vec local, remote; /* edges of its rows, as (row, column) */
    u64_vec *need;         /* [P] rows of other ranks that are columns here */
} maker;

static int owner(const matrix *m, uint32_t v)
{
    return (int)(v % (uint32_t)m->P);
}

static uint32_t row(const matrix *m, uint32_t v)
{
    return v / (uint32_t)m->P;
}

static void take_edges(void *to, const uint64_t *edges, size_t n)
{
    maker *k = to;
    matrix *m = k->m;

    for (size_t i = 0; i < n; i++) {
        const uint32_t u = pair_first(edges[i]), v = pair_second(edges[i]);

        if (owner(m, u) == m->me)
            m->outdegree[row(m, u)]++;
        if (owner(m, v) != m->me)
            continue;
        if (owner(m, u) == m->me) {
            u64_vec_push(&k->local, pair_pack(row(m, v), row(m, u)));
        } else {
            u64_vec_push(&k->remote, pair_pack(row(m, v), u));
            u64_vec_push(&k->need[owner(m, u)], row(m, u));
        }
    }
}

/* Make rows of edges (row, column), which are sorted for it. */
static rows index_rows(u64_vec *edges, size_t n_rows)
{
    rows r = {must_realloc(NULL, n_rows + 1, sizeof r.first[0]),
              must_realloc(NULL, edges->n, sizeof r.column[0])};
    size_t e = 0;

    u64_vec_sort(edges);
    for (size_t i = 0; i < n_rows; i++) {
        r.first[i] = e;
        for (; e < edges->n && pair_first(edges->at[e]) == i; e++)
            r.column[e] = pair_second(edges->at[e]);
    }
    r.first[n_rows] = e;
    return r;
}

/* Blocks one behind the other, each with its head; none for this rank. Returns
 * the doubles in all. */
static size_t lay_out(const matrix *m, const int n[], int counts[],
                      int displs[])
{
    size_t sum = 0;

    for (int q = 0; q < m->P; q++) {
        const size_t block = q == m->me ? 0 : BLOCK_HEAD + (size_t)n[q];

        displs[q] = (int)sum;
        counts[q] = (int)block;
        sum += block;
        if (sum > INT_MAX)
            die("more than %d numbers to exchange; use more ranks", INT_MAX);
    }
    return sum;
}

static int *int_array(const matrix *m)
{
    return must_realloc(NULL, (size_t)m->P, sizeof(int));
}

/* Blocks that come: what is needed of each rank, without doubles. */
static void lay_out_receive(maker *k)
{
    matrix *m = k->m;
    int *n = int_array(m);

    for (int q = 0; q < m->P; q++) {
        u64_vec_sort(&k->need[q]);
        u64_vec_unique(&k->need[q]);
        if (k->need[q].n > INT_MAX)
            die("more than %d numbers of one rank; use more ranks", INT_MAX);
        n[q] = (int)k->need[q].n;
    }
    m->at.recv = must_realloc(
        NULL, lay_out(m, n, m->at.recvcounts, m->at.rdispls), sizeof(double));
    free(n);
}

/* Blocks that go: tell the others what is needed of them. */
static void lay_out_send(maker *k)
{
    const exchange_form *form[EXCHANGE_FORMS];
    matrix *m = k->m;
    exchange x;

    (void)exchange_choose("mpi", form);
    exchange_open(&x, form[0], m->comm);
    for (int q = 0; q < m->P; q++)
        if (k->need[q].n > 0)
            memcpy(exchange_add(&x, q, k->need[q].n), k->need[q].at,
                   k->need[q].n * sizeof k->need[q].at[0]);
    (void)exchange_run(&x, 1);
    m->at.send =
        must_realloc(NULL, lay_out(m, x.got, m->at.sendcounts, m->at.sdispls),
                     sizeof(double));
    for (int q = 0; q < m->P; q++)
        m->n_give += (size_t)x.got[q];
    m->give = must_realloc(NULL, m->n_give, sizeof m->give[0]);
    m->n_give = 0;
    for (int q = 0; q < m->P; q++) {
        const uint64_t *needed = x.came[q];

        for (int i = 0; i < x.got[q]; i++)
            m->give[m->n_give++] = (uint32_t)needed[i];
    }
    exchange_close(&x);
}

/* Where the number of vertex u of another rank comes. */
static uint32_t place(const maker *k, uint32_t u)
{
    const u64_vec *need = &k->need[owner(k->m, u)];
    const uint64_t wanted = row(k->m, u);
    size_t low = 0, high = need->n - 1;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (need->at[mid] < wanted)
            low = mid + 1;
        else
            high = mid;
    }
    return (uint32_t)k->m->at.rdispls[owner(k->m, u)] + BLOCK_HEAD +
           (uint32_t)low;
}

static void number_remote(maker *k)
{
    for (size_t e = 0; e < k->remote.n; e++) {
        const uint64_t edge = k->remote.at[e];

        k->remote.at[e] =
            pair_pack(pair_first(edge), place(k, pair_second(edge)));
    }
}

static void make_arrays(maker *k)
{
    matrix *m = k->m;

    m->at.sendcounts = int_array(m);
    m->at.sdispls = int_array(m);
    m->at.recvcounts = int_array(m);
    m->at.rdispls = int_array(m);
    m->outdegree = must_realloc(NULL, m->n_rows, sizeof m->outdegree[0]);
    memset(m->outdegree, 0, m->n_rows * sizeof m->outdegree[0]);
    k->need = must_realloc(NULL, (size_t)m->P, sizeof k->need[0]);
    for (int q = 0; q < m->P; q++)
        k->need[q] = (u64_vec){0};
}

void matrix_make(matrix *m, const graph *g, MPI_Comm comm)
{
    maker k = {.m = m};
    uint64_t size[2];

    *m = (matrix){.comm = comm};
    MUST(MPI_Comm_size(comm, &m->P));
    MUST(MPI_Comm_rank(comm, &m->me));
    deal_sizes(g, comm, size);
    m->n_vertices = size[0];
    m->n_edges = size[1];
    m->n_rows =
        (size_t)((size[0] + (uint64_t)(m->P - 1 - m->me)) / (uint64_t)m->P);
    make_arrays(&k);
    deal_edges(g, comm, take_edges, &k);
    lay_out_receive(&k);
    lay_out_send(&k);
    number_remote(&k);
    m->local = index_rows(&k.local, m->n_rows);
    m->remote = index_rows(&k.remote, m->n_rows);
    for (int q = 0; q < m->P; q++)
        u64_vec_free(&k.need[q]);
    free(k.need);
    u64_vec_free(&k.local);
    u64_vec_free(&k.remote);
}

void matrix_free(matrix *m)
{
    free(m->outdegree);
    free(m->local.first);
    free(m->local.column);
    free(m->remote.first);
    free(m->remote.column);
    free(m->give);
    free(m->at.sendcounts);
    free(m->at.sdispls);
    free(m->at.recvcounts);
    free(m->at.rdispls);
    free(m->at.send);
    free(m->at.recv);
    *m = (matrix){0};
}
