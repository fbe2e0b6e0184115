/* neighbors.c - plans among neighbours against the definition, on process
 * topologies of all kinds.
 *
 * usage: neighbors [short]
 *
 * What a block holds follows from its ends, from which of theirs it is, and from
 * the start, so every rank can say by itself what it must find. Which of several
 * blocks of a pair meet is told here by counting along the lists or, in a grid,
 * by direction.
 */
#include "algos/algo.h"
#include "harness.h"
#include "pattern.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0xA5, MARGIN = 24, STARTS = 3, MOST = 64 };

/* ---- topologies ---------------------------------------------------------- */

/* Lists as this test makes them or knows them to be. */
typedef struct topology {
    const char *name;
    MPI_Comm comm;
    rota_graph *graph; /* if set, in place of comm */
    bool grid;
    int n_to, n_from;
    int to[MOST], from[MOST]; /* -1: nobody */
    int to_key[MOST], from_key[MOST];
} topology;

/* The function for a graph or a communicator. */
#define AMONG(t, name, suffix, info, plan, ...)                                \
    ((t)->graph                                                                \
         ? rota_neighbor_##name##_graph##suffix(__VA_ARGS__, (t)->graph, info, \
                                                plan)                          \
         : rota_neighbor_##name##suffix(__VA_ARGS__, (t)->comm, info, plan))

/* How many edges lead from p to q. */
static int edges(int kind, int p, int q)
{
    const uint64_t h = test_hash((uint64_t)(kind * 1000 + p * 30 + q));

    switch (kind) {
    case 0: /* sparse, one way */
        return p != q && h % 3 == 0;
    case 1: /* several edges, to oneself too */
        return (int)(h % 4);
    case 2: /* none */
        return 0;
    case 3: /* a star: the last rank hears of nobody but itself */
        return p == 0 || (q == 0 && p != test_P - 1) || (p == q && h % 2);
    case 4: /* rank 1 has no neighbours at all */
        return p != 1 && q != 1 && h % 2;
    default: /* all */
        return 1;
    }
}

/* The k-th turn of P ranks, in an order that differs from list to list. */
static int turn(int k, int shift)
{
    return (k + shift) % test_P;
}

static void list_edges(topology *t, int kind)
{
    const int P = test_P;

    for (int round = 0; round < 4; round++)
        for (int k = 0; k < P; k++) {
            const int q = turn(k, test_me + round);
            if (edges(kind, test_me, q) > round) {
                t->to_key[t->n_to] = round;
                t->to[t->n_to++] = q;
            }
            const int p = turn(k, 3 * test_me + 2 * round + 1);
            if (edges(kind, p, test_me) > round) {
                t->from_key[t->n_from] = round;
                t->from[t->n_from++] = p;
            }
        }
}

static void make_adjacent(topology *t, int kind, bool weighted)
{
    int weight[MOST] = {0};

    list_edges(t, kind);
    MUST(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, t->n_from, t->from, weighted ? weight : MPI_UNWEIGHTED,
        t->n_to, t->to, weighted ? weight : MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
        &t->comm));
}

/* Which edges meet is up to the order of MPI's lists, in which there are no
 * pairs with several. */
static void make_distributed(topology *t)
{
    int degree = 0, n[2], weighted;

    list_edges(t, 0);
    degree = t->n_to;
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &test_me, &degree, t->to,
                               MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &t->comm));
    MUST(MPI_Dist_graph_neighbors_count(t->comm, &n[0], &n[1], &weighted));
    CHECK(n[0] == t->n_from && n[1] == t->n_to);
    /* MPICH 4.0 copies as many as there is said to be room for. */
    MUST(MPI_Dist_graph_neighbors(t->comm, n[0], t->from, MPI_UNWEIGHTED, n[1],
                                  t->to, MPI_UNWEIGHTED));
}

