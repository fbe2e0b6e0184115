/* progress.c - plans that a thread moves on while the program is elsewhere.
 *
 *   progress            under MPI_THREAD_SINGLE
 *   progress multiple   under MPI_THREAD_MULTIPLE
 *   progress nodes      what several nodes can: MPI moves the rest
 *   progress nodes multiple
 *   progress combinations [funneled | serialized | multiple]
 *                       every kind of plan, way of messages, hint and place of the
 *                       others that docs/guide.md says is safe
 *
 * All ranks start a plan. One of them completes it, and only then may the others
 * leave where they are: in a call of MPI, asleep, or busy. Where nothing moves
 * messages on meanwhile, that is for ever.
 */
#include "harness.h"
#include "pattern.h"

#include <dirent.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How often some rank was done, for those that are not in MPI: in memory that
 * all ranks share. */
static _Atomic int *rounds_done;
static int rounds;
static MPI_Comm aside;
static bool multiple; /* MPI_THREAD_MULTIPLE */

static void share_rounds(MPI_Win *window)
{
    MPI_Aint bytes;
    int unit;

    MUST(MPI_Win_allocate_shared(sizeof *rounds_done, 1, MPI_INFO_NULL,
                                 MPI_COMM_WORLD, &rounds_done, window));
    MUST(MPI_Win_shared_query(*window, 0, &bytes, &unit, &rounds_done));
    if (test_me == 0)
        atomic_store(rounds_done, 0);
    test_barrier();
}

/* ---- where the others are ------------------------------------------------ */

typedef enum place {
    RECEIVING,
    AT_BARRIER,
    ASLEEP,
    BUSY,
    N_PLACES,
    IN_HANDLER = N_PLACES, /* of a signal */
    ALL_PLACES
} place;

static int n_places = N_PLACES; /* that are tried */

static void on_signal(int number)
{
    const struct timespec nap = {.tv_nsec = 1000000};

    (void)number;
    while (atomic_load(rounds_done) < rounds)
        nanosleep(&nap, NULL);
}

static void stay(place where, int until)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    int token;

    switch (where) {
    case RECEIVING:
        MUST(MPI_Recv(&token, 1, MPI_INT, until, 1, aside, MPI_STATUS_IGNORE));
        break;
    case AT_BARRIER:
        MUST(MPI_Barrier(aside));
        break;
    case IN_HANDLER:
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
        break;
    default:
        while (atomic_load(rounds_done) < rounds)
            if (where == ASLEEP)
                nanosleep(&nap, NULL);
    }
}

/* Let them go. */
static void release(place where)
{
    atomic_store(rounds_done, rounds);
    for (int q = 0; q < test_P && where == RECEIVING; q++)
        if (q != test_me)
            MUST(MPI_Send(&q, 1, MPI_INT, q, 1, aside));
    if (where == AT_BARRIER)
        MUST(MPI_Barrier(aside));
}

/* ---- plans --------------------------------------------------------------- */

typedef enum kind { FIXED, VARYING, EXCHANGE } kind;

/* Blocks of bytes, end to end. */
typedef struct job {
    kind kind;
    const char *algorithm;
    size_t largest;
    rota_plan *plan;
    unsigned char *send, *recv;
    int count[2][8], displ[2][8]; /* of each rank, sent and received */
    int starts;
} job;

static int block_bytes(const job *j, int src, int dst)
{
    return (int)j->largest - (3 * src + dst) % 7;
}

static void lay_out(job *j)
{
    int at[2] = {0, 0};

    for (int q = 0; q < test_P; q++)
        for (int side = 0; side < 2; side++) {
            j->count[side][q] = side == 0 ? block_bytes(j, test_me, q)
                                          : block_bytes(j, q, test_me);
            j->displ[side][q] = at[side];
            at[side] += j->count[side][q];
        }
    j->send = malloc((size_t)at[0]);
    j->recv = malloc((size_t)at[1]);
}

