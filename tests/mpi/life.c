/* life.c - plans come and go: steady state, many plans, freed communicators,
 * several in flight, threads.
 *
 * The program stands between the library and MPI (by its profiling interface)
 * and between the library and the heap (by the linker's --wrap), and counts.
 */
#include "algos/algo.h"
#include "harness.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counters ------------------------------------------------------------ */

static struct {
    _Atomic int heap;    /* allocations of the library */
    _Atomic int objects; /* requests, communicators, types, windows made */
    _Atomic int started; /* persistent messages */
    _Atomic int posted;  /* ordinary ones */
} n;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    n.heap++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    n.heap++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    n.heap++;
    return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    n.heap++;
    return __real_aligned_alloc(alignment, size);
}

int MPI_Start(MPI_Request *request)
{
    n.started++;
    return PMPI_Start(request);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    n.objects++;
    return PMPI_Comm_dup(comm, copy);
}

int MPI_Type_dup(MPI_Datatype type, MPI_Datatype *copy)
{
    n.objects++;
    return PMPI_Type_dup(type, copy);
}

#if MPI_VERSION >= 4

int MPI_Send_init_c(const void *data, MPI_Count count, MPI_Datatype type,
                    int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    n.objects++;
    return PMPI_Send_init_c(data, count, type, peer, tag, comm, request);
}

int MPI_Recv_init_c(void *data, MPI_Count count, MPI_Datatype type, int peer,
                    int tag, MPI_Comm comm, MPI_Request *request)
{
    n.objects++;
    return PMPI_Recv_init_c(data, count, type, peer, tag, comm, request);
}

int MPI_Isend_c(const void *data, MPI_Count count, MPI_Datatype type, int peer,
                int tag, MPI_Comm comm, MPI_Request *request)
{
    n.posted++;
    return PMPI_Isend_c(data, count, type, peer, tag, comm, request);
}

int MPI_Irecv_c(void *data, MPI_Count count, MPI_Datatype type, int peer,
                int tag, MPI_Comm comm, MPI_Request *request)
{
    n.posted++;
    return PMPI_Irecv_c(data, count, type, peer, tag, comm, request);
}

#else

int MPI_Send_init(const void *data, int count, MPI_Datatype type, int peer,
                  int tag, MPI_Comm comm, MPI_Request *request)
{
    n.objects++;
    return PMPI_Send_init(data, count, type, peer, tag, comm, request);
}

int MPI_Recv_init(void *data, int count, MPI_Datatype type, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    n.objects++;
    return PMPI_Recv_init(data, count, type, peer, tag, comm, request);
}

#endif

int MPI_Isend(const void *data, int count, MPI_Datatype type, int peer, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    n.posted++;
    return PMPI_Isend(data, count, type, peer, tag, comm, request);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int peer, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    n.posted++;
    return PMPI_Irecv(data, count, type, peer, tag, comm, request);
}

static void reset(void)
{
    n.heap = n.objects = n.started = n.posted = 0;
}

/* ---- a plan of single ints ----------------------------------------------- */

typedef struct ints {
    rota_plan *plan;
    int *send, *recv;
    int salt;
} ints;

static void open_ints(ints *x, MPI_Comm comm, MPI_Info info, int salt)
{
    int P;

    MPI_Comm_size(comm, &P);
    x->salt = salt;
    x->plan = NULL;
    x->send = malloc((size_t)P * sizeof(int));
    x->recv = malloc((size_t)P * sizeof(int));
    MUST(rota_alltoall_init(x->send, 1, MPI_INT, x->recv, 1, MPI_INT, comm,
                            info, &x->plan));
}

static void close_ints(ints *x)
{
    MUST(rota_plan_free(&x->plan));
    free(x->send);
    free(x->recv);
}

static void start_ints(ints *x, int iteration)
{
    for (int q = 0; q < test_P; q++) {
        x->send[q] = x->salt + iteration + 1000 * test_me + q;
        x->recv[q] = -1;
    }
    MUST(rota_start(x->plan));
}

static void check_ints(const ints *x, int iteration)
{
    for (int q = 0; q < test_P; q++)
        CHECK(x->recv[q] == x->salt + iteration + 1000 * q + test_me);
}

/* ---- parts --------------------------------------------------------------- */

