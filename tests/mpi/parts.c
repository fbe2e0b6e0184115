/* parts.c - partitioned plans: every algorithm, with blocks that become ready late
 * and in any order, and are looked at as they arrive.
 *
 * usage: parts [brief | threads]
 *
 * brief: where many ranks share a core; threads: blocks are made ready by threads.
 */
#include "algos/algo.h"
#include "common/quick.h"
#include "harness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS = 4, MOST_BLOCK = 20000, THREADS = 3, STALE = 0xEE };

static bool brief, threads;
static unsigned seed = 1;

static unsigned draw(unsigned n)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % n;
}

static bool looks_are_slow;

/* Between a look in vain and the next one, many messages may come. */
int __real_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int __wrap_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);

int __wrap_MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const int err = __real_MPI_Test(request, flag, status);
    int other;

    if (!looks_are_slow || err != MPI_SUCCESS || *flag)
        return err;
    test_stand_still(200);
    for (int i = 0; i < 64; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &other, MPI_STATUS_IGNORE);
    return err;
}

/* ---- blocks -------------------------------------------------------------- */

static int block_bytes(int src, int dst, int start)
{
    static const int most[] = {0, 8, 60, 400, 3000, MOST_BLOCK};
    const unsigned h =
        (unsigned)(src * 31 + dst * 17 + start * 7) * 2654435761u;

    return most[(h >> 20) % 6] -
           (int)((h >> 8) % 7) * (most[(h >> 20) % 6] > 7);
}

static unsigned char block_byte(int src, int dst, int start, int i)
{
    return (unsigned char)((src * 13 + dst * 5 + start * 3 + i * 7 + i / 256) %
                           STALE);
}

enum { FIXED, VARYING, EXCHANGE, KINDS };

typedef struct run {
    rota_plan *plan;
    int kind;
    int start;
    unsigned char *send, *recv;
    int *sendcounts, *sdispls, *recvcounts, *rdispls, *order;
    int first; /* of order, for a thread */
    int value, sum;
} run;

static void lay_out(run *r, int start)
{
    int at[2] = {0, 0};

    r->start = r->kind == FIXED ? 0 : start;
    for (int q = 0; q < test_P; q++) {
        r->sendcounts[q] = block_bytes(test_me, q, r->start);
        r->recvcounts[q] = block_bytes(q, test_me, r->start);
        r->sdispls[q] = at[0];
        r->rdispls[q] = at[1];
        at[0] += r->sendcounts[q];
        at[1] += r->recvcounts[q];
    }
}

static void open_run(run *r, MPI_Info info)
{
    const size_t P = (size_t)test_P;

    r->sendcounts = calloc(5 * P, sizeof(int));
    r->sdispls = r->sendcounts + P;
    r->recvcounts = r->sdispls + P;
    r->rdispls = r->recvcounts + P;
    r->order = r->rdispls + P;
    r->send = malloc(P * MOST_BLOCK);
    r->recv = malloc(P * MOST_BLOCK);
    lay_out(r, 0);
    if (r->kind == VARYING)
        MUST(rota_alltoallv_varying_init(MOST_BLOCK, MPI_BYTE, MPI_COMM_WORLD,
                                         info, &r->plan));
    else if (r->kind == EXCHANGE)
        MUST(rota_exchange_init(MOST_BLOCK, MPI_BYTE, MPI_COMM_WORLD, info,
                                &r->plan));
    else
        MUST(rota_alltoallv_init(r->send, r->sendcounts, r->sdispls, MPI_BYTE,
                                 r->recv, r->recvcounts, r->rdispls, MPI_BYTE,
                                 MPI_COMM_WORLD, info, &r->plan));
    if (r->plan && r->kind == EXCHANGE)
        MUST(rota_exchange_set_buffer(r->plan, r->recv,
                                      (size_t)test_P * MOST_BLOCK));
    if (r->plan)
        MUST(rota_plan_set_partitioned(r->plan));
    if (r->plan && r->kind != FIXED) /* which makes it anew */
        MUST(rota_plan_set_reduction(r->plan, &r->value, &r->sum, 1, MPI_INT,
                                     MPI_SUM));
}

