/* stall.c - waits in which nothing gets on; stall.sh reads what is printed.
 *
 * usage: stall told | never | value | bundles | parts | died | making | first
 *
 *   told, never  rank 0 comes seconds late, and that late to make a plan
 *   value        the same, without being late
 *   died         the last rank is killed; the others, which the launcher leaves
 *                alone, must find that out in plans of all kinds
 *   making       the same, and first as they make plans
 *   first        the same, as they make the first plan of all
 *   bundles      the last of four ranks, on two nodes, is late to take what another
 *                sends it for a third
 *   parts        rank 1 is late to say that its block for rank 2 is ready
 */
#include "harness.h"
#include "plan/ranks/node.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 40, LONG = 100000, MOST_RANKS = 8 };

typedef enum kind { FIXED, VARYING, EXCHANGE } kind;

typedef struct job {
    kind kind;
    int bytes;
    rota_plan *plan;
    char *send, *recv;
    int count[MOST_RANKS], displ[MOST_RANKS];
} job;

static job open_job(kind kind, int bytes, const char *algorithm,
                    const char *intranode)
{
    job j = {.kind = kind, .bytes = bytes};
    MPI_Info info =
        test_info("rota_algorithm", algorithm, "rota_intranode", intranode);

    for (int q = 0; q < test_P; q++) {
        j.count[q] = bytes;
        j.displ[q] = q * bytes;
    }
    j.send = calloc((size_t)test_P, (size_t)bytes);
    j.recv = calloc((size_t)test_P, (size_t)bytes);
    if (kind == FIXED)
        MUST(rota_alltoall_init(j.send, bytes, MPI_BYTE, j.recv, bytes,
                                MPI_BYTE, MPI_COMM_WORLD, info, &j.plan));
    else if (kind == VARYING)
        MUST(rota_alltoallv_varying_init((size_t)bytes, MPI_BYTE,
                                         MPI_COMM_WORLD, info, &j.plan));
    else
        MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD, info,
                                &j.plan));
    MPI_Info_free(&info);
    return j;
}

static void start(job *j)
{
    if (j->kind == FIXED)
        MUST(rota_start(j->plan));
    else if (j->kind == VARYING)
        MUST(rota_alltoallv_start(j->plan, j->send, j->count, j->displ, j->recv,
                                  j->count, j->displ));
    else
        MUST(rota_exchange_start(j->plan, j->send, j->count, j->displ));
}

static int finish(job *j, bool by_test)
{
    void *found;
    int flag = 0, err = MPI_SUCCESS;

    while (by_test && !flag && err == MPI_SUCCESS)
        err = rota_test(j->plan, &flag);
    if (err != MPI_SUCCESS)
        return err;
    return j->kind == EXCHANGE ? rota_exchange_wait(j->plan, &found, NULL, NULL)
                               : rota_wait(j->plan);
}

static void close_job(job *j)
{
    MUST(rota_plan_free(&j->plan));
    free(j->send);
    free(j->recv);
}

/* ---- a rank that is late ------------------------------------------------- */

static void come_late(int seconds)
{
    job j = open_job(EXCHANGE, BYTES, "parlogna", "auto"), k;
    rota_plan *plan = NULL;
    MPI_Comm comm;

    start(&j);
    MUST(finish(&j, false));
    if (test_me == 0)
        sleep((unsigned)seconds);
    start(&j);
    MUST(finish(&j, false));
    if (test_me == 0)
        sleep((unsigned)seconds);
    k = open_job(FIXED, BYTES, "spread_out", "auto");
    if (test_me == 1)
        sleep((unsigned)seconds);
    start(&j);
    MUST(finish(&j, true));
    /* Who computes does not wait. */
    start(&j);
    if (test_me == 1)
        sleep((unsigned)seconds);
    MUST(finish(&j, true));
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (test_me == 0)
        sleep((unsigned)seconds);
    MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_INT, comm, MPI_INFO_NULL,
                            &plan));
    MUST(rota_plan_free(&plan));
    MPI_Comm_free(&comm);
    close_job(&j);
    close_job(&k);
}

/* Rank 0 sends to rank 3, by way of rank 1, which alone waits at first. */
static void bundle_late(void)
{
    const int dest = 3, count = 4, displ = 0;
    const int n = test_me == 0;
    const int *sources, *counts, *displs;
    void *found = NULL;
    int n_sources;
    MPI_Info info =
        test_info("rota_algorithm", "consensus_node", "rota_node_size", "2");
    rota_plan *plan = NULL;

    MUST(rota_exchange_init_sparse(MPI_BYTE, MPI_COMM_WORLD, info, &plan));
    MPI_Info_free(&info);
    test_barrier();
    if (test_me > 1)
        sleep(3);
    MUST(rota_exchange_start_sparse(plan, "abcd", n, &dest, &count, &displ));
    if (test_me == 0)
        sleep(3);
    MUST(rota_exchange_wait_sparse(plan, &found, &n_sources, &sources, &counts,
                                   &displs));
    CHECK(n_sources == (test_me == 3));
    MUST(rota_plan_free(&plan));
}

