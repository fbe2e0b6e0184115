/* arrays.c - exchanges of several arrays: every algorithm and way through the
 * node, arrays with counts of their own and with the same ones, large counts, parts
 * that are borrowed, a reduction, a bound, errors on one rank.
 *
 * usage: arrays [brief]
 *
 * brief: where many ranks share a core.
 */
#include "algos/algo.h"
#include "common/quick.h"
#include "harness.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements have 1, 8, 4, 24 and 8 bytes. */
enum { STARTS = 5, ARRAYS = 5, MOST = 900 };
static const int widths[ARRAYS] = {1, 8, 4, 24, 8};

static bool brief;

/* ---- what is sent -------------------------------------------------------- */

/* Elements of array i: none of some arrays, of some pairs nothing at all. The
 * last two arrays have the same counts. */
static int count_of(int src, int dst, int i, int start)
{
    static const int most[] = {0, 1, 2, 60, 0, 300, 3, MOST};
    const int of = i == ARRAYS - 1 ? ARRAYS - 2 : i;
    const unsigned pair =
        (unsigned)(src * 31 + dst * 17 + start * 7) * 2654435761u;
    const unsigned h = (pair ^ (unsigned)of) * 2246822519u;

    return pair >> 29 == 0 ? 0 : most[h >> 29];
}

static unsigned char byte_of(int src, int dst, int i, int start, int at)
{
    return (unsigned char)(src * 13 + dst * 5 + i * 29 + start * 3 + at * 7 +
                           at / 256);
}

/* ---- runs ---------------------------------------------------------------- */

typedef struct run {
    rota_plan *plan;
    int n;
    unsigned char *send[ARRAYS];
    MPI_Count *counts, *came; /* [n * P] */
    MPI_Aint *displs, *places;
    int *ints; /* [4 * n * P] the same as int */
} run;

static void open_run(run *r, MPI_Info info, size_t bound, int n)
{
    MPI_Datatype types[ARRAYS] = {MPI_BYTE, MPI_DOUBLE, MPI_INT,
                                  MPI_DATATYPE_NULL, MPI_INT64_T};
    const size_t entries = (size_t)n * (size_t)test_P;

    MPI_Type_contiguous(3, MPI_DOUBLE, &types[3]);
    MPI_Type_commit(&types[3]);
    r->n = n;
    MUST(rota_exchange_init_arrays(bound, n, types, MPI_COMM_WORLD, info,
                                   &r->plan));
    MPI_Type_free(&types[3]);
    for (int i = 0; i < n; i++)
        r->send[i] = calloc((size_t)test_P * (MOST + 1), (size_t)widths[i]);
    r->counts = calloc(2 * entries, sizeof *r->counts);
    r->came = r->counts + entries;
    r->displs = calloc(2 * entries, sizeof *r->displs);
    r->places = r->displs + entries;
    r->ints = calloc(4 * entries, sizeof *r->ints);
}

static void close_run(run *r)
{
    MUST(rota_plan_free(&r->plan));
    for (int i = 0; i < r->n; i++)
        free(r->send[i]);
    free(r->counts);
    free(r->displs);
    free(r->ints);
}

/* Parts lie apart, the last rank's first. */
static void fill(run *r, int start)
{
    for (int i = 0; i < r->n; i++) {
        int at = 0;
        for (int q = test_P - 1; q >= 0; q--) {
            const int k = i * test_P + q;
            r->counts[k] = count_of(test_me, q, i, start);
            r->displs[k] = at;
            for (int b = 0; b < r->counts[k] * widths[i]; b++)
                r->send[i][at * widths[i] + b] =
                    byte_of(test_me, q, i, start, b);
            at += (int)r->counts[k] + 1;
        }
    }
}

/* By large counts in every other start. */
static void start(run *r, int k)
{
    const int entries = r->n * test_P;

    fill(r, k);
    for (int e = 0; e < entries; e++) {
        r->ints[e] = (int)r->counts[e];
        r->ints[entries + e] = (int)r->displs[e];
    }
    if (k % 2)
        MUST(rota_exchange_start_arrays_c(r->plan, (const void *const *)r->send,
                                          r->counts, r->displs));
    else
        MUST(rota_exchange_start_arrays(r->plan, (const void *const *)r->send,
                                        r->ints, r->ints + entries));
}