/* Starts allocate nothing, make nothing, and send what the schedule says. */
static void steady_state(const rota_algo *algo, const char *intranode)
{
    enum { STARTS = 20 };
    MPI_Info info = test_info("rota_algorithm", algo->name, "rota_radix", "2");
    const bool by_mpi = strcmp(intranode, "p2p") == 0;
    ints x;

    MPI_Info_set(info, "rota_intranode", intranode);

    test_case = algo->name;
    open_ints(&x, MPI_COMM_WORLD, info, 5);
    const long messages = test_stated(x.plan, "messages");
    start_ints(&x, 0);
    MUST(rota_wait(x.plan));
    test_barrier(); /* no init's messages are counted below */
    reset();
    for (int i = 0; i < STARTS; i++) {
        start_ints(&x, i);
        MUST(rota_wait(x.plan));
        check_ints(&x, i);
    }
    CHECK(n.heap == 0);
    CHECK(n.objects == 0);
    /* As many come in; sizes that are told at every start are posted. */
    if (!algo->every_start) {
        CHECK(n.posted == 0);
        CHECK(n.started == (by_mpi ? 2 * STARTS * messages : 0));
    }
    close_ints(&x);
    MPI_Info_free(&info);
}

static void steady_varying(const rota_algo *algo, const char *intranode)
{
    MPI_Info info =
        test_info("rota_algorithm", algo->name, "rota_intranode", intranode);
    const bool by_mpi = strcmp(intranode, "p2p") == 0;
    int counts[64], displs[64], send[64] = {0}, recv[64];
    rota_plan *plan = NULL;

    test_case = algo->name;
    MUST(rota_alltoallv_varying_init(8, MPI_INT, MPI_COMM_WORLD, info, &plan));
    for (int q = 0; q < test_P; q++)
        displs[q] = q;
    for (int i = 0; i < 10; i++) {
        if (i == 1)
            reset();
        for (int q = 0; q < test_P; q++)
            counts[q] = i % 2;
        MUST(rota_alltoallv_start(plan, send, counts, displs, recv, counts,
                                  displs));
        MUST(rota_wait(plan));
    }
    CHECK(n.heap == 0);
    CHECK(n.objects == 0);
    CHECK(n.started == 0);
    if (!algo->native) /* five of the nine starts had anything to send */
        CHECK(n.posted == (by_mpi ? 5 * 2 * (test_P - 1) : 0));
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

/* Starts of the same sizes allocate nothing after the first two (an exchange
 * may grow in the first, and its even and odd starts are alike), but for a block
 * that comes before its turn: the first time its message needs memory of its own,
 * and of such messages there is one a peer. */
static void steady_exchange(const rota_algo *algo, size_t bound,
                            const char *intranode)
{
    MPI_Info info = test_info("rota_algorithm", algo->name, "rota_radix", "2");
    int counts[64], displs[64], send[64 * 8] = {0}, got[64], at[64];
    rota_plan *plan = NULL;

    MPI_Info_set(info, "rota_intranode", intranode);
    test_case = algo->name;
    MUST(rota_exchange_init(bound, MPI_INT, MPI_COMM_WORLD, info, &plan));
    for (int q = 0; q < test_P; q++) {
        counts[q] = (test_me + q) % 3;
        displs[q] = 8 * q;
    }
    for (int i = 0; i < 10; i++) {
        void *found;
        if (i == 2)
            reset();
        MUST(rota_exchange_start(plan, send, counts, displs));
        MUST(rota_exchange_wait(plan, &found, got, at));
        CHECK(got[0] == test_me % 3);
    }
    CHECK(n.heap <= (rota_algo_is_direct(algo) ? 0 : test_P - 1));
    CHECK(n.objects == 0);
    CHECK(n.started == 0);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

static void steady(const rota_algo *algo, const char *intranode)
{
    steady_state(algo, intranode);
    if (algo->sizes == ROTA_SIZES_STATED)
        steady_varying(algo, intranode);
    if (algo->native || algo->sizes == ROTA_SIZES_PADDED)
        return;
    steady_exchange(algo, 32, intranode);
    steady_exchange(algo, ROTA_UNBOUNDED, intranode);
}

/* Tags and contexts are given back. */
static void many_plans(int many)
{
    MPI_Info info = test_info("rota_algorithm", "mpi", NULL, NULL);
    ints x;

    test_case = "many plans";
    for (int i = 0; i < many; i++) {
        /* a plan with a communicator of its own now and then */
        open_ints(&x, MPI_COMM_WORLD, i % 50 ? MPI_INFO_NULL : info, i);
        if (i == 100)
            reset();
        if (i % 100 == 0) {
            start_ints(&x, i);
            MUST(rota_wait(x.plan));
            check_ints(&x, i);
        }
        close_ints(&x);
    }
    MPI_Info_free(&info);
}

/* Communicators come and go with plans on them; the last plan outlives its
 * communicator. MPICH has about 2,000. */
static void many_communicators(int many)
{
    test_case = "many communicators";
    for (int i = 0; i < many; i++) {
        MPI_Comm comm;
        ints x;
        PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
        open_ints(&x, comm, MPI_INFO_NULL, i);
        MPI_Comm_free(&comm);
        start_ints(&x, i);
        MUST(rota_wait(x.plan));
        check_ints(&x, i);
        close_ints(&x);
    }
}

/* All in flight at once, started and completed in orders of each rank. */
static void in_flight(const char *algorithm)
{
    enum { PLANS = 12, ROUNDS = 5 };
    MPI_Info info = test_info("rota_algorithm", algorithm, NULL, NULL);
    ints x[PLANS];
    rota_plan *all[PLANS];

    test_case = algorithm;
    for (int i = 0; i < PLANS; i++)
        open_ints(&x[i], MPI_COMM_WORLD, info, 7 * i);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PLANS; i++) /* 5, 7, 11 generate all of 0..11 */
            start_ints(&x[(i * 5 + test_me * 7 + round) % PLANS], round);
        for (int i = 0; i < PLANS; i++) {
            all[i] = x[(i * 7 + test_me) % PLANS].plan;
            if (i % 3 == 0)
                MUST(rota_wait(all[i]));
        }
        MUST(rota_waitall(PLANS, all));
        for (int i = 0; i < PLANS; i++)
            check_ints(&x[i], round);
    }
    for (int i = 0; i < PLANS; i++)
        all[i] = x[i].plan;
    for (int i = 0; i < PLANS; i++)
        for (int q = 0; q < test_P; q++)
            x[i].send[q] = 3;
    MUST(rota_startall(PLANS, all));
    MUST(rota_waitall(PLANS, all));
    for (int i = 0; i < PLANS; i++)
        close_ints(&x[i]);
    MPI_Info_free(&info);
}

