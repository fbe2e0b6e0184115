/* units.c - plans with fixed counts whose unit changes between starts, for all
 * algorithms, among all ranks and among the partners of a graph.
 *
 * usage: units [short]
 */
#include "algos/algo.h"
#include "buffers.h"
#include "harness.h"
#include "pattern.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0xA5, MARGIN = 32, LARGEST = 24, MOST = 16 };

/* Elements of a unit; the first is that of the plan. */
static const struct {
    MPI_Datatype type;
    int bytes, howmany;
} unit[] = {{MPI_INT, 4, 1},  {MPI_BYTE, 1, 1},  {MPI_DOUBLE, 8, 3},
            {MPI_INT, 4, 1},  {MPI_SHORT, 2, 5}, {MPI_DOUBLE, 8, 1},
            {MPI_BYTE, 1, 24}};
enum { UNITS = sizeof unit / sizeof unit[0] };

typedef struct side {
    unsigned char *memory;
    void *there; /* what the library is given for it */
    int n, peer[MOST], count[MOST], displ[MOST];
    size_t units;
} side;

typedef struct exchange {
    rota_graph *graph; /* NULL: among all ranks */
    bool in_place, leaves_own;
    bool scales; /* its unit may change */
    int pattern;
    side send, recv;
    rota_plan *plan;
} exchange;

/* ---- memory that runs out ------------------------------------------------ */