static void check(const run *r, void *const recv[], int k)
{
    for (int i = 0; i < r->n; i++) {
        const unsigned char *at = recv[i];
        MPI_Aint place = 0;
        for (int q = 0; q < test_P; q++) {
            const int e = i * test_P + q, n = count_of(q, test_me, i, k);
            if (r->came[e] != n || r->places[e] != place) {
                test_fail(__FILE__, __LINE__,
                          "array %d: %lld elements at %lld from %d (start %d)",
                          i, (long long)r->came[e], (long long)r->places[e], q,
                          k);
                return;
            }
            place += n;
            for (int b = 0; b < n * widths[i]; b++)
                if (*at++ != byte_of(q, test_me, i, k, b)) {
                    test_fail(__FILE__, __LINE__,
                              "array %d: byte %d from %d is wrong (start %d)",
                              i, b, q, k);
                    return;
                }
        }
    }
}

static void check_borrowed(const run *r, const void *const part[], int k)
{
    for (int e = 0; e < r->n * test_P; e++) {
        const int i = e / test_P, q = e % test_P;
        const int n = count_of(q, test_me, i, k);
        const unsigned char *const at = part[e];
        CHECK(r->came[e] == n && !at == (n == 0));
        CHECK(q == test_me || (uintptr_t)at % 8 == 0);
        for (int b = 0; at && b < n * widths[i]; b++)
            if (at[b] != byte_of(q, test_me, i, k, b)) {
                test_fail(__FILE__, __LINE__,
                          "array %d: byte %d from %d is wrong (start %d)", i, b,
                          q, k);
                return;
            }
    }
}

/* By large counts in every other one. */
static void borrow(run *r, int k)
{
    const int entries = r->n * test_P;
    const void **const part = calloc((size_t)entries, sizeof *part);
    int *const ints = r->ints + 2 * entries;

    if (k % 4 == 2) {
        MUST(rota_exchange_wait_borrow_c(r->plan, part, r->came));
    } else {
        MUST(rota_exchange_wait_borrow(r->plan, part, ints));
        for (int e = 0; e < entries; e++)
            r->came[e] = ints[e];
    }
    check_borrowed(r, part, k);
    free((void *)part);
}

static void finish(run *r, int k)
{
    const int entries = r->n * test_P;
    int *const ints = r->ints + 2 * entries;
    void *recv[ARRAYS];
    int flag = 0;

    while (k == 1 && !flag)
        if (MUST(rota_test(r->plan, &flag)) != MPI_SUCCESS)
            return;
    if (k >= 2 && k <= 3) {
        borrow(r, k);
        return;
    }
    if (k % 2 == 0) {
        MUST(rota_exchange_wait_arrays_c(r->plan, recv, r->came, r->places));
    } else {
        MUST(rota_exchange_wait_arrays(r->plan, recv, ints, ints + entries));
        for (int e = 0; e < entries; e++) {
            r->came[e] = ints[e];
            r->places[e] = ints[entries + e];
        }
    }
    check(r, recv, k);
}

/* Two plans at once, of all arrays and of one. */
static void run_pair(MPI_Info info, size_t bound)
{
    run pair[2] = {{0}};

    open_run(&pair[0], info, bound, ARRAYS);
    open_run(&pair[1], info, bound, 1);
    for (int k = 0; k < STARTS && pair[0].plan && pair[1].plan; k++) {
        const int first = (test_me + k) % 2;
        start(&pair[first], k);
        start(&pair[!first], k);
        finish(&pair[k % 2], k);
        finish(&pair[!(k % 2)], k);
    }
    for (int i = 0; i < 2; i++)
        close_run(&pair[i]);
}

static void run_algo(const rota_algo *algo)
{
    static const char *const paths[] = {"auto", "p2p"};
    static const char *const sizes[] = {NULL, "2", "3", "1"};
    char text[200];

    for (int p = 0; p < 2; p++)
        for (int s = 0; s < (algo->nodes ? 4 : 1); s++) {
            if (brief && (p + s) % 2 != test_P % 2)
                continue;
            MPI_Info info = test_info("rota_algorithm", algo->name,
                                      "rota_intranode", paths[p]);
            if (sizes[s])
                MPI_Info_set(info, "rota_node_size", sizes[s]);
            snprintf(text, sizeof text, "%s, %s, node size %s", algo->name,
                     paths[p], sizes[s] ? sizes[s] : "-");
            test_case = text;
            run_pair(info, 45 * MOST + 15 * ARRAYS);
            run_pair(info, ROTA_UNBOUNDED);
            MPI_Info_free(&info);
        }
}

