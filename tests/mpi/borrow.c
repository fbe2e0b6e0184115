/* borrow.c - exchanges with borrowed blocks: every algorithm and way through the
 * node, blocks of all sizes, buffers that grow, blocks that are read late.
 *
 * usage: borrow [brief]
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

enum { STARTS = 7, MOST_BLOCK = 20000 };

static bool brief;

/* ---- what is sent -------------------------------------------------------- */

/* Of bytes: none, the size of what is sent in place of a block, around it, short
 * ones, and long ones. Later starts send more. */
static int block_bytes(int src, int dst, int start)
{
    static const int most[] = {0, 16, 15, 17, 400, 3000, 9000, MOST_BLOCK};
    const unsigned h =
        (unsigned)(src * 31 + dst * 17 + start * 7) * 2654435761u;
    const int kind = (int)(h >> 20) % (start < 3 ? 6 : 8);

    return most[kind] < 20 ? most[kind]
                           : (int)((h >> 8) % 97) + most[kind] - 97;
}

static unsigned char block_byte(int src, int dst, int start, int i)
{
    return (unsigned char)(src * 13 + dst * 5 + start * 3 + i * 7 + i / 256);
}

/* ---- plans --------------------------------------------------------------- */

typedef struct run {
    rota_plan *plan;
    int *sendcounts, *sdispls, *recvcounts;
    const void **block;
    int total, found; /* a reduction that travels along */
} run;

static void open_run(run *r, MPI_Info info, size_t bound)
{
    const size_t P = (size_t)test_P;

    MUST(rota_exchange_init_borrow(bound, MPI_BYTE, MPI_COMM_WORLD, info,
                                   &r->plan));
    r->sendcounts = calloc(3 * P, sizeof(int));
    r->sdispls = r->sendcounts + P;
    r->recvcounts = r->sdispls + P;
    r->block = calloc(P, sizeof *r->block);
}

static void close_run(run *r)
{
    MUST(rota_plan_free(&r->plan));
    free(r->sendcounts);
    free((void *)r->block);
}

/* Blocks begin at odd addresses, with gaps, the last rank's first. */
static size_t lay_out(run *r, int start)
{
    int at = 1;

    for (int q = test_P - 1; q >= 0; q--) {
        r->sendcounts[q] = block_bytes(test_me, q, start);
        r->sdispls[q] = at;
        at += r->sendcounts[q] + 3;
    }
    return (size_t)at;
}

static void fill(const run *r, unsigned char *to, int start)
{
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < r->sendcounts[q]; i++)
            to[r->sdispls[q] + i] = block_byte(test_me, q, start, i);
}

/* own: from memory of the program's, which may be changed after the wait. */
static void start(run *r, int iteration, unsigned char *own)
{
    const size_t bytes = lay_out(r, iteration);
    unsigned char *send = own;

    if (!own)
        MUST(rota_exchange_get_sendbuf(r->plan, bytes, &send));
    fill(r, send, iteration);
    MUST(rota_exchange_start(r->plan, send, r->sendcounts, r->sdispls));
}

static void check(const run *r, int iteration, const char *when)
{
    for (int q = 0; q < test_P; q++) {
        const unsigned char *const at = r->block[q];
        const int bytes = block_bytes(q, test_me, iteration);
        if (r->recvcounts[q] != bytes || (at != NULL) != (bytes > 0)) {
            test_fail(__FILE__, __LINE__, "%d bytes from %d, not %d (start %d)",
                      r->recvcounts[q], q, bytes, iteration);
            continue;
        }
        for (int i = 0; i < bytes; i++)
            if (at[i] != block_byte(q, test_me, iteration, i)) {
                test_fail(__FILE__, __LINE__,
                          "byte %d of %d from %d is wrong %s (start %d)", i,
                          bytes, q, when, iteration);
                break;
            }
    }
}

static void finish(run *r, int iteration)
{
    int flag = 0;

    while (iteration == 1 && !flag)
        if (MUST(rota_test(r->plan, &flag)) != MPI_SUCCESS)
            return;
    memset(r->recvcounts, 0x5a, (size_t)test_P * sizeof(int));
    MUST(rota_exchange_wait_borrow(r->plan, r->block, r->recvcounts));
    check(r, iteration, "at once");
}

/* Ranks read late, in turn: the others have gone on by then as far as they can. */
static void read_late(const run *r, int iteration)
{
    if (iteration % test_P != test_me)
        return;
    test_stand_still(2000);
    check(r, iteration, "late");
}