/* Here one plan is waited for first and there another: each wait must advance
 * the other plan too. Phases with a peer in each make that necessary. */
static void crossed_waits(void)
{
    enum { STARTS = 20 };
    MPI_Info info = test_info("rota_algorithm", "pairwise", NULL, NULL);
    ints a, b;

    test_case = "crossed waits";
    open_ints(&a, MPI_COMM_WORLD, info, 1);
    open_ints(&b, MPI_COMM_WORLD, info, 2);
    for (int i = 0; i < STARTS; i++) {
        start_ints(&a, i);
        start_ints(&b, i);
        MUST(rota_wait(test_me % 2 ? a.plan : b.plan));
        MUST(rota_wait(test_me % 2 ? b.plan : a.plan));
        check_ints(&a, i);
        check_ints(&b, i);
    }
    /* a plan is made while another is active, here before and there after the
     * wait; on a new communicator, whose state is made by collectives of MPI's
     * that advance nothing */
    MPI_Comm comm;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 2; i++) {
        start_ints(&a, 1);
        if (test_me != 0)
            MUST(rota_wait(a.plan));
        close_ints(&b);
        open_ints(&b, i ? comm : MPI_COMM_WORLD, info, 3);
        MUST(rota_wait(a.plan));
        check_ints(&a, 1);
    }
    MPI_Comm_free(&comm);
    close_ints(&a);
    close_ints(&b);
    MPI_Info_free(&info);
}

static void *thread_main(void *arg)
{
    ints *const x = arg;

    for (int i = 0; i < 200; i++) {
        start_ints(x, i);
        MUST(rota_wait(x->plan));
        check_ints(x, i);
    }
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    ints x[THREADS];

    test_case = "threads";
    for (int i = 0; i < THREADS; i++)
        open_ints(&x[i], MPI_COMM_WORLD, MPI_INFO_NULL, 11 * i);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, thread_main, &x[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        close_ints(&x[i]);
}

int main(int argc, char **argv)
{
    const bool threaded = argc > 1 && strcmp(argv[1], "threads") == 0;
    const int many = argc > 1 && !threaded ? atoi(argv[1]) : 60;

    test_begin(&argc, &argv,
               threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    if (threaded) {
        threads();
        return test_end();
    }
    for (int i = 0; rota_algo_table[i]; i++) {
        steady(rota_algo_table[i], "p2p");
        steady(rota_algo_table[i], "shm");
        in_flight(rota_algo_table[i]->name);
    }
    crossed_waits();
    many_plans(many);
    many_communicators(many / 4);
    return test_end();
}
