/* grid.c - every algorithm, pattern and parameter against the definition.
 *
 * usage: grid [quick | brief | nodes] [algorithm]
 *
 * quick: fewer patterns, for slow tools; brief: still fewer and fewer starts,
 * and none of the MPI library's own collectives, which take long where many
 * ranks share a core; nodes: algorithms that follow nodes, on pretended ones.
 * In the short form, four ranks and more do not run every pattern with every
 * parameter and form, but all of each in turn.
 *
 * What each block holds follows from (source, destination, byte, iteration),
 * so every rank can say by itself what it must find. Blocks lie in permuted
 * order with gaps; gaps and surroundings are guarded. Plans are made in pairs
 * and started in orders that differ among ranks.
 */
#include "algos/algo.h"
#include "buffers.h"
#include "common/quick.h"
#include "harness.h"
#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0xA5, MARGIN = 40, STARTS = 3 };

/* One rank's side of an exchange: a buffer with blocks in it. */
typedef struct side {
    unsigned char *memory; /* what is allocated, twice bytes */
    unsigned char *base;   /* what is handed over, as the host sees it */
    unsigned char *there;  /* the same as memory, as it is handed over */
    size_t bytes;
    int *count, *displ; /* [P] */
} side;

typedef struct exchange {
    rota_plan *plan;
    pattern pattern;
    uint64_t seed;
    size_t largest;
    bool in_place;
    side send, recv;
    unsigned char *other_send, *other_recv; /* for rota_plan_set_buffers */
    MPI_Request request;                    /* of a run, or null */
} exchange;

static size_t block_bytes(const exchange *e, int src, int dst)
{
    /* In place what goes out is as long as what comes in. */
    if (e->in_place && src > dst)
        return block_bytes(e, dst, src);
    return pattern_bytes(e->pattern, e->seed, test_P, e->largest, src, dst);
}

/* Blocks in an order of their own, gaps of 0 to 6 bytes between them. */
static void lay_out(exchange *e, side *s, bool sends)
{
    const int P = test_P;
    const int step = P % 3 == 0 || P == 1 ? 1 : 3; /* a permutation */
    int at = 0;

    s->count = malloc((size_t)P * sizeof(int));
    s->displ = malloc((size_t)P * sizeof(int));
    for (int k = 0; k < P; k++) {
        const int q = (k * step + 1) % P;
        s->count[q] = (int)(sends ? block_bytes(e, test_me, q)
                                  : block_bytes(e, q, test_me));
        s->displ[q] = at;
        at += s->count[q] + (int)(test_hash(e->seed + (uint64_t)q) % 7);
    }
    s->bytes = (size_t)at + 2 * MARGIN;
    s->memory = malloc(2 * s->bytes);
    s->base = s->memory + MARGIN;
    s->there = test_buffer_make(s->memory, 2 * s->bytes,
                                (unsigned)(test_hash(e->seed) >> sends * 8));
    memset(s->memory, GUARD, 2 * s->bytes);
}

static void close_side(side *s)
{
    if (s->memory)
        test_buffer_free(s->there, s->memory);
    free(s->memory);
    free(s->count);
    free(s->displ);
}

/* What is handed over for an address that the host sees. */
static void *there(const side *s, const unsigned char *here)
{
    return s->there + (here - s->memory);
}

static void put_side(const side *s)
{
    if (s->memory)
        test_buffer_put(s->there, s->memory, 2 * s->bytes);
}

static void get_side(const side *s)
{
    if (s->memory)
        test_buffer_get(s->memory, s->there, 2 * s->bytes);
}

static void set_block(unsigned char *at, int src, int dst, int n, int iteration)
{
    for (int i = 0; i < n; i++)
        at[i] = payload(src, dst, (size_t)i, iteration);
}

static bool is_block(const unsigned char *at, int src, int dst, int n,
                     int iteration)
{
    for (int i = 0; i < n; i++)
        if (at[i] != payload(src, dst, (size_t)i, iteration))
            return false;
    return true;
}

static void fill_sends(const exchange *e, unsigned char *base, int iteration)
{
    const side *const s = e->in_place ? &e->recv : &e->send;

    for (int d = 0; d < test_P; d++)
        set_block(base + s->displ[d], test_me, d, s->count[d], iteration);
}

