/* skew.c - plans on ranks that are never where the others are.
 *
 * usage: skew [seed [hosts]]
 *
 * With "hosts", ranks take one another for those of two hosts, and MPI carries
 * messages between these.
 *
 * Ranks stand still for a while before a start, between start and wait, and
 * where a plan is attached to the memory of the others. Plans are freed on one
 * rank while another has not received its last messages, and new ones are made
 * at once in the same memory.
 */
#include "exec/transport/lines/lines.h"
#include "harness.h"
#include "pattern.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- hosts --------------------------------------------------------------- */

static bool two_hosts;

int __wrap_gethostname(char *name, size_t n);

int __wrap_gethostname(char *name, size_t n)
{
    snprintf(name, n, "host%d", two_hosts && 2 * test_me >= test_P);
    return 0;
}

/* ---- standing still ------------------------------------------------------ */

static uint64_t chance_state;

static uint64_t draw(void)
{
    return chance_state = test_hash(chance_state + 1);
}

/* Most often not at all; now and then longer than any wait spins. */
static void dawdle(void)
{
    const uint64_t n = draw() % 16;

    if (n >= 12)
        test_stand_still(n == 15 ? 3000 : 100);
}

static long attach_us; /* how late this rank attaches */

bool __real_rota_lines_attach(rota_exec *x);
bool __wrap_rota_lines_attach(rota_exec *x);

bool __wrap_rota_lines_attach(rota_exec *x)
{
    if (attach_us > 0)
        test_stand_still(attach_us);
    return __real_rota_lines_attach(x);
}

/* ---- a plan and its data ------------------------------------------------- */

/* Blocks of bytes, end to end. */
typedef struct job {
    rota_plan *plan;
    MPI_Comm comm;
    int P, me;
    size_t (*bytes)(const struct job *j, int src, int dst);
    size_t largest;
    uint64_t seed;
    const char *intranode; /* NULL: as the environment has it */
    unsigned char *send, *recv;
    int *count[2], *displ[2]; /* [P] sent, received */
    int starts;
    bool running;
} job;

static size_t any_bytes(const job *j, int src, int dst)
{
    return pattern_bytes(RANDOM, j->seed, j->P, j->largest, src, dst);
}

/* Rank 0 sends, the others only receive. */
static size_t from_first(const job *j, int src, int dst)
{
    return src == 0 && dst != 0 ? j->largest - (size_t)dst : 0;
}

/* Rank r sends to r + 1 and nothing comes back, but from the last. */
static size_t onwards(const job *j, int src, int dst)
{
    return dst == src + 1 ? j->largest : 0;
}

static unsigned char *lay_out(job *j, int side)
{
    int at = 0;

    j->count[side] = malloc((size_t)j->P * sizeof(int));
    j->displ[side] = malloc((size_t)j->P * sizeof(int));
    for (int q = 0; q < j->P; q++) {
        j->count[side][q] =
            (int)(side == 0 ? j->bytes(j, j->me, q) : j->bytes(j, q, j->me));
        j->displ[side][q] = at;
        at += j->count[side][q];
    }
    return malloc((size_t)at + 1);
}

static job *open_job(job j, const char *algorithm)
{
    MPI_Info info =
        test_info("rota_algorithm", algorithm,
                  j.intranode ? "rota_intranode" : NULL, j.intranode);
    job *const made = malloc(sizeof *made);

    MPI_Comm_size(j.comm, &j.P);
    MPI_Comm_rank(j.comm, &j.me);
    j.send = lay_out(&j, 0);
    j.recv = lay_out(&j, 1);
    MUST(rota_alltoallv_init(j.send, j.count[0], j.displ[0], MPI_BYTE, j.recv,
                             j.count[1], j.displ[1], MPI_BYTE, j.comm, info,
                             &j.plan));
    MPI_Info_free(&info);
    if (!j.plan)
        MPI_Abort(MPI_COMM_WORLD, 1);
    *made = j;
    return made;
}

static void close_job(job *j)
{
    MUST(rota_plan_free(&j->plan));
    free(j->send);
    free(j->recv);
    for (int side = 0; side < 2; side++) {
        free(j->count[side]);
        free(j->displ[side]);
    }
    free(j);
}