/* A ring with a chord, as often there as back. */
static void make_graph(topology *t)
{
    int index[MOST], edge[4 * MOST], n = 0;

    for (int p = 0; p < test_P; p++) {
        const int up = (p + 1) % test_P, down = (p + test_P - 1) % test_P;
        const bool chord = p == 0 || p == test_P / 2;
        if (p == test_me)
            t->n_to = n;
        edge[n++] = up;
        edge[n++] = down;
        if (chord && test_P > 3)
            edge[n++] = p == 0 ? test_P / 2 : 0;
        index[p] = n;
    }
    const int first = t->n_to, last = index[test_me];
    t->n_to = t->n_from = last - first;
    for (int i = 0; i < t->n_to; i++) {
        t->to[i] = t->from[i] = edge[first + i];
        for (int k = 0; k < i; k++)
            t->to_key[i] += t->to[k] == t->to[i];
        t->from_key[i] = t->to_key[i];
    }
    MUST(MPI_Graph_create(MPI_COMM_WORLD, test_P, index, edge, 0, &t->comm));
}

static void make_grid(topology *t, int dims, const int size[],
                      const int periods[])
{
    int lengths[3] = {0};

    memcpy(lengths, size, (size_t)dims * sizeof *size);
    MUST(MPI_Dims_create(test_P, dims, lengths));
    MUST(MPI_Cart_create(MPI_COMM_WORLD, dims, lengths, periods, 0, &t->comm));
    t->grid = true;
    t->n_to = t->n_from = 2 * dims;
    for (int d = 0; d < dims; d++)
        MUST(MPI_Cart_shift(t->comm, d, 1, &t->to[2 * d], &t->to[2 * d + 1]));
    for (int i = 0; i < 2 * dims; i++) {
        t->to[i] = t->to[i] == MPI_PROC_NULL ? -1 : t->to[i];
        t->from[i] = t->to[i];
        t->to_key[i] = i;
        t->from_key[i] = i ^ 1; /* down from here, from above there */
    }
}

enum { N_TOPOLOGIES = 14 };

static void make_topology(topology *t, int which)
{
    static const char *const names[N_TOPOLOGIES] = {
        "one way",      "several edges", "no edges", "star",
        "an outsider",  "all",           "weighted", "distributed",
        "graph",        "ring",          "line",     "grid with a border",
        "3-D, periods", "3-D, thin"};
    static const int any[3] = {0, 0, 0}, thin[3] = {1, 0, 1};
    static const int closed[3] = {1, 1, 1}, open[3] = {0, 0, 0},
                     mixed[3] = {1, 0, 1};

    *t = (topology){.name = names[which], .comm = MPI_COMM_NULL};
    switch (which) {
    case 6:
        make_adjacent(t, 1, true);
        break;
    case 7:
        make_distributed(t);
        break;
    case 8:
        make_graph(t);
        break;
    case 9:
        make_grid(t, 1, any, closed);
        break;
    case 10:
        make_grid(t, 1, any, open);
        break;
    case 11:
        make_grid(t, 2, any, mixed);
        break;
    case 12:
        make_grid(t, 3, any, closed);
        break;
    case 13:
        make_grid(t, 3, thin, closed);
        break;
    default:
        make_adjacent(t, which, false);
    }
    MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
}

/* The same partners as a graph: of the lists, if which blocks meet follows from
 * these, else of the topology. */
static void make_graph_like(topology *t)
{
    if (t->grid)
        MUST(rota_graph_of(t->comm, &t->graph));
    else
        MUST(rota_graph_create_adjacent(MPI_COMM_WORLD, t->n_from, t->from,
                                        t->n_to, t->to, MPI_INFO_NULL,
                                        &t->graph));
}

/* ---- buffers ------------------------------------------------------------- */

typedef struct side {
    unsigned char *memory, *base;
    size_t bytes;
    int n;
    int count[MOST], displ[MOST];
} side;

typedef struct exchange {
    const topology *t;
    rota_plan *plan;
    int pattern, seed;
    size_t largest;
    side send, recv;
} exchange;

