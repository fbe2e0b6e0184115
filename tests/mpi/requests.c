/* requests.c - runs of plans behind requests of MPI.
 *
 * usage: mpi_requests [multiple]: with MPI_THREAD_MULTIPLE.
 */
#include "harness.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_PLANS = 4 };

/* One exchange of blocks of `count` ints between all ranks, and what it moves. */
typedef struct exchange {
    rota_plan *plan;
    int count, round;
    int *to, *from, *counts, *displs;
} exchange;

static int value(int round, int from, int to, int i)
{
    return ((round * 31 + from) * 17 + to) * 1009 + i;
}

static void fill(exchange *e)
{
    e->round++;
    for (int d = 0; d < test_P; d++)
        for (int i = 0; i < e->count; i++) {
            e->to[d * e->count + i] = value(e->round, test_me, d, i);
            e->from[d * e->count + i] = -1;
        }
}

static void check(const exchange *e, const int *from)
{
    int wrong = 0;

    for (int s = 0; s < test_P; s++)
        for (int i = 0; i < e->count; i++)
            wrong += from[s * e->count + i] != value(e->round, s, test_me, i);
    CHECK(wrong == 0);
}

static void prepare(exchange *e, int count)
{
    const size_t n = (size_t)test_P * (size_t)count;

    *e = (exchange){.count = count,
                    .to = calloc(n, sizeof(int)),
                    .from = calloc(n, sizeof(int)),
                    .counts = malloc((size_t)test_P * sizeof(int)),
                    .displs = malloc((size_t)test_P * sizeof(int))};
    for (int i = 0; i < test_P; i++) {
        e->counts[i] = count;
        e->displs[i] = i * count;
    }
}

static void release(exchange *e)
{
    MUST(rota_plan_free(&e->plan));
    free(e->to);
    free(e->from);
    free(e->counts);
    free(e->displs);
}

static void make_fixed(exchange *e, int count, MPI_Info info)
{
    prepare(e, count);
    MUST(rota_alltoallv_init(e->to, e->counts, e->displs, MPI_INT, e->from,
                             e->counts, e->displs, MPI_INT, MPI_COMM_WORLD,
                             info, &e->plan));
}

static MPI_Request start(exchange *e)
{
    MPI_Request request = MPI_REQUEST_NULL;

    fill(e);
    MUST(rota_start_request(e->plan, &request));
    return request;
}

/* ---- one plan ------------------------------------------------------------ */

static void wait_for(exchange *e)
{
    MPI_Request request = start(e);
    MPI_Status status;
    int n = -1;

    MUST(MPI_Wait(&request, &status));
    CHECK(request == MPI_REQUEST_NULL);
    MUST(MPI_Get_count(&status, MPI_BYTE, &n));
    CHECK(n == 0);
    check(e, e->from);
}

static void test_for(exchange *e)
{
    MPI_Request request = start(e);

    for (int flag = 0; !flag;)
        MUST(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(request == MPI_REQUEST_NULL);
    check(e, e->from);
}

static void test_fixed(const char *key, const char *text)
{
    static const int counts[] = {0, 2, 1000, 50000};
    MPI_Info info = test_info(key, text, NULL, NULL);

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        exchange e;
        make_fixed(&e, counts[i], info);
        for (int k = 0; k < 5; k++) {
            wait_for(&e);
            test_for(&e);
            fill(&e); /* and without a request in between */
            MUST(rota_start(e.plan));
            MUST(rota_wait(e.plan));
            check(&e, e.from);
        }
        release(&e);
    }
    MPI_Info_free(&info);
}

/* ---- several, and requests of others ------------------------------------- */

/* A message to the next rank, from the one before. */
static void pass_on(int *out, int *in, MPI_Request requests[2])
{
    *out = test_me;
    *in = -1;
    MUST(MPI_Irecv(in, 1, MPI_INT, (test_me + test_P - 1) % test_P, 5,
                   MPI_COMM_WORLD, &requests[0]));
    MUST(MPI_Isend(out, 1, MPI_INT, (test_me + 1) % test_P, 5, MPI_COMM_WORLD,
                   &requests[1]));
}

static void start_some(exchange e[MOST_PLANS], MPI_Request requests[MOST_PLANS])
{
    for (int k = 0; k < MOST_PLANS; k++) {
        const int i = test_me % 2 ? MOST_PLANS - 1 - k : k;
        requests[i] = start(&e[i]);
    }
}

