/* packing.c - blocks that functions of the program pack and unpack: every algorithm,
 * with functions on both sides, on one, or only on some ranks.
 *
 * usage: packing [brief]
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

enum { STARTS = 3, MOST = 6000, STALE = 0xEE };

static bool brief;

/* ---- blocks -------------------------------------------------------------- */

typedef struct run {
    rota_plan *plan;
    MPI_Datatype type;
    bool varying, uniform;
    bool packs, unpacks; /* this rank's functions */
    int element;         /* bytes */
    int start;
    int fails;   /* the block for which a function returns 7, or -1 */
    int longest; /* elements of a block */
    unsigned char *send, *recv;
    int *sendcounts, *sdispls, *recvcounts, *rdispls;
    MPI_Count *packed, *unpacked; /* [P] bytes */
} run;

static int elements(const run *r, int src, int dst)
{
    const int most[] = {0, 1, 3, 20, 300, r->longest};
    const unsigned h =
        (unsigned)(src * 31 + dst * 17 + (r->varying ? r->start * 7 : 0)) *
        2654435761u;

    return r->uniform ? 5
                      : most[(h >> 20) % 6] -
                            (int)(h >> 30 & 1) * (most[(h >> 20) % 6] > 1);
}

/* Byte I of a block, which is never STALE. */
static unsigned byte_at(const run *r, int src, int dst, MPI_Count i)
{
    return (unsigned)((src * 13 + dst * 5 + r->start * 3 + i * 7 + i / 256) %
                      STALE);
}

/* What comes after byte I; byte_at divides, which most of the test's time went to. */
static unsigned next_byte(unsigned byte, MPI_Count i)
{
    byte += i % 256 == 255 ? 8 : 7;
    return byte < STALE ? byte : byte - STALE;
}

/* Bytes BEGIN to END, END not included, of the block for DEST. */
static void fill(const run *r, int dest, MPI_Count begin, MPI_Count end,
                 unsigned char *to)
{
    unsigned byte = byte_at(r, test_me, dest, begin);

    for (MPI_Count i = begin; i < end; byte = next_byte(byte, i++))
        to[i - begin] = (unsigned char)byte;
}

static void lay_out(run *r, int start)
{
    int at[2] = {0, 0};

    r->start = start;
    for (int q = 0; q < test_P; q++) {
        r->sendcounts[q] = elements(r, test_me, q);
        r->recvcounts[q] = elements(r, q, test_me);
        r->sdispls[q] = at[0];
        r->rdispls[q] = at[1];
        at[0] += r->sendcounts[q];
        at[1] += r->recvcounts[q];
        r->packed[q] = r->unpacked[q] = 0;
    }
}

/* ---- functions ----------------------------------------------------------- */

/* Is it a part of the block, of whole elements, and well aligned? */
static void check_range(const run *r, int q, int count, MPI_Count begin,
                        MPI_Count end, const void *memory)
{
    CHECK(q >= 0 && q < test_P);
    CHECK(begin >= 0 && begin < end && end <= (MPI_Count)count * r->element);
    CHECK(begin % r->element == 0 && end % r->element == 0);
    CHECK(r->element % 8 != 0 || (uintptr_t)memory % 8 == 0);
}

static int pack(void *context, int dest, MPI_Count begin, MPI_Count end,
                void *to)
{
    run *const r = context;

    check_range(r, dest, r->sendcounts[dest], begin, end, to);
    fill(r, dest, begin, end, to);
    r->packed[dest] += end - begin;
    return dest == r->fails ? 7 : 0;
}

static int unpack(void *context, int source, MPI_Count begin, MPI_Count end,
                  const void *from)
{
    run *const r = context;

    check_range(r, source, r->recvcounts[source], begin, end, from);
    CHECK(begin == r->unpacked[source]);
    memcpy(r->recv + (MPI_Count)r->rdispls[source] * r->element + begin, from,
           (size_t)(end - begin));
    r->unpacked[source] = end;
    return source == r->fails && !r->packs ? 7 : 0;
}

/* ---- a plan -------------------------------------------------------------- */