/* A block is told by its ends and which of theirs it is. */
static int count_of(const exchange *e, int src, int dst, int key)
{
    return (int)pattern_bytes((pattern)e->pattern,
                              (uint64_t)(e->seed + 100 * key), test_P,
                              e->largest, src, dst);
}

static int named(int rank, int key)
{
    return rank + 32 * key;
}

/* In an order of their own, with gaps. Beyond a border there are a count and a
 * place all the same, which mean nothing. */
static void lay_out(const exchange *e, side *s, bool sends)
{
    const topology *const t = e->t;
    int at = 0;

    s->n = sends ? t->n_to : t->n_from;
    for (int k = s->n - 1; k >= 0; k--) {
        const int peer = sends ? t->to[k] : t->from[k];
        const int key = sends ? t->to_key[k] : t->from_key[k];
        const bool nobody = peer < 0;
        s->count[k] = nobody  ? k % 2 ? INT_MAX : 3
                      : sends ? count_of(e, test_me, peer, key)
                              : count_of(e, peer, test_me, key);
        s->displ[k] = nobody ? -k * 1000000 : at;
        at += (nobody ? 0 : s->count[k]) +
              (int)(test_hash((uint64_t)(e->seed + k)) % 5);
    }
    s->bytes = (size_t)at + 2 * MARGIN;
    s->memory = malloc(2 * s->bytes);
    memset(s->memory, GUARD, 2 * s->bytes);
    s->base = s->memory + MARGIN;
}

static void close_sides(exchange *e)
{
    free(e->send.memory);
    free(e->recv.memory);
    e->send.memory = e->recv.memory = NULL;
}

static void fill_sends(const exchange *e, unsigned char *base, int start)
{
    for (int k = 0; k < e->send.n; k++)
        for (int i = 0; e->t->to[k] >= 0 && i < e->send.count[k]; i++)
            base[e->send.displ[k] + i] = payload(
                named(test_me, e->t->to_key[k]), e->t->to[k], (size_t)i, start);
}

static bool is_right(const exchange *e, const unsigned char *at, int k, int n,
                     int start)
{
    for (int i = 0; i < n; i++)
        if (at[i] != payload(named(e->t->from[k], e->t->from_key[k]), test_me,
                             (size_t)i, start))
            return false;
    return true;
}

/* Blocks become guards again: what is then none is a stray. */
static void check_result(const exchange *e, unsigned char *base, int start)
{
    for (int k = 0; k < e->recv.n; k++) {
        if (e->t->from[k] < 0)
            continue;
        if (!is_right(e, base + e->recv.displ[k], k, e->recv.count[k], start))
            test_fail(__FILE__, __LINE__, "wrong block %d, from rank %d, of %d",
                      k, e->t->from[k], e->recv.count[k]);
        memset(base + e->recv.displ[k], GUARD, (size_t)e->recv.count[k]);
    }
    for (size_t i = 0; i < e->recv.bytes; i++)
        if ((base - MARGIN)[i] != GUARD) {
            test_fail(__FILE__, __LINE__, "stray byte at %zu of %zu", i,
                      e->recv.bytes);
            memset(base - MARGIN, GUARD, e->recv.bytes);
            return;
        }
}

/* ---- kinds of plan ------------------------------------------------------- */

static char label[200];

static void name_case(const topology *t, const char *hint, const char *what)
{
    snprintf(label, sizeof label, "%s, %s, %s", t->name, hint, what);
    test_case = label;
}