/* ---- a reduction, a bound, an own block, errors ---------------------------
 */

static void with_reduction(void)
{
    run r = {0};
    int total, found;

    test_case = "with a reduction";
    open_run(&r, MPI_INFO_NULL, ROTA_UNBOUNDED, ARRAYS);
    start(&r, 0);
    finish(&r, 0);
    MUST(rota_plan_set_reduction(r.plan, &found, &total, 1, MPI_INT, MPI_SUM));
    for (int k = 0; k < STARTS; k++) {
        found = test_me + k;
        start(&r, k);
        finish(&r, k);
        CHECK(total == test_P * (test_P - 1) / 2 + k * test_P);
    }
    close_run(&r);
}

/* Rank 0 sends the last rank too much; all else comes. */
static void above_bound(void)
{
    const int P = test_P;
    const MPI_Datatype types[2] = {MPI_CHAR, MPI_CHAR};
    int *const counts = calloc(6 * (size_t)P, sizeof *counts);
    int *const came = counts + 4 * P;
    char *const send = malloc(5000);
    rota_plan *plan;
    void *recv[2];

    test_case = "above the bound";
    memset(send, test_me + 1, 5000);
    MUST(rota_exchange_init_arrays(5024, 2, types, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &plan));
    for (int q = 0; q < P; q++) {
        counts[q] = 2500;
        counts[P + q] = test_me == 0 && q == P - 1 && P > 1 ? 2505 : 2500;
    }
    MUST(rota_exchange_start_arrays(plan, (const void *const[]){send, send},
                                    counts, counts + 2 * P));
    const int err = rota_exchange_wait_arrays(plan, recv, came, NULL);
    CHECK((err == MPI_SUCCESS) == (P == 1 || (test_me > 0 && test_me < P - 1)));
    const char *at[2] = {recv[0], recv[1]};
    for (int q = 0; q < P; q++)
        for (int i = 0; i < 2; i++) {
            const bool left_out = q == 0 && test_me == P - 1 && P > 1;
            CHECK(came[i * P + q] == (left_out ? 0 : 2500));
            CHECK(left_out || (at[i][0] == q + 1 && at[i][2499] == q + 1));
            at[i] += came[i * P + q];
        }
    MUST(rota_plan_free(&plan));
    free(counts);
    free(send);
}

/* Parts that need the most room between them, at the bound. */
static void at_bound(void)
{
    const int P = test_P;
    const MPI_Datatype types[2] = {MPI_CHAR, MPI_CHAR};
    int *const counts = calloc(6 * (size_t)P, sizeof *counts);
    const char send[9] = {(char)test_me};
    rota_plan *plan;

    test_case = "at the bound";
    MUST(rota_exchange_init_arrays(2 * 9 + 2 * 15, 2, types, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &plan));
    for (int k = 0; k < 2 * P; k++)
        counts[k] = 9;
    MUST(rota_exchange_start_arrays(plan, (const void *const[]){send, send},
                                    counts, counts + 2 * P));
    MUST(rota_exchange_wait_borrow(plan, NULL, counts + 4 * P));
    for (int k = 0; k < 2 * P; k++)
        CHECK(counts[4 * P + k] == 9);
    MUST(rota_plan_free(&plan));
    free(counts);
}

static void own_left(void)
{
    const int P = test_P;
    MPI_Info info = test_info("rota_own_block", "left", NULL, NULL);
    int *const counts = calloc(3 * (size_t)P, sizeof *counts);
    const void **const part = calloc((size_t)P, sizeof *part);
    const int sent = test_me;
    rota_plan *plan;
    void *recv;

    test_case = "the own block is left";
    MUST(rota_exchange_init_arrays(ROTA_UNBOUNDED, 1,
                                   (const MPI_Datatype[]){MPI_INT},
                                   MPI_COMM_WORLD, info, &plan));
    for (int q = 0; q < P; q++)
        counts[q] = 1;
    MUST(rota_exchange_start_arrays(plan, (const void *const[]){&sent}, counts,
                                    counts + P));
    MUST(rota_exchange_wait_arrays(plan, &recv, counts + 2 * P, NULL));
    for (int q = 0, at = 0; q < P; q++) {
        CHECK(counts[2 * P + q] == (q != test_me));
        CHECK(q == test_me || ((int *)recv)[at++] == q);
    }
    MUST(rota_exchange_start_arrays(plan, (const void *const[]){&sent}, counts,
                                    counts + P));
    MUST(rota_exchange_wait_borrow(plan, part, counts + 2 * P));
    for (int q = 0; q < P; q++) {
        CHECK(counts[2 * P + q] == (q != test_me) &&
              !part[q] == (q == test_me));
        CHECK(q == test_me || *(const int *)part[q] == q);
    }
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free((void *)part);
    free(counts);
}