/* The others look away, so that rank 1 is the one to tell. */
static void ready_late(void)
{
    const int late = 2;
    job j = open_job(FIXED, BYTES, "spread_out", "auto");
    int flag = 0;

    MUST(rota_plan_set_partitioned(j.plan));
    start(&j);
    for (int q = 0; q < test_P; q++)
        if (test_me != 1 || q != late)
            MUST(rota_pready(j.plan, q));
    if (test_me != 1)
        sleep(4);
    for (const double end = MPI_Wtime() + 3; test_me == 1 && MPI_Wtime() < end;)
        MUST(rota_test(j.plan, &flag));
    CHECK(!flag);
    if (test_me == 1)
        MUST(rota_pready(j.plan, late));
    MUST(finish(&j, false));
    close_job(&j);
}

/* ---- a rank that dies ---------------------------------------------------- */

/* What all ranks must take part in. */
static void fail_to_make(const char *words)
{
    char on_stack, *const untouched = &on_stack, *memory = untouched;
    int block[MOST_RANKS] = {0};
    rota_plan *plan = NULL;

    test_case = "making";
    MUST_FAIL(rota_alltoall_init(block, 1, MPI_INT, block + test_P, 1, MPI_INT,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_OTHER, words);
    MUST_FAIL(rota_exchange_init(ROTA_UNBOUNDED, MPI_INT, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &plan),
              MPI_ERR_OTHER, words);
    MUST_FAIL(rota_mem_alloc(100, MPI_COMM_WORLD, MPI_INFO_NULL, &memory),
              MPI_ERR_OTHER, words);
    MUST_FAIL(rota_tuning_import_string("{}", MPI_COMM_WORLD), MPI_ERR_OTHER,
              words);
    CHECK(plan == NULL && memory == untouched);
}

static void end_without_mpi(void)
{
    if (test_failures() == 0)
        printf("rank %d has seen it\n", test_me);
    fflush(stdout);
    sleep(3);            /* the others are to see the last one's death */
    _exit(EXIT_SUCCESS); /* MPI_Finalize would wait for it */
}

static void kill_the_last(bool making)
{
    /* All share memory by the first plan, also where MPI carries messages. */
    static const struct {
        kind kind;
        int bytes;
        const char *algorithm, *intranode;
        bool by_test;
    } form[] = {
        {FIXED, BYTES, "spread_out", "auto", false},
        {FIXED, LONG, "scattered", "auto", true},
        {FIXED, BYTES, "parlogna", "auto", false},
        {VARYING, LONG, "pairwise", "auto", false},
        {EXCHANGE, BYTES, "parlogna", "auto", true},
        {EXCHANGE, LONG, "onmpml", "auto", false},
        {EXCHANGE, BYTES, "consensus", "auto", false},
        {FIXED, BYTES, "spread_out", "p2p", false},
        {FIXED, LONG, "parlogna", "p2p", true},
        {EXCHANGE, BYTES, "consensus", "p2p", false},
        {FIXED, BYTES, "mpi", "auto", true},
    };
    enum { N = sizeof form / sizeof *form };
    char words[80];
    job j[N];

    for (int i = 0; i < N; i++) {
        j[i] = open_job(form[i].kind, form[i].bytes, form[i].algorithm,
                        form[i].intranode);
        start(&j[i]);
        MUST(finish(&j[i], form[i].by_test));
    }
    test_barrier();
    if (test_me == test_P - 1)
        kill(getpid(), SIGKILL);
    snprintf(words, sizeof words, "the process of rank %d, on this node, has",
             test_P - 1);
    if (making)
        fail_to_make(words); /* it is found there first */
    for (int i = 0; i < N; i++)
        start(&j[i]);
    for (int i = 0; i < N; i++) {
        test_case = form[i].algorithm;
        MUST_FAIL(finish(&j[i], form[i].by_test), MPI_ERR_OTHER, words);
        if (form[i].kind == FIXED)
            MUST_FAIL(rota_start(j[i].plan), MPI_ERR_OTHER, "can only be");
        MUST(rota_plan_free(&j[i].plan));
    }
    fail_to_make(words);
    end_without_mpi();
}

static bool dies_first;

int __real_rota_comm_open_node(rota_comm *c);
int __wrap_rota_comm_open_node(rota_comm *c);

int __wrap_rota_comm_open_node(rota_comm *c)
{
    if (dies_first && test_me == test_P - 1)
        kill(getpid(), SIGKILL);
    return __real_rota_comm_open_node(c);
}

/* Before ranks share memory; and then on a communicator without plans. */
static void kill_at_first(void)
{
    int block[2 * MOST_RANKS] = {0};
    rota_plan *plan = NULL;
    MPI_Comm comm[2] = {MPI_COMM_WORLD};
    char words[80];

    MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]);
    MPI_Comm_set_errhandler(comm[1], MPI_ERRORS_RETURN);
    snprintf(words, sizeof words, "the process of rank %d, on this node, has",
             test_P - 1);
    dies_first = true;
    for (int i = 0; i < 4; i++)
        MUST_FAIL(rota_alltoall_init(block, 1, MPI_INT, block + test_P, 1,
                                     MPI_INT, comm[i / 2], MPI_INFO_NULL,
                                     &plan),
                  MPI_ERR_OTHER, words);
    end_without_mpi();
}

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "";

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    if (strcmp(what, "died") == 0 || strcmp(what, "making") == 0)
        kill_the_last(strcmp(what, "making") == 0);
    if (strcmp(what, "first") == 0)
        kill_at_first();
    if (strcmp(what, "bundles") == 0) {
        bundle_late();
        return test_end();
    }
    if (strcmp(what, "parts") == 0) {
        ready_late();
        return test_end();
    }
    come_late(strcmp(what, "value") == 0 ? 0 : 3);
    return test_end();
}