static void close_run(run *r)
{
    MUST(rota_plan_free(&r->plan));
    free(r->sendcounts);
    free(r->send);
    free(r->recv);
}

/* ---- a start ------------------------------------------------------------- */

static void shuffle(run *r)
{
    for (int i = 0; i < test_P; i++) {
        const int k = (int)draw((unsigned)i + 1);
        r->order[i] = r->order[k];
        r->order[k] = i;
    }
}

/* What is in the buffer until now is wrong. */
static void write_block(const run *r, int dst)
{
    for (int i = 0; i < r->sendcounts[dst]; i++)
        r->send[r->sdispls[dst] + i] = block_byte(test_me, dst, r->start, i);
}

static void check_block(const run *r, int src, const char *when)
{
    for (int i = 0; i < r->recvcounts[src]; i++)
        if (r->recv[r->rdispls[src] + i] !=
            block_byte(src, test_me, r->start, i)) {
            test_fail(__FILE__, __LINE__, "byte %d from %d is wrong %s", i, src,
                      when);
            return;
        }
}

static void begin(run *r, int start)
{
    lay_out(r, start);
    shuffle(r);
    r->value = test_me + 1;
    memset(r->send, STALE, (size_t)test_P * MOST_BLOCK);
    memset(r->recv, STALE, (size_t)test_P * MOST_BLOCK);
    if (r->kind == VARYING)
        MUST(rota_alltoallv_start(r->plan, r->send, r->sendcounts, r->sdispls,
                                  r->recv, r->recvcounts, r->rdispls));
    else if (r->kind == EXCHANGE)
        MUST(rota_exchange_start(r->plan, r->send, r->sendcounts, r->sdispls));
    else
        MUST(rota_start(r->plan));
}

/* Blocks without bytes may be left out. A rank may have nothing ready for a while. */
static void produce(const run *r, int from, int step)
{
    for (int i = from; i < test_P; i += step) {
        if (draw(8) == 0)
            test_stand_still(100);
        write_block(r, r->order[i]);
        if (r->sendcounts[r->order[i]] > 0 || draw(2) == 0)
            MUST(rota_pready(r->plan, r->order[i]));
    }
}

static void *produce_some(void *arg)
{
    run *const r = arg;

    for (int i = r->first; i < test_P; i += THREADS) {
        write_block(r, r->order[i]);
        MUST(rota_pready(r->plan, r->order[i]));
    }
    return NULL;
}

