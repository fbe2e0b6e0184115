/* reverse.c - plans that run the routes of others backwards, which overwrite what is
 * there or combine with it, for all algorithms, among all ranks, the partners of a
 * graph and the neighbours of a grid.
 *
 * usage: reverse [short]
 */
#include "algos/algo.h"
#include "harness.h"
#include "pattern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, SHIFT = 2, UNITS = 3, STARTS = 3 };

/* What a rank does with what arrives; elements have 8 bytes. */
typedef enum way { OVERWRITES, REPLACES, ADDS, ADDS_APART, OWN_OP, N_WAYS } way;

static const char *const way_name[] = {"overwrites", "replaces", "adds",
                                       "adds elements that lie apart",
                                       "an operator of its own"};

typedef struct side {
    int n, peer[MOST], count[MOST], displ[MOST];
    int units; /* in all */
} side;

typedef struct exchange {
    rota_graph *graph; /* NULL: among all ranks */
    const char *algorithm, *intranode;
    way way;
    bool scales;
    int pattern;
    side root, leaf; /* what forward sends, and receives */
    rota_plan *forward, *back;
} exchange;

static MPI_Op own_op;
static MPI_Datatype apart; /* a double, then a gap of one */

/* ---- memory: that is counted, and that runs out -------------------------- */

