/* reduction.c - reductions that travel with the messages of plans: every algorithm,
 * kind, way through the node, and operator, against a fold by hand.
 *
 * usage: reduction [brief]
 *
 * brief: where many ranks share a core.
 */
#include "algos/algo.h"
#include "common/quick.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STARTS = 5, MOST_BLOCK = 40, MOST_BYTES = 64 };

static bool brief;
static unsigned turn; /* goes on with every plan */

/* ---- what is reduced ----------------------------------------------------- */

typedef struct pair {
    double value;
    int at;
} pair;

static void set_ints(void *to, int rank, int start)
{
    int *const v = to;

    for (int i = 0; i < 3; i++)
        v[i] = (rank + 1) * (start + 3) + 1000 * i;
}

static void add_ints(void *into, const void *more)
{
    for (int i = 0; i < 3; i++)
        ((int *)into)[i] += ((const int *)more)[i];
}

/* A sum whose bits depend on the order. */
static void set_double(void *to, int rank, int start)
{
    *(double *)to = (rank % 2 ? -1.0 : 1.0) / (1 + rank + start) +
                    (rank % 3 == 1 ? 1e17 : 0);
}

static void add_double(void *into, const void *more)
{
    *(double *)into += *(const double *)more;
}

static void set_long(void *to, int rank, int start)
{
    *(long *)to = (rank * 7 + start * 5) % 11;
}

static void max_long(void *into, const void *more)
{
    if (*(const long *)more > *(long *)into)
        *(long *)into = *(const long *)more;
}

/* "Is anything left?": only one rank has something, and not always. */
static void set_flag(void *to, int rank, int start)
{
    *(int *)to = start % 2 && rank == start % test_P;
}

static void or_flag(void *into, const void *more)
{
    *(int *)into = *(int *)into || *(const int *)more;
}

static void set_pair(void *to, int rank, int start)
{
    *(pair *)to = (pair){.value = (rank * 5 + start) % 4, .at = test_P - rank};
}

static void min_pair(void *into, const void *more)
{
    pair *const a = into;
    const pair *const b = more;

    if (b->value < a->value || (b->value == a->value && b->at < a->at)) {
        a->value = b->value;
        a->at = b->at;
    }
}

/* The user's operator: 8 numbers, and the order matters. */
static void set_eight(void *to, int rank, int start)
{
    for (int i = 0; i < 8; i++)
        ((long long *)to)[i] = rank + start + i;
}

static void join_eight(void *into, const void *more)
{
    for (int i = 0; i < 8; i++)
        ((long long *)into)[i] =
            31 * ((long long *)into)[i] + ((const long long *)more)[i];
}

static void join_by_mpi(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((long long *)inout)[i] =
            31 * ((long long *)in)[i] + ((long long *)inout)[i];
}

static MPI_Op joining;

typedef struct sort {
    const char *name;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    size_t bytes;
    void (*set)(void *to, int rank, int start);
    void (*combine)(void *into, const void *more);
} sort;

static sort sorts[6];
enum { N_SORTS = sizeof sorts / sizeof *sorts };

static void make_sorts(void)
{
    const sort all[N_SORTS] = {
        {"sum of int", 3, MPI_INT, MPI_SUM, 12, set_ints, add_ints},
        {"sum of double", 1, MPI_DOUBLE, MPI_SUM, 8, set_double, add_double},
        {"max of long", 1, MPI_LONG, MPI_MAX, 8, set_long, max_long},
        {"lor", 1, MPI_INT, MPI_LOR, 4, set_flag, or_flag},
        {"minloc", 1, MPI_DOUBLE_INT, MPI_MINLOC, 12, set_pair, min_pair},
        {"own", 8, MPI_LONG_LONG, joining, 64, set_eight, join_eight},
    };

    memcpy(sorts, all, sizeof all);
}

static void expect(const sort *k, int start, void *result)
{
    _Alignas(16) char value[MOST_BYTES];

    k->set(result, 0, start);
    for (int q = 1; q < test_P; q++) {
        k->set(value, q, start);
        k->combine(result, value);
    }
}

/* ---- plans --------------------------------------------------------------- */

typedef enum kind { VARYING, EXCHANGE, SPARSE } kind;

typedef struct run {
    rota_plan *plan;
    kind kind;
    const sort *sort;
    bool in_place;
    _Alignas(16) char value[MOST_BYTES], result[MOST_BYTES];
    char *send, *recv;
    int *sendcounts, *sdispls, *recvcounts, *rdispls, *dests;
} run;