static job open_with(kind kind, const char *algorithm, size_t largest,
                     const char *progress, const char *intranode)
{
    job j = {.kind = kind, .algorithm = algorithm, .largest = largest};
    MPI_Info info = test_info("rota_progress", progress,
                              algorithm ? "rota_algorithm" : NULL, algorithm);

    if (intranode)
        MPI_Info_set(info, "rota_intranode", intranode);
    lay_out(&j);
    if (kind == FIXED)
        MUST(rota_alltoallv_init(j.send, j.count[0], j.displ[0], MPI_BYTE,
                                 j.recv, j.count[1], j.displ[1], MPI_BYTE,
                                 MPI_COMM_WORLD, info, &j.plan));
    else if (kind == VARYING)
        MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE,
                                         MPI_COMM_WORLD, info, &j.plan));
    else
        MUST(rota_exchange_init(strcmp(progress, "mpi") == 0 ? largest
                                                             : ROTA_UNBOUNDED,
                                MPI_BYTE, MPI_COMM_WORLD, info, &j.plan));
    MPI_Info_free(&info);
    return j;
}

static job open_job(kind kind, const char *algorithm, size_t largest)
{
    return open_with(kind, algorithm, largest, "thread", NULL);
}

static void close_job(job *j)
{
    MUST(rota_plan_free(&j->plan));
    free(j->send);
    free(j->recv);
}

static void start(job *j)
{
    j->starts++;
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < j->count[0][q]; i++)
            j->send[j->displ[0][q] + i] =
                payload(test_me, q, (size_t)i, j->starts);
    if (j->kind == FIXED)
        MUST(rota_start(j->plan));
    else if (j->kind == VARYING)
        MUST(rota_alltoallv_start(j->plan, j->send, j->count[0], j->displ[0],
                                  j->recv, j->count[1], j->displ[1]));
    else
        MUST(rota_exchange_start(j->plan, j->send, j->count[0], j->displ[0]));
}

static void check(const job *j, const unsigned char *found)
{
    int wrong = 0;

    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < j->count[1][q]; i++)
            wrong += found[j->displ[1][q] + i] !=
                     payload(q, test_me, (size_t)i, j->starts);
    if (wrong > 0)
        test_fail(__FILE__, __LINE__, "%d wrong bytes of %s, %zu", wrong,
                  j->algorithm, j->largest);
}

static void finish(job *j, bool by_test)
{
    void *found = j->recv;
    int flag = 0;

    while (by_test && !flag)
        MUST(rota_test(j->plan, &flag));
    if (j->kind == EXCHANGE)
        MUST(rota_exchange_wait(j->plan, &found, NULL, NULL));
    else
        MUST(rota_wait(j->plan));
    check(j, found);
}

/* ---- parts --------------------------------------------------------------- */

/* One round with n jobs, of which the rank that comes first needs all. */
static void go_round(job j[], int n, place where)
{
    const int first = rounds++ % test_P;
    const bool by_test = rounds / test_P % 2;

    for (int i = 0; i < n; i++)
        start(&j[(i + test_me) % n]);
    if (test_me != first)
        stay(where, first);
    for (int i = 0; i < n; i++)
        finish(&j[i], by_test);
    if (test_me == first)
        release(where);
}

static void every_size(void)
{
    static const size_t largest[] = {8,      700,     5000,   65536,
                                     200000, 1 << 20, 4 << 20};

    test_case = "sizes";
    for (size_t s = 0; s < sizeof largest / sizeof *largest; s++) {
        job j = open_job(FIXED, "spread_out", largest[s]);
        for (int i = 0; i < n_places * test_P; i++)
            go_round(&j, 1, (place)(i % n_places));
        close_job(&j);
    }
}

/* Phases that need each other, windows, data that flow through. */
static void every_algorithm(void)
{
    static const char *const algorithm[] = {
        "parlogna", "two_phase_bruck", "pairwise", "scattered", "multi_pair"};

    test_case = "algorithms";
    for (size_t i = 0; i < 2 * sizeof algorithm / sizeof *algorithm; i++) {
        job j = open_job(FIXED, algorithm[i / 2], i % 2 ? 300000 : 3000);
        for (int where = 0; where < N_PLACES; where++)
            go_round(&j, 1, (place)where);
        close_job(&j);
    }
}