static int until = -1; /* allocations up to one that fails; -1: none does */
static bool has_failed;
static int allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool fails(void)
{
    allocations++;
    if (until < 0)
        return false;
    has_failed = has_failed || until == 0;
    return until-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

/* ---- values -------------------------------------------------------------- */

/* Sums of these depend on their order. */
static double value(int from, int to, int i, int start)
{
    const uint64_t h = test_hash((uint64_t)from << 48 ^ (uint64_t)to << 32 ^
                                 (uint64_t)start << 24 ^ (uint64_t)i);

    return ((double)(h % 2001) - 1000) / 7 * (double)(1 << h / 3000 % 30);
}

/* inout = in + 3 inout, so the order counts. */
static void own_function(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const double *const came = in;
    double *const there = inout;

    (void)type;
    for (int i = 0; i < *n; i++)
        there[i] = came[i] + 3 * there[i];
}

static double combined(way w, double came, double there)
{
    return w == OVERWRITES || w == REPLACES ? came
           : w == OWN_OP                    ? came + 3 * there
                                            : came + there;
}

/* ---- blocks -------------------------------------------------------------- */

static void list_peers(const exchange *e, side *s, bool sends)
{
    s->n = 0;
    for (int q = 0; q < test_P; q++) {
        const int src = sends ? test_me : q, dst = sends ? q : test_me;
        if (!e->graph || dst >= src || dst == 0)
            s->peer[s->n++] = q;
    }
}

static bool overlaps(const exchange *e)
{
    return e->way == ADDS || e->way == ADDS_APART || e->way == OWN_OP;
}

/* Roots of an operator are shared by blocks. */
static void lay_out(const exchange *e, side *s, bool sends)
{
    int at = 1;

    s->units = 0;
    for (int k = 0; k < s->n; k++) {
        const int src = sends ? test_me : s->peer[k];
        const int dst = sends ? s->peer[k] : test_me;
        s->count[k] =
            (int)pattern_bytes((pattern)e->pattern, 5, test_P, 30, src, dst);
        s->displ[k] = at;
        if (at + s->count[k] > s->units)
            s->units = at + s->count[k];
        at += sends && overlaps(e) ? SHIFT : s->count[k] + k % 3;
    }
    s->units += 2;
}

/* ---- plans --------------------------------------------------------------- */

static MPI_Info hints(const exchange *e)
{
    MPI_Info info =
        test_info("rota_intranode", e->intranode, "rota_node_size", "2");

    if (e->algorithm)
        MPI_Info_set(info, "rota_algorithm", e->algorithm);
    if (e->scales)
        MPI_Info_set(info, "rota_largest_unit", "24");
    return info;
}

static int init_forward(exchange *e, const double *roots, double *leaves)
{
    const MPI_Datatype type = e->way == ADDS_APART ? apart : MPI_DOUBLE;
    const side *const s = &e->root, *const r = &e->leaf;
    MPI_Info info = hints(e);
    const int err =
        e->graph ? rota_neighbor_alltoallv_init_graph(
                       roots, s->count, s->displ, type, leaves, r->count,
                       r->displ, MPI_DOUBLE, e->graph, info, &e->forward)
                 : rota_alltoallv_init(roots, s->count, s->displ, type, leaves,
                                       r->count, r->displ, MPI_DOUBLE,
                                       MPI_COMM_WORLD, info, &e->forward);

    MPI_Info_free(&info);
    return err;
}

static int init_back(exchange *e, const double *leaves, double *roots)
{
    static const MPI_Op predefined[N_WAYS] = {
        [OVERWRITES] = MPI_OP_NULL,
        [REPLACES] = MPI_REPLACE,
        [ADDS] = MPI_SUM,
        [ADDS_APART] = MPI_SUM,
    };
    const MPI_Datatype type =
        e->way == OVERWRITES ? MPI_DATATYPE_NULL : MPI_DOUBLE;
    MPI_Info info = hints(e);
    const int err = rota_plan_init_reverse(
        e->forward, leaves, roots, type,
        e->way == OWN_OP ? own_op : predefined[e->way], info, &e->back);

    MPI_Info_free(&info);
    return err;
}

/* ---- runs ---------------------------------------------------------------- */

static int stride(const exchange *e)
{
    return e->way == ADDS_APART ? 2 : 1;
}

static double before(int start, int i)
{
    return 1000.5 * start + i;
}

/* Fill leaves; set roots, and what they are to be. unit: doubles of each. */
static void fill(const exchange *e, int unit, int start, double *leaves,
                 double *roots, double *expected)
{
    const int step = stride(e), all = e->root.units * unit * step;

    for (int k = 0; k < e->leaf.n; k++)
        for (int i = 0; i < e->leaf.count[k] * unit; i++)
            leaves[e->leaf.displ[k] * unit + i] =
                value(test_me, e->leaf.peer[k], i, start);
    for (int i = 0; i < all; i++)
        roots[i] = expected[i] = before(start, i);
    for (int k = 0; k < e->root.n; k++)
        for (int i = 0; i < e->root.count[k] * unit; i++) {
            double *const at = &expected[(e->root.displ[k] * unit + i) * step];
            *at = combined(e->way, value(e->root.peer[k], test_me, i, start),
                           *at);
        }
}

static void run_once(exchange *e, int unit, int start, double *leaves,
                     double *roots, double *expected)
{
    const int all = e->root.units * unit * stride(e);
    int done = 0;

    fill(e, unit, start, leaves, roots, expected);
    MUST(rota_plan_set_buffers(e->back, leaves, roots));
    const int before_start = allocations;
    MUST(rota_start(e->back));
    if (start % 2)
        while (!done && rota_test(e->back, &done) == MPI_SUCCESS)
            test_stand_still(1);
    MUST(rota_wait(e->back));
    if (start > 1 && !e->scales)
        CHECK(allocations == before_start);
    if (memcmp(roots, expected, (size_t)all * sizeof *roots) == 0)
        return;
    for (int i = 0; i < all; i++)
        if (roots[i] != expected[i]) {
            test_fail(__FILE__, __LINE__, "start %d: root %d is %g, not %g",
                      start, i, roots[i], expected[i]);
            return;
        }
}

/* Each start has other buffers than the one before. */
static void run(exchange *e)
{
    static char label[160];
    double *leaves[2], *roots[2];

    snprintf(label, sizeof label, "%s, %s, %s, %s%s%s",
             e->algorithm ? e->algorithm : "chosen", e->intranode,
             pattern_name[e->pattern], way_name[e->way],
             e->scales ? ", scaled" : "", e->graph ? ", graph" : "");
    test_case = label;
    list_peers(e, &e->root, true);
    list_peers(e, &e->leaf, false);
    lay_out(e, &e->root, true);
    lay_out(e, &e->leaf, false);
    const size_t n_roots = (size_t)(e->root.units * UNITS * 2);
    double *const expected = malloc(n_roots * sizeof *expected);
    for (int k = 0; k < 2; k++) {
        leaves[k] = calloc((size_t)(e->leaf.units * UNITS), sizeof **leaves);
        roots[k] = calloc(n_roots, sizeof **roots);
    }
    MUST(init_forward(e, roots[0], leaves[0]));
    if (e->forward)
        MUST(init_back(e, leaves[0], roots[0]));
    MUST(rota_plan_free(&e->forward));
    for (int start = 0; e->back && start < STARTS; start++) {
        const int unit = e->scales ? start + 1 : 1;
        if (e->scales)
            MUST(rota_plan_set_unit(e->back, MPI_DOUBLE, unit));
        run_once(e, unit, start, leaves[start % 2], roots[start % 2], expected);
    }
    MUST(rota_plan_free(&e->back));
    for (int k = 0; k < 2; k++) {
        free(leaves[k]);
        free(roots[k]);
    }
    free(expected);
}

static void run_ways(const char *algorithm, const char *intranode,
                     rota_graph *graph, bool brief)
{
    static const int patterns[] = {RANDOM, UNIFORM, SPARSE, ALL_ZERO};

    for (int i = 0; i < (brief ? 1 : 4); i++)
        for (way w = OVERWRITES; w < N_WAYS; w++)
            for (int scales = 0; scales < (w == ADDS_APART ? 1 : 2); scales++) {
                exchange e = {.graph = graph,
                              .algorithm = algorithm,
                              .intranode = intranode,
                              .way = w,
                              .scales = scales,
                              .pattern = patterns[i]};
                run(&e);
            }
}

static rota_graph *make_graph(void)
{
    rota_graph *graph = NULL;
    exchange e = {.graph = (void *)&e};
    side to, from;

    list_peers(&e, &to, true);
    list_peers(&e, &from, false);
    MUST(rota_graph_create_adjacent(MPI_COMM_WORLD, from.n, from.peer, to.n,
                                    to.peer, MPI_INFO_NULL, &graph));
    return graph;
}

/* ---- grids, and ranks that are listed twice ------------------------------ */

/* What has come goes back: to where it came from. */
static void run_there_and_back(rota_plan *forward, int n, int *roots,
                               int *leaves)
{
    rota_plan *back[2] = {NULL, NULL}, *again = NULL;
    int copy[5], sum[5], missing = 0;

    for (int i = 0; i < n; i++) {
        roots[i] = 100 * test_me + i;
        copy[i] = leaves[i] = -1;
        sum[i] = roots[i];
    }
    MUST(rota_start(forward));
    MUST(rota_wait(forward));
    MUST(rota_plan_init_reverse(forward, leaves, copy, MPI_DATATYPE_NULL,
                                MPI_OP_NULL, MPI_INFO_NULL, &back[0]));
    MUST(rota_plan_init_reverse(forward, leaves, sum, MPI_INT, MPI_SUM,
                                MPI_INFO_NULL, &back[1]));
    MUST(rota_startall(2, back));
    MUST(rota_waitall(2, back));
    for (int i = 0; i < n; i++) { /* nobody is at an edge of the grid */
        const bool back_again = copy[i] != -1;
        missing += (leaves[i] == -1) - !back_again;
        CHECK(copy[i] == (back_again ? roots[i] : -1));
        CHECK(sum[i] == (back_again ? 2 : 1) * roots[i]);
    }
    CHECK(missing == 0);
    memset(leaves, -1, (size_t)n * sizeof *leaves);
    MUST(rota_plan_init_reverse(back[0], roots, leaves, MPI_DATATYPE_NULL,
                                MPI_REPLACE, MPI_INFO_NULL, &again));
    MUST(rota_start(again));
    MUST(rota_wait(again));
    MUST(rota_plan_free(&again));
    MUST(rota_plan_free(&back[0]));
    MUST(rota_plan_free(&back[1]));
    MUST(rota_plan_free(&forward));
}

static void run_grid(int dims, bool periodic)
{
    int size[2] = {0, 0}, round[2] = {periodic, periodic}, n = 2 * dims;
    int roots[4], leaves[4], direct[4];
    rota_plan *plan = NULL;
    MPI_Comm grid;

    test_case = periodic ? "grid, periodic" : "grid";
    MPI_Dims_create(test_P, dims, size);
    MPI_Cart_create(MPI_COMM_WORLD, dims, size, round, 0, &grid);
    MUST(rota_neighbor_alltoall_init(roots, 1, MPI_INT, leaves, 1, MPI_INT,
                                     grid, MPI_INFO_NULL, &plan));
    MPI_Comm_free(&grid);
    for (int i = 0; i < n; i++) {
        roots[i] = 100 * test_me + i;
        leaves[i] = -1;
    }
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    memcpy(direct, leaves, sizeof direct);
    run_there_and_back(plan, n, roots, leaves);
    CHECK(memcmp(direct, leaves, (size_t)n * sizeof *leaves) == 0);
}

static void run_twice(void)
{
    const int next = (test_me + 1) % test_P;
    const int last = (test_me + test_P - 1) % test_P;
    const int to[5] = {next, MPI_PROC_NULL, test_me, next, next};
    const int from[5] = {last, last, test_me, last, MPI_PROC_NULL};
    int roots[5], leaves[5];
    rota_graph *graph = NULL;
    rota_plan *plan = NULL;

    test_case = "listed twice";
    MUST(rota_graph_create_adjacent(MPI_COMM_WORLD, 5, from, 5, to,
                                    MPI_INFO_NULL, &graph));
    MUST(rota_neighbor_alltoall_init_graph(
        roots, 1, MPI_INT, leaves, 1, MPI_INT, graph, MPI_INFO_NULL, &plan));
    MUST(rota_graph_free(&graph));
    run_there_and_back(plan, 5, roots, leaves);
}

/* ---- elements ------------------------------------------------------------ */

/* Every rank does something else with what it gets. */
static void run_each(void)
{
    int counts[MOST], displs[MOST];
    double leaves[MOST], roots[MOST];
    const MPI_Op op[3] = {MPI_OP_NULL, MPI_MAX, MPI_PROD};
    rota_plan *plan = NULL, *back = NULL;

    test_case = "each its own operator";
    for (int q = 0; q < test_P; q++) {
        counts[q] = 1;
        displs[q] = q;
        leaves[q] = 1 + test_me + q;
        roots[q] = 3;
    }
    MUST(rota_alltoallv_init(roots, counts, displs, MPI_DOUBLE, leaves, counts,
                             displs, MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &plan));
    MUST(rota_plan_init_reverse(plan, leaves, roots, MPI_DOUBLE,
                                op[test_me % 3], MPI_INFO_NULL, &back));
    MUST(rota_start(back));
    MUST(rota_wait(back));
    for (int q = 0; q < test_P; q++) {
        const double came = 1 + q + test_me;
        CHECK(roots[q] == (test_me % 3 == 0   ? came
                           : test_me % 3 == 1 ? (came > 3 ? came : 3)
                                              : 3 * came));
    }
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&back));
}