/* ---- copies -------------------------------------------------------------- */

/* A start sends n doubles and n bytes to each rank. Returns the bytes that ranks of
 * the node read where the start has copied them. This rank's own parts, which nobody
 * copies, are where the program has them. */
static long lend(rota_plan *plan, const char *send, int n)
{
    const int P = test_P;
    const void *const arrays[] = {send, send};
    int *const counts = calloc(4 * (size_t)P, sizeof *counts);
    const void **const part = calloc(2 * (size_t)P, sizeof *part);

    for (int k = 0; k < 2 * P; k++) {
        counts[k] = n;
        counts[2 * P + k] = 1;
    }
    MUST(rota_exchange_start_arrays(plan, arrays, counts, counts + 2 * P));
    MUST(rota_exchange_wait_borrow(plan, part, NULL));
    CHECK(part[test_me] == (const void *)(send + sizeof(double)));
    CHECK(part[P + test_me] == (const void *)(send + 1));
    for (int q = 0; q < P; q++)
        CHECK(memcmp(part[q], send + sizeof(double), sizeof(double)) == 0);
    free(counts);
    free((void *)part);
    return test_stated(plan, "lent_bytes");
}

/* Long blocks are copied by their senders alone, once others have mapped the memory;
 * short ones are messages, as is all between nodes. */
static void is_lent(void)
{
    enum { LONG = 5000, SHORT = 2, COUNTS = 2 * 8 };
    const long others = test_P - 1;
    MPI_Info p2p = test_info("rota_intranode", "p2p", NULL, NULL);
    char *const send = calloc(LONG + 1, sizeof(double));
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_BYTE};
    rota_plan *plan;

    test_case = "is lent";
    MUST(rota_exchange_init_arrays(ROTA_UNBOUNDED, 2, types, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &plan));
    CHECK(lend(plan, send, SHORT) == 0);
    for (int k = 0; k < 3; k++)
        lend(plan, send, LONG);
    for (int k = 0; k < 3; k++)
        CHECK(lend(plan, send, LONG) == others * (COUNTS + 9 * LONG));
    MUST(rota_plan_free(&plan));
    MUST(rota_exchange_init_arrays(ROTA_UNBOUNDED, 2, types, MPI_COMM_WORLD,
                                   p2p, &plan));
    CHECK(lend(plan, send, LONG) == 0);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&p2p);
    free(send);
}

/* Arguments of making a plan, wrong on all ranks or on one. */
static void errors_of_init(void)
{
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, gaps;
    rota_plan *plan = NULL;
    MPI_Comm world = MPI_COMM_WORLD;

    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MUST_FAIL(rota_exchange_init_arrays(100, test_me == 0 ? 0 : 2, types, world,
                                        MPI_INFO_NULL, &plan),
              MPI_ERR_COUNT, "n = 0");
    MUST_FAIL(rota_exchange_init_arrays(100, 2,
                                        test_me == test_P - 1 ? NULL : types,
                                        world, MPI_INFO_NULL, &plan),
              MPI_ERR_ARG, "types is NULL");
    types[1] = test_me == 0 ? gaps : MPI_DOUBLE;
    MUST_FAIL(
        rota_exchange_init_arrays(100, 2, types, world, MPI_INFO_NULL, &plan),
        MPI_ERR_TYPE, "types[1]");
    MPI_Type_free(&gaps);
    types[1] = test_me == 0 ? MPI_FLOAT : MPI_DOUBLE;
    if (test_P > 1)
        MUST_FAIL(rota_exchange_init_arrays(100, 2, types, world, MPI_INFO_NULL,
                                            &plan),
                  MPI_ERR_ARG, "number and sizes of types");
    if (test_P > 1)
        MUST_FAIL(rota_exchange_init_arrays(100, 1 + (test_me == 0), types,
                                            world, MPI_INFO_NULL, &plan),
                  MPI_ERR_ARG, "number and sizes of types");
    if (test_P > 1 && test_me == 0)
        MUST_FAIL(rota_exchange_init_borrow(100, MPI_INT, world, MPI_INFO_NULL,
                                            &plan),
                  MPI_ERR_ARG, "rank");
    else if (test_P > 1)
        MUST_FAIL(rota_exchange_init_arrays(100, 1, types, world, MPI_INFO_NULL,
                                            &plan),
                  MPI_ERR_ARG, "rank");
    CHECK(plan == NULL);
}