/* Two plans at once. Some starts send from memory of the program's own. At the end
 * others may have freed their plans. */
static void run_pair(MPI_Info info, size_t bound)
{
    unsigned char *const own = malloc((size_t)test_P * (MOST_BLOCK + 3) + 1);
    run pair[2] = {{0}};

    for (int i = 0; i < 2; i++)
        open_run(&pair[i], info, bound);
    for (int k = 0; k < STARTS && pair[0].plan && pair[1].plan; k++) {
        const bool by_own = k < STARTS - 1 && (k + test_me) % 4 == 3;
        const int first = (test_me + k) % 2;
        start(&pair[first], k, by_own ? own : NULL);
        start(&pair[!first], k, NULL);
        finish(&pair[k % 2], k);
        finish(&pair[!(k % 2)], k);
        if (by_own)
            memset(own, 0xee, (size_t)test_P * (MOST_BLOCK + 3));
        if (k < STARTS - 1)
            read_late(&pair[0], k);
    }
    if (test_me == 0)
        test_stand_still(2000);
    for (int i = 0; i < 2; i++) {
        if (pair[i].plan)
            check(&pair[i], STARTS - 1, "at the end");
        close_run(&pair[i]);
    }
    free(own);
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
            run_pair(info, MOST_BLOCK);
            run_pair(info, ROTA_UNBOUNDED);
            MPI_Info_free(&info);
        }
}

/* ---- a reduction, a bound, errors ----------------------------------------- */

static void with_reduction(void)
{
    run r = {0};

    test_case = "with a reduction";
    open_run(&r, MPI_INFO_NULL, ROTA_UNBOUNDED);
    start(&r, 0, NULL);
    finish(&r, 0);
    MUST(rota_plan_set_reduction(r.plan, &r.found, &r.total, 1, MPI_INT,
                                 MPI_SUM));
    for (int k = 0; k < STARTS; k++) {
        r.found = test_me + k;
        start(&r, k, NULL);
        finish(&r, k);
        CHECK(r.total == test_P * (test_P - 1) / 2 + k * test_P);
    }
    close_run(&r);
}

/* A block above the bound is left out; all others come. */
static void above_bound(void)
{
    const int P = test_P;
    int *const counts = calloc(3 * (size_t)P, sizeof *counts);
    const void **const block = calloc((size_t)P, sizeof *block);
    rota_plan *plan;
    char *send;

    test_case = "above the bound";
    MUST(rota_exchange_init_borrow(5000, MPI_BYTE, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &plan));
    MUST(rota_exchange_get_sendbuf(plan, 5001 * (size_t)P, &send));
    memset(send, test_me + 1, 5001 * (size_t)P);
    for (int q = 0; q < P; q++) {
        counts[q] = test_me == 0 && q == P - 1 ? 5001 : 5000;
        counts[P + q] = q * 5001;
    }
    MUST(rota_exchange_start(plan, send, counts, counts + P));
    const int err = rota_exchange_wait_borrow(plan, block, counts + 2 * P);
    CHECK((err == MPI_SUCCESS) == (test_me > 0 && test_me < P - 1));
    for (int q = 0; q < P; q++) {
        const bool left_out = q == 0 && test_me == P - 1;
        CHECK(counts[2 * P + q] == (left_out ? 0 : 5000));
        CHECK(left_out || *(const char *)block[q] == q + 1);
    }
    MUST(rota_plan_free(&plan));
    free(counts);
    free((void *)block);
}

/* A start sends blocks of so many bytes to all. Returns the bytes that it lent. */
static long lend(rota_plan *plan, int bytes)
{
    const size_t P = (size_t)test_P;
    int *const counts = calloc(2 * P, sizeof *counts);
    const void **const block = calloc(P, sizeof *block);
    char *send;

    MUST(rota_exchange_get_sendbuf(plan, P * (size_t)bytes, &send));
    for (int q = 0; q < test_P; q++) {
        counts[q] = bytes;
        counts[test_P + q] = q * bytes;
    }
    MUST(rota_exchange_start(plan, send, counts, counts + test_P));
    MUST(rota_exchange_wait_borrow(plan, block, NULL));
    CHECK(block[test_me] == (void *)(send + test_me * bytes));
    free(counts);
    free((void *)block);
    return test_stated(plan, "lent_bytes");
}