/* Pairs, by MPI; bits; and small numbers that wrap. */
static void run_elements(void)
{
    struct {
        int number, rank;
    } leaf[MOST], best[MOST];
    unsigned char bits[MOST], set[MOST];
    rota_plan *plan = NULL, *back = NULL;
    MPI_Request request;

    test_case = "elements";
    for (int q = 0; q < test_P; q++) {
        leaf[q].number = (test_me * 5 + q) % 7;
        leaf[q].rank = test_me;
        best[q].number = 3;
        best[q].rank = -1;
        bits[q] = (unsigned char)(1 << test_me % 8);
        set[q] = 64;
    }
    MUST(rota_alltoall_init(best, 1, MPI_2INT, leaf, 1, MPI_2INT,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_plan_init_reverse(plan, leaf, best, MPI_2INT, MPI_MAXLOC,
                                MPI_INFO_NULL, &back));
    MUST(rota_start_request(back, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int q = 0; q < test_P; q++) {
        const int came = (q * 5 + test_me) % 7;
        CHECK(best[q].number == (came > 3 ? came : 3));
        CHECK(best[q].rank == (came > 3 ? q : -1));
    }
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&back));
    MUST(rota_alltoall_init(set, 1, MPI_BYTE, bits, 1, MPI_BYTE, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &plan));
    MUST(rota_plan_init_reverse(plan, bits, set, MPI_BYTE, MPI_BOR,
                                MPI_INFO_NULL, &back));
    MUST(rota_start(back));
    MUST(rota_wait(back));
    for (int q = 0; q < test_P; q++)
        CHECK(set[q] == (unsigned char)(64 | 1 << q % 8));
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&back));
}