static void make_fixed(exchange *e, MPI_Info info)
{
    MPI_Count count[2][MOST];
    MPI_Aint displ[2][MOST];

    lay_out(e, &e->send, true);
    lay_out(e, &e->recv, false);
    if (e->pattern % 2 == 0) {
        MUST(AMONG(e->t, alltoallv_init, , info, &e->plan, e->send.base,
                   e->send.count, e->send.displ, MPI_BYTE, e->recv.base,
                   e->recv.count, e->recv.displ, MPI_BYTE));
        return;
    }
    for (int i = 0; i < 2; i++) {
        const side *const s = i ? &e->recv : &e->send;
        for (int k = 0; k < s->n; k++) {
            count[i][k] = s->count[k];
            displ[i][k] = s->displ[k];
        }
    }
    MUST(AMONG(e->t, alltoallv_init, _c, info, &e->plan, e->send.base, count[0],
               displ[0], MPI_BYTE, e->recv.base, count[1], displ[1], MPI_BYTE));
}

/* The last start is on other buffers. */
static void run_fixed(const topology *t, MPI_Info info, int pattern,
                      size_t largest)
{
    exchange pair[2] = {
        {.t = t, .pattern = pattern, .largest = largest},
        {.t = t, .pattern = pattern, .seed = 7, .largest = largest / 3 + 1}};

    for (int i = 0; i < 2; i++)
        make_fixed(&pair[i], info);
    for (int start = 0; pair[0].plan && pair[1].plan && start < STARTS;
         start++) {
        const size_t moved = start == STARTS - 1;
        for (int i = 0; i < 2; i++) {
            exchange *const e = &pair[(i + test_me + start) % 2];
            unsigned char *const send = e->send.base + moved * e->send.bytes;
            fill_sends(e, send, start);
            if (moved)
                MUST(rota_plan_set_buffers(e->plan, send,
                                           e->recv.base + e->recv.bytes));
            MUST(rota_start(e->plan));
        }
        for (int i = 0; i < 2; i++) {
            exchange *const e = &pair[(i + start) % 2];
            MUST(rota_wait(e->plan));
            check_result(e, e->recv.base + moved * e->recv.bytes, start);
        }
    }
    for (int i = 0; i < 2; i++) {
        MUST(rota_plan_free(&pair[i].plan));
        close_sides(&pair[i]);
    }
}

static void run_uniform(const topology *t, MPI_Info info)
{
    enum { N = 3 };
    int sent[N * MOST] = {0}, got[N * MOST];
    rota_plan *plan = NULL;

    memset(got, GUARD, sizeof got);
    if (t->n_to % 2)
        MUST(AMONG(t, alltoall_init, , info, &plan, sent, N, MPI_INT, got, N,
                   MPI_INT));
    else
        MUST(AMONG(t, alltoall_init, _c, info, &plan, sent, N, MPI_INT, got,
                   N * sizeof(int), MPI_BYTE));
    for (int k = 0; k < N * t->n_to; k++)
        sent[k] =
            (test_me * 50 + t->to[k / N]) * 50 + N * t->to_key[k / N] + k % N;
    if (plan) {
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
    }
    for (int k = 0; plan && k < N * t->n_from; k++)
        if (t->from[k / N] >= 0)
            CHECK(got[k] == (t->from[k / N] * 50 + test_me) * 50 +
                                N * t->from_key[k / N] + k % N);
    MUST(rota_plan_free(&plan));
}

/* Even short blocks are copied from where they lie, in memory of rota_mem_alloc. */
static MPI_Info read_at_once(MPI_Info info)
{
    MPI_Info more;

    if (info == MPI_INFO_NULL)
        MPI_Info_create(&more);
    else
        MPI_Info_dup(info, &more);
    MPI_Info_set(more, "rota_copied_once_from", "1");
    return more;
}