static void open_run(run *r, MPI_Info info)
{
    const size_t P = (size_t)test_P;
    const size_t bytes = P * (size_t)r->longest * (size_t)r->element + 8;

    r->fails = -1;
    r->sendcounts = calloc(4 * P, sizeof(int));
    r->sdispls = r->sendcounts + P;
    r->recvcounts = r->sdispls + P;
    r->rdispls = r->recvcounts + P;
    r->packed = calloc(2 * P, sizeof *r->packed);
    r->unpacked = r->packed + P;
    r->send = malloc(bytes);
    r->recv = malloc(bytes);
    MPI_Type_contiguous(r->element, MPI_BYTE, &r->type);
    MPI_Type_commit(&r->type);
    lay_out(r, 0);
    if (r->varying)
        MUST(rota_alltoallv_varying_init(
            (size_t)r->longest * (size_t)r->element, r->type, MPI_COMM_WORLD,
            info, &r->plan));
    else
        MUST(rota_alltoallv_init(r->send, r->sendcounts, r->sdispls, r->type,
                                 r->recv, r->recvcounts, r->rdispls, r->type,
                                 MPI_COMM_WORLD, info, &r->plan));
}

static void close_run(run *r)
{
    MUST(rota_plan_free(&r->plan));
    MPI_Type_free(&r->type);
    free(r->sendcounts);
    free(r->packed);
    free(r->send);
    free(r->recv);
}

static void begin(run *r, int start)
{
    lay_out(r, start);
    for (int q = 0; q < test_P && !r->packs; q++)
        fill(r, q, 0, (MPI_Count)r->sendcounts[q] * r->element,
             r->send + (MPI_Count)r->sdispls[q] * r->element);
    memset(r->recv, STALE,
           (size_t)test_P * (size_t)r->longest * (size_t)r->element);
    if (r->varying)
        MUST(rota_alltoallv_start(r->plan, r->send, r->sendcounts, r->sdispls,
                                  r->recv, r->recvcounts, r->rdispls));
    else
        MUST(rota_start(r->plan));
}

static void check_block(const run *r, int q)
{
    const MPI_Count bytes = (MPI_Count)r->recvcounts[q] * r->element;
    unsigned byte = byte_at(r, q, test_me, 0);

    CHECK(!r->packs ||
          r->packed[q] == (MPI_Count)r->sendcounts[q] * r->element);
    CHECK(!r->unpacks || r->unpacked[q] == bytes);
    for (MPI_Count i = 0; i < bytes; byte = next_byte(byte, i++))
        if (r->recv[(MPI_Count)r->rdispls[q] * r->element + i] != byte) {
            test_fail(__FILE__, __LINE__, "byte %d of %d from %d is wrong",
                      (int)i, (int)bytes, q);
            return;
        }
}

static void run_starts(run *r)
{
    for (int k = 0; k < STARTS; k++) {
        begin(r, k);
        MUST(rota_wait(r->plan));
        for (int q = 0; q < test_P; q++)
            check_block(r, q);
    }
}

static void set(run *r, bool packs, bool unpacks)
{
    r->packs = packs;
    r->unpacks = unpacks;
    MUST(rota_plan_set_pack(r->plan, packs ? pack : NULL,
                            unpacks ? unpack : NULL, r));
}

/* On both sides, on one, on other sides of other ranks, and on none again. */
static void run_plan(run *r, MPI_Info info)
{
    open_run(r, info);
    if (r->plan) {
        set(r, true, true);
        run_starts(r);
        set(r, test_me % 4 != 1, test_me % 4 != 2);
        run_starts(r);
        set(r, test_me % 2, test_me % 2 == 0);
        run_starts(r);
        set(r, false, false);
        run_starts(r);
    }
    close_run(r);
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
            run_plan(&(run){.element = 1 + 23 * (s % 2),
                            .longest = MOST,
                            .uniform = algo->uniform},
                     info);
            if (!algo->uniform)
                run_plan(&(run){.varying = true,
                                .element = 24 - 23 * (s % 2),
                                .longest = MOST},
                         info);
            MPI_Info_free(&info);
        }
}

/* ---- long blocks, other calls, neighbours --------------------------------- */

/* Longer than what a message is cut into, which may be within an element. */
static void long_blocks(const char *path)
{
    static const run blocks[] = {{.element = 24, .longest = 200000},
                                 {.element = 40, .longest = 20000},
                                 {.element = 12, .longest = 20000},
                                 {.element = 4, .longest = 60000},
                                 {.element = 104, .longest = 4000}};
    MPI_Info info = test_info("rota_intranode", path, NULL, NULL);

    test_case = "long blocks";
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        for (int varying = 0; varying < 2; varying++) {
            run r = blocks[i];
            r.varying = varying;
            run_plan(&r, info);
        }
    MPI_Info_free(&info);
}