/* A root of which a rank has several copies; and elements whose halves lie apart,
 * which are packed for the operator. */
static void run_types(void)
{
    const int at[4] = {2, 0, 2, 2}, ends[2] = {0, 3};
    MPI_Datatype copies, halves;
    double leaves[4 * MOST], roots[3] = {1, 1, 1}, sum[3] = {1, 1, 1};
    int counts[MOST], displs[MOST], four[MOST], zero[MOST] = {0};
    float pairs[4 * MOST];
    double whole[MOST];
    rota_plan *plan = NULL, *back = NULL;

    test_case = "types";
    MPI_Type_create_indexed_block(4, 1, at, MPI_DOUBLE, &copies);
    MPI_Type_commit(&copies);
    MPI_Type_create_indexed_block(2, 1, ends, MPI_FLOAT, &halves);
    MPI_Type_commit(&halves);
    for (int q = 0; q < test_P; q++) {
        counts[q] = 1;
        four[q] = 4;
        displs[q] = 4 * q;
        for (int i = 0; i < 4; i++) {
            leaves[4 * q + i] = value(test_me, q, i, 0);
            sum[at[i]] += value(q, test_me, i, 0);
        }
    }
    MUST(rota_alltoallv_init(roots, counts, zero, copies, leaves, four, displs,
                             MPI_DOUBLE, MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_plan_init_reverse(plan, leaves, roots, MPI_DOUBLE, MPI_SUM,
                                MPI_INFO_NULL, &back));
    MUST(rota_start(back));
    MUST(rota_wait(back));
    CHECK(memcmp(roots, sum, sizeof sum) == 0);
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&back));
    MUST(rota_alltoall_init(pairs, 1, halves, whole, 1, MPI_DOUBLE,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_plan_init_reverse(plan, whole, pairs, MPI_DOUBLE, MPI_SUM,
                                MPI_INFO_NULL, &back));
    for (int q = 0; q < test_P; q++) {
        const double there = 7 + q;
        whole[q] = 10 * test_me + q;
        memcpy(&pairs[4 * q], &there, sizeof(float));
        memcpy(&pairs[4 * q + 3], (const char *)&there + sizeof(float),
               sizeof(float));
    }
    MUST(rota_start(back));
    MUST(rota_wait(back));
    for (int q = 0; q < test_P; q++) {
        double got;
        memcpy(&got, &pairs[4 * q], sizeof(float));
        memcpy((char *)&got + sizeof(float), &pairs[4 * q + 3], sizeof(float));
        CHECK(got == 10 * q + test_me + 7 + q);
    }
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&back));
    MPI_Type_free(&copies);
    MPI_Type_free(&halves);
}