/* Every other block is of every other byte, on one side or both. */
static void run_types(const topology *t, MPI_Info info)
{
    enum { N = 20, ROOM = 2 * N };
    unsigned char *send = NULL, recv[ROOM * MOST];
    int counts[2][MOST];
    MPI_Count larges[2][MOST];
    MPI_Aint displ[MOST];
    MPI_Datatype apart, to[MOST], from[MOST];
    rota_plan *plan = NULL;

    MPI_Info once = read_at_once(info);
    MUST(rota_mem_alloc(ROOM * MOST, t->comm, MPI_INFO_NULL, &send));
    MPI_Type_vector(N, 1, 2, MPI_BYTE, &apart);
    MPI_Type_commit(&apart);
    memset(recv, GUARD, sizeof recv);
    for (int k = 0; k < MOST; k++) {
        to[k] = k % 2 ? apart : MPI_BYTE;
        from[k] = k % 3 ? apart : MPI_BYTE;
        displ[k] = ROOM * k;
    }
    for (int k = 0; k < t->n_to; k++)
        for (int i = 0; i < N; i++)
            send[ROOM * k + (k % 2 ? 2 * i : i)] =
                payload(named(test_me, t->to_key[k]), t->to[k], (size_t)i, 1);
    for (int k = 0; k < MOST; k++)
        for (int side = 0; side < 2; side++) {
            counts[side][k] = (side ? k % 3 : k % 2) ? 1 : N;
            larges[side][k] = counts[side][k];
        }
    if (t->grid)
        MUST(AMONG(t, alltoallw_init, , once, &plan, send, counts[0], displ, to,
                   recv, counts[1], displ, from));
    else
        MUST(AMONG(t, alltoallw_init, _c, once, &plan, send, larges[0], displ,
                   to, recv, larges[1], displ, from));
    MPI_Type_free(&apart);
    for (int start = 0; plan && start < 2; start++) {
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
    }
    for (int k = 0; plan && k < t->n_from; k++)
        for (int i = 0; t->from[k] >= 0 && i < N; i++) {
            unsigned char *const at = &recv[ROOM * k + (k % 3 ? 2 * i : i)];
            CHECK(*at == payload(named(t->from[k], t->from_key[k]), test_me,
                                 (size_t)i, 1));
            *at = GUARD;
        }
    for (int i = 0; i < ROOM * MOST; i++)
        CHECK(recv[i] == GUARD);
    MUST(rota_plan_free(&plan));
    MUST(rota_mem_free(&send));
    MPI_Info_free(&once);
}

/* Blocks of two kinds, each of one place for all destinations, that overlap. */
static void run_alike(const topology *t, MPI_Info info)
{
    enum { N = 32, APART = 8 };
    unsigned char send[N + APART], recv[N * MOST];
    int count[MOST], from[MOST], to[MOST];
    rota_plan *plan = NULL;

    for (int i = 0; i < N + APART; i++)
        send[i] = payload(test_me, 0, (size_t)i, 5);
    for (int k = 0; k < MOST; k++) {
        count[k] = N;
        to[k] = k < t->n_to ? t->to_key[k] % 2 * APART : 0;
        from[k] = N * k;
    }
    MUST(AMONG(t, alltoallv_init, , info, &plan, send, count, to, MPI_BYTE,
               recv, count, from, MPI_BYTE));
    if (plan) {
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
    }
    for (int k = 0; plan && k < t->n_from; k++)
        for (int i = 0; t->from[k] >= 0 && i < N; i++)
            if (recv[N * k + i] !=
                payload(t->from[k], 0, (size_t)(i + t->from_key[k] % 2 * APART),
                        5)) {
                test_fail(__FILE__, __LINE__, "wrong block %d, byte %d", k, i);
                break;
            }
    MUST(rota_plan_free(&plan));
}

static void run_varying(const topology *t, MPI_Info info, size_t bound)
{
    rota_plan *plan = NULL;

    MUST(AMONG(t, alltoallv_varying_init, , info, &plan, bound, MPI_BYTE));
    for (int p = 0; plan && p < N_PATTERNS; p += 2) {
        exchange e = {.t = t, .pattern = p, .seed = p, .largest = 500};
        lay_out(&e, &e.send, true);
        lay_out(&e, &e.recv, false);
        fill_sends(&e, e.send.base, p);
        MUST(rota_alltoallv_start(plan, e.send.base, e.send.count, e.send.displ,
                                  e.recv.base, e.recv.count, e.recv.displ));
        MUST(rota_wait(plan));
        check_result(&e, e.recv.base, p);
        close_sides(&e);
    }
    MUST(rota_plan_free(&plan));
}