/* Several plans of all kinds in flight, freed at once by who is first. */
static void many(void)
{
    enum { JOBS = 4, TIMES = 3 };
    static const size_t largest[JOBS] = {300000, 20, 5000, 100000};
    static const kind kinds[JOBS] = {FIXED, EXCHANGE, VARYING, VARYING};
    job j[JOBS];

    test_case = "many";
    for (int k = 0; k < TIMES; k++) {
        for (int i = 0; i < JOBS; i++)
            j[i] = open_job(kinds[i], "spread_out", largest[i]);
        for (int i = 0; i < 2 * N_PLACES; i++)
            go_round(j, JOBS, (place)(i % N_PLACES));
        for (int i = 0; i < JOBS; i++)
            close_job(&j[i]);
    }
}

/* Ranks start again while their threads are still at work for the others. */
static void in_turns(void)
{
    enum { ROUNDS = 300 };
    job j = open_job(FIXED, "spread_out", 150000);

    test_case = "in turns";
    for (int i = 0; i < ROUNDS; i++) {
        const struct timespec nap = {
            .tv_nsec =
                (long)(test_hash((uint64_t)(i * 8 + test_me)) % 2000000)};
        start(&j);
        if ((i + test_me) % 3 == 0)
            nanosleep(&nap, NULL);
        finish(&j, i % 2);
    }
    close_job(&j);
}

/* ---- the thread and what is said of it ----------------------------------- */

static int count_threads(void)
{
    DIR *const tasks = opendir("/proc/self/task");
    int n = 0;

    while (tasks && readdir(tasks))
        n++;
    if (tasks)
        closedir(tasks);
    return n;
}

static void check_description(MPI_Datatype type, const char *words)
{
    MPI_Info info = test_info("rota_progress", "thread", NULL, NULL);
    char text[8192];
    size_t length = sizeof text;
    rota_plan *plan = NULL;

    MUST(rota_alltoallv_varying_init(100, type, MPI_COMM_WORLD, info, &plan));
    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length));
    if (!strstr(text, words))
        test_fail(__FILE__, __LINE__, "no %s in %s", words, text);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

static void description(void)
{
    MPI_Datatype type;

    test_case = "description";
    MUST(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
    MUST(MPI_Type_commit(&type));
    check_description(MPI_BYTE, "\"progress\":\"thread\"");
    if (multiple) { /* the thread may call MPI */
        check_description(type, "\"progress\":\"thread\"");
    } else {
        check_description(type, "\"progress\":\"calls\"");
        check_description(type, "MPI packs elements of a type");
    }
    MUST(MPI_Type_free(&type));
}

/* There is one while a communicator has had plans that want it. */
static void thread_comes_and_goes(void)
{
    MPI_Info info = test_info("rota_progress", "thread", NULL, NULL);
    const int before = count_threads();
    MPI_Comm comm[2];
    rota_plan *plan[2];

    test_case = "thread";
    for (int i = 0; i < 2; i++) {
        MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]));
        MUST(rota_exchange_init(8, MPI_BYTE, comm[i], info, &plan[i]));
        CHECK(count_threads() == before + 1);
    }
    MUST(MPI_Comm_free(&comm[0])); /* before its plan */
    for (int i = 0; i < 2; i++) {
        CHECK(count_threads() == before + 1);
        MUST(rota_plan_free(&plan[i]));
    }
    MUST(MPI_Comm_free(&comm[1]));
    CHECK(count_threads() == before);
    MPI_Info_free(&info);
}

/* A plan that is never freed: the thread must not keep the process. */
static void left_behind(void)
{
    static job j;

    test_case = "left behind";
    j = open_job(FIXED, "spread_out", 5000);
    go_round(&j, 1, ASLEEP);
}

/* ---- combinations -------------------------------------------------------- */

/* How messages within the node go; between nodes they go by MPI. */
typedef struct way {
    const char *name, *intranode;
    size_t largest;
    bool by_mpi;
} way;