static void produce_by_threads(const run *r)
{
    pthread_t thread[THREADS];
    run part[THREADS];

    for (int t = 0; t < THREADS; t++) {
        part[t] = *r;
        part[t].first = t;
        pthread_create(&thread[t], NULL, produce_some, &part[t]);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
}

static void produce_range(const run *r)
{
    const int half = test_P / 2;

    for (int q = 0; q < test_P; q++)
        write_block(r, q);
    if (half > 0)
        MUST(rota_pready_range(r->plan, 0, half - 1));
    for (int i = 0; i < test_P; i++)
        r->order[i] = test_P - 1 - i;
    MUST(rota_pready_list(r->plan, test_P - half, r->order));
    MUST(rota_pready_list(r->plan, 0, NULL));
}

/* Look at what has come while some of this rank's blocks are not ready. */
static void look(const run *r)
{
    for (int q = 0; r->kind != EXCHANGE && q < test_P; q++) {
        int flag = -1;
        MUST(rota_parrived(r->plan, q, &flag));
        if (flag == 1)
            check_block(r, q, "when it has arrived");
        else if (flag != 0)
            test_fail(__FILE__, __LINE__, "flag is %d", flag);
    }
}

/* What an exchange has found is what others sent. */
static void find(const run *r)
{
    int *const found = calloc(2 * (size_t)test_P, sizeof *found);
    void *recv = NULL;

    MUST(rota_exchange_wait(r->plan, &recv, found, found + test_P));
    CHECK(recv == r->recv && r->sum == test_P * (test_P + 1) / 2);
    for (int q = 0; q < test_P; q++) {
        CHECK(found[q] == r->recvcounts[q] &&
              found[test_P + q] == r->rdispls[q]);
        check_block(r, q, "when it was found");
    }
    free(found);
}

static void finish(const run *r, bool by_arrival)
{
    int source = 0, n = 0, flag = 0, full = 0;

    if (r->kind == EXCHANGE) {
        find(r);
        return;
    }
    for (int q = 0; q < test_P; q++)
        full += r->recvcounts[q] > 0;
    while (by_arrival && source != MPI_UNDEFINED) {
        if (MUST(rota_wait_arrival(r->plan, &source)) != MPI_SUCCESS)
            return;
        if (source == MPI_UNDEFINED)
            break;
        check_block(r, source, "when it was told of");
        n++;
    }
    CHECK(!by_arrival || n == full);
    MUST(rota_wait(r->plan));
    CHECK(r->kind == FIXED || r->sum == test_P * (test_P + 1) / 2);
    for (int q = 0; q < test_P; q++)
        check_block(r, q, "at the end");
    MUST(rota_parrived(r->plan, 0, &flag));
    CHECK(flag == 1);
    for (source = 0; source != MPI_UNDEFINED && n <= full; n++)
        MUST(rota_wait_arrival(r->plan, &source));
    CHECK(source == MPI_UNDEFINED && n == full + 1);
}

static void run_plan(MPI_Info info, int kind)
{
    run r = {.kind = kind};

    open_run(&r, info);
    for (int k = 0; k < STARTS && r.plan; k++) {
        begin(&r, k);
        if (threads) {
            produce_by_threads(&r);
        } else if (k % 4 == 3) {
            produce_range(&r);
        } else {
            produce(&r, 0, 2);
            look(&r);
            produce(&r, 1, 2);
        }
        finish(&r, k % 2 == 0);
    }
    close_run(&r);
}

/* A run is not complete while the rank's own block is not ready. */
static void own_is_late(int kind)
{
    run r = {.kind = kind};
    int flag;

    test_case = "own is late";
    open_run(&r, MPI_INFO_NULL);
    for (int k = 0; k < STARTS && r.plan; k++) {
        begin(&r, k);
        for (int q = 0; q < test_P; q++)
            if (q != test_me) {
                write_block(&r, q);
                MUST(rota_pready(r.plan, q));
            }
        for (int i = 0; i < 200; i++) {
            MUST(rota_test(r.plan, &flag));
            CHECK(!flag || r.sendcounts[test_me] == 0);
        }
        test_barrier();
        write_block(&r, test_me);
        if (r.sendcounts[test_me] > 0)
            MUST(rota_pready(r.plan, test_me));
        finish(&r, false);
    }
    close_run(&r);
}

static void run_algo(const rota_algo *algo)
{
    static const char *const paths[] = {"auto", "p2p"};
    static const char *const sizes[] = {NULL, "2", "3"};
    char text[200];

    for (int p = 0; p < 2; p++)
        for (int s = 0; s < (algo->nodes ? 3 : 1); s++) {
            if (brief && (p + s) % 2 != test_P % 2)
                continue;
            MPI_Info info = test_info("rota_algorithm", algo->name,
                                      "rota_intranode", paths[p]);
            if (sizes[s])
                MPI_Info_set(info, "rota_node_size", sizes[s]);
            snprintf(text, sizeof text, "%s, %s, node size %s", algo->name,
                     paths[p], sizes[s] ? sizes[s] : "-");
            test_case = text;
            for (int kind = 0; kind < KINDS; kind++)
                if (kind != EXCHANGE || !algo->native)
                    run_plan(info, kind);
            MPI_Info_free(&info);
        }
}

/* Several messages of one rank in a phase, each with its length before it. */
static void lengths_come_between_looks(void)
{
    MPI_Info info = test_info("rota_algorithm", "parlinna_staggered_published",
                              "rota_intranode", "p2p");

    MPI_Info_set(info, "rota_node_size", "2");
    test_case = "lengths come between looks";
    looks_are_slow = true;
    for (int i = 0; i < 10; i++)
        run_plan(info, VARYING);
    looks_are_slow = false;
    MPI_Info_free(&info);
}

/* ---- order, neighbours ---------------------------------------------------- */

/* A block that is not ready holds up no other, of any rank. */
static void nothing_waits(const char *algo)
{
    const int last = test_P - 1;
    MPI_Info info = test_info("rota_algorithm", algo, NULL, NULL);
    int *const counts = calloc(2 * (size_t)test_P, sizeof *counts);
    int *const a = calloc((size_t)test_P, sizeof *a);
    int *const b = calloc((size_t)test_P, sizeof *b);
    int flag = 0;
    rota_plan *plan;

    test_case = "nothing waits";
    for (int q = 0; q < test_P; q++) {
        counts[q] = 1;
        counts[test_P + q] = q;
    }
    MUST(rota_alltoallv_init(a, counts, counts + test_P, MPI_INT, b, counts,
                             counts + test_P, MPI_INT, MPI_COMM_WORLD, info,
                             &plan));
    MUST(rota_plan_set_partitioned(plan));
    MUST(rota_start(plan));
    /* Blocks for the last rank alone, which gets all of them first. */
    a[last] = 100 + test_me;
    MUST(rota_pready(plan, last));
    for (int q = 0; test_me == last && q < test_P; q++) {
        for (flag = 0; !flag && q < last;)
            MUST(rota_parrived(plan, q, &flag));
        CHECK(q == last || b[q] == 100 + q);
    }
    test_barrier();
    for (int q = 0; q < last; q++)
        a[q] = 100 + test_me;
    if (last > 0)
        MUST(rota_pready_range(plan, 0, last - 1));
    MUST(rota_wait(plan));
    for (int q = 0; q < test_P; q++)
        CHECK(b[q] == 100 + q);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free(counts);
    free(a);
    free(b);
}

/* Whoever has sent is found, while others have not. */
static void all_are_found(const char *algo, const char *path)
{
    MPI_Info info = test_info("rota_algorithm", algo, "rota_intranode", path);
    int *const a = calloc((size_t)test_P, sizeof *a);
    int *const b = calloc((size_t)test_P, sizeof *b);
    rota_plan *plan;

    test_case = "all are found";
    MUST(rota_alltoall_init(a, 1, MPI_INT, b, 1, MPI_INT, MPI_COMM_WORLD, info,
                            &plan));
    MUST(rota_plan_set_partitioned(plan));
    for (int first = 0; first < test_P; first++) {
        int flag = 0, source = -1;
        MUST(rota_start(plan));
        for (int q = 0; q < test_P; q++)
            a[q] = 10 * first + test_me;
        if (test_me == first)
            MUST(rota_pready_range(plan, 0, test_P - 1));
        while (!flag)
            if (MUST(rota_parrived(plan, first, &flag)) != MPI_SUCCESS)
                break;
        MUST(rota_wait_arrival(plan, &source));
        CHECK(source == first && b[first] == 11 * first);
        test_barrier();
        if (test_me != first)
            MUST(rota_pready_range(plan, 0, test_P - 1));
        MUST(rota_wait(plan));
    }
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free(a);
    free(b);
}

/* The last in the list first, of an algorithm with few messages in flight. */
static void backwards(const char *path)
{
    enum { LONG = 1 << 18 };
    MPI_Info info =
        test_info("rota_algorithm", "multi_pair", "rota_batch", "1");
    const size_t all = (size_t)test_P * LONG;
    int *const a = malloc(all * sizeof *a), *const b = malloc(all * sizeof *b);
    rota_plan *plan;

    test_case = "backwards";
    MPI_Info_set(info, "rota_intranode", path);
    MUST(rota_alltoall_init(a, LONG, MPI_INT, b, LONG, MPI_INT, MPI_COMM_WORLD,
                            info, &plan));
    MUST(rota_plan_set_partitioned(plan));
    MUST(rota_start(plan));
    for (int i = test_P - 1; i >= 0; i--) {
        const int q = (test_me + i) % test_P;
        for (int k = 0; k < LONG; k++)
            a[q * LONG + k] = test_me + k;
        MUST(rota_pready(plan, q));
    }
    MUST(rota_wait(plan));
    for (int q = 0; q < test_P; q++)
        CHECK(b[q * LONG] == q && b[q * LONG + LONG - 1] == q + LONG - 1);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free(a);
    free(b);
}

/* Two edges to the next rank, and one to the rank behind it, which alone is ready. */
static void two_edges(const char *path)
{
    const int P = test_P, far = (test_me + 2) % P, near = (test_me + 1) % P;
    const int to[] = {near, near, far};
    const int from[] = {(test_me + P - 1) % P, (test_me + P - 1) % P,
                        (test_me + P - 2) % P};
    int a[3] = {test_me, test_me, test_me}, b[3] = {-1, -1, -1}, flag = 0;
    MPI_Info info;
    MPI_Comm comm;
    rota_plan *plan;

    if (P < 3)
        return;
    info = test_info("rota_intranode", path, NULL, NULL);
    test_case = "two edges";
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, MPI_UNWEIGHTED, 3,
                                   to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    MUST(rota_neighbor_alltoall_init(a, 1, MPI_INT, b, 1, MPI_INT, comm, info,
                                     &plan));
    MUST(rota_plan_set_partitioned(plan));
    MUST(rota_start(plan));
    MUST(rota_pready(plan, 2));
    while (!flag)
        if (MUST(rota_parrived(plan, 2, &flag)) != MPI_SUCCESS)
            break;
    CHECK(b[2] == from[2]);
    test_barrier();
    a[0] = 100 + test_me;
    a[1] = 200 + test_me;
    MUST(rota_pready(plan, 1));
    MUST(rota_pready(plan, 0));
    MUST(rota_wait(plan));
    CHECK(b[0] == 100 + from[0] && b[1] == 200 + from[0]);
    MUST(rota_plan_free(&plan));
    MPI_Comm_free(&comm);
    MPI_Info_free(&info);
}

/* A ring with two edges each way. */
static void neighbors(void)
{
    const int next = (test_me + 1) % test_P,
              before = (test_me + test_P - 1) % test_P;
    const int to[] = {next, before, next}, from[] = {before, next, before};
    const int counts[] = {1, 1, 1}, displs[] = {0, 1, 2};
    int a[3], b[3] = {-1, -1, -1}, source;
    MPI_Comm ring;
    rota_plan *plan;

    test_case = "neighbours";
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, MPI_UNWEIGHTED, 3,
                                   to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    MUST(rota_neighbor_alltoallv_init(a, counts, displs, MPI_INT, b, counts,
                                      displs, MPI_INT, ring, MPI_INFO_NULL,
                                      &plan));
    MUST(rota_plan_set_partitioned(plan));
    for (int k = 0; k < STARTS; k++) {
        MUST(rota_start(plan));
        for (int i = 2; i >= 0; i--) {
            a[i] = 1000 * k + 10 * test_me + i;
            MUST(rota_pready(plan, i));
        }
        for (int n = 0; n < 3; n++) {
            MUST(rota_wait_arrival(plan, &source));
            CHECK(source >= 0 && source < 3);
            if (source >= 0 && source < 3 && test_P > 2)
                CHECK(b[source] == 1000 * k + 10 * from[source] +
                                       (source == 1 ? 1 : source));
        }
        MUST(rota_wait(plan));
    }
    MUST(rota_plan_free(&plan));
    MPI_Comm_free(&ring);
}

/* ---- errors --------------------------------------------------------------- */

static void errors(void)
{
    const size_t P = (size_t)test_P;
    int *const counts = calloc(2 * P, sizeof *counts);
    char *const a = calloc(2 * P, 1);
    int *const displs = counts + P;
    rota_plan *plan, *other;
    int flag, source;

    test_case = "errors";
    for (int q = 0; q < test_P; q++) {
        counts[q] = 1;
        displs[q] = q;
    }
    MUST(rota_alltoallv_init(a, counts, displs, MPI_BYTE, a + P, counts, displs,
                             MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    MUST_FAIL(rota_plan_set_partitioned(NULL), MPI_ERR_REQUEST, "NULL");
    MUST_FAIL(rota_pready(plan, 0), MPI_ERR_REQUEST, "not partitioned");
    MUST_FAIL(rota_parrived(plan, 0, &flag), MPI_ERR_REQUEST, "not partition");
    MUST_FAIL(rota_wait_arrival(plan, &source), MPI_ERR_REQUEST, "partition");
    MUST(rota_plan_set_partitioned(plan));
    MUST(rota_plan_set_partitioned(plan));
    MUST(rota_wait_arrival(plan, &source));
    CHECK(source == MPI_UNDEFINED);
    MUST_FAIL(rota_pready(plan, 0), MPI_ERR_REQUEST, "not active");
    MUST_FAIL(rota_pready(NULL, 0), MPI_ERR_REQUEST, "NULL");
    MUST(rota_start(plan));
    MUST_FAIL(rota_plan_set_partitioned(plan), MPI_ERR_REQUEST, "active");
    MUST_FAIL(rota_pready(plan, -1), MPI_ERR_ARG, "destination -1");
    MUST_FAIL(rota_pready(plan, test_P), MPI_ERR_ARG, "destination");
    MUST_FAIL(rota_pready_range(plan, 0, test_P), MPI_ERR_ARG, "destination");
    /* none of these is ready */
    MUST_FAIL(rota_pready_list(plan, 2, (int[]){0, test_P}), MPI_ERR_ARG,
              "destination");
    MUST_FAIL(rota_pready_list(plan, -1, counts), MPI_ERR_COUNT, "negative");
    MUST_FAIL(rota_pready_list(plan, 1, NULL), MPI_ERR_ARG, "dests is NULL");
    MUST_FAIL(rota_parrived(plan, test_P, &flag), MPI_ERR_ARG, "source");
    MUST_FAIL(rota_parrived(plan, 0, NULL), MPI_ERR_ARG, "flag is NULL");
    MUST_FAIL(rota_wait_arrival(plan, NULL), MPI_ERR_ARG, "source is NULL");
    MUST(rota_pready(plan, 0));
    MUST_FAIL(rota_pready(plan, 0), MPI_ERR_ARG,
              "destination 0 is ready already");
    if (test_P > 1)
        MUST(rota_pready_range(plan, 1, test_P - 1));
    MUST(rota_wait(plan));
    MUST(rota_plan_free(&plan));
    MUST(
        rota_exchange_init(8, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &other));
    MUST(rota_plan_set_partitioned(other));
    MUST_FAIL(rota_parrived(other, 0, &flag), MPI_ERR_REQUEST, "an exchange");
    MUST_FAIL(rota_wait_arrival(other, &source), MPI_ERR_REQUEST, "an exch");
    MUST(rota_plan_free(&other));
    MUST(rota_exchange_init_borrow(8, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &other));
    MUST_FAIL(rota_plan_set_partitioned(other), MPI_ERR_REQUEST, "borrowed");
    MUST(rota_plan_free(&other));
    MUST(rota_alltoallv_init(MPI_IN_PLACE, NULL, NULL, MPI_BYTE, a, counts,
                             displs, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &other));
    MUST_FAIL(rota_plan_set_partitioned(other), MPI_ERR_REQUEST, "in place");
    MUST(rota_plan_free(&other));
    MUST(rota_alltoallv_varying_init(8, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                                     &other));
    MUST(rota_plan_set_partitioned(other));
    MUST_FAIL(rota_alltoallv_start(other, MPI_IN_PLACE, NULL, NULL, a, counts,
                                   displs),
              MPI_ERR_BUFFER, "partitioned");
    MUST(rota_plan_free(&other));
    free(counts);
    free(a);
}

static bool fits(const rota_algo *algo)
{
    return !algo->neighbors && !algo->uniform && algo != &rota_algo_consensus &&
           algo != &rota_algo_consensus_node &&
           algo->sizes != ROTA_SIZES_PADDED;
}

int main(int argc, char **argv)
{
    threads = argc > 1 && strcmp(argv[1], "threads") == 0;
    brief = argc > 1;
    test_begin(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    seed += (unsigned)test_me;
    for (int i = 0; rota_algo_table[i]; i++)
        if (fits(rota_algo_table[i]))
            run_algo(rota_algo_table[i]);
    if (!threads) {
        nothing_waits("multi_pair");
        nothing_waits("spread_out");
        all_are_found("spread_out", "auto");
        all_are_found("spread_out", "p2p");
        all_are_found("multi_pair", "p2p");
        for (int kind = 0; kind < KINDS; kind++)
            own_is_late(kind);
        backwards("auto");
        backwards("p2p");
        two_edges("auto");
        two_edges("p2p");
        lengths_come_between_looks();
        neighbors();
        errors();
    }
    return test_end();
}