static void wait_all(exchange e[MOST_PLANS])
{
    MPI_Request requests[MOST_PLANS + 2];
    MPI_Status statuses[MOST_PLANS + 2];
    int out, in;

    start_some(e, requests);
    pass_on(&out, &in, &requests[MOST_PLANS]);
    MUST(MPI_Waitall(MOST_PLANS + 2, requests, statuses));
    CHECK(in == (test_me + test_P - 1) % test_P);
    for (int i = 0; i < MOST_PLANS; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        check(&e[i], e[i].from);
    }
}

static void wait_any(exchange e[MOST_PLANS])
{
    MPI_Request requests[MOST_PLANS + 2];
    int out, in;

    start_some(e, requests);
    pass_on(&out, &in, &requests[MOST_PLANS]);
    for (int n = 0; n < MOST_PLANS + 2; n++) {
        int i = -1;
        MUST(MPI_Waitany(MOST_PLANS + 2, requests, &i, MPI_STATUS_IGNORE));
        CHECK(i >= 0 && i < MOST_PLANS + 2);
        if (i >= 0 && i < MOST_PLANS)
            check(&e[i], e[i].from);
    }
    CHECK(in == (test_me + test_P - 1) % test_P);
}

static void test_some(exchange e[MOST_PLANS])
{
    MPI_Request requests[MOST_PLANS];
    MPI_Status statuses[MOST_PLANS];
    int left = MOST_PLANS;

    start_some(e, requests);
    while (left > 0) {
        int n, at[MOST_PLANS];
        MUST(MPI_Testsome(MOST_PLANS, requests, &n, at, statuses));
        for (int k = 0; k < n; k++)
            check(&e[at[k]], e[at[k]].from);
        left -= n;
    }
}

