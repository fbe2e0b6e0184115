/* sparse.c - sparse exchanges: who sends to whom is found out by those who
 * receive.
 *
 * usage: sparse [seed]
 *
 * The program stands between the library and MPI, and counts messages, and
 * between the library and the heap (by the linker's --wrap), and refuses memory.
 */
#include "harness.h"
#include "pattern.h"
#include "plan/kinds/plan.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- between the library and others -------------------------------------- */

static _Atomic int synchronous; /* messages sent so */
static _Atomic int heap;        /* allocations */
static int refuse_after = -1;   /* allocations, all that follow; -1: none */

#if MPI_VERSION >= 4
int MPI_Issend_c(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                 int tag, MPI_Comm comm, MPI_Request *request)
{
    synchronous++;
    return PMPI_Issend_c(buf, count, type, dest, tag, comm, request);
}
#else
int MPI_Issend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    synchronous++;
    return PMPI_Issend(buf, count, type, dest, tag, comm, request);
}
#endif

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool refuses(void)
{
    heap++;
    return refuse_after >= 0 && refuse_after-- == 0 && (refuse_after = 0) == 0;
}

void *__wrap_malloc(size_t size)
{
    return refuses() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuses() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return refuses() ? NULL : __real_realloc(old, size);
}

/* ---- standing still ------------------------------------------------------ */

static uint64_t chance_state, shared_state;

static uint64_t draw(void)
{
    return chance_state = test_hash(chance_state + 1);
}

static uint64_t draw_together(void)
{
    return shared_state = test_hash(shared_state + 7);
}

/* Most often not at all. */
static void dawdle(void)
{
    const uint64_t n = draw() % 16;

    if (n >= 13)
        test_stand_still(n == 15 ? 3000 : 100);
}

/* ---- a plan and its data ------------------------------------------------- */

enum { NOT_SENT = -1 };

/* Elements from src to dst in a start, or NOT_SENT. */
typedef int traffic(const void *arg, int src, int dst, int start);

typedef struct job {
    rota_plan *plan;
    MPI_Comm comm;
    MPI_Datatype type;
    int element, spacing, lb; /* bytes: of data, apart, before the first */
    int P, me;
    traffic *elements;
    const void *arg;
    int starts, n;
    unsigned char *send;
    int *dests, *counts, *displs;
    MPI_Count *counts_c;
    MPI_Aint *displs_c;
    unsigned char *user; /* where blocks go, or NULL */
    bool running;
} job;

static int byte_type(const void *arg, int src, int dst, int start)
{
    (void)arg, (void)src, (void)dst, (void)start;
    return 3;
}

static job *open_job(MPI_Comm comm, traffic *elements, const void *arg)
{
    job *const j = calloc(1, sizeof *j);

    *j = (job){.comm = comm,
               .type = MPI_BYTE,
               .element = 1,
               .spacing = 1,
               .elements = elements ? elements : byte_type,
               .arg = arg};
    MPI_Comm_size(comm, &j->P);
    MPI_Comm_rank(comm, &j->me);
    j->dests = calloc((size_t)j->P, sizeof *j->dests);
    j->counts = calloc((size_t)j->P, sizeof *j->counts);
    j->displs = calloc((size_t)j->P, sizeof *j->displs);
    j->counts_c = calloc((size_t)j->P, sizeof *j->counts_c);
    j->displs_c = calloc((size_t)j->P, sizeof *j->displs_c);
    return j;
}