/* What is chosen by measuring, and what progresses by itself. */
static void run_hints(void)
{
    static const char *const hint[][2] = {{"rota_choose", "measure"},
                                          {"rota_progress", "thread"},
                                          {"rota_progress", "mpi"},
                                          {"rota_own_block", "left"}};

    for (int i = 0; i < 4; i++) {
        MPI_Info info = test_info(hint[i][0], hint[i][1], NULL, NULL);
        double leaves[MOST], roots[MOST];
        rota_plan *plan = NULL, *back = NULL;
        test_case = hint[i][1];
        for (int q = 0; q < test_P; q++) {
            leaves[q] = 10 * test_me + q;
            roots[q] = 0.5;
        }
        MUST(rota_alltoall_init(roots, 1, MPI_DOUBLE, leaves, 1, MPI_DOUBLE,
                                MPI_COMM_WORLD, info, &plan));
        MUST(rota_plan_init_reverse(plan, leaves, roots, MPI_DOUBLE,
                                    i % 2 ? own_op : MPI_SUM, info, &back));
        MPI_Info_free(&info);
        MUST(rota_start(back));
        MUST(rota_wait(back));
        for (int q = 0; q < test_P; q++) {
            const double came = 10 * q + test_me;
            CHECK(roots[q] == (i == 3 && q == test_me ? 0.5
                               : i % 2                ? came + 1.5
                                                      : came + 0.5));
        }
        MUST(rota_plan_free(&plan));
        MUST(rota_plan_free(&back));
    }
}

/* ---- errors -------------------------------------------------------------- */