static void start(job *j)
{
    j->starts++;
    j->running = true;
    for (int q = 0; q < j->P; q++) {
        for (int i = 0; i < j->count[0][q]; i++)
            j->send[j->displ[0][q] + i] =
                payload(j->me, q, (size_t)i, j->starts);
        memset(j->recv + j->displ[1][q], 0x5A, (size_t)j->count[1][q]);
    }
    MUST(rota_start(j->plan));
}

static void check(job *j)
{
    j->running = false;
    for (int q = 0; q < j->P; q++)
        for (int i = 0; i < j->count[1][q]; i++)
            if (j->recv[j->displ[1][q] + i] !=
                payload(q, j->me, (size_t)i, j->starts)) {
                test_fail(__FILE__, __LINE__,
                          "wrong byte %d of %d from rank %d in start %d", i,
                          j->count[1][q], q, j->starts);
                return;
            }
}

static void finish(job *j, bool by_test)
{
    int flag = 0;

    while (by_test && !flag)
        if (MUST(rota_test(j->plan, &flag)) != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 1);
    if (MUST(rota_wait(j->plan)) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    check(j);
}

static uint64_t shared_seed; /* drawn alike on all ranks */

static uint64_t draw_together(void)
{
    return shared_seed = test_hash(shared_seed + 7);
}

/* ---- parts --------------------------------------------------------------- */

/* The last rank has not attached yet when the first has run and freed both the
 * plan and its communicator. */
static void late_attach(void)
{
    test_case = "late attach";
    for (int i = 0; i < 3; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        attach_us = test_me == test_P - 1 ? 20000 : 0;
        job *const j = open_job((job){.comm = comm,
                                      .bytes = from_first,
                                      .largest = i == 2 ? 3000 : 40},
                                "spread_out");
        attach_us = 0;
        start(j);
        finish(j, false);
        close_job(j);
        MPI_Comm_free(&comm);
    }
}

/* One that sends runs ahead as far as there is room; the others dawdle. */
static void run_ahead(void)
{
    enum { STARTS = 60 };
    static const size_t largest[] = {8, 500, 30000, 200000};
    size_t (*const bytes[])(const job *, int, int) = {from_first, onwards};

    test_case = "running ahead";
    for (int i = 0; i < 8; i++) {
        job *const j = open_job((job){.comm = MPI_COMM_WORLD,
                                      .bytes = bytes[i % 2],
                                      .largest = largest[i / 2]},
                                i % 3 ? "spread_out" : "pairwise");
        for (int k = 0; k < (i < 4 ? STARTS : STARTS / 4); k++) {
            if (test_me != 0)
                dawdle();
            start(j);
            finish(j, k % 4 == 1);
        }
        close_job(j);
    }
}

/* The first rank is done with a plan and makes the next, in the same memory,
 * when the others have not even begun to receive. */
static void free_early(void)
{
    enum { PLANS = 40 };

    test_case = "freed early";
    for (int i = 0; i < PLANS; i++) {
        const size_t most = draw_together() % 3 == 0 ? 100000 : 300;
        job *const j = open_job((job){.comm = MPI_COMM_WORLD,
                                      .bytes = from_first,
                                      .seed = draw_together(),
                                      .largest = most},
                                "spread_out");
        for (int k = 0; k < 3; k++) {
            start(j);
            if (test_me != 0 && k == 0)
                test_stand_still(i % 8 == 0 ? 3000 : 200);
            finish(j, false);
        }
        close_job(j);
    }
}

/* Some jobs on several communicators in any order, here this and there that.
 * What is started is the same everywhere. */
static void mingle(void)
{
    enum { JOBS = 5, ROUNDS = 20 };
    static const char *const algorithm[JOBS] = {
        "scattered", "pairwise", "parlogna", "multi_pair", "two_phase_bruck"};
    MPI_Comm comm[2];
    job *j[JOBS];

    test_case = "mingled";
    MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -test_me, &comm[1]);
    for (int i = 0; i < JOBS; i++)
        j[i] = open_job((job){.comm = comm[i % 2],
                              .bytes = any_bytes,
                              .seed = draw_together(),
                              .largest = i == 3 ? 70000 : 400},
                        algorithm[i]);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t started = draw_together();
        for (int i = 0; i < JOBS; i++) {
            const int at = (i * 2 + test_me + round) % JOBS;
            if (started >> at & 1) {
                dawdle();
                start(j[at]);
            }
        }
        for (int i = 0; i < JOBS; i++) {
            const int at = (i * 3 + 2 * test_me) % JOBS;
            dawdle();
            if (j[at]->running)
                finish(j[at], draw() % 2);
        }
        const int fresh = (int)(draw_together() % JOBS);
        job again = {.comm = j[fresh]->comm,
                     .bytes = any_bytes,
                     .seed = draw_together(),
                     .largest = j[fresh]->largest};
        close_job(j[fresh]);
        j[fresh] = open_job(again, algorithm[fresh]);
    }
    for (int i = 0; i < JOBS; i++)
        close_job(j[i]);
    MPI_Comm_free(&comm[0]);
    MPI_Comm_free(&comm[1]);
}