/* Long blocks are lent, from new memory once others have mapped it; and nothing is
 * without shared memory. */
static void is_lent(void)
{
    enum { LONG = 1 << 20 };
    MPI_Info p2p = test_info("rota_intranode", "p2p", NULL, NULL);
    rota_plan *plan;

    test_case = "is lent";
    MUST(rota_exchange_init_borrow(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &plan));
    CHECK(lend(plan, 8) == 0);
    for (int k = 0; k < 3; k++)
        lend(plan, LONG);
    for (int k = 0; k < 3; k++)
        CHECK(lend(plan, LONG) == (test_P - 1) * (long)LONG);
    CHECK(lend(plan, 16) == (test_P - 1) * 16L);
    MUST(rota_plan_free(&plan));
    MUST(rota_exchange_init_borrow(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                                   p2p, &plan));
    CHECK(lend(plan, 16) == 0 && lend(plan, LONG) == 0);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&p2p);
}

static void errors(void)
{
    const size_t P = (size_t)test_P;
    int *const counts = calloc(P, sizeof *counts);
    const void **const block = calloc(P, sizeof *block);
    rota_plan *plan = NULL, *other;
    MPI_Datatype gaps;
    void *buffer, *second;

    test_case = "errors";
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MUST_FAIL(rota_exchange_init_borrow(100, gaps, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &plan),
              MPI_ERR_TYPE, "without gaps");
    MPI_Type_free(&gaps);
    if (test_P > 1 && test_me == 0)
        MUST_FAIL(rota_exchange_init(100, MPI_BYTE, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &plan),
                  MPI_ERR_ARG, "kind of plan");
    else if (test_P > 1)
        MUST_FAIL(rota_exchange_init_borrow(100, MPI_BYTE, MPI_COMM_WORLD,
                                            MPI_INFO_NULL, &plan),
                  MPI_ERR_ARG, "kind of plan");
    MUST(rota_exchange_init_borrow(100, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                                   &plan));
    MUST(rota_exchange_init(100, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &other));
    MUST_FAIL(rota_exchange_get_sendbuf(NULL, 1, &buffer), MPI_ERR_REQUEST,
              "plan is NULL");
    MUST_FAIL(rota_exchange_get_sendbuf(other, 1, &buffer), MPI_ERR_REQUEST,
              "the plan is an exchange");
    MUST_FAIL(rota_exchange_get_sendbuf(plan, 1, NULL), MPI_ERR_ARG,
              "ptr is NULL");
    MUST_FAIL(rota_exchange_set_buffer(plan, counts, 4), MPI_ERR_REQUEST,
              "borrowed");
    MUST_FAIL(rota_exchange_wait_borrow(plan, block, counts), MPI_ERR_REQUEST,
              "not active");
    MUST_FAIL(rota_exchange_start(plan, MPI_IN_PLACE, counts, counts),
              MPI_ERR_BUFFER, "MPI_IN_PLACE");
    MUST_FAIL(rota_exchange_get_sendbuf(plan, SIZE_MAX, &buffer),
              MPI_ERR_NO_MEM, "send buffer");
    MUST(rota_exchange_get_sendbuf(plan, 8, &buffer));
    MUST(rota_exchange_start(plan, buffer, counts, counts));
    MUST_FAIL(rota_exchange_get_sendbuf(plan, 8, &second), MPI_ERR_REQUEST,
              "active");
    MUST_FAIL(rota_exchange_wait(plan, &second, NULL, NULL), MPI_ERR_REQUEST,
              "borrowed");
    MUST(rota_exchange_wait_borrow(plan, block, NULL));
    CHECK(block[0] == NULL);
    MUST_FAIL(rota_exchange_start(plan, buffer, counts, counts), MPI_ERR_BUFFER,
              "may still read");
    MUST(rota_exchange_start(other, NULL, counts, counts));
    MUST_FAIL(rota_exchange_wait_borrow(other, block, NULL), MPI_ERR_REQUEST,
              "the plan is an exchange");
    MUST(rota_exchange_wait(other, &second, NULL, NULL));
    MUST(rota_exchange_start(plan, NULL, counts, counts));
    MUST(rota_exchange_wait_borrow(plan, NULL, NULL));
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&other));
    free(counts);
    free((void *)block);
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
    is_lent();
    above_bound();
    errors();
    return test_end();
}