static int until = -1; /* allocations up to one that fails; -1: none does */
static bool has_failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool fails(void)
{
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

/* ---- blocks -------------------------------------------------------------- */

/* In place, a rank has as much for another as that has for it. */
static int count_of(const exchange *e, int src, int dst)
{
    const int low = src < dst ? src : dst, high = src < dst ? dst : src;

    return (int)pattern_bytes((pattern)e->pattern, 3, test_P, 40,
                              e->in_place ? low : src,
                              e->in_place ? high : dst);
}

/* The ranks that have a block from this one, or for it: all, or of a graph in
 * which ranks send to those above them, to themselves, and to 0. */
static void list_peers(const exchange *e, side *s, bool sends)
{
    s->n = 0;
    for (int q = 0; q < test_P; q++) {
        const int src = sends ? test_me : q, dst = sends ? q : test_me;
        if (!e->graph || dst >= src || dst == 0)
            s->peer[s->n++] = q;
    }
}

static void lay_out(const exchange *e, side *s, bool sends)
{
    int at = 1;

    for (int k = 0; k < s->n; k++) {
        s->count[k] = sends ? count_of(e, test_me, s->peer[k])
                            : count_of(e, s->peer[k], test_me);
        s->displ[k] = at;
        at += s->count[k] + k % 3;
    }
    s->units = (size_t)at + 1;
    s->memory = malloc(s->units * LARGEST);
    memset(s->memory, GUARD, s->units * LARGEST);
    s->there =
        test_buffer_make(s->memory, s->units * LARGEST, (unsigned)e->pattern);
}

static void put(const side *s)
{
    test_buffer_put(s->there, s->memory, s->units * LARGEST);
}

static void close_side(side *s)
{
    test_buffer_free(s->there, s->memory);
    free(s->memory);
}

static void fill(const side *s, unsigned char *base, size_t bytes, int start)
{
    for (int k = 0; k < s->n; k++)
        for (size_t i = 0; i < bytes * (size_t)s->count[k]; i++)
            base[bytes * (size_t)s->displ[k] + i] =
                payload(test_me, s->peer[k], i, start);
}

/* What has come is right, and nothing else is touched. */
static void check(const exchange *e, size_t bytes, int start)
{
    const side *const s = &e->recv;
    unsigned char *const base = s->memory;

    for (int k = 0; k < s->n; k++) {
        const bool left = e->leaves_own && s->peer[k] == test_me;
        unsigned char *const at = base + bytes * (size_t)s->displ[k];
        const size_t n = bytes * (size_t)s->count[k];
        for (size_t i = 0; i < n; i++)
            if (at[i] != (left && !e->in_place
                              ? GUARD
                              : payload(s->peer[k], test_me, i, start))) {
                test_fail(__FILE__, __LINE__,
                          "byte %zu of %zu from rank %d, units of %zu", i, n,
                          s->peer[k], bytes);
                break;
            }
        memset(at, GUARD, n);
    }
    for (size_t i = 0; i < s->units * LARGEST; i++)
        if (base[i] != GUARD) {
            test_fail(__FILE__, __LINE__, "stray byte at %zu, units of %zu", i,
                      bytes);
            memset(base, GUARD, s->units * LARGEST);
        }
}

/* ---- plans --------------------------------------------------------------- */

static int init(exchange *e, MPI_Info info)
{
    const side *const s = &e->send, *const r = &e->recv;

    if (e->graph)
        return rota_neighbor_alltoallv_init_graph(
            s->there, s->count, s->displ, MPI_INT, r->there, r->count, r->displ,
            MPI_INT, e->graph, info, &e->plan);
    return rota_alltoallv_init(e->in_place ? MPI_IN_PLACE : s->there, s->count,
                               s->displ, MPI_INT, r->there, r->count, r->displ,
                               MPI_INT, MPI_COMM_WORLD, info, &e->plan);
}

static void run(exchange *e, MPI_Info info)
{
    list_peers(e, &e->send, true);
    list_peers(e, &e->recv, false);
    lay_out(e, &e->send, true);
    lay_out(e, &e->recv, false);
    MUST(init(e, info));
    for (int start = 0; e->plan && start < 2 * UNITS; start++) {
        const int u = e->scales ? start % UNITS : 0;
        const size_t bytes = (size_t)(unit[u].bytes * unit[u].howmany);
        if (start > 0 && e->scales)
            MUST(rota_plan_set_unit(e->plan, unit[u].type, unit[u].howmany));
        fill(&e->send, e->in_place ? e->recv.memory : e->send.memory, bytes,
             start);
        put(&e->send);
        put(&e->recv);
        MUST(rota_start(e->plan));
        MUST(rota_wait(e->plan));
        test_buffer_get(e->recv.memory, e->recv.there, e->recv.units * LARGEST);
        check(e, bytes, start);
    }
    MUST(rota_plan_free(&e->plan));
    close_side(&e->send);
    close_side(&e->recv);
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

static char label[120];

static void run_hints(const char *algorithm, const char *way, rota_graph *graph,
                      bool brief)
{
    static const int patterns[] = {RANDOM, UNIFORM, SPARSE, HUGE_SINGLE};

    for (int i = 0; i < (brief ? 1 : 4); i++)
        for (int form = 0; form < (graph ? 2 : 4); form++) {
            const bool leaves = form % 2;
            MPI_Info info =
                test_info("rota_largest_unit", "24", "rota_intranode", way);
            exchange e = {.graph = graph,
                          .in_place = form / 2,
                          .leaves_own = leaves,
                          .scales = true,
                          .pattern = patterns[i]};
            if (algorithm)
                MPI_Info_set(info, "rota_algorithm", algorithm);
            if (leaves)
                MPI_Info_set(info, "rota_own_block", "left");
            MPI_Info_set(info, "rota_node_size", "2");
            snprintf(label, sizeof label, "%s, %s, %s%s%s",
                     algorithm ? algorithm : "chosen", way,
                     pattern_name[patterns[i]], e.in_place ? ", in place" : "",
                     leaves ? ", own left" : "");
            test_case = label;
            run(&e, info);
            MPI_Info_delete(info, "rota_largest_unit");
            e.scales = false;
            if (leaves)
                run(&e, info);
            MPI_Info_free(&info);
        }
}

/* Two plans take turns, on buffers that change, with units that change. */
static void run_cache(void)
{
    enum { N = 3 };
    MPI_Info info = test_info("rota_largest_unit", "64", NULL, NULL);
    double sent[2 * N * MOST], got[2 * N * MOST];
    rota_plan *plan = NULL;

    test_case = "cache";
    MUST(rota_alltoall_init(sent, N, MPI_DOUBLE, got, N, MPI_DOUBLE,
                            MPI_COMM_WORLD, info, &plan));
    MPI_Info_free(&info);
    for (int batch = 1; plan && batch <= 2; batch++) {
        double *const from = batch == 1 ? sent : got;
        double *const to = batch == 1 ? got : sent;
        for (int i = 0; i < batch * N * test_P; i++)
            from[i] = 1000 * test_me + i;
        MUST(rota_plan_set_unit(plan, MPI_DOUBLE, batch));
        MUST(rota_plan_set_buffers(plan, from, to));
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        for (int i = 0; i < batch * N * test_P; i++)
            CHECK(to[i] == 1000 * (i / (batch * N)) + test_me * batch * N +
                               i % (batch * N));
    }
    MUST(rota_plan_free(&plan));
}

/* ---- errors -------------------------------------------------------------- */

static void run_errors(void)
{
    MPI_Info info = test_info("rota_largest_unit", "16", NULL, NULL);
    MPI_Info other =
        test_info("rota_largest_unit", test_me ? "16" : "8", NULL, NULL);
    MPI_Datatype gap, apart;
    int sent[4 * MOST] = {0}, got[4 * MOST], many[MOST], at[MOST];
    MPI_Datatype types[MOST];
    MPI_Count one[MOST];
    MPI_Aint near[MOST], beyond[MOST];
    rota_plan *plan = NULL, *plain = NULL, *varying = NULL;

    test_case = "errors";
    MPI_Type_vector(2, 1, 2, MPI_INT, &gap);
    MPI_Type_commit(&gap);
    MPI_Type_dup(MPI_INT, &apart);
    for (int q = 0; q < test_P; q++) {
        many[q] = 1;
        at[q] = q;
        types[q] = MPI_INT;
        one[q] = 1;
        near[q] = q;
        beyond[q] = test_me == 0 ? ((MPI_Aint)1 << 58) + q : q;
    }
    MUST_FAIL(rota_alltoall_init(sent, 1, gap, got, 1, gap, MPI_COMM_WORLD,
                                 info, &plan),
              MPI_ERR_TYPE, "is not plain bytes end to end");
    MUST_FAIL(rota_alltoall_init(sent, 4, MPI_BYTE, got, 1, MPI_INT,
                                 MPI_COMM_WORLD, info, &plan),
              MPI_ERR_TYPE, "sendtype has 1 bytes and recvtype 4");
    MUST_FAIL(rota_alltoall_init(sent, 1, MPI_LONG_DOUBLE_INT, got, 1,
                                 MPI_LONG_DOUBLE_INT, MPI_COMM_WORLD, info,
                                 &plan),
              MPI_ERR_TYPE, "plain bytes");
    MUST_FAIL(rota_alltoallw_init(sent, many, at, types, got, many, at, types,
                                  MPI_COMM_WORLD, info, &plan),
              MPI_ERR_ARG, "a type for each block");
    MUST_FAIL(rota_alltoallv_init_c(sent, one, beyond, MPI_BYTE, got, one, near,
                                    MPI_BYTE, MPI_COMM_WORLD, info, &plan),
              MPI_ERR_COUNT, "in units of rota_largest_unit = 16 bytes");
    if (test_P > 1)
        MUST_FAIL(rota_alltoall_init(sent, 1, MPI_INT, got, 1, MPI_INT,
                                     MPI_COMM_WORLD, other, &plan),
                  MPI_ERR_ARG, "rota_largest_unit is not that of rank 0");
    if (test_P > 1)
        MUST_FAIL(rota_alltoall_init(sent, 1, test_me ? MPI_INT : MPI_BYTE, got,
                                     1, test_me ? MPI_INT : MPI_BYTE,
                                     MPI_COMM_WORLD, info, &plan),
                  MPI_ERR_ARG, "its unit is not that of rank 0");
    MUST(rota_alltoall_init(sent, 1, apart, got, 1, MPI_INT, MPI_COMM_WORLD,
                            info, &plan));
    MPI_Type_free(&apart);
    MUST_FAIL(rota_plan_set_unit(NULL, MPI_INT, 1), MPI_ERR_REQUEST,
              "plan is NULL");
    MUST_FAIL(rota_plan_set_unit(plan, MPI_INT, 0), MPI_ERR_COUNT,
              "howmany = 0 is below 1");
    MUST_FAIL(rota_plan_set_unit(plan, MPI_INT, 5), MPI_ERR_COUNT,
              "5 elements of 4 bytes is above rota_largest_unit = 16");
    MUST_FAIL(rota_plan_set_unit(plan, MPI_DATATYPE_NULL, 1), MPI_ERR_TYPE,
              "type is null");
    MUST_FAIL(rota_plan_set_unit(plan, gap, 1), MPI_ERR_TYPE,
              "plain bytes end to end");
    MUST(rota_start(plan));
    MUST_FAIL(rota_plan_set_unit(plan, MPI_INT, 1), MPI_ERR_REQUEST,
              "the plan is active");
    MUST(rota_wait(plan));
    MUST(rota_alltoall_init(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &plain));
    MUST_FAIL(rota_plan_set_unit(plain, MPI_INT, 1), MPI_ERR_ARG,
              "made without rota_largest_unit");
    MUST(rota_alltoallv_varying_init(8, MPI_INT, MPI_COMM_WORLD, info,
                                     &varying));
    MUST_FAIL(rota_plan_set_unit(varying, MPI_INT, 1), MPI_ERR_REQUEST,
              "a varying one");
    MUST_FAIL(rota_alltoallv_start(plan, sent, many, at, got, many, at),
              MPI_ERR_REQUEST, "a fixed one");
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&plain));
    MUST(rota_plan_free(&varying));
    MPI_Type_free(&gap);
    MPI_Info_free(&info);
    MPI_Info_free(&other);
}