/* Blocks longer than a whole ring, in every way that they may go. */
static void overflow(void)
{
    enum { LONG = 3000000 };
    static const char *const intranode[] = {"shm", "cma"};
    static const char *const algorithm[] = {"spread_out", "pairwise",
                                            "scattered", "two_phase_bruck"};

    test_case = "longer than a ring";
    for (int i = 0; i < 8; i++) {
        job *const j = open_job((job){.comm = MPI_COMM_WORLD,
                                      .bytes = i % 3 ? any_bytes : from_first,
                                      .seed = 5,
                                      .largest = LONG,
                                      .intranode = intranode[i % 2]},
                                algorithm[i / 2]);
        for (int k = 0; k < 2; k++) {
            start(j);
            finish(j, k);
        }
        close_job(j);
    }
}

/* Others sleep in their wait until this one comes. */
static void oversleep(void)
{
    test_case = "oversleeping";
    job *const j = open_job((job){.comm = MPI_COMM_WORLD,
                                  .bytes = any_bytes,
                                  .seed = 3,
                                  .largest = 5000},
                            "pairwise");
    for (int i = 0; i < 2 * test_P; i++) {
        if (i % test_P == test_me)
            test_stand_still(30000);
        start(j);
        if (i % test_P == (test_me + 1) % test_P)
            test_stand_still(10000);
        finish(j, false);
    }
    close_job(j);
}

/* One rank waits for another one in a plan, which first wants a message from it
 * that takes MPI some calls on both sides. */
static void send_meanwhile(void)
{
    enum { LONG = 1 << 24 };
    static const char *const algorithm[] = {"spread_out", "pairwise", "mpml"};
    char *const message = calloc(LONG, 1);

    test_case = "a message meanwhile";
    for (int i = 0; i < 3 * test_P; i++) {
        const int to = (i / 3 + 1 + i % 3) % test_P, from = i / 3;
        MPI_Request request = MPI_REQUEST_NULL;
        job *const j = open_job((job){.comm = MPI_COMM_WORLD,
                                      .bytes = any_bytes,
                                      .seed = 11,
                                      .largest = 500},
                                algorithm[i % 3]);
        if (test_me == from && to != from)
            MUST(MPI_Isend(message, LONG, MPI_BYTE, to, 1, MPI_COMM_WORLD,
                           &request));
        if (test_me == to && to != from) {
            test_stand_still(150000);
            MUST(MPI_Recv(message, LONG, MPI_BYTE, from, 1, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        }
        start(j);
        finish(j, i % 2);
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        close_job(j);
    }
    free(message);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    shared_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    two_hosts = argc > 2 && strcmp(argv[2], "hosts") == 0;
    chance_state = test_hash(shared_seed + 100 * (uint64_t)test_me);
    late_attach();
    run_ahead();
    free_early();
    mingle();
    oversleep();
    overflow();
    send_meanwhile();
    return test_end();
}