/* Each rank waits for them in an order of its own. */
static void wait_in_turn(exchange e[MOST_PLANS])
{
    MPI_Request requests[MOST_PLANS];

    start_some(e, requests);
    for (int k = 0; k < MOST_PLANS; k++) {
        const int i = (k + test_me) % MOST_PLANS;
        MUST(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        check(&e[i], e[i].from);
    }
}

static void test_several(const char *key, const char *text)
{
    static const int counts[MOST_PLANS] = {1, 100, 3000, 40000};
    MPI_Info info = test_info(key, text, NULL, NULL);
    exchange e[MOST_PLANS];

    for (int i = 0; i < MOST_PLANS; i++)
        make_fixed(&e[i], counts[i], info);
    for (int k = 0; k < 4; k++) {
        wait_all(e);
        wait_any(e);
        test_some(e);
        wait_in_turn(e);
    }
    for (int i = 0; i < MOST_PLANS; i++)
        release(&e[i]);
    MPI_Info_free(&info);
}

/* ---- other kinds --------------------------------------------------------- */

static void test_varying(void)
{
    MPI_Request request;
    exchange e;

    prepare(&e, 300);
    MUST(rota_alltoallv_varying_init((size_t)e.count * sizeof(int), MPI_INT,
                                     MPI_COMM_WORLD, MPI_INFO_NULL, &e.plan));
    for (int k = 0; k < 3; k++) {
        fill(&e);
        MUST(rota_alltoallv_start(e.plan, e.to, e.counts, e.displs, e.from,
                                  e.counts, e.displs));
        MUST(rota_get_request(e.plan, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check(&e, e.from);
    }
    release(&e);
}

static void test_exchange(void)
{
    MPI_Request request;
    exchange e;
    void *found;

    prepare(&e, 300);
    MUST(rota_exchange_init((size_t)e.count * sizeof(int), MPI_INT,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &e.plan));
    for (int k = 0; k < 3; k++) {
        fill(&e);
        MUST(rota_exchange_start(e.plan, e.to, e.counts, e.displs));
        MUST(rota_get_request(e.plan, &request));
        MUST_FAIL(rota_exchange_wait(e.plan, &found, e.counts, e.displs),
                  MPI_ERR_REQUEST, "by the request");
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MUST(rota_exchange_wait(e.plan, &found, e.counts, e.displs));
        check(&e, found);
    }
    release(&e);
}

/* ---- errors -------------------------------------------------------------- */

static void test_refusals(void)
{
    MPI_Request request = MPI_REQUEST_NULL, second = MPI_REQUEST_NULL;
    int flag;
    exchange e;

    MUST_FAIL(rota_start_request(NULL, &request), MPI_ERR_REQUEST, "NULL");
    MUST_FAIL(rota_get_request(NULL, &request), MPI_ERR_REQUEST, "NULL");
    make_fixed(&e, 10, MPI_INFO_NULL);
    MUST_FAIL(rota_start_request(e.plan, NULL), MPI_ERR_ARG, "request is NULL");
    MUST_FAIL(rota_get_request(e.plan, NULL), MPI_ERR_ARG, "request is NULL");
    MUST_FAIL(rota_get_request(e.plan, &request), MPI_ERR_REQUEST,
              "not active");
    CHECK(request == MPI_REQUEST_NULL);
    request = start(&e);
    MUST_FAIL(rota_start_request(e.plan, &second), MPI_ERR_REQUEST, "active");
    MUST_FAIL(rota_start(e.plan), MPI_ERR_REQUEST, "active");
    MUST_FAIL(rota_get_request(e.plan, &second), MPI_ERR_REQUEST,
              "a request already");
    MUST_FAIL(rota_wait(e.plan), MPI_ERR_REQUEST, "by the request");
    MUST_FAIL(rota_test(e.plan, &flag), MPI_ERR_REQUEST, "by the request");
    MUST_FAIL(rota_plan_free(&e.plan), MPI_ERR_REQUEST, "active");
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(&e, e.from);
    MUST(rota_wait(e.plan));
    MUST(rota_test(e.plan, &flag));
    release(&e);
    CHECK(second == MPI_REQUEST_NULL);
}

/* A block above the bound: each rank learns it by its request, and the plan can
 * be used again. */
static void test_excess(void)
{
    MPI_Request request;
    exchange e;

    if (test_P < 2)
        return;
    prepare(&e, 300);
    MUST(rota_alltoallv_varying_init(100 * sizeof(int), MPI_INT, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &e.plan));
    MUST(rota_alltoallv_start(e.plan, e.to, e.counts, e.displs, e.from,
                              e.counts, e.displs));
    MUST(rota_get_request(e.plan, &request));
    MUST_FAIL(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE,
              "rota_get_request: ");
    for (int i = 0; i < test_P; i++)
        e.counts[i] = 0;
    MUST(rota_alltoallv_start(e.plan, e.to, e.counts, e.displs, e.from,
                              e.counts, e.displs));
    MUST(rota_get_request(e.plan, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    release(&e);
}

/* ---- progress ------------------------------------------------------------ */

/* A rank advances its plan in other calls of MPI, too: here until the exchange,
 * which is longer than what the node's memory takes at once, is over on the rank
 * that it receives from. */
static void test_other_calls(const char *key, const char *text)
{
    MPI_Info info = test_info(key, text, NULL, NULL);
    MPI_Request request;
    int token = 1;
    exchange e;

    make_fixed(&e, 3000000, info);
    for (int k = 0; k < 3; k++) {
        request = start(&e);
        if (test_me == 0) {
            MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
            for (int d = 1; d < test_P; d++)
                MUST(MPI_Send(&token, 1, MPI_INT, d, 6, MPI_COMM_WORLD));
        } else {
            MUST(MPI_Recv(&token, 1, MPI_INT, 0, 6, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
            MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        check(&e, e.from);
    }
    release(&e);
    MPI_Info_free(&info);
}

/* Does MPI have it? */
static bool has_hook(void)
{
#if defined(OPEN_MPI) || defined(ROTA_MPI_HAS_ASYNC)
    return true;
#else
    return false;
#endif
}

int main(int argc, char **argv)
{
    static const struct {
        const char *key, *value;
    } hints[] = {{NULL, NULL},
                 {"rota_algorithm", "parlogna"},
                 {"rota_intranode", "p2p"},
                 {"rota_progress", "thread"}};

    test_begin(&argc, &argv,
               argc > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        test_case = hints[i].value;
        test_fixed(hints[i].key, hints[i].value);
        test_several(hints[i].key, hints[i].value);
    }
    test_case = "other kinds";
    test_varying();
    test_exchange();
    test_case = "errors";
    test_refusals();
    test_excess();
    if (!has_hook() && test_me == 0)
        printf("skipped: progress in other calls: this MPI cannot\n");
    for (size_t i = 0; has_hook() && i < sizeof hints / sizeof *hints; i++) {
        test_case = hints[i].value;
        test_other_calls(hints[i].key, hints[i].value);
    }
    return test_end();
}