/* On the last rank alone, or on all. */
static void run_wrong(rota_plan *plan, const void *leaves, void *roots)
{
    const bool last = test_me == test_P - 1;
    rota_plan *back = NULL;

    MUST_FAIL(rota_plan_init_reverse(plan, leaves, roots,
                                     last ? MPI_DATATYPE_NULL : MPI_INT,
                                     MPI_SUM, MPI_INFO_NULL, &back),
              MPI_ERR_TYPE, last ? "type is MPI_DATATYPE_NULL" : "");
    MUST_FAIL(rota_plan_init_reverse(
                  plan, leaves, roots, last ? MPI_DOUBLE : MPI_FLOAT,
                  last ? MPI_BAND : MPI_SUM, MPI_INFO_NULL, &back),
              MPI_ERR_OP, last ? "op is not for elements of double" : "");
    MUST_FAIL(rota_plan_init_reverse(plan, leaves, roots,
                                     last ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM,
                                     MPI_INFO_NULL, &back),
              MPI_ERR_TYPE,
              last ? "has 4 bytes, which are no whole number of elements of "
                     "type, of 8 bytes"
                   : "");
    MUST_FAIL(rota_plan_init_reverse(
                  plan, leaves, roots, last ? MPI_DOUBLE_INT : MPI_INT,
                  last ? MPI_MAXLOC : MPI_SUM, MPI_INFO_NULL, &back),
              MPI_ERR_TYPE, last ? "type is not contiguous" : "");
    MUST_FAIL(rota_plan_init_reverse(plan, last ? NULL : leaves, roots, MPI_INT,
                                     MPI_SUM, MPI_INFO_NULL, &back),
              MPI_ERR_BUFFER, last ? "sendbuf is NULL" : "");
    MUST_FAIL(rota_plan_init_reverse(plan, leaves, last ? NULL : roots, MPI_INT,
                                     MPI_SUM, MPI_INFO_NULL, &back),
              MPI_ERR_BUFFER, last ? "recvbuf is NULL" : "");
    MUST_FAIL(rota_plan_init_reverse(plan, leaves, last ? MPI_IN_PLACE : roots,
                                     MPI_INT, MPI_SUM, MPI_INFO_NULL, &back),
              MPI_ERR_BUFFER, last ? "recvbuf is MPI_IN_PLACE" : "");
    MUST_FAIL(rota_plan_init_reverse(plan, leaves,
                                     last ? (void *)leaves : roots, MPI_INT,
                                     MPI_SUM, MPI_INFO_NULL, &back),
              MPI_ERR_BUFFER, last ? "overlap" : "");
    MUST_FAIL(rota_plan_init_reverse(plan, leaves, roots, MPI_INT, MPI_SUM,
                                     MPI_INFO_NULL, last ? NULL : &back),
              MPI_ERR_ARG, last ? "reverse is NULL" : "");
    CHECK(back == NULL);
}

static void run_errors(void)
{
    int roots[MOST] = {0}, leaves[MOST] = {0};
    rota_plan *plan = NULL, *back = NULL, *varying = NULL, *in_place = NULL;

    test_case = "errors";
    MUST(rota_alltoall_init(roots, 1, MPI_INT, leaves, 1, MPI_INT,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_alltoall_init(MPI_IN_PLACE, 1, MPI_INT, leaves, 1, MPI_INT,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &in_place));
    MUST(rota_alltoallv_varying_init(8, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                                     &varying));
    MUST_FAIL(rota_plan_init_reverse(NULL, leaves, roots, MPI_INT, MPI_SUM,
                                     MPI_INFO_NULL, &back),
              MPI_ERR_REQUEST, "plan is NULL");
    MUST_FAIL(rota_plan_init_reverse(varying, leaves, roots, MPI_INT, MPI_SUM,
                                     MPI_INFO_NULL, &back),
              MPI_ERR_REQUEST, "the plan is a varying one");
    MUST_FAIL(rota_plan_init_reverse(in_place, leaves, roots, MPI_INT, MPI_SUM,
                                     MPI_INFO_NULL, &back),
              MPI_ERR_REQUEST, "the plan is in place");
    run_wrong(plan, leaves, roots);
    MUST(rota_plan_init_reverse(plan, leaves, roots, MPI_INT, MPI_SUM,
                                MPI_INFO_NULL, &back));
    MUST_FAIL(rota_plan_set_partitioned(back), MPI_ERR_REQUEST,
              "the plan combines blocks");
    MUST_FAIL(rota_plan_set_unit(back, MPI_INT, 1), MPI_ERR_ARG,
              "made without rota_largest_unit");
    MUST_FAIL(rota_plan_set_buffers(back, leaves, NULL), MPI_ERR_BUFFER,
              "recvbuf is NULL");
    MUST(rota_plan_free(&back));
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&varying));
    MUST(rota_plan_free(&in_place));
}