/* Overwrite the blocks with guards: what is then not a guard is a stray. */
static void check_guards(const side *s, unsigned char *base, const char *what)
{
    const unsigned char *const memory = base - MARGIN;

    for (int q = 0; q < test_P; q++)
        memset(base + s->displ[q], GUARD, (size_t)s->count[q]);
    for (size_t i = 0; i < s->bytes; i++)
        if (memory[i] != GUARD) {
            test_fail(__FILE__, __LINE__, "%s: stray byte at %zd", what,
                      (ptrdiff_t)i - MARGIN);
            memset(base - MARGIN, GUARD, s->bytes);
            return;
        }
}

static void check_result(const exchange *e, unsigned char *send,
                         unsigned char *recv, int iteration)
{
    get_side(&e->recv);
    get_side(&e->send);
    for (int q = 0; q < test_P; q++) {
        if (!is_block(recv + e->recv.displ[q], q, test_me, e->recv.count[q],
                      iteration))
            test_fail(__FILE__, __LINE__, "wrong block from rank %d (start %d)",
                      q, iteration);
        if (!e->in_place && !is_block(send + e->send.displ[q], test_me, q,
                                      e->send.count[q], iteration))
            test_fail(__FILE__, __LINE__, "block for rank %d changed", q);
    }
    check_guards(&e->recv, recv, "receive buffer");
    if (!e->in_place)
        check_guards(&e->send, send, "send buffer");
}

static void open_exchange(exchange *e, MPI_Info info)
{
    lay_out(e, &e->recv, false);
    if (!e->in_place)
        lay_out(e, &e->send, true);
    e->other_recv = e->recv.base + e->recv.bytes;
    e->other_send = e->in_place ? NULL : e->send.base + e->send.bytes;
    MUST(rota_alltoallv_init(
        e->in_place ? MPI_IN_PLACE : there(&e->send, e->send.base),
        e->send.count, e->send.displ, MPI_BYTE, there(&e->recv, e->recv.base),
        e->recv.count, e->recv.displ, MPI_BYTE, MPI_COMM_WORLD, info,
        &e->plan));
}

static void close_exchange(exchange *e)
{
    MUST(rota_plan_free(&e->plan));
    CHECK(e->plan == NULL);
    close_side(&e->send);
    close_side(&e->recv);
}

/* The last start is on other buffers. The first of one plan in two is a request of
 * MPI. */
static void start(exchange *e, int iteration)
{
    const bool asks = iteration == 0 && e->seed % 2;
    const bool moved = iteration == STARTS - 1;
    unsigned char *const recv = moved ? e->other_recv : e->recv.base;
    unsigned char *const send = moved ? e->other_send : e->send.base;

    fill_sends(e, e->in_place ? recv : send, iteration);
    put_side(&e->recv);
    put_side(&e->send);
    if (moved)
        MUST(rota_plan_set_buffers(
            e->plan, e->in_place ? MPI_IN_PLACE : there(&e->send, send),
            there(&e->recv, recv)));
    e->request = MPI_REQUEST_NULL;
    MUST(asks ? rota_start_request(e->plan, &e->request) : rota_start(e->plan));
}

static void finish(exchange *e, int iteration)
{
    const bool moved = iteration == STARTS - 1;
    int flag = 0;

    if (iteration == 1)
        while (!flag)
            if (MUST(rota_test(e->plan, &flag)) != MPI_SUCCESS)
                break;
    MUST(MPI_Wait(&e->request, MPI_STATUS_IGNORE));
    MUST(rota_wait(e->plan));
    check_result(e, moved ? e->other_send : e->send.base,
                 moved ? e->other_recv : e->recv.base, iteration);
}

/* Two plans at once, started in one order here and in the other there. */
static void run_pair(exchange pair[2])
{
    for (int iteration = 0; iteration < STARTS; iteration++) {
        const int first = (test_me + iteration) % 2;
        start(&pair[first], iteration);
        start(&pair[1 - first], iteration);
        finish(&pair[iteration % 2], iteration);
        finish(&pair[1 - iteration % 2], iteration);
    }
}

static void run_fixed(MPI_Info info, pattern p, size_t largest, uint64_t seed)
{
    exchange pair[2] = {
        {.pattern = p, .seed = seed, .largest = largest},
        {.pattern = p, .seed = seed + 1, .largest = largest, .in_place = true},
    };

    for (int i = 0; i < 2; i++)
        open_exchange(&pair[i], info);
    if (pair[0].plan && pair[1].plan)
        run_pair(pair);
    for (int i = 0; i < 2; i++)
        close_exchange(&pair[i]);
}

/* Every how many patterns plans whose counts vary are started with one. Odd:
 * what even and odd starts do differs. */
static int leap = 1;

/* Where only one in several is run, which: goes on with every algorithm and
 * parameter. */
static bool in_turn;
static int turn;