/* Elements without bytes: no function is called. */
static void no_bytes(void)
{
    test_case = "no bytes";
    for (int varying = 0; varying < 2; varying++)
        run_plan(&(run){.longest = 5, .varying = varying}, MPI_INFO_NULL);
}

/* Functions, parts and a reduction of one plan, set in any order. */
static void with_others(bool parts_first)
{
    run r = {.element = 8, .longest = MOST, .varying = true};
    int value = test_me + 1, sum = 0;

    test_case = "with parts and a reduction";
    open_run(&r, MPI_INFO_NULL);
    if (parts_first)
        MUST(rota_plan_set_partitioned(r.plan));
    MUST(rota_plan_set_reduction(r.plan, &value, &sum, 1, MPI_INT, MPI_SUM));
    set(&r, true, true);
    if (!parts_first)
        MUST(rota_plan_set_partitioned(r.plan));
    for (int k = 0; k < STARTS; k++) {
        begin(&r, k);
        for (int q = test_P - 1; q >= 0; q--)
            MUST(rota_pready(r.plan, q));
        MUST(rota_wait(r.plan));
        for (int q = 0; q < test_P; q++)
            check_block(&r, q);
        CHECK(sum == test_P * (test_P + 1) / 2);
    }
    close_run(&r);
}

static int pack_edge(void *context, int dest, MPI_Count first, MPI_Count end,
                     void *to)
{
    CHECK(first == 0 && end == sizeof(int));
    memcpy(to, (int *)context + dest, sizeof(int));
    return 0;
}

static int unpack_edge(void *context, int source, MPI_Count first,
                       MPI_Count end, const void *from)
{
    CHECK(first == 0 && end == sizeof(int));
    memcpy((int *)context + 3 + source, from, sizeof(int));
    return 0;
}

/* A ring with two edges to the next rank and one to that before. */
static void neighbors(const char *algo)
{
    const int next = (test_me + 1) % test_P,
              before = (test_me + test_P - 1) % test_P;
    const int to[] = {next, before, next}, from[] = {before, next, before};
    const int counts[] = {1, 1, 1}, displs[] = {0, 1, 2};
    int edge[6], any[6] = {0};
    MPI_Info info = test_info("rota_algorithm", algo, NULL, NULL);
    MPI_Comm ring;
    rota_plan *plan;

    test_case = "neighbours";
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, MPI_UNWEIGHTED, 3,
                                   to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    MUST(rota_neighbor_alltoallv_init(any, counts, displs, MPI_INT, any + 3,
                                      counts, displs, MPI_INT, ring, info,
                                      &plan));
    MUST(rota_plan_set_pack(plan, pack_edge, unpack_edge, edge));
    for (int k = 0; k < STARTS; k++) {
        for (int i = 0; i < 3; i++)
            edge[i] = 1000 * k + 10 * test_me + i;
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        for (int i = 0; i < 3 && test_P > 2; i++)
            CHECK(edge[3 + i] == 1000 * k + 10 * from[i] + i);
    }
    MUST(rota_plan_free(&plan));
    MPI_Comm_free(&ring);
    MPI_Info_free(&info);
}

/* ---- errors -------------------------------------------------------------- */

/* A function that fails tells this rank alone, and all messages arrive. */
static void failures(const char *algo, bool varying)
{
    run r = {.element = 3, .longest = MOST, .varying = varying};
    MPI_Info info = test_info("rota_algorithm", algo, NULL, NULL);

    test_case = "functions that fail";
    open_run(&r, info);
    set(&r, test_me % 2 == 0, true);
    for (int k = 0; k < 2 * test_P; k++) {
        const int block = k / 2;
        r.fails = k % 2 == 0 && test_me == test_P - 1 ? block : -1;
        begin(&r, k);
        const bool failing =
            r.fails >= 0 &&
            (r.packs ? r.sendcounts[block] : r.recvcounts[block]) > 0;
        if (failing)
            MUST_FAIL(rota_wait(r.plan), MPI_ERR_OTHER, "returned 7 for block");
        else
            MUST(rota_wait(r.plan));
        for (int q = 0; q < test_P; q++)
            check_block(&r, q);
    }
    close_run(&r);
    MPI_Info_free(&info);
}