static void make_plan_as(job *j, MPI_Info info)
{
    if (MUST(rota_exchange_init_sparse(j->type, j->comm, info, &j->plan)) !=
        MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void make_plan(job *j)
{
    make_plan_as(j, MPI_INFO_NULL);
}

static void close_job(job *j)
{
    MUST(rota_plan_free(&j->plan));
    free(j->send);
    free(j->dests);
    free(j->counts);
    free(j->displs);
    free(j->counts_c);
    free(j->displs_c);
    free(j);
}

/* Byte i of the data of a block lies there, from its first element. */
static size_t data_at(const job *j, size_t i)
{
    const size_t e = (size_t)j->element;

    if (j->element == j->spacing)
        return i;
    /* Two halves, apart: see typed. */
    const size_t in = i % e, half = e / 2;
    return i / e * (size_t)j->spacing + (size_t)j->lb +
           (in < half ? in : in + half);
}

static void list_dests(job *j)
{
    const int first = (int)(draw() % (uint64_t)j->P);
    const bool down = draw() % 2;
    int at = 1;

    j->n = 0;
    for (int i = 0; i < j->P; i++) {
        const int d = (first + (down ? j->P - i : i)) % j->P;
        const int n = j->elements(j->arg, j->me, d, j->starts);
        if (n == NOT_SENT)
            continue;
        j->dests[j->n] = d;
        j->counts[j->n] = n;
        j->displs[j->n] = at;
        j->counts_c[j->n] = n;
        j->displs_c[j->n++] = at;
        at += n + 1;
    }
    free(j->send);
    j->send = malloc((size_t)at * (size_t)j->spacing + 1);
    memset(j->send, 0xA5, (size_t)at * (size_t)j->spacing + 1);
}

static void start(job *j)
{
    j->starts++;
    list_dests(j);
    for (int b = 0; b < j->n; b++)
        for (int i = 0; i < j->counts[b] * j->element; i++)
            j->send[j->displs[b] * j->spacing + (int)data_at(j, (size_t)i)] =
                payload(j->me, j->dests[b], (size_t)i, j->starts);
    j->running = true;
    if (j->starts % 2)
        MUST(rota_exchange_start_sparse(j->plan, j->send, j->n, j->dests,
                                        j->counts, j->displs));
    else
        MUST(rota_exchange_start_sparse_c(j->plan, j->send, j->n, j->dests,
                                          j->counts_c, j->displs_c));
    /* Arrays may be reused at once. */
    memset(j->dests, 0xff, (size_t)j->P * sizeof *j->dests);
    memset(j->counts, 0xff, (size_t)j->P * sizeof *j->counts);
}

static bool right_bytes(const job *j, const unsigned char *block, int src,
                        int n)
{
    for (int i = 0; i < n * j->element; i++)
        if (block[data_at(j, (size_t)i)] !=
            payload(src, j->me, (size_t)i, j->starts))
            return false;
    return true;
}

static void check_found(job *j, const unsigned char *buffer, int n,
                        const int sources[], const MPI_Count counts[],
                        const MPI_Aint displs[])
{
    MPI_Aint at = 0;
    int k = 0;

    for (int src = 0; src < j->P; src++) {
        const int expected = j->elements(j->arg, src, j->me, j->starts);
        if (expected == NOT_SENT)
            continue;
        if (k >= n || sources[k] != src || counts[k] != expected ||
            displs[k] != at ||
            !right_bytes(j, buffer + at * j->spacing, src, expected)) {
            test_fail(__FILE__, __LINE__,
                      "start %d: source %d of %d is %d with %lld elements at "
                      "%lld, not %d with %d at %lld, or has other bytes",
                      j->starts, k, n, k < n ? sources[k] : -1,
                      k < n ? (long long)counts[k] : -1,
                      k < n ? (long long)displs[k] : -1, src, expected,
                      (long long)at);
            return;
        }
        at += expected;
        k++;
    }
    if (k != n)
        test_fail(__FILE__, __LINE__, "start %d: %d sources, not %d", j->starts,
                  n, k);
}

static void finish(job *j)
{
    const int *sources, *counts, *displs;
    const MPI_Count *counts_c;
    const MPI_Aint *displs_c;
    void *buffer;
    int n = -1, err, flag = 0;

    while (j->starts % 3 == 2 && !flag)
        MUST(rota_test(j->plan, &flag));
    if (j->starts % 4 < 2) {
        err = rota_exchange_wait_sparse_c(j->plan, &buffer, &n, &sources,
                                          &counts_c, &displs_c);
    } else {
        err = rota_exchange_wait_sparse(j->plan, &buffer, &n, &sources, &counts,
                                        &displs);
        for (int i = 0; i < n; i++) {
            j->counts_c[i] = counts[i];
            j->displs_c[i] = displs[i];
        }
        counts_c = j->counts_c;
        displs_c = j->displs_c;
    }
    if (MUST(err) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    CHECK(!j->user || buffer == j->user);
    check_found(j, buffer, n, sources, counts_c, displs_c);
    j->running = false;
}

/* ---- who sends to whom --------------------------------------------------- */

typedef struct mixture {
    pattern pattern;
    size_t largest;
    int P;
    uint64_t seed;
    bool told; /* of blocks without bytes, too */
} mixture;

static int by_pattern(const void *arg, int src, int dst, int start)
{
    const mixture *const m = arg;
    const size_t n = pattern_bytes(m->pattern, m->seed + (uint64_t)start, m->P,
                                   m->largest, src, dst);

    return n == 0 && !(m->told && (src + dst + start) % 3 == 0) ? NOT_SENT
                                                                : (int)n;
}

static void all_patterns(void)
{
    static const size_t largest[] = {1, 40, 3000, 100000};
    char name[80];

    for (int p = 0; p < N_PATTERNS; p++)
        for (int i = 0; i < 4; i++) {
            const mixture m = {.pattern = (pattern)p,
                               .largest = largest[i],
                               .P = test_P,
                               .seed = draw_together(),
                               .told = i % 2};
            snprintf(name, sizeof name, "%s, %zu bytes", pattern_name[p],
                     largest[i]);
            test_case = name;
            if (p == HUGE_SINGLE && i == 3)
                continue;
            job *const j = open_job(MPI_COMM_WORLD, by_pattern, &m);
            make_plan(j);
            for (int k = 0; k < 4; k++) {
                start(j);
                finish(j);
            }
            close_job(j);
        }
    test_case = "";
}

/* ---- ranks that are not where the others are ----------------------------- */

static void out_of_step(void)
{
    test_case = "out of step";
    for (int i = 0; i < 6; i++) {
        const mixture m = {.pattern = i % 2 ? SPARSE : RANDOM,
                           .largest = i < 3 ? 100 : 20000,
                           .P = test_P,
                           .seed = draw_together()};
        job *const j = open_job(MPI_COMM_WORLD, by_pattern, &m);
        make_plan(j);
        for (int k = 0; k < 40; k++) {
            dawdle();
            start(j);
            dawdle();
            finish(j);
        }
        /* Others may still read, and write to what is made next. */
        close_job(j);
    }
}

/* All sleep in their wait until one comes. */
static void oversleep(void)
{
    const mixture m = {.pattern = RANDOM, .largest = 300, .P = test_P};

    test_case = "oversleeping";
    job *const j = open_job(MPI_COMM_WORLD, by_pattern, &m);
    make_plan(j);
    for (int i = 0; i < 2 * test_P; i++) {
        if (i % test_P == test_me)
            test_stand_still(20000);
        start(j);
        if (i % test_P == (test_me + 1) % test_P)
            test_stand_still(10000);
        finish(j);
    }
    close_job(j);
}

/* Several plans on two communicators, started in any order. */
static void mingle(void)
{
    enum { JOBS = 6, ROUNDS = 30 };
    MPI_Comm comm[2];
    mixture m[JOBS];
    job *j[JOBS];

    test_case = "mingled";
    MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_me, &comm[1]);
    for (int i = 0; i < JOBS; i++) {
        m[i] = (mixture){.pattern = i % 2 ? SPARSE : BAND,
                         .largest = i == 3 ? 70000 : 200,
                         .P = test_P,
                         .seed = draw_together()};
        j[i] = open_job(comm[i % 2], by_pattern, &m[i]);
        make_plan(j[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t started = draw_together();
        for (int i = 0; i < JOBS; i++) {
            const int at = (i + test_me + round) % JOBS;
            if (!(started >> at & 1))
                continue;
            dawdle();
            start(j[at]);
        }
        for (int i = 0; i < JOBS; i++) {
            const int at = (JOBS - i + 2 * test_me) % JOBS;
            if (j[at]->running)
                finish(j[at]);
        }
    }
    for (int i = 0; i < JOBS; i++)
        close_job(j[i]);
    MPI_Comm_free(&comm[0]);
    MPI_Comm_free(&comm[1]);
}

/* One rank waits for a sparse exchange, the next one first for another plan. */
static void beside_others(void)
{
    const mixture m = {.pattern = RANDOM, .largest = 300, .P = test_P};
    rota_plan *other;
    int *const counts = calloc((size_t)test_P, sizeof *counts);
    int *const displs = calloc((size_t)test_P, sizeof *displs);
    char *const from = calloc((size_t)test_P, 10);
    char *const to = calloc((size_t)test_P, 10);

    test_case = "beside other plans";
    for (int q = 0; q < test_P; q++) {
        counts[q] = 10;
        displs[q] = 10 * q;
    }
    job *const j = open_job(MPI_COMM_WORLD, by_pattern, &m);
    make_plan(j);
    MUST(rota_alltoallv_init(from, counts, displs, MPI_BYTE, to, counts, displs,
                             MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &other));
    for (int k = 0; k < 20; k++) {
        start(j);
        MUST(rota_start(other));
        if ((test_me + k) % 2)
            MUST(rota_wait(other));
        finish(j);
        MUST(rota_wait(other));
    }
    MUST(rota_plan_free(&other));
    close_job(j);
    free(counts);
    free(displs);
    free(from);
    free(to);
}

/* Plans that are made, run once and freed, one after the other. */
static void short_lives(void)
{
    test_case = "short lives";
    for (int i = 0; i < 60; i++) {
        const mixture m = {.pattern = RANDOM,
                           .largest = i % 5 ? 50 : 5000,
                           .P = test_P,
                           .seed = draw_together()};
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        job *const j = open_job(comm, by_pattern, &m);
        make_plan(j);
        if (i % 3)
            start(j);
        MPI_Comm_free(&comm);
        if (i % 3) {
            if (test_me == i % test_P)
                test_stand_still(1000);
            finish(j);
        }
        close_job(j);
    }
}

/* ---- elements that are not bytes end to end ------------------------------ */

/* Two doubles, eight bytes apart, the first of them after eight: 48 bytes. */
static void typed(void)
{
    const mixture m = {.pattern = RANDOM, .largest = 2000, .P = test_P};
    MPI_Datatype halves, shifted, type;
    const int one = 1;
    const MPI_Aint eight = 8;

    test_case = "elements of a type";
    MUST(MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &halves));
    MUST(MPI_Type_create_hindexed(1, &one, &eight, halves, &shifted));
    MUST(MPI_Type_create_resized(shifted, 0, 48, &type));
    MUST(MPI_Type_commit(&type));
    job *const j = open_job(MPI_COMM_WORLD, by_pattern, &m);
    j->type = type;
    j->element = 16;
    j->spacing = 48;
    j->lb = 8;
    make_plan(j);
    MUST(MPI_Type_free(&halves));
    MUST(MPI_Type_free(&shifted));
    MUST(MPI_Type_free(&type));
    for (int k = 0; k < 5; k++) {
        start(j);
        finish(j);
    }
    close_job(j);
}

/* ---- the caller's buffer ------------------------------------------------- */

static int in_a_ring(const void *arg, int src, int dst, int start)
{
    const int *const P = arg;

    return dst == (src + 1) % *P ? 10 + start : NOT_SENT;
}

static void own_buffer(void)
{
    unsigned char *const small = malloc(4), *const large = malloc(100);
    const int *sources = NULL, *counts = NULL;
    void *buffer = NULL;
    int n = -1;

    test_case = "own buffer";
    job *const j = open_job(MPI_COMM_WORLD, in_a_ring, &test_P);
    make_plan(j);
    MUST(rota_exchange_set_buffer(j->plan, small, 4));
    start(j);
    MUST_FAIL(rota_exchange_wait_sparse(j->plan, &buffer, &n, &sources, &counts,
                                        NULL),
              MPI_ERR_BUFFER, "11 bytes");
    CHECK(!buffer && n == 1 && counts[0] == 11 &&
          sources[0] == (test_me + test_P - 1) % test_P);
    MUST(rota_exchange_set_buffer(j->plan, large, 100));
    j->user = large;
    finish(j);
    for (int k = 0; k < 3; k++) {
        start(j);
        finish(j);
    }
    MUST(rota_exchange_set_buffer(j->plan, NULL, 0));
    j->user = NULL;
    start(j);
    finish(j);
    close_job(j);
    free(small);
    free(large);
}

/* ---- steady state -------------------------------------------------------- */

static void steady(void)
{
    const mixture m = {.pattern = BAND, .largest = 500, .P = test_P};
    job *const j = open_job(MPI_COMM_WORLD, by_pattern, &m);
    int allocations = 0;

    test_case = "steady state";
    make_plan(j);
    for (int k = 0; k < 20; k++) {
        const int *sources;
        void *buffer;
        int n;
        j->starts = 1; /* the same again and again */
        list_dests(j);
        const int before = heap;
        MUST(rota_exchange_start_sparse(j->plan, j->send, j->n, j->dests,
                                        j->counts, j->displs));
        MUST(rota_exchange_wait_sparse(j->plan, &buffer, &n, &sources, NULL,
                                       NULL));
        allocations = heap - before;
    }
    CHECK(allocations == 0);
    close_job(j);
}

/* ---- messages ------------------------------------------------------------ */

/* Has a rank of the node of this one a block of at most so many bytes for any of
 * node b? */
static bool has_short_one(const job *j, int b, int most)
{
    const rota_topo *const t = j->plan->task.topo;

    for (int p = 0; p < j->P; p++)
        for (int q = 0; q < j->P; q++) {
            if (t->node[p] != t->node[j->me] || t->node[q] != b)
                continue;
            const int n = j->elements(j->arg, p, q, j->starts);
            if (n != NOT_SENT && n <= most)
                return true;
        }
    return false;
}

/* What this rank sends by MPI: blocks for other groups and, in bundles, one
 * message for each node that it is the agent for and that anything short goes
 * to. */
static int count_expected(const job *j)
{
    const rota_plan *const p = j->plan;
    const rota_topo *const t = p->task.topo;
    const bool bundles =
        p->built.choice.algo == &rota_algo_consensus_node && !p->built.node_why;
    const int most = !bundles ? -1
                     : p->built.choice.params.bundle > 0
                         ? p->built.choice.params.bundle
                         : INT_MAX;
    int count = 0;

    for (int q = 0; q < j->P; q++) {
        const int n = j->elements(j->arg, j->me, q, j->starts);
        const bool apart =
            p->built.node_why ? q != j->me : t->node[q] != t->node[j->me];
        count += apart && n != NOT_SENT && n > most;
    }
    for (int b = 0; b < t->n_nodes && bundles; b++) {
        const int away = (b - t->node[j->me] + t->n_nodes) % t->n_nodes;
        const int here = rota_topo_node_size(t, t->node[j->me]);
        if (away > 0 && t->local[j->me] == away % here)
            count += has_short_one(j, b, most);
    }
    return count;
}

static void count_messages(MPI_Info info, traffic *elements, const void *arg)
{
    job *const j = open_job(MPI_COMM_WORLD, elements, arg);

    make_plan_as(j, info);
    for (int k = 0; k < 4; k++) {
        const int before = synchronous;
        start(j);
        finish(j);
        if (synchronous - before != count_expected(j))
            test_fail(__FILE__, __LINE__,
                      "start %d: %d messages by MPI, not %d", j->starts,
                      synchronous - before, count_expected(j));
    }
    close_job(j);
}

/* Between nodes there are no more than the formula says, within them none. */
static void messages(void)
{
    static const char *const hints[][2] = {
        {NULL, NULL},
        {"consensus", "0"},
        {"consensus_node", "0"},
        {"consensus_node", "50"},
    };
    const mixture m = {.pattern = SPARSE, .largest = 100, .P = test_P};
    const mixture many = {.pattern = RANDOM, .largest = 100, .P = test_P};

    test_case = "messages";
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        MPI_Info info = MPI_INFO_NULL;
        if (hints[i][0])
            info = test_info("rota_algorithm", hints[i][0], "rota_bundle",
                             hints[i][1]);
        count_messages(info, NULL, NULL);
        count_messages(info, by_pattern, &m);
        count_messages(info, by_pattern, &many);
        if (info != MPI_INFO_NULL)
            MPI_Info_free(&info);
    }
}

/* ---- mistakes ------------------------------------------------------------ */

static void bad_starts(job *j)
{
    rota_plan *const p = j->plan;
    const int two[] = {0, 0}, here[] = {test_me}, beyond[] = {test_P};
    const int below[] = {-1}, one[] = {1}, ones[] = {1, 1}, minus[] = {-1};
    const int at[] = {0, 1};
    const MPI_Count large[] = {(MPI_Count)1 << 62};
    const MPI_Aint zero[] = {0};
    char data[4] = "abc", named[40];

    snprintf(named, sizeof named, "dests[0] = %d is no rank", test_P);
    MUST_FAIL(rota_exchange_start_sparse(NULL, data, 1, here, one, at),
              MPI_ERR_REQUEST, "plan is NULL");
    MUST_FAIL(rota_exchange_start_sparse(p, data, 1, beyond, one, at),
              MPI_ERR_ARG, named);
    MUST_FAIL(rota_exchange_start_sparse(p, data, 1, below, one, at),
              MPI_ERR_ARG, "dests[0] = -1");
    MUST_FAIL(rota_exchange_start_sparse(p, data, 2, two, ones, at),
              MPI_ERR_ARG, "rank 0 twice");
    MUST_FAIL(rota_exchange_start_sparse(p, data, -3, here, one, at),
              MPI_ERR_COUNT, "n = -3 is negative");
    MUST_FAIL(rota_exchange_start_sparse(p, data, 1, NULL, one, at),
              MPI_ERR_ARG, "dests is NULL");
    MUST_FAIL(rota_exchange_start_sparse(p, data, 1, here, NULL, at),
              MPI_ERR_ARG, "sendcounts is NULL");
    MUST_FAIL(rota_exchange_start_sparse(p, data, 1, here, one, NULL),
              MPI_ERR_ARG, "sdispls is NULL");
    MUST_FAIL(rota_exchange_start_sparse(p, data, 1, here, minus, at),
              MPI_ERR_COUNT, "sendcounts[0] = -1");
    MUST_FAIL(rota_exchange_start_sparse_c(p, data, 1, here, large, zero),
              MPI_ERR_COUNT, "beyond the address space");
    MUST_FAIL(rota_exchange_start_sparse(p, NULL, 1, here, one, at),
              MPI_ERR_BUFFER, "sendbuf is NULL");
    MUST_FAIL(rota_exchange_start_sparse(p, MPI_IN_PLACE, 1, here, one, at),
              MPI_ERR_BUFFER, "MPI_IN_PLACE");
    MUST_FAIL(rota_start(p), MPI_ERR_REQUEST, "a sparse exchange");
    MUST_FAIL(rota_exchange_start(p, data, one, at), MPI_ERR_REQUEST,
              "a sparse exchange");
}

static void bad_waits(job *j)
{
    const int *sources, *counts, *displs;
    void *buffer;
    int n;

    MUST_FAIL(rota_exchange_wait_sparse(j->plan, &buffer, &n, &sources, &counts,
                                        &displs),
              MPI_ERR_REQUEST, "not active");
    start(j);
    MUST_FAIL(rota_exchange_start_sparse(j->plan, NULL, 0, NULL, NULL, NULL),
              MPI_ERR_REQUEST, "is active");
    MUST_FAIL(rota_exchange_wait_sparse(NULL, &buffer, &n, NULL, NULL, NULL),
              MPI_ERR_REQUEST, "plan is NULL");
    MUST_FAIL(rota_exchange_wait_sparse(j->plan, NULL, &n, NULL, NULL, NULL),
              MPI_ERR_ARG, "recvbuf is NULL");
    MUST_FAIL(
        rota_exchange_wait_sparse(j->plan, &buffer, NULL, NULL, NULL, NULL),
        MPI_ERR_ARG, "n_sources is NULL");
    MUST_FAIL(rota_wait(j->plan), MPI_ERR_REQUEST, "rota_exchange_wait_sparse");
    MUST_FAIL(rota_exchange_wait(j->plan, &buffer, NULL, NULL), MPI_ERR_REQUEST,
              "a sparse exchange");
    MUST_FAIL(rota_plan_free(&j->plan), MPI_ERR_REQUEST, "is active");
    finish(j);
}

static void bad_plans(void)
{
    rota_plan *plan = NULL;
    MPI_Datatype pair, wide;

    MUST_FAIL(rota_exchange_init_sparse(MPI_BYTE, MPI_COMM_NULL, MPI_INFO_NULL,
                                        &plan),
              MPI_ERR_COMM, "");
    MUST_FAIL(rota_exchange_init_sparse(MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                                        test_me == 0 ? NULL : &plan),
              MPI_ERR_ARG, "plan is NULL");
    MUST_FAIL(rota_exchange_init_sparse(MPI_DATATYPE_NULL, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &plan),
              MPI_ERR_TYPE, "type");
    MUST(MPI_Type_contiguous(2, MPI_INT, &pair));
    MUST(MPI_Type_create_resized(pair, 0, 4, &wide));
    MUST(MPI_Type_commit(&wide));
    MUST_FAIL(
        rota_exchange_init_sparse(wide, MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
        MPI_ERR_TYPE, "outside");
    MUST(MPI_Type_free(&pair));
    MUST(MPI_Type_free(&wide));
    CHECK(!plan);
    if (test_P == 1)
        return;
    MUST_FAIL(rota_exchange_init_sparse(test_me == 0 ? MPI_INT : MPI_DOUBLE,
                                        MPI_COMM_WORLD, MPI_INFO_NULL, &plan),
              MPI_ERR_ARG, "size of type");
    MUST_FAIL(test_me == 0
                  ? rota_exchange_init_sparse(MPI_INT, MPI_COMM_WORLD,
                                              MPI_INFO_NULL, &plan)
                  : rota_exchange_init(ROTA_UNBOUNDED, MPI_INT, MPI_COMM_WORLD,
                                       MPI_INFO_NULL, &plan),
              MPI_ERR_ARG, "kind of plan");
    CHECK(!plan);
}

static void mistakes(void)
{
    char text[4000];
    size_t length = sizeof text;

    test_case = "mistakes";
    job *const j = open_job(MPI_COMM_WORLD, in_a_ring, &test_P);
    make_plan(j);
    bad_starts(j);
    bad_waits(j);
    MUST(rota_plan_describe(j->plan, ROTA_DESCRIBE_TEXT, text, &length));
    CHECK(strstr(text, "sparse exchange") && strstr(text, "consensus"));
    start(j);
    finish(j);
    close_job(j);
    bad_plans();
}

/* ---- memory that there is not -------------------------------------------- */

/* One rank is refused what follows its nth allocation: all fail, or none. */
static void no_memory_to_make(void)
{
    rota_plan *plan = NULL;
    int failed = 1, n = 0;

    for (; failed && n < 200; n++) {
        refuse_after = test_me == n % test_P ? n : -1;
        const int err = rota_exchange_init_sparse(MPI_INT, MPI_COMM_WORLD,
                                                  MPI_INFO_NULL, &plan);
        refuse_after = -1;
        failed = err != MPI_SUCCESS;
        if (failed)
            MUST_FAIL(err, MPI_ERR_NO_MEM, "no memory");
        CHECK(test_max(failed) == failed);
        CHECK(failed == !plan);
        if (!failed && n < 2)
            failed = 1; /* too early */
        MUST(rota_plan_free(&plan));
    }
    CHECK(n < 200);
}

static void no_memory_to_run(void)
{
    const int *sources = NULL;
    void *buffer = NULL;
    int n = 0;

    job *const j = open_job(MPI_COMM_WORLD, in_a_ring, &test_P);
    make_plan(j);
    j->starts = 1;
    list_dests(j);
    memset(j->send, 7, 1);
    refuse_after = 0;
    const int err = rota_exchange_start_sparse(j->plan, j->send, j->n, j->dests,
                                               j->counts, j->displs);
    refuse_after = -1;
    MUST_FAIL(err, MPI_ERR_NO_MEM, "no memory");
    j->starts = 0;
    start(j);
    int flag = 0;
    while (!flag)
        MUST(rota_test(j->plan, &flag));
    for (int k = 0; k < 3; k++) {
        refuse_after = k > 0; /* what was had before is kept */
        const int waited = rota_exchange_wait_sparse(j->plan, &buffer, &n,
                                                     &sources, NULL, NULL);
        refuse_after = -1;
        MUST_FAIL(waited, MPI_ERR_NO_MEM, "no memory");
    }
    finish(j);
    close_job(j);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    shared_state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    chance_state = test_hash(shared_state + 100 * (uint64_t)test_me);
    mistakes();
    own_buffer();
    all_patterns();
    messages();
    typed();
    out_of_step();
    oversleep();
    mingle();
    beside_others();
    short_lives();
    steady();
    test_case = "no memory";
    no_memory_to_make();
    no_memory_to_run();
    return test_end();
}