static const way lines = {"lines", NULL, 40, false};
static const way pool = {"pool", "shm", 150000, false};
static const way mpi_short = {"MPI", "p2p", 40, true};
static const way mpi_long = {"MPI, long", "p2p", 150000, true};

/* What docs/guide.md says. */
static bool is_safe(const char *progress, bool by_mpi, kind kind, bool rounds,
                    place where)
{
    const bool in_mpi = where == RECEIVING || where == AT_BARRIER;

    if (strcmp(progress, "mpi") == 0)
        return in_mpi && !rounds;
    return multiple || !by_mpi || (in_mpi && !rounds && kind != EXCHANGE);
}

static bool is_called(const job *j, const char *progress)
{
    char text[8192], words[40];
    size_t length = sizeof text;

    MUST(rota_plan_describe(j->plan, ROTA_DESCRIBE_JSON, text, &length));
    snprintf(words, sizeof words, "\"progress\":\"%s\"", progress);
    return strstr(text, words) != NULL;
}

/* One plan with all others in each place where that is safe. */
static void combine(const char *progress, const way *w, kind kind, bool rounds,
                    int places)
{
    const char *const algorithm = rounds                         ? "parlogna"
                                  : strcmp(progress, "mpi") == 0 ? NULL
                                                                 : "spread_out";
    job j = open_with(kind, algorithm, w->largest, progress,
                      strcmp(progress, "mpi") == 0 ? NULL : w->intranode);
    char text[100];

    snprintf(text, sizeof text, "%s, %s, kind %d, %s", progress, w->name,
             (int)kind, rounds ? "rounds" : "one round");
    test_case = text;
    if (multiple || strcmp(progress, "mpi") == 0)
        CHECK(is_called(&j, progress) ||
              !is_safe(progress, w->by_mpi, kind, rounds, AT_BARRIER));
    for (int where = 0; where < places; where++)
        for (int i = 0; i < test_P; i++)
            if (is_safe(progress, w->by_mpi, kind, rounds, (place)where))
                go_round(&j, 1, (place)where);
    close_job(&j);
    test_case = "";
}

static void combine_all(const way *const ways[], int n_ways, int places)
{
    for (int i = 0; i < n_ways; i++)
        for (int k = FIXED; k <= EXCHANGE; k++) {
            combine("mpi", ways[i], (kind)k, false, places);
            for (int rounds = 0; rounds < 2; rounds++)
                combine("thread", ways[i], (kind)k, rounds, places);
        }
}

static void combinations(void)
{
    static const way *const all[] = {&lines, &pool, &mpi_short, &mpi_long};
    MPI_Win window;

    share_rounds(&window);
    combine_all(all, 4, ALL_PLACES);
    MUST(MPI_Win_free(&window));
}

static void across_nodes(void)
{
    static const way *const all[] = {&mpi_short, &mpi_long};
    static _Atomic int mine;

    rounds_done = &mine;
    n_places = ASLEEP; /* those in MPI */
    every_size();
    combine_all(all, 2, ASLEEP);
}

static void in_one_node(void)
{
    MPI_Win window;

    share_rounds(&window);
    thread_comes_and_goes();
    description();
    every_size();
    every_algorithm();
    many();
    in_turns();
    left_behind();
    MUST(MPI_Win_free(&window));
}

static int level_of(const char *name)
{
    if (strcmp(name, "multiple") == 0)
        return MPI_THREAD_MULTIPLE;
    if (strcmp(name, "serialized") == 0)
        return MPI_THREAD_SERIALIZED;
    return strcmp(name, "funneled") == 0 ? MPI_THREAD_FUNNELED
                                         : MPI_THREAD_SINGLE;
}

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "";
    const int level = level_of(argc > 1 ? argv[argc - 1] : "");

    test_begin(&argc, &argv, level);
    multiple = level == MPI_THREAD_MULTIPLE;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &aside));
    if (strcmp(what, "nodes") == 0)
        across_nodes();
    else if (strcmp(what, "combinations") == 0)
        combinations();
    else
        in_one_node();
    MUST(MPI_Comm_free(&aside));
    return test_end();
}