/* Memory runs out on one rank while a plan is made, at every allocation in turn:
 * all ranks have a plan, or none has. */
static void run_faults(int who)
{
    MPI_Info info = test_info("rota_largest_unit", "64", NULL, NULL);
    int sent[MOST] = {0}, got[MOST];

    test_case = "no memory on one rank";
    for (int at = 0, all = 0; !all; at++) {
        rota_plan *plan = NULL;
        has_failed = false;
        if (test_me == who)
            until = at;
        const int code = rota_alltoall_init(sent, 1, MPI_INT, got, 1, MPI_INT,
                                            MPI_COMM_WORLD, info, &plan);
        until = -1;
        all = !test_max(has_failed);
        if (test_max(code != MPI_SUCCESS))
            MUST_FAIL(code, MPI_ERR_NO_MEM, "");
        CHECK((code == MPI_SUCCESS) == (plan != NULL));
        MUST(rota_plan_free(&plan));
        CHECK(at < 1000);
    }
    MPI_Info_free(&info);
}

/* A rank that finds no memory for a longer unit keeps the one it has. */
static void run_short(void)
{
    enum { N = 100 };
    MPI_Info info = test_info("rota_largest_unit", "64", NULL, NULL);
    static int data[16 * N * MOST];
    rota_plan *plan = NULL;

    test_case = "no memory for a unit";
    MUST(rota_alltoall_init(MPI_IN_PLACE, N, MPI_INT, data, N, MPI_INT,
                            MPI_COMM_WORLD, info, &plan));
    MPI_Info_free(&info);
    for (int i = 0; test_P > 1; i++) { /* MPI allocates, too */
        until = i;
        const int code = rota_plan_set_unit(plan, MPI_INT, 16);
        const bool lacked = until < 0;
        until = -1;
        if (!test_max(lacked))
            break;
        if (code == MPI_SUCCESS)
            MUST(rota_plan_set_unit(plan, MPI_INT, 1));
        for (int k = 0; k < N * test_P; k++)
            data[k] = 1000 * test_me + k / N;
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        for (int k = 0; k < N * test_P; k++)
            CHECK(data[k] == 1000 * (k / N) + test_me);
        CHECK(i < 100);
    }
    MUST(rota_plan_free(&plan));
}

