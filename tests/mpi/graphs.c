/* graphs.c - graphs of partners: their life, their cost, and lists that are
 * wrong, on all ranks or on one.
 *
 * The program stands between the library and MPI (by its profiling interface)
 * and between the library and the heap (by the linker's --wrap).
 */
#include "harness.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counters, and memory that runs out ---------------------------------- */

static int messages, comms;
static size_t bytes;   /* allocated since it was set to 0 */
static int until = -1; /* allocations up to one that fails; -1: none does */
static bool has_failed;

int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    messages++;
    return PMPI_Isend(data, n, type, to, tag, comm, request);
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request)
{
    comms++;
    return PMPI_Comm_idup(comm, copy, request);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool fails(size_t size)
{
    bytes += size;
    if (until < 0)
        return false;
    has_failed = until-- == 0 || has_failed;
    return until == -1;
}

void *__wrap_malloc(size_t size)
{
    return fails(size) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails(count * size) ? NULL : __real_calloc(count, size);
}

/* ---- graphs -------------------------------------------------------------- */

static int rounds(void)
{
    int n = 0;

    while (1 << n < test_P)
        n++;
    return n;
}

/* The ranks below `ends` form a ring; the others have no partners. */
static int make_ring(int ends, rota_graph **graph)
{
    const int from = (test_me + ends - 1) % ends, to = (test_me + 1) % ends;
    const int n = test_me < ends;

    return rota_graph_create_adjacent(MPI_COMM_WORLD, n, n ? &from : NULL, n,
                                      n ? &to : NULL, MPI_INFO_NULL, graph);
}

static void run_ring(rota_plan *plan, int ends, const int *got, int *sent)
{
    *sent = 1000 + test_me;
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    if (test_me < ends)
        CHECK(*got == 1000 + (test_me + ends - 1) % ends);
}

/* Handles and the communicator may go before the plans. */
static void run_life(void)
{
    rota_graph *graph = NULL, *copy = NULL;
    rota_plan *plan[2] = {NULL, NULL};
    MPI_Comm comm;
    const int me = test_me;
    int sent = 0, got[2] = {0, 0};

    test_case = "life";
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MUST(rota_graph_create_adjacent(comm, 1, &me, 1, &me, MPI_INFO_NULL,
                                    &graph));
    MPI_Comm_free(&comm);
    MUST(rota_neighbor_alltoall_init_graph(&sent, 1, MPI_INT, &got[0], 1,
                                           MPI_INT, graph, MPI_INFO_NULL,
                                           &plan[0]));
    MUST(rota_graph_dup(graph, &copy));
    MUST(rota_graph_free(&graph));
    CHECK(graph == NULL);
    MUST(rota_graph_free(&graph));
    MUST(rota_neighbor_alltoall_init_graph_c(
        &sent, 1, MPI_INT, &got[1], 1, MPI_INT, copy, MPI_INFO_NULL, &plan[1]));
    MUST(rota_graph_free(&copy));
    sent = 17 + test_me;
    MUST(rota_startall(2, plan));
    MUST(rota_waitall(2, plan));
    CHECK(got[0] == sent && got[1] == sent);
    MUST(rota_plan_free(&plan[0]));
    MUST(rota_plan_free(&plan[1]));
}

/* Every graph takes one agreement and what its lists need, on all ranks. */
static void run_cost(void)
{
    enum { GRAPHS = 40 };
    rota_graph *graph[GRAPHS] = {NULL};
    rota_plan *plan = NULL;
    int sent, got = 0;

    test_case = "cost";
    MUST(make_ring(test_P, &graph[0]));
    messages = comms = 0;
    bytes = 0;
    for (int i = 1; i < GRAPHS; i++)
        MUST(make_ring(1 + i % test_P, &graph[i]));
    CHECK(comms == 0);
    CHECK(messages == (GRAPHS - 1) * rounds());
    CHECK(bytes < (GRAPHS - 1) * 400);
    for (int i = 0; i < GRAPHS; i += 7) {
        const int ends = i ? 1 + i % test_P : test_P;
        MUST(rota_neighbor_alltoall_init_graph(&sent, 1, MPI_INT, &got, 1,
                                               MPI_INT, graph[i], MPI_INFO_NULL,
                                               &plan));
        if (plan)
            run_ring(plan, ends, &got, &sent);
        MUST(rota_plan_free(&plan));
    }
    CHECK(comms == 0);
    messages = 0;
    for (int i = 0; i < GRAPHS; i++)
        MUST(rota_graph_free(&graph[i]));
    CHECK(messages == 0);
}

/* Among nobody, oneself several times, and the next rank. */
static void run_lists(void)
{
    const int next = (test_me + 1) % test_P;
    const int before = (test_me + test_P - 1) % test_P;
    const int to[5] = {MPI_PROC_NULL, test_me, next, test_me, next};
    const int from[5] = {test_me, before, MPI_PROC_NULL, before, test_me};
    int sent[5], got[5] = {-1, -1, -1, -1, -1};
    rota_graph *graph = NULL;
    rota_plan *plan = NULL;

    if (test_P == 1)
        return; /* all are one rank there */
    test_case = "lists";
    for (int i = 0; i < 5; i++)
        sent[i] = 10 * test_me + i;
    MUST(rota_graph_create_adjacent(MPI_COMM_WORLD, 5, from, 5, to,
                                    MPI_INFO_NULL, &graph));
    MUST(rota_neighbor_alltoall_init_graph(sent, 1, MPI_INT, got, 1, MPI_INT,
                                           graph, MPI_INFO_NULL, &plan));
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    CHECK(got[0] == 10 * test_me + 1 && got[4] == 10 * test_me + 3);
    CHECK(got[1] == 10 * before + 2 && got[3] == 10 * before + 4);
    CHECK(got[2] == -1);
    MUST(rota_plan_free(&plan));
    MUST(rota_graph_free(&graph));
}

/* ---- ranks that do not start --------------------------------------------- */

/* Starts of a ring of the ranks below `ends`; the others go on at once. */
static void run_apart(rota_graph *ring, int ends, MPI_Info info)
{
    const int before = (test_me + ends - 1) % ends, n = 1, at = 0;
    rota_plan *fixed = NULL, *varying = NULL, *exchange = NULL;
    int sent = 0, got[2] = {0, 0}, *found = NULL;
    void *where = NULL;

    MUST(rota_neighbor_alltoall_init_graph(&sent, 1, MPI_INT, &got[0], 1,
                                           MPI_INT, ring, info, &fixed));
    MUST(rota_neighbor_alltoallv_varying_init_graph(ROTA_UNBOUNDED, MPI_INT,
                                                    ring, info, &varying));
    MUST(rota_neighbor_exchange_init_graph(8, MPI_INT, ring, info, &exchange));
    for (int start = 0; test_me < ends && start < 5; start++) {
        sent = 100 * start + test_me;
        MUST(rota_start(fixed));
        MUST(rota_alltoallv_start(varying, &sent, &n, &at, &got[1], &n, &at));
        MUST(rota_exchange_start(exchange, &sent, &n, &at));
        MUST(rota_exchange_wait(exchange, &where, NULL, NULL));
        found = where;
        MUST(rota_wait(fixed));
        MUST(rota_wait(varying));
        CHECK(got[0] == 100 * start + before && got[1] == got[0]);
        CHECK(*found == got[0]);
    }
    MUST(rota_plan_free(&fixed));
    MUST(rota_plan_free(&varying));
    MUST(rota_plan_free(&exchange));
}

/* Ranks whose blocks are all empty do not start a fixed plan either. */
static void run_empty(MPI_Info info)
{
    const int up = (test_me + 1) % test_P;
    const int down = (test_me + test_P - 1) % test_P, at = 0;
    const int sends = test_me == 0, receives = test_me == 1;
    int sent = 17, got = 0;
    rota_graph *ring = NULL;
    rota_plan *plan = NULL;

    MUST(rota_graph_create_adjacent(MPI_COMM_WORLD, 1, &down, 1, &up,
                                    MPI_INFO_NULL, &ring));
    MUST(rota_neighbor_alltoallv_init_graph(&sent, &sends, &at, MPI_INT, &got,
                                            &receives, &at, MPI_INT, ring, info,
                                            &plan));
    if (sends || receives) {
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
    }
    CHECK(got == (receives ? 17 : 0));
    MUST(rota_plan_free(&plan));
    MUST(rota_graph_free(&ring));
}

/* Nodes of two ranks, so that some would forward. */
static void run_partners(const char *way)
{
    MPI_Info info = test_info("rota_starts", "partners", "rota_node_size", "2");
    rota_graph *ring = NULL;
    rota_plan *plan = NULL;
    int data[2] = {0, 0};

    MPI_Info_set(info, "rota_intranode", way);
    test_case = way;
    for (int ends = 1; ends <= test_P; ends++) {
        MUST(make_ring(ends, &ring));
        run_apart(ring, ends, info);
        MPI_Info_set(info, "rota_algorithm", "neighbor");
        run_apart(ring, ends, info);
        MPI_Info_set(info, "rota_algorithm", "neighbor_node");
        MUST_FAIL(rota_neighbor_alltoall_init_graph(data, 1, MPI_INT, data + 1,
                                                    1, MPI_INT, ring, info,
                                                    &plan),
                  MPI_ERR_ARG, "neighbor_node lets ranks forward");
        MPI_Info_delete(info, "rota_algorithm");
        MUST(rota_graph_free(&ring));
    }
    if (test_P > 1)
        run_empty(info);
    MPI_Info_free(&info);
}

/* ---- the own block ------------------------------------------------------- */

/* The program moves its own block; here, it does not. */
static void run_own(void)
{
    enum { MOST = 16 };
    MPI_Info info = test_info("rota_own_block", "left", NULL, NULL);
    rota_plan *varying = NULL, *exchange = NULL;
    int sent[MOST], got[MOST], count[MOST], at[MOST], *found;
    void *where = NULL;

    test_case = "own block";
    for (int q = 0; q < test_P; q++) {
        sent[q] = 10 * test_me + q;
        got[q] = -1;
        count[q] = 1;
        at[q] = q;
    }
    MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_INT, MPI_COMM_WORLD,
                                     info, &varying));
    MUST(rota_exchange_init(64, MPI_INT, MPI_COMM_WORLD, info, &exchange));
    MUST(rota_alltoallv_start(varying, sent, count, at, got, count, at));
    MUST(rota_exchange_start(exchange, sent, count, at));
    MUST(rota_wait(varying));
    MUST(rota_exchange_wait(exchange, &where, count, at));
    found = where;
    for (int q = 0; q < test_P; q++) {
        CHECK(got[q] == (q == test_me ? -1 : 10 * q + test_me));
        CHECK(count[q] == (q != test_me));
        CHECK(q == test_me || found[at[q]] == 10 * q + test_me);
    }
    MUST(rota_plan_free(&varying));
    MUST(rota_plan_free(&exchange));
    MPI_Info_free(&info);
}