/* ---- varying counts ------------------------------------------------------ */

static void varying_start(rota_plan *plan, exchange *e)
{
    lay_out(e, &e->recv, false);
    if (!e->in_place)
        lay_out(e, &e->send, true);
    fill_sends(e, e->in_place ? e->recv.base : e->send.base, 0);
    put_side(&e->recv);
    put_side(&e->send);
    MUST(rota_alltoallv_start(
        plan, e->in_place ? MPI_IN_PLACE : there(&e->send, e->send.base),
        e->send.count, e->send.displ, there(&e->recv, e->recv.base),
        e->recv.count, e->recv.displ));
}

/* Counts, patterns and buffers change with every start. */
static void run_varying(MPI_Info info, size_t bound, size_t largest,
                        uint64_t seed)
{
    rota_plan *plan = NULL;

    MUST(rota_alltoallv_varying_init(bound, MPI_BYTE, MPI_COMM_WORLD, info,
                                     &plan));
    for (int p = turn % leap; plan && p < N_PATTERNS; p += leap) {
        exchange e = {.pattern = (pattern)p,
                      .seed = seed + (uint64_t)p,
                      .largest = largest,
                      .in_place = p % 3 == 2};
        varying_start(plan, &e);
        MUST(rota_wait(plan));
        check_result(&e, e.send.base, e.recv.base, 0);
        close_exchange(&e);
    }
    MUST(rota_plan_free(&plan));
}

/* ---- receive counts unknown ---------------------------------------------- */

static void check_found(const exchange *e, const unsigned char *found,
                        const int counts[], const int displs[])
{
    int at = 0;

    for (int q = 0; q < test_P; q++) {
        const int n = (int)block_bytes(e, q, test_me);
        CHECK(counts[q] == n);
        CHECK(displs[q] == at);
        if (counts[q] == n && !is_block(found + displs[q], q, test_me, n, 0))
            test_fail(__FILE__, __LINE__, "wrong block from rank %d", q);
        at += n;
    }
    check_guards(&e->send, e->send.base, "send buffer");
}

static size_t bytes_to_come(const exchange *e)
{
    size_t total = 0;

    for (int q = 0; q < test_P; q++)
        total += block_bytes(e, q, test_me);
    return total;
}

/* Every other start gives the caller's buffer, first too small a one. */
static void collect(rota_plan *plan, const exchange *e, int counts[],
                    int displs[], bool own)
{
    static unsigned char host[1 << 20];
    void *found = NULL, *buffer = host;
    const size_t total = bytes_to_come(e);

    if (own)
        buffer = test_buffer_make(host, total, (unsigned)e->seed);
    if (own && total > 0) {
        MUST(rota_exchange_set_buffer(plan, buffer, total - 1));
        MUST_FAIL(rota_exchange_wait(plan, &found, counts, displs),
                  MPI_ERR_BUFFER, "do not fit");
        CHECK(found == NULL);
    }
    MUST(rota_exchange_set_buffer(plan, own ? buffer : NULL, total));
    MUST(rota_exchange_wait(plan, &found, counts, displs));
    get_side(&e->send);
    if (!own) {
        check_found(e, found, counts, displs);
        return;
    }
    CHECK(found == buffer);
    test_buffer_get(host, buffer, total);
    check_found(e, host, counts, displs);
    test_buffer_free(buffer, host);
    MUST(rota_exchange_set_buffer(plan, NULL, 0));
}

/* A buffer that a start finds, so that blocks come right into it. */
typedef struct early {
    unsigned char *buffer;
    size_t room;
} early;

static early give_early(rota_plan *plan, const exchange *e, bool too_small)
{
    const size_t total = bytes_to_come(e);
    early b = {.room = total - (too_small && total > 0)};

    b.buffer = malloc(b.room + 1);
    memset(b.buffer, 0xa5, b.room + 1);
    MUST(rota_exchange_set_buffer(plan, b.buffer, b.room));
    return b;
}

/* If they do not fit, the program may free it after the wait has said so. */
static void collect_early(rota_plan *plan, const exchange *e, int counts[],
                          int displs[], early b)
{
    void *found = NULL;

    if (b.room == bytes_to_come(e)) {
        MUST(rota_exchange_wait(plan, &found, counts, displs));
        CHECK(found == b.buffer);
        check_found(e, found, counts, displs);
    } else {
        MUST_FAIL(rota_exchange_wait(plan, &found, counts, displs),
                  MPI_ERR_BUFFER, "do not fit");
    }
    CHECK(b.buffer[b.room] == 0xa5);
    const bool again = !found;
    memset(b.buffer, 0, b.room);
    free(b.buffer);
    MUST(rota_exchange_set_buffer(plan, NULL, 0));
    if (again)
        collect(plan, e, counts, displs, false);
}