/* Most starts have empty blocks; some have none but those. */
static int block_bytes(int src, int dst, int start)
{
    const unsigned h =
        (unsigned)(src * 31 + dst * 17 + start * 7) * 2654435761u;

    return start % 3 == 2 || h >> 30 == 0 ? 0 : (int)((h >> 16) % MOST_BLOCK);
}

static char block_byte(int src, int dst, int start)
{
    return (char)(src * 13 + dst * 5 + start);
}

static void open_run(run *r, MPI_Info info, size_t bound)
{
    const size_t P = (size_t)test_P;

    switch (r->kind) {
    case VARYING:
        MUST(rota_alltoallv_varying_init(bound, MPI_BYTE, MPI_COMM_WORLD, info,
                                         &r->plan));
        break;
    case EXCHANGE:
        MUST(rota_exchange_init(bound, MPI_BYTE, MPI_COMM_WORLD, info,
                                &r->plan));
        break;
    default:
        MUST(rota_exchange_init_sparse(MPI_BYTE, MPI_COMM_WORLD, info,
                                       &r->plan));
    }
    r->send = malloc(P * MOST_BLOCK);
    r->recv = malloc(P * MOST_BLOCK);
    r->sendcounts = calloc(5 * P, sizeof(int));
    r->sdispls = r->sendcounts + P;
    r->recvcounts = r->sdispls + P;
    r->rdispls = r->recvcounts + P;
    r->dests = r->rdispls + P;
    if (r->plan)
        MUST(rota_plan_set_reduction(
            r->plan, r->in_place ? MPI_IN_PLACE : r->value, r->result,
            r->sort->count, r->sort->type, r->sort->op));
}

static void close_run(run *r)
{
    MUST(rota_plan_free(&r->plan));
    free(r->send);
    free(r->recv);
    free(r->sendcounts);
}

static int fill(run *r, int start)
{
    int n = 0;

    for (int q = 0; q < test_P; q++) {
        const int bytes = block_bytes(test_me, q, start);
        if (r->kind == SPARSE && bytes == 0)
            continue;
        r->sendcounts[n] = bytes;
        r->sdispls[n] = q * MOST_BLOCK;
        r->dests[n++] = q;
        memset(r->send + q * MOST_BLOCK, block_byte(test_me, q, start),
               (size_t)bytes);
        if (r->kind != VARYING)
            continue;
        r->recvcounts[q] = block_bytes(q, test_me, start);
        r->rdispls[q] = q * MOST_BLOCK;
    }
    return n;
}

static void start(run *r, int iteration)
{
    const int n = fill(r, iteration);

    memset(r->result, 0x5a, sizeof r->result);
    r->sort->set(r->in_place ? r->result : r->value, test_me, iteration);
    if (r->kind == VARYING)
        MUST(rota_alltoallv_start(r->plan, r->send, r->sendcounts, r->sdispls,
                                  r->recv, r->recvcounts, r->rdispls));
    else if (r->kind == EXCHANGE)
        MUST(rota_exchange_start(r->plan, r->send, r->sendcounts, r->sdispls));
    else
        MUST(rota_exchange_start_sparse(r->plan, r->send, n, r->dests,
                                        r->sendcounts, r->sdispls));
    memset(r->value, 0x77, sizeof r->value); /* it was read */
}

static void check_block(const char *at, int src, int bytes, int iteration)
{
    if (bytes != block_bytes(src, test_me, iteration))
        test_fail(__FILE__, __LINE__, "%d bytes from rank %d (start %d)", bytes,
                  src, iteration);
    for (int i = 0; i < bytes; i++)
        if (at[i] != block_byte(src, test_me, iteration)) {
            test_fail(__FILE__, __LINE__, "wrong block from rank %d (start %d)",
                      src, iteration);
            return;
        }
}

static void finish_exchange(run *r, int iteration)
{
    void *found;

    MUST(rota_exchange_wait(r->plan, &found, r->recvcounts, r->rdispls));
    for (int q = 0; q < test_P; q++)
        check_block((char *)found + r->rdispls[q], q, r->recvcounts[q],
                    iteration);
}

static void finish_sparse(run *r, int iteration)
{
    const int *sources, *counts, *displs;
    void *found;
    int n = 0;

    MUST(rota_exchange_wait_sparse(r->plan, &found, &n, &sources, &counts,
                                   &displs));
    for (int i = 0; i < n; i++)
        check_block((char *)found + displs[i], sources[i], counts[i],
                    iteration);
}