static void check_found(exchange *e, const unsigned char *found,
                        const int count[], const int displ[])
{
    int at = 0;

    lay_out(e, &e->recv, false);
    for (int k = 0; k < e->t->n_from; k++) {
        const int n = e->t->from[k] < 0 ? 0 : e->recv.count[k];
        CHECK(count[k] == n && displ[k] == at);
        if (count[k] == n && !is_right(e, found + at, k, n, e->pattern))
            test_fail(__FILE__, __LINE__, "wrong block %d from rank %d", k,
                      e->t->from[k]);
        at += n;
    }
}

static void run_exchange(const topology *t, MPI_Info info, size_t bound)
{
    int count[MOST], displ[MOST];
    rota_plan *plan = NULL;

    MUST(AMONG(t, exchange_init, , info, &plan, bound, MPI_BYTE));
    for (int p = 1; plan && p < N_PATTERNS; p += 2) {
        exchange e = {.t = t, .pattern = p, .seed = p, .largest = 500};
        void *found = NULL;
        lay_out(&e, &e.send, true);
        fill_sends(&e, e.send.base, p);
        MUST(
            rota_exchange_start(plan, e.send.base, e.send.count, e.send.displ));
        MUST(rota_exchange_wait(plan, &found, count, displ));
        check_found(&e, found, count, displ);
        close_sides(&e);
    }
    MUST(rota_plan_free(&plan));
}

static void run_varlen(const topology *t, MPI_Info info, const char *hint)
{
    static const char *const forms[] = {"fused", "two_phase", "combined"};

    for (int f = 0; f < 3; f++) {
        MPI_Info_set(info, "rota_metadata", forms[f]);
        name_case(t, hint, forms[f]);
        run_exchange(t, info, f ? ROTA_UNBOUNDED : 64 * 500);
        run_varying(t, info, f ? 64 * 500 : ROTA_UNBOUNDED);
    }
    MPI_Info_delete(info, "rota_metadata");
}

static void run_all(const topology *t, MPI_Info info, const char *hint,
                    bool brief)
{
    for (int p = 0; p < N_PATTERNS; p += brief ? 3 : 1) {
        name_case(t, hint, pattern_name[p]);
        run_fixed(t, info, p, p % 3 == 1 ? 40000 : 300);
    }
    name_case(t, hint, "one count");
    run_uniform(t, info);
    name_case(t, hint, "types");
    run_types(t, info);
    name_case(t, hint, "the same memory");
    run_alike(t, info);
    MPI_Info_set(info, "rota_metadata", "fused");
    run_alike(t, info);
    run_varlen(t, info, hint);
}

/* ---- errors -------------------------------------------------------------- */