static void run_exchange(MPI_Info info, size_t bound, size_t largest,
                         uint64_t seed)
{
    int counts[64], displs[64];
    rota_plan *plan = NULL;

    MUST(rota_exchange_init(bound, MPI_BYTE, MPI_COMM_WORLD, info, &plan));
    for (int p = turn % leap; plan && p < 2 * N_PATTERNS; p += leap) {
        exchange e = {.pattern = (pattern)(p % N_PATTERNS),
                      .seed = seed + (uint64_t)p,
                      .largest = largest};
        int flag = 0;
        lay_out(&e, &e.send, true);
        fill_sends(&e, e.send.base, 0);
        put_side(&e.send);
        const bool at_start = p % 4 >= 2;
        const early b =
            at_start ? give_early(plan, &e, p % 8 >= 6) : (early){0};
        MUST(rota_exchange_start(plan, there(&e.send, e.send.base),
                                 e.send.count, e.send.displ));
        while (p % 4 == 1 && !flag && MUST(rota_test(plan, &flag)) == 0)
            ;
        if (at_start)
            collect_early(plan, &e, counts, displs, b);
        else
            collect(plan, &e, counts, displs, p % 2);
        close_exchange(&e);
    }
    MUST(rota_plan_free(&plan));
}

/* ---- several arrays ------------------------------------------------------ */

enum { ARRAYS = 2, MOST_RANKS = 64 };

/* Give the arrays, of patterns of their own, in memory of the host. */
static void start_arrays(rota_plan *plan, exchange e[ARRAYS])
{
    const void *send[ARRAYS];
    int counts[ARRAYS * MOST_RANKS], displs[ARRAYS * MOST_RANKS];

    for (int i = 0; i < ARRAYS; i++) {
        const size_t bytes = (size_t)test_P * sizeof(int);
        lay_out(&e[i], &e[i].send, true);
        fill_sends(&e[i], e[i].send.base, 0);
        memcpy(counts + i * test_P, e[i].send.count, bytes);
        memcpy(displs + i * test_P, e[i].send.displ, bytes);
        send[i] = e[i].send.base;
    }
    MUST(rota_exchange_start_arrays(plan, send, counts, displs));
}