/* Arguments of starts and waits, with a plan of two arrays and another plan. */
static void errors_of_runs(rota_plan *plan, rota_plan *other)
{
    const size_t P = (size_t)test_P;
    int *const counts = calloc(4 * P, sizeof *counts), *const zeros =
                                                           counts + 2 * P;
    const int data = 0;
    const void *const send[2] = {&data, &data};
    const void *const half[2] = {&data, NULL};
    const void *const in_place[2] = {&data, MPI_IN_PLACE};
    void *recv[2];

    counts[2 * P - 1] = 1;
    MUST_FAIL(rota_exchange_start_arrays(NULL, send, zeros, zeros),
              MPI_ERR_REQUEST, "plan is NULL");
    MUST_FAIL(rota_exchange_start_arrays(other, send, zeros, zeros),
              MPI_ERR_REQUEST, "the plan is an exchange");
    MUST_FAIL(rota_exchange_start_arrays(plan, NULL, zeros, zeros), MPI_ERR_ARG,
              "sendbufs is NULL");
    MUST_FAIL(rota_exchange_start_arrays(plan, send, NULL, zeros), MPI_ERR_ARG,
              "sendcounts is NULL");
    MUST_FAIL(rota_exchange_start_arrays(plan, send, zeros, NULL), MPI_ERR_ARG,
              "sdispls is NULL");
    MUST_FAIL(rota_exchange_start_arrays(plan, half, counts, zeros),
              MPI_ERR_BUFFER, "NULL");
    MUST_FAIL(rota_exchange_start_arrays(plan, in_place, zeros, zeros),
              MPI_ERR_BUFFER, "MPI_IN_PLACE");
    counts[2 * P - 1] = -1;
    MUST_FAIL(rota_exchange_start_arrays(plan, send, counts, zeros),
              MPI_ERR_COUNT, "-1");
    MUST_FAIL(rota_exchange_wait_arrays(plan, recv, NULL, NULL),
              MPI_ERR_REQUEST, "not active");
    MUST_FAIL(rota_exchange_set_buffer(plan, recv, 4), MPI_ERR_REQUEST,
              "an exchange of arrays");
    MUST_FAIL(rota_exchange_start(plan, &data, zeros, zeros), MPI_ERR_REQUEST,
              "an exchange of arrays");
    MUST(rota_exchange_start_arrays(plan, half, zeros, zeros));
    MUST_FAIL(rota_exchange_start_arrays(plan, send, zeros, zeros),
              MPI_ERR_REQUEST, "active");
    MUST_FAIL(rota_wait(plan), MPI_ERR_REQUEST, "rota_exchange_wait_arrays");
    MUST(rota_exchange_wait_arrays(plan, NULL, NULL, NULL));
    MUST_FAIL(rota_exchange_wait_borrow(plan, NULL, NULL), MPI_ERR_REQUEST,
              "not active");
    MUST(rota_exchange_start_arrays(plan, half, zeros, zeros));
    MUST(rota_exchange_wait_borrow(plan, NULL, NULL));
    free(counts);
}

static void errors(void)
{
    const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    rota_plan *plan, *other;

    test_case = "errors";
    errors_of_init();
    MUST(rota_exchange_init_arrays(100, 2, types, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &plan));
    MUST(rota_exchange_init(100, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &other));
    errors_of_runs(plan, other);
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&other));
}

static bool fits(const rota_algo *algo)
{
    return !algo->neighbors && !algo->uniform && !algo->native &&
           algo->sizes != ROTA_SIZES_PADDED && algo != &rota_algo_consensus &&
           algo != &rota_algo_consensus_node;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    brief = argc > 1 && strcmp(argv[1], "brief") == 0;
    for (int i = 0; rota_algo_table[i]; i++)
        if (fits(rota_algo_table[i]))
            run_algo(rota_algo_table[i]);
    with_reduction();
    above_bound();
    at_bound();
    own_left();
    is_lent();
    errors();
    return test_end();
}