/* The last rank has another unit than the others: those that have a block from it,
 * and it, see that; then the plan goes on with one unit. A longer block is an
 * error of MPI, after which the plan is only freed; a shorter one is not. */
static void run_mismatch(const char *way, int other)
{
    MPI_Info info = test_info("rota_largest_unit", "16", "rota_intranode", way);
    const bool odd = test_me == test_P - 1, shared = strcmp(way, "shm") == 0;
    int sent[4 * MOST] = {0}, got[4 * MOST];
    rota_plan *plan = NULL;

    test_case = way;
    MUST(rota_alltoall_init(sent, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD,
                            info, &plan));
    MUST(rota_plan_set_unit(plan, MPI_INT, odd ? other : 2));
    const int started = rota_start(plan);
    if (other < 2 && !odd)
        MUST_FAIL(rota_wait(plan), MPI_ERR_COUNT, "sends 4 bytes to rank");
    else if (shared)
        MUST_FAIL(rota_wait(plan), MPI_ERR_COUNT, "bytes to rank");
    else
        CHECK(started != MPI_SUCCESS || rota_wait(plan) != MPI_SUCCESS);
    if (shared) {
        MUST(rota_plan_set_unit(plan, MPI_INT, 1));
        for (int q = 0; q < test_P; q++)
            sent[q] = 100 * test_me + q;
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        for (int q = 0; q < test_P; q++)
            CHECK(got[q] == 100 * q + test_me);
    }
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    test_barrier();
}

int main(int argc, char **argv)
{
    static const char *const ways[] = {"auto", "p2p"};
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    test_buffers_begin();
    const bool brief = argc > 1 && strcmp(argv[1], "short") == 0;
    MPI_Errhandler before;

    MPI_Comm_get_errhandler(MPI_COMM_SELF, &before);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    rota_graph *graph = make_graph();
    for (int w = 0; w < 2; w++) {
        for (int i = 0; rota_algo_table[i]; i++)
            if (!rota_algo_table[i]->uniform)
                run_hints(rota_algo_table[i]->name, ways[w], NULL,
                          brief || w > 0);
        for (int i = 0; rota_neighbor_table[i]; i++)
            run_hints(rota_neighbor_table[i]->name, ways[w], graph, false);
        run_hints(NULL, ways[w], NULL, false);
        run_hints(NULL, ways[w], graph, false);
    }
    MUST(rota_graph_free(&graph));
    run_cache();
    run_errors();
    run_faults(0);
    run_faults(test_P - 1);
    run_short();
    if (test_P > 1) {
        run_mismatch("shm", 1);
        run_mismatch("shm", 3);
        run_mismatch("p2p", 1);
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
    MPI_Errhandler_free(&before);
    test_buffers_end();
    return test_end();
}