static void run_errors(topology *t)
{
    int n[MOST] = {0}, d[MOST] = {0}, many[MOST];
    char send[MOST], recv[MOST];
    rota_plan *plan = NULL;
    void *found;

    for (int k = 0; k < MOST; k++) {
        many[k] = 1;
        d[k] = k;
    }
    name_case(t, "errors", "");
    MUST_FAIL(AMONG(t, alltoallv_init, , MPI_INFO_NULL, &plan, MPI_IN_PLACE,
                    many, d, MPI_BYTE, recv, many, d, MPI_BYTE),
              MPI_ERR_BUFFER, "MPI_IN_PLACE");
    if (test_max(test_me == 0 && t->n_to > 0))
        MUST_FAIL(AMONG(t, alltoallv_init, , MPI_INFO_NULL, &plan, send,
                        test_me ? n : NULL, d, MPI_BYTE, recv, n, d, MPI_BYTE),
                  MPI_ERR_ARG, "sendcounts is NULL");
    MUST_FAIL(AMONG(t, alltoallv_init, , MPI_INFO_NULL, NULL, send, n, d,
                    MPI_BYTE, recv, n, d, MPI_BYTE),
              MPI_ERR_ARG, "plan is NULL");
    if (test_P > 1)
        MUST_FAIL(AMONG(t, exchange_init, , MPI_INFO_NULL, &plan,
                        8 + (size_t)test_me, MPI_BYTE),
                  MPI_ERR_ARG, "max_block");
    MUST(AMONG(t, exchange_init, , MPI_INFO_NULL, &plan, 8, MPI_BYTE));
    MUST_FAIL(rota_alltoallv_start(plan, send, n, d, recv, n, d),
              MPI_ERR_REQUEST, "exchange");
    MUST_FAIL(rota_exchange_start(plan, MPI_IN_PLACE, n, d), MPI_ERR_BUFFER,
              "MPI_IN_PLACE");
    MUST(rota_exchange_start(plan, send, n, d));
    MUST(rota_exchange_wait(plan, &found, NULL, NULL));
    MUST(rota_plan_free(&plan));
}

/* One rank, or one edge, is not as the others expect. */
static void run_mismatches(topology *t)
{
    int n[MOST], d[MOST], more[MOST];
    char send[4 * MOST], recv[4 * MOST];
    rota_plan *plan = NULL;

    for (int k = 0; k < MOST; k++) {
        n[k] = more[k] = 2;
        d[k] = 3 * k;
    }
    name_case(t, "mismatch", "one edge");
    const int last = t->n_to - 1; /* whose destination is ours to find */
    if (test_me == test_P - 1 && last >= 0)
        more[last] = 3;
    if (test_max(test_me == test_P - 1 && last >= 0 && t->to[last] >= 0))
        MUST_FAIL(AMONG(t, alltoallv_init, , MPI_INFO_NULL, &plan, send, more,
                        d, MPI_BYTE, recv, n, d, MPI_BYTE),
                  MPI_ERR_COUNT, "sends 3 bytes to rank");
    name_case(t, "mismatch", "overlap");
    if (test_max(t->n_from > 1 && t->from[0] >= 0 && t->from[1] >= 0)) {
        d[1] = 1;
        MUST_FAIL(AMONG(t, alltoallv_init, , MPI_INFO_NULL, &plan, send, n, d,
                        MPI_BYTE, recv, n, d, MPI_BYTE),
                  MPI_ERR_ARG, "receive blocks 0 and 1 overlap");
    }
}

/* A source that does not know of it. */
static void run_asymmetric(void)
{
    const int from = (test_me + test_P - 1) % test_P,
              to = (test_me + 1) % test_P;
    const int n = 1, d = 0;
    char send = 1, recv = 0;
    MPI_Comm comm;
    rota_plan *plan = NULL;

    for (int which = 0; which < 2; which++)
        for (int check = 0; check < 2; check++) {
            MPI_Info info =
                test_info("rota_check", check ? "on" : "off", NULL, NULL);
            const bool odd = test_me == test_P - 1;
            test_case = which ? "a source too few" : "a destination too few";
            MUST(MPI_Dist_graph_create_adjacent(
                MPI_COMM_WORLD, !(odd && which), &from, MPI_UNWEIGHTED,
                !(odd && !which), &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                &comm));
            MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
            MUST_FAIL(rota_neighbor_alltoallv_init(&send, &n, &d, MPI_BYTE,
                                                   &recv, &n, &d, MPI_BYTE,
                                                   comm, info, &plan),
                      MPI_ERR_TOPOLOGY, "more often");
            MUST_FAIL(
                rota_neighbor_exchange_init(8, MPI_BYTE, comm, info, &plan),
                MPI_ERR_TOPOLOGY, "more often");
            MUST(MPI_Comm_free(&comm));
            MPI_Info_free(&info);
        }
    test_case = "no topology";
    MUST_FAIL(rota_neighbor_alltoallv_init(&send, &n, &d, MPI_BYTE, &recv, &n,
                                           &d, MPI_BYTE, MPI_COMM_WORLD,
                                           MPI_INFO_NULL, &plan),
              MPI_ERR_TOPOLOGY, "no process topology");
    MUST_FAIL(rota_neighbor_exchange_init(8, MPI_BYTE, MPI_COMM_WORLD,
                                          MPI_INFO_NULL, &plan),
              MPI_ERR_TOPOLOGY, "no process topology");
}