/* Every other time by a request. Elements of several bytes are in arrays.c. */
static void run_arrays(MPI_Info info, size_t bound, size_t largest,
                       uint64_t seed)
{
    const MPI_Datatype types[ARRAYS] = {MPI_BYTE, MPI_BYTE};
    int counts[ARRAYS * MOST_RANKS], displs[ARRAYS * MOST_RANKS];
    rota_plan *plan = NULL;

    MUST(rota_exchange_init_arrays(bound, ARRAYS, types, MPI_COMM_WORLD, info,
                                   &plan));
    for (int p = turn % leap; plan && p < N_PATTERNS; p += 2 * leap) {
        MPI_Request request = MPI_REQUEST_NULL;
        exchange e[ARRAYS] = {{.seed = seed}, {.seed = seed + 1}};
        void *recv[ARRAYS];
        for (int i = 0; i < ARRAYS; i++) {
            e[i].pattern = (pattern)((p + 5 * i) % N_PATTERNS);
            e[i].largest = largest;
        }
        start_arrays(plan, e);
        if (p / leap % 4 < 2)
            MUST(rota_get_request(plan, &request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MUST(rota_exchange_wait_arrays(plan, recv, counts, displs));
        for (int i = 0; i < ARRAYS; i++) {
            check_found(&e[i], recv[i], counts + i * test_P,
                        displs + i * test_P);
            close_exchange(&e[i]);
        }
    }
    MUST(rota_plan_free(&plan));
}

/* ---- the grid ------------------------------------------------------------ */

static char name[200];

static void set_name(const rota_algo *algo, const char *key, const char *value,
                     const char *what)
{
    snprintf(name, sizeof name, "%s %s=%s %s", algo->name, key ? key : "",
             value ? value : "", what);
    test_case = name;
}

/* How sizes may travel. The bound is that of the patterns. */
static void run_varlen(const rota_algo *algo, const char *key,
                       const char *value, bool quick)
{
    static const char *const forms[] = {"fused", "two_phase", "combined"};

    for (int f = in_turn ? turn % 3 : 0; f < 3; f += in_turn ? 3
                                                     : quick ? 2
                                                             : 1) {
        MPI_Info info = test_info("rota_algorithm", algo->name, key, value);
        MPI_Info_set(info, "rota_metadata", forms[f]);
        set_name(algo, key, value, forms[f]);
        if (algo->sizes == ROTA_SIZES_LEARNT) {
            run_fixed(info, RANDOM, 900, 3);
            run_varying(info, ROTA_UNBOUNDED, 700, 5);
            run_varying(info, 64 * 300, 300, 6);
        }
        run_exchange(info, ROTA_UNBOUNDED, 700, 7);
        run_exchange(info, 64 * 200, 200, 8);
        run_arrays(info, f % 2 ? ROTA_UNBOUNDED : 64 * 500, 203, 9);
        MPI_Info_free(&info);
    }
}

static bool is_uniform(pattern p)
{
    return p == UNIFORM || p == ONE_BYTE || p == ALL_ZERO;
}

static void run_fixed_patterns(const rota_algo *algo, MPI_Info info,
                               const char *key, const char *value, int stride)
{
    for (int p = turn % stride; p < N_PATTERNS; p += stride) {
        if (algo->uniform && !is_uniform((pattern)p))
            continue;
        set_name(algo, key, value, pattern_name[p]);
        run_fixed(info, (pattern)p, p % 2 ? 300 : 5000, (uint64_t)p + 17);
    }
}

static void run_algorithm(const rota_algo *algo, const char *key,
                          const char *value, bool quick)
{
    MPI_Info info = test_info("rota_algorithm", algo->name, key, value);
    int stride = quick && leap == 1 ? 4 : leap;

    if (in_turn)
        stride = algo->uniform ? 1 : 4;
    run_fixed_patterns(algo, info, key, value, stride);
    set_name(algo, key, value, "varying");
    if (!algo->uniform)
        run_varying(info, 64 * 700, 700, 5);
    if (algo->params & ROTA_P_PACKING) {
        MPI_Info_set(info, "rota_packing", "datatype");
        run_fixed_patterns(algo, info, key, value, stride);
    }
    MPI_Info_free(&info);
    if (!algo->native && algo->sizes != ROTA_SIZES_PADDED)
        run_varlen(algo, key, value, quick);
    turn += in_turn;
}

static void run_parameters(const rota_algo *algo, bool quick)
{
    static const char *const batches[] = {"1", "2", "5", "1000"};
    char radix[16];

    if (algo->params & ROTA_P_BATCH)
        for (int i = 0; i < 4; i += quick ? 3 : 1)
            run_algorithm(algo, "rota_batch", batches[i], quick);
    else if (algo->params & ROTA_P_RADIX)
        for (int r = 2; r <= (test_P > 2 ? test_P : 2); r += quick ? 5 : 1) {
            snprintf(radix, sizeof radix, "%d", r);
            run_algorithm(algo, "rota_radix", radix, quick);
        }
    else
        run_algorithm(algo, NULL, NULL, quick);
}

/* Few patterns and parameters: schedules are proved elsewhere. */
static void run_nodes(const rota_algo *algo)
{
    static const char *const sizes[] = {"1", "2", "3"};
    static const char *const values[] = {"1", "2"};
    const char *const key =
        algo->params & ROTA_P_LEADERS ? "rota_leaders" : "rota_batch";

    for (int i = 0; i < 3; i++) {
        setenv("ROTA_NODE_SIZE", sizes[i], 1);
        run_algorithm(algo, key, values[i % 2], true);
    }
    unsetenv("ROTA_NODE_SIZE");
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    test_buffers_begin();
    const char *const word = argc > 1 ? argv[1] : "";
    const bool brief = strcmp(word, "brief") == 0;
    const bool quick = brief || strcmp(word, "quick") == 0;
    const bool nodes = strcmp(word, "nodes") == 0;
    const int next = 1 + (quick || nodes);
    const char *const only = argc > next ? argv[next] : NULL;

    in_turn = test_is_quick() && !quick && test_P >= (test_is_slow() ? 3 : 4);
    if (in_turn)
        turn = test_P;
    if (brief || in_turn)
        leap = brief ? 7 : 3;
    for (int i = 0; rota_algo_table[i]; i++) {
        const rota_algo *const algo = rota_algo_table[i];
        if ((only && strcmp(only, algo->name) != 0) || (brief && algo->native))
            continue;
        if (nodes && algo->nodes)
            run_nodes(algo);
        else if (brief || (!nodes && !algo->nodes))
            run_parameters(algo, quick);
    }
    test_buffers_end();
    return test_end();
}