/* Blocks that overlap can be added to, not overwritten; and an operator must be for
 * the type of a unit, too. */
static void run_overlapping(void)
{
    MPI_Info info = test_info("rota_largest_unit", "16", NULL, NULL);
    int counts[MOST], same[MOST], displs[MOST], roots[4] = {0},
                                                leaves[4 * MOST];
    rota_plan *plan = NULL, *back = NULL;

    test_case = "overlapping";
    for (int q = 0; q < test_P; q++) {
        counts[q] = 1;
        same[q] = 0;
        displs[q] = q;
        leaves[q] = test_me + q;
    }
    MUST(rota_alltoallv_init(roots, counts, same, MPI_INT, leaves, counts,
                             displs, MPI_INT, MPI_COMM_WORLD, info, &plan));
    MPI_Info_free(&info);
    if (test_P > 1)
        MUST_FAIL(rota_plan_init_reverse(plan, leaves, roots, MPI_INT,
                                         MPI_REPLACE, MPI_INFO_NULL, &back),
                  MPI_ERR_ARG, "overlap");
    MUST(rota_plan_init_reverse(plan, leaves, roots, MPI_INT, MPI_BXOR,
                                MPI_INFO_NULL, &back));
    MUST_FAIL(rota_plan_set_unit(back, MPI_DOUBLE, 1), MPI_ERR_OP,
              "op is not for elements of double");
    MUST(rota_start(back));
    MUST(rota_wait(back));
    int expected = 0;
    for (int q = 0; q < test_P; q++)
        expected ^= q + test_me;
    CHECK(roots[0] == expected);
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&back));
}

/* ---- without a copy ------------------------------------------------------ */

/* As own_function, for elements of three doubles. */
static void three_function(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int doubles = 3 * *n;

    own_function(in, inout, &doubles, type);
}

/* Blocks of n doubles, from this memory. Each is combined once, in whatever parts it
 * comes: from memory of rota_mem_alloc or of malloc, read by the kernel or not. leaf:
 * of the elements that are sent, MPI_DOUBLE or apart. */