/* Algorithms that are not for it; ranks that make another kind of plan. */
static void run_hints(const topology *t)
{
    MPI_Info wrong = test_info("rota_algorithm", "parlogna", NULL, NULL);
    MPI_Info other = test_info("rota_algorithm", "neighbor", NULL, NULL);
    rota_plan *plan = NULL;
    char send[MOST], recv[MOST];

    name_case(t, "hints", "");
    MUST_FAIL(rota_neighbor_alltoall_init(send, 1, MPI_BYTE, recv, 1, MPI_BYTE,
                                          t->comm, wrong, &plan),
              MPI_ERR_ARG, "parlogna is for all-to-alls");
    MUST_FAIL(rota_alltoall_init(send, 1, MPI_BYTE, recv, 1, MPI_BYTE, t->comm,
                                 other, &plan),
              MPI_ERR_ARG, "neighbor is for neighbours");
    if (test_P > 1)
        MUST_FAIL(test_me
                      ? rota_neighbor_alltoall_init(send, 1, MPI_BYTE, recv, 1,
                                                    MPI_BYTE, t->comm,
                                                    MPI_INFO_NULL, &plan)
                      : rota_alltoall_init(send, 1, MPI_BYTE, recv, 1, MPI_BYTE,
                                           t->comm, MPI_INFO_NULL, &plan),
                  MPI_ERR_ARG, "kind of plan");
    MPI_Info_free(&wrong);
    MPI_Info_free(&other);
}

/* ---- all ----------------------------------------------------------------- */

static void run_algorithm(const topology *t, const rota_algo *algo, bool brief)
{
    static const char *const ways[] = {"auto", "p2p", "shm"};
    static const char *const sizes[] = {"1", "2", "3"};
    char hint[80];

    for (int i = 0; i < 3; i++) {
        MPI_Info info =
            test_info("rota_algorithm", algo->name, "rota_intranode", ways[i]);
        if (algo->nodes)
            MPI_Info_set(info, "rota_node_size", sizes[i]);
        if (algo->params & ROTA_P_LEADERS)
            MPI_Info_set(info, "rota_leaders", sizes[(3 - i) % 3]);
        snprintf(hint, sizeof hint, "%s %s", algo->name, ways[i]);
        run_all(t, info, hint, brief || i > 0);
        MPI_Info_free(&info);
    }
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const bool brief = argc > 1 && strcmp(argv[1], "short") == 0;
    topology t;

    for (int which = 0; which < N_TOPOLOGIES; which++) {
        make_topology(&t, which);
        for (int i = 0; rota_neighbor_table[i]; i++)
            run_algorithm(&t, rota_neighbor_table[i], brief);
        MPI_Info none = test_info("rota_check", "on", NULL, NULL);
        run_all(&t, none, "chosen", true);
        MPI_Info_free(&none);
        run_errors(&t);
        run_mismatches(&t);
        run_hints(&t);
        make_graph_like(&t);
        MPI_Info named = test_info("rota_check", "on", NULL, NULL);
        run_all(&t, named, "graph", true);
        MPI_Info_free(&named);
        run_errors(&t);
        run_mismatches(&t);
        MUST(rota_graph_free(&t.graph));
        MUST(MPI_Comm_free(&t.comm));
    }
    run_asymmetric();
    return test_end();
}