static void refused(rota_plan *plan, const char *words)
{
    MUST_FAIL(rota_plan_set_pack(plan, pack, unpack, NULL), MPI_ERR_REQUEST,
              words);
    MUST(rota_plan_free(&plan));
}

static void errors(void)
{
    run r = {.element = 4, .longest = 5, .uniform = true};
    MPI_Info info = test_info("rota_largest_unit", "8", NULL, NULL);
    MPI_Datatype *const types = malloc((size_t)test_P * sizeof *types);
    int *const at = malloc((size_t)test_P * sizeof *at);
    rota_plan *other = NULL;

    test_case = "errors";
    MUST_FAIL(rota_plan_set_pack(NULL, pack, unpack, NULL), MPI_ERR_REQUEST,
              "NULL");
    MUST(
        rota_exchange_init(8, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &other));
    refused(other, "an exchange");
    open_run(&r, MPI_INFO_NULL);
    for (int q = 0; q < test_P; q++) {
        types[q] = MPI_INT;
        at[q] = 4 * r.sdispls[q];
    }
    MUST(rota_alltoallw_init(r.send, r.sendcounts, at, types, r.recv,
                             r.recvcounts, at, types, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &other));
    refused(other, "a type for each block");
    MUST(rota_alltoallv_init(MPI_IN_PLACE, NULL, NULL, MPI_BYTE, r.recv,
                             r.recvcounts, r.rdispls, MPI_BYTE, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &other));
    refused(other, "in place");
    MUST(rota_alltoallv_init(r.send, r.sendcounts, r.sdispls, MPI_BYTE, r.recv,
                             r.recvcounts, r.rdispls, MPI_BYTE, MPI_COMM_WORLD,
                             info, &other));
    refused(other, "rota_largest_unit");
    MUST(rota_plan_init_reverse(r.plan, r.recv, r.send, MPI_INT, MPI_SUM,
                                MPI_INFO_NULL, &other));
    refused(other, "combines");
    /* On one rank only. */
    if (test_me == test_P - 1)
        MUST(rota_start(r.plan));
    MUST_FAIL(rota_plan_set_pack(r.plan, pack, unpack, &r), MPI_ERR_REQUEST,
              "active");
    if (test_me < test_P - 1)
        MUST(rota_start(r.plan));
    MUST(rota_wait(r.plan));
    close_run(&r);
    r.varying = true;
    r.plan = NULL;
    open_run(&r, MPI_INFO_NULL);
    set(&r, true, test_me == 0);
    MUST_FAIL(rota_alltoallv_start(r.plan, MPI_IN_PLACE, NULL, NULL, r.recv,
                                   r.recvcounts, r.rdispls),
              MPI_ERR_BUFFER, "functions");
    run_starts(&r);
    close_run(&r);
    MPI_Info_free(&info);
    free(types);
    free(at);
}

/* It keeps blocks for others in the receive buffer. */
static void zero_copy(void)
{
    MPI_Info info = test_info("rota_algorithm", "bruck_zero_copy", NULL, NULL);
    run r = {.element = 4, .longest = 5, .uniform = true};

    test_case = "bruck_zero_copy";
    open_run(&r, info);
    if (test_P > 7)
        MUST_FAIL(rota_plan_set_pack(r.plan, pack, unpack, &r), MPI_ERR_REQUEST,
                  "receive buffer");
    set(&r, true, false);
    run_starts(&r);
    close_run(&r);
    MPI_Info_free(&info);
}

static bool fits(const rota_algo *algo)
{
    return !algo->neighbors && algo != &rota_algo_consensus &&
           algo != &rota_algo_consensus_node &&
           algo != &rota_algo_bruck_zero_copy;
}

int main(int argc, char **argv)
{
    brief = argc > 1;
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; rota_algo_table[i]; i++)
        if (fits(rota_algo_table[i]))
            run_algo(rota_algo_table[i]);
    if (test_P <= 3) {
        long_blocks("auto");
        long_blocks("p2p");
    }
    no_bytes();
    with_others(true);
    with_others(false);
    neighbors("neighbor");
    neighbors("neighbor_node");
    failures("multi_pair", false);
    failures("multi_pair", true);
    failures("parlogna", false);
    failures("mpi", true);
    zero_copy();
    errors();
    return test_end();
}