static void run_blocks(int n, double *leaves, MPI_Datatype leaf, double *roots,
                       MPI_Datatype type, MPI_Op op, const char *from,
                       bool straight)
{
    const int step = leaf == apart ? 2 : 1, own = leaf == apart ? 0 : 8 * n;
    MPI_Info info =
        test_info("rota_algorithm", "spread_out", "rota_attached_from", from);
    rota_plan *plan = NULL, *back = NULL;

    MUST(rota_alltoall_init(roots, n, MPI_DOUBLE, leaves, n, leaf,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST(rota_plan_init_reverse(plan, leaves, roots, type, op, info, &back));
    CHECK(test_stated(back, "combined_bytes") == test_P * n * 8);
    CHECK(test_stated(back, "combined_uncopied") ==
          (straight ? (test_P - 1) * n * 8 : 0) + own);
    for (int start = 0; start < STARTS; start++) {
        for (int i = 0; i < test_P * n; i++) {
            leaves[i * step] = value(test_me, i / n, i % n, start);
            roots[i] = before(start, i);
        }
        MUST(rota_start(back));
        MUST(rota_wait(back));
        int wrong = 0;
        for (int i = 0; i < test_P * n; i++)
            wrong += roots[i] != combined(op == MPI_SUM ? ADDS : OWN_OP,
                                          value(i / n, test_me, i % n, start),
                                          before(start, i));
        CHECK(wrong == 0);
    }
    MUST(rota_plan_free(&back));
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

/* Elements of 24 bytes do not fit parts: those blocks are copied. The first double of
 * each buffer is left out, so that elements are not aligned to 16 bytes. */
static void run_straight(void)
{
    enum { LONG = 30000, SHORT = 3 };
    const size_t all = (size_t)(2 * test_P * LONG + 1) * sizeof(double);
    double *leaves[2], *roots[2];
    MPI_Datatype three;
    MPI_Op three_op;

    test_case = "without a copy";
    MPI_Op_create(three_function, 0, &three_op);
    MPI_Type_contiguous(3, MPI_DOUBLE, &three);
    MPI_Type_commit(&three);
    leaves[0] = malloc(all);
    roots[0] = malloc(all);
    MUST(rota_mem_alloc(all, MPI_COMM_WORLD, MPI_INFO_NULL, &leaves[1]));
    MUST(rota_mem_alloc(all, MPI_COMM_WORLD, MPI_INFO_NULL, &roots[1]));
    for (int k = 0; k < 4; k++) {
        double *const l = leaves[k / 2], *const r = roots[k / 2];
        const char *const from = k % 2 ? "1" : "1048576";
        const int n = k == 1 ? SHORT : LONG;
        run_blocks(n, l, MPI_DOUBLE, r, MPI_DOUBLE, MPI_SUM, from, true);
        run_blocks(n, l, apart, r, MPI_DOUBLE, MPI_SUM, from, true);
        run_blocks(n, l + 1, MPI_DOUBLE, r + 1, MPI_DOUBLE, own_op, from, true);
        run_blocks(n, l + 1, MPI_DOUBLE, r + 1, three, three_op, from, false);
    }
    MUST(rota_mem_free(&leaves[1]));
    MUST(rota_mem_free(&roots[1]));
    free(leaves[0]);
    free(roots[0]);
    MPI_Type_free(&three);
    MPI_Op_free(&three_op);
}

/* Memory runs out on one rank while a plan is made, at every allocation in turn:
 * all ranks have a plan, or none has. */
static void run_faults(int who, bool near)
{
    double roots[2 * MOST] = {0}, leaves[MOST] = {0};
    int all[MOST];
    rota_graph *graph = NULL;
    rota_plan *plan = NULL;

    test_case = "no memory on one rank";
    for (int q = 0; q < test_P; q++)
        all[q] = q;
    MUST(rota_graph_create_adjacent(MPI_COMM_WORLD, test_P, all, test_P, all,
                                    MPI_INFO_NULL, &graph));
    MUST(near ? rota_neighbor_alltoall_init_graph(roots, 1, apart, leaves, 1,
                                                  MPI_DOUBLE, graph,
                                                  MPI_INFO_NULL, &plan)
              : rota_alltoall_init(roots, 1, apart, leaves, 1, MPI_DOUBLE,
                                   MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    for (int at = 0, through = 0; !through; at++) {
        rota_plan *back = NULL;
        has_failed = false;
        if (test_me == who)
            until = at;
        const int code = rota_plan_init_reverse(plan, leaves, roots, MPI_DOUBLE,
                                                MPI_SUM, MPI_INFO_NULL, &back);
        until = -1;
        through = !test_max(has_failed);
        if (test_max(code != MPI_SUCCESS))
            MUST_FAIL(code, MPI_ERR_NO_MEM, "");
        CHECK((code == MPI_SUCCESS) == (back != NULL));
        MUST(rota_plan_free(&back));
        CHECK(at < 1000);
    }
    MUST(rota_plan_free(&plan));
    MUST(rota_graph_free(&graph));
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"auto", "p2p"};
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const bool brief = argc > 1 && strcmp(argv[1], "short") == 0;
    rota_graph *graph = make_graph();

    MPI_Op_create(own_function, 0, &own_op);
    MPI_Type_create_resized(MPI_DOUBLE, 0, 2 * sizeof(double), &apart);
    MPI_Type_commit(&apart);
    for (int w = 0; w < 2; w++) {
        for (int i = 0; rota_algo_table[i]; i++)
            if (!rota_algo_table[i]->uniform)
                run_ways(rota_algo_table[i]->name, ways[w], NULL,
                         brief || w > 0);
        for (int i = 0; rota_neighbor_table[i]; i++)
            run_ways(rota_neighbor_table[i]->name, ways[w], graph, brief);
        run_ways(NULL, ways[w], NULL, brief);
        run_ways(NULL, ways[w], graph, brief);
    }
    MUST(rota_graph_free(&graph));
    for (int dims = 1; dims <= 2; dims++) {
        run_grid(dims, false);
        run_grid(dims, true);
    }
    run_twice();
    run_each();
    run_elements();
    run_types();
    run_hints();
    run_errors();
    run_overlapping();
    run_straight();
    for (int near = 0; near < 2; near++) {
        run_faults(0, near);
        run_faults(test_P - 1, near);
    }
    MPI_Type_free(&apart);
    MPI_Op_free(&own_op);
    return test_end();
}