/* ---- errors -------------------------------------------------------------- */

/* One rank alone is wrong: all fail with its class and its text. */
static void run_wrong(int who)
{
    const bool mine = test_me == who;
    const int beyond = mine ? test_P : test_me, below = mine ? -7 : test_me;
    const int me = test_me;
    rota_graph *graph = NULL;
    MPI_Info info =
        test_info(mine ? "rota_chekc" : "rota_check", "on", NULL, NULL);
    MPI_Info other = test_info("rota_check", mine ? "off" : "on", NULL, NULL);
    rota_plan *plan = NULL;

    test_case = "one rank is wrong";
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, 1, &beyond, 1, &me,
                                         MPI_INFO_NULL, &graph),
              MPI_ERR_ARG, "is neither a rank, 0 to");
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, 1, &me, 1, &below,
                                         MPI_INFO_NULL, &graph),
              MPI_ERR_ARG, "destinations[0] = -7");
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, mine ? -1 : 0, NULL, 0,
                                         NULL, MPI_INFO_NULL, &graph),
              MPI_ERR_COUNT, "indegree = -1");
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, mine ? -2 : 0,
                                         NULL, MPI_INFO_NULL, &graph),
              MPI_ERR_COUNT, "outdegree = -2");
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, 1, mine ? NULL : &me,
                                         1, &me, MPI_INFO_NULL, &graph),
              MPI_ERR_ARG, "sources is NULL");
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, 1, &me, 1,
                                         mine ? NULL : &me, MPI_INFO_NULL,
                                         &graph),
              MPI_ERR_ARG, "destinations is NULL");
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, 0, NULL,
                                         MPI_INFO_NULL, mine ? NULL : &graph),
              MPI_ERR_ARG, "graph is NULL");
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, 0, NULL, info,
                                         &graph),
              MPI_ERR_ARG, "unknown hint rota_chekc");
    if (test_P > 1) {
        MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, 0, NULL,
                                             other, &graph),
                  MPI_ERR_ARG, "rota_check is not that of rank 0");
        MUST_FAIL(mine
                      ? rota_exchange_init(8, MPI_BYTE, MPI_COMM_WORLD,
                                           MPI_INFO_NULL, &plan)
                      : rota_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, 0,
                                                   NULL, MPI_INFO_NULL, &graph),
                  MPI_ERR_ARG, "ranks disagree");
    }
    MUST_FAIL(rota_graph_of(MPI_COMM_WORLD, &graph), MPI_ERR_TOPOLOGY,
              "no process topology");
    CHECK(graph == NULL && plan == NULL);
    MPI_Info_free(&info);
    MPI_Info_free(&other);
}