static void finish(run *r, int iteration)
{
    _Alignas(16) char wanted[MOST_BYTES];
    int flag = 0;

    while (iteration == 1 && !flag)
        if (MUST(rota_test(r->plan, &flag)) != MPI_SUCCESS)
            return;
    if (r->kind == VARYING) {
        MUST(rota_wait(r->plan));
        for (int q = 0; q < test_P; q++)
            check_block(r->recv + r->rdispls[q], q, r->recvcounts[q],
                        iteration);
    } else if (r->kind == EXCHANGE) {
        finish_exchange(r, iteration);
    } else {
        finish_sparse(r, iteration);
    }
    memset(wanted, 0x5a, sizeof wanted);
    expect(r->sort, iteration, wanted);
    if (memcmp(wanted, r->result, r->sort->bytes) != 0)
        test_fail(__FILE__, __LINE__, "%s: wrong result (start %d)",
                  r->sort->name, iteration);
    if (memcmp(wanted + r->sort->bytes, r->result + r->sort->bytes,
               MOST_BYTES - r->sort->bytes) != 0 &&
        r->sort->type != MPI_DOUBLE_INT)
        test_fail(__FILE__, __LINE__, "%s: bytes behind the result",
                  r->sort->name);
}

/* Two plans at once, which differ in what they reduce. */
static void run_pair(kind kind, MPI_Info info, size_t bound)
{
    run pair[2] = {
        {.kind = kind, .sort = &sorts[turn % N_SORTS]},
        {.kind = kind, .sort = &sorts[(turn + 3) % N_SORTS], .in_place = true},
    };

    turn++;
    for (int i = 0; i < 2; i++)
        open_run(&pair[i], info, bound);
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

/* ---- the grid ------------------------------------------------------------ */

static MPI_Info make_info(const char *algo, const char *path,
                          const char *node_size, const char *metadata)
{
    MPI_Info info = test_info("rota_algorithm", algo, "rota_intranode", path);

    if (node_size)
        MPI_Info_set(info, "rota_node_size", node_size);
    if (metadata)
        MPI_Info_set(info, "rota_metadata", metadata);
    return info;
}

static void run_kinds(const rota_algo *algo, MPI_Info info)
{
    const bool finds = !algo->native && algo->sizes != ROTA_SIZES_PADDED;

    run_pair(VARYING, info, MOST_BLOCK);
    if (algo->sizes != ROTA_SIZES_PADDED)
        run_pair(VARYING, info, ROTA_UNBOUNDED);
    if (finds) {
        run_pair(EXCHANGE, info, MOST_BLOCK);
        run_pair(EXCHANGE, info, ROTA_UNBOUNDED);
    }
}

static void run_algo(const rota_algo *algo)
{
    static const char *const paths[] = {"auto", "p2p"};
    static const char *const sizes[] = {NULL, "2", "3", "1"};
    static const char *const metadata[] = {NULL, "two_phase", "combined"};
    char text[200];

    for (int p = 0; p < 2; p++)
        for (int s = 0; s < (algo->nodes ? 4 : 1); s++)
            for (int k = 0;
                 k < (algo->sizes == ROTA_SIZES_LEARNT || p == 1 ? 3 : 1);
                 k++) {
                if (brief && (p + s + k) % 2 != test_P % 2)
                    continue;
                MPI_Info info =
                    make_info(algo->name, paths[p], sizes[s], metadata[k]);
                snprintf(text, sizeof text, "%s, %s, node size %s, metadata %s",
                         algo->name, paths[p], sizes[s] ? sizes[s] : "-",
                         metadata[k] ? metadata[k] : "-");
                test_case = text;
                run_kinds(algo, info);
                MPI_Info_free(&info);
            }
}

static void run_sparse(const char *algo)
{
    static const char *const sizes[] = {NULL, "1", "2", "3"};
    char text[100];

    for (int s = 0; s < 5; s++) {
        MPI_Info info = make_info(algo, s < 4 ? "auto" : "p2p",
                                  s < 4 ? sizes[s] : NULL, NULL);
        snprintf(text, sizeof text, "%s, %s, node size %s", algo,
                 s < 4 ? "auto" : "p2p", s > 0 && s < 4 ? sizes[s] : "-");
        test_case = text;
        for (int k = 0; k < (brief ? 1 : N_SORTS); k++)
            run_pair(SPARSE, info, 0);
        MPI_Info_free(&info);
    }
}

static bool is_for_all(const rota_algo *algo)
{
    return !algo->neighbors && !algo->uniform && algo != &rota_algo_consensus &&
           algo != &rota_algo_consensus_node;
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    brief = argc > 1 && strcmp(argv[1], "brief") == 0;
    MPI_Op_create(join_by_mpi, 0, &joining);
    make_sorts();
    for (int i = 0; rota_algo_table[i]; i++)
        if (is_for_all(rota_algo_table[i]))
            run_algo(rota_algo_table[i]);
    run_sparse("consensus");
    run_sparse("consensus_node");
    MPI_Op_free(&joining);
    return test_end();
}