/* Rank 0 says that it sends to the last one, which does not say so; and the
 * other way round. */
static void run_mismatch(void)
{
    const int last = test_P - 1, first = 0;
    const int sends = test_me == 0, receives = test_me == last;
    char words[80];
    rota_graph *graph = NULL;

    test_case = "mismatch";
    snprintf(words, sizeof words,
             "rank 0 has rank %d as a destination more often", last);
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, sends, &last,
                                         MPI_INFO_NULL, &graph),
              MPI_ERR_TOPOLOGY, words);
    snprintf(words, sizeof words, "rank %d has rank 0 as a source more often",
             last);
    MUST_FAIL(rota_graph_create_adjacent(MPI_COMM_WORLD, receives, &first, 0,
                                         NULL, MPI_INFO_NULL, &graph),
              MPI_ERR_TOPOLOGY, words);
    CHECK(graph == NULL);
}

static void run_null(void)
{
    rota_graph *graph = NULL, *copy = NULL;
    rota_plan *plan = NULL;
    char data[2] = {0, 0};

    test_case = "NULL";
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &before);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MUST_FAIL(rota_graph_dup(NULL, &copy), MPI_ERR_ARG, "graph is NULL");
    MUST_FAIL(rota_graph_free(NULL), MPI_ERR_ARG, "graph is NULL");
    MUST_FAIL(rota_neighbor_alltoall_init_graph(data, 1, MPI_BYTE, data + 1, 1,
                                                MPI_BYTE, NULL, MPI_INFO_NULL,
                                                &plan),
              MPI_ERR_ARG, "graph is NULL");
    MUST(make_ring(1, &graph));
    MUST_FAIL(rota_graph_dup(graph, NULL), MPI_ERR_ARG, "copy is NULL");
    MUST(rota_graph_free(&graph));
    MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
    MPI_Errhandler_free(&before);
}

/* Memory runs out on one rank, at every allocation in turn. */
static void run_faults(int who)
{
    test_case = "no memory on one rank";
    for (int at = 0, all = 0; !all; at++) {
        rota_graph *graph = NULL;
        has_failed = false;
        if (test_me == who)
            until = at;
        const int code = make_ring(test_P, &graph);
        until = -1;
        all = !test_max(has_failed);
        if (all)
            MUST(code);
        else
            MUST_FAIL(code, MPI_ERR_NO_MEM, "");
        CHECK(all == (graph != NULL));
        MUST(rota_graph_free(&graph));
        CHECK(at < 100);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    run_life();
    run_cost();
    run_lists();
    run_partners("auto");
    run_partners("p2p");
    run_own();
    for (int i = 0; i < 2; i++) {
        run_wrong(i * (test_P - 1));
        run_faults(i * (test_P - 1));
    }
    if (test_P > 1)
        run_mismatch();
    run_null();
    return test_end();
}
