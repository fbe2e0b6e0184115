/* race_shm.c - messages through shared memory between threads, for the thread
 * sanitizer.
 *
 * Every thread is a rank: an executor of its own, bound to a schedule of
 * several messages a pair, of which it posts and serves the messages as a run
 * does, standing still now and then. All share the process's arena. In some jobs
 * rank 0 runs as a process would, beside a progress thread. MPI is not called.
 */
#include "exec/move.h"
#include "exec/progress.h"
#include "exec/shm.h"
#include "pattern.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 4, REPEATS = 3 };

/* Of a sleep in which no thread does anything, so that nobody is left to end it.
 * The library itself sleeps for 4 ms at most. */
#define LIMIT_NS 3000000000

/* What threads have done, by no order in memory, which might hide a race. */
static _Atomic uint64_t steps;

/* What all ranks do at the same time. */
typedef struct job {
    size_t bytes; /* of a block */
    bool one_way; /* only rank 0 sends */
    bool in_arena;
    int runs;
    bool by_thread; /* rank 0's part */
} job;

static const job jobs[] = {
    {8, false, false, 200, false},     {8, true, false, 500, false},
    {700, false, false, 100, false},   {5000, false, true, 50, false},
    {5000, true, true, 100, false},    {200000, false, false, 3, false},
    {200000, false, true, 3, false},   {1200000, true, false, 2, false},
    {1200000, false, false, 1, false}, {300, true, false, 200, false},
    {8, false, false, 60, true},       {200000, false, true, 12, true},
    {1200000, false, false, 6, true},
};

static rota_near near[RANKS];
static rota_bell bell[RANKS];
static rota_gong gong[ROTA_GONGS];
static uint64_t board[RANKS][RANKS];
static pthread_barrier_t reserved, run_over, finished;

typedef struct rank {
    int me;
    uint64_t chance;
    rota_sched s;
    rota_node node;
    int of[RANKS];
    rota_exec x;
    size_t bytes[2 * RANKS];
    ptrdiff_t offset[2 * RANKS];
    char *buffer[2]; /* sent, received */
} rank;

static void must(bool good, const char *what)
{
    if (good)
        return;
    printf("FAILED: %s\n", what);
    exit(EXIT_FAILURE);
}

static size_t bytes_between(const job *j, int src, int dst)
{
    return src == dst || (j->one_way && src != 0) ? 0 : j->bytes;
}

/* Every pair's block goes REPEATS times, in one phase. */
static void build(rank *r)
{
    must(rota_sched_init(&r->s, RANKS, r->me) == MPI_SUCCESS, "a schedule");
    rota_phase_begin(&r->s, 0);
    for (int k = 0; k < REPEATS; k++)
        for (int i = 1; i < RANKS; i++) {
            const int src = (r->me + RANKS - i) % RANKS;
            const int dst = (r->me + i) % RANKS;
            rota_emit_recv(&r->s, src, rota_dst(&r->s, src));
            rota_emit_send(&r->s, dst, rota_src(&r->s, dst));
        }
    must(rota_sched_end(&r->s) == MPI_SUCCESS, "a schedule");
}

static void set_sides(rank *r, const job *j)
{
    for (int side = 0; side < 2; side++) {
        size_t at = 0;
        for (int q = 0; q < RANKS; q++) {
            const size_t n = side == 0 ? bytes_between(j, r->me, q)
                                       : bytes_between(j, q, r->me);
            r->bytes[side * RANKS + q] = n;
            r->offset[side * RANKS + q] = (ptrdiff_t)at;
            at += n;
        }
        r->buffer[side] =
            j->in_arena ? rota_arena_alloc(at + 1) : malloc(at + 1);
        must(r->buffer[side] != NULL, "a buffer");
    }
    rota_sched_fold(&r->s, r->bytes);
}

static void open_job(rank *r, const job *j)
{
    static const rota_type byte = {MPI_BYTE, 1, 1};
    bool refused = true;

    build(r);
    set_sides(r, j);
    r->node = (rota_node){.n = RANKS,
                          .me = r->me,
                          .of = r->of,
                          .near = near,
                          .gong = gong,
                          .gong_name = 1};
    r->x = (rota_exec){
        .s = &r->s,
        .node = &r->node,
        .arena_from = 2048,
        .cma_from = SIZE_MAX,
        .type = {byte, byte, byte},
        .base = {r->buffer[0], r->buffer[1], NULL},
        .bytes = r->bytes,
        .offset = r->offset,
        .fixed = true,
        .by_thread = j->by_thread,
    };
    must(rota_shm_reserve(&r->x, &refused) == MPI_SUCCESS && !refused, "rings");
    must(rota_exec_bind(&r->x) == MPI_SUCCESS, "binding");
    pthread_barrier_wait(&reserved);
    rota_shm_attach(&r->x);
    pthread_barrier_wait(&reserved); /* before boards are written again */
}

/* Others may still have messages of this rank to receive. */
static void close_job(rank *r, const job *j)
{
    rota_exec_unbind(&r->x);
    rota_sched_free(&r->s);
    for (int side = 0; side < 2; side++)
        if (j->in_arena)
            rota_arena_free(r->buffer[side]);
        else
            free(r->buffer[side]);
}

static void count_step(void)
{
    atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
}

static uint64_t steps_done(void)
{
    return atomic_load_explicit(&steps, memory_order_relaxed);
}

static void dawdle(rank *r)
{
    const struct timespec nap = {.tv_nsec = 100000};

    count_step();
    r->chance = test_hash(r->chance);
    if (r->chance % 64 == 0)
        nanosleep(&nap, NULL);
    else if (r->chance % 4 == 0)
        sched_yield();
}

static void post_all(rank *r)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < r->s.msgs[dir].n; m++) {
            must(rota_shm_post(&r->x, (rota_dir)dir, m) == MPI_SUCCESS, "post");
            dawdle(r);
        }
}

/* One half of the ranks do so by the gong. */
static bool sleeps_by_gong(const rank *r)
{
    return r->me % 2 == 1;
}

static bool sleep_until(rank *r, uint32_t armed_at, long ns)
{
    return sleeps_by_gong(r)
               ? rota_gong_sleep(rota_node_gong(&r->node, r->me),
                                 rota_node_seat(r->me), near[r->me].bell, ns)
               : rota_bell_sleep(near[r->me].bell, armed_at, ns);
}

/* All may stand still between the last mark and waking: once. */
static _Atomic int overslept;

/* Until the bell is rung, however long others are kept from running: all of
 * them may have been, together, until this one ran again. */
static void sleep_armed(rank *r, uint32_t armed_at)
{
    uint64_t before = steps_done();
    int limits = 0;

    while (!sleep_until(r, armed_at, LIMIT_NS)) {
        limits = steps_done() == before ? limits + 1 : 0;
        must(limits < 3, "rings were lost");
        must(rota_bell_is_armed(near[r->me].bell) ||
                 atomic_fetch_add(&overslept, 1) < RANKS,
             "sleeps went on with all marks off");
        before = steps_done();
    }
}

/* Rank 0 may not have started yet when it is called, so it is called again. */
static void call(rank *r, uint32_t armed_at)
{
    rota_shm_call(&r->x);
    sleep_until(r, armed_at, 1000000);
}

/* As a wait does, asleep when nothing moves, but with no end in sight: a ring
 * that is lost is seen. */
static void serve_all(rank *r)
{
    uint32_t armed_at = 0;
    bool armed = false;

    for (bool done = false; !done;) {
        bool moved = false, takes = false;
        if (armed) {
            const int n = rota_shm_await(&r->x, &takes);
            dawdle(r);
            armed_at = rota_bell_arm(near[r->me].bell, n, takes,
                                     sleeps_by_gong(r) ? r->node.gong_name : 0);
            dawdle(r);
            rota_shm_mark(&r->x);
            rota_bell_fence();
            dawdle(r);
        }
        must(rota_shm_serve(&r->x, &moved, &done) == MPI_SUCCESS, "serve");
        rota_shm_flush(&r->x);
        dawdle(r);
        if (done || moved) {
            armed = false;
            continue;
        }
        if (armed && r->x.by_thread)
            call(r, armed_at);
        else if (armed)
            sleep_armed(r, armed_at);
        armed = !armed;
    }
}

static void fill(rank *r, const job *j, int iteration)
{
    for (int q = 0; q < RANKS; q++) {
        char *const out = r->buffer[0] + r->offset[q];
        const size_t n = bytes_between(j, q, r->me);
        for (size_t i = 0; i < r->bytes[q]; i++)
            out[i] = (char)payload(r->me, q, i, iteration);
        memset(r->buffer[1] + r->offset[RANKS + q], 0, n);
        count_step();
    }
}

static void check(const rank *r, const job *j, int iteration)
{
    for (int q = 0; q < RANKS; q++) {
        count_step();
        for (size_t i = 0; i < bytes_between(j, q, r->me); i++)
            must(r->buffer[1][r->offset[RANKS + q] + (ptrdiff_t)i] ==
                     (char)payload(q, r->me, i, iteration),
                 "wrong data");
    }
}

/* What the library looks for where no message goes by MPI. */
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag,
               MPI_Status *status)
{
    (void)source;
    (void)tag;
    (void)comm;
    (void)status;
    *flag = 0;
    return MPI_SUCCESS;
}

/* Rank 0 waits, tests, or is elsewhere until the others are done. */
static void run_whole(rank *r, int run)
{
    bool done = false;

    must(rota_exec_start(&r->x) == MPI_SUCCESS, "start");
    if (run % 3 == 0)
        pthread_barrier_wait(&run_over);
    for (; run % 3 == 1 && !done; dawdle(r))
        must(rota_exec_test(&r->x, &done) == MPI_SUCCESS, "test");
    must(rota_exec_wait(&r->x) == MPI_SUCCESS, "wait");
    if (run % 3 != 0)
        pthread_barrier_wait(&run_over);
}

static void run_parts(rank *r)
{
    rota_shm_begin(&r->x);
    post_all(r);
    rota_shm_flush(&r->x);
    serve_all(r);
    if (r->x.by_thread)
        pthread_barrier_wait(&run_over);
}

static void *live(void *arg)
{
    rank *const r = arg;

    for (int q = 0; q < RANKS; q++)
        r->of[q] = q;
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        open_job(r, &jobs[i]);
        for (int run = 0; run < jobs[i].runs; run++) {
            fill(r, &jobs[i], run);
            if (r->x.by_thread && r->me == 0)
                run_whole(r, run);
            else
                run_parts(r);
            check(r, &jobs[i], run);
        }
        close_job(r, &jobs[i]);
    }
    /* A thread that ends calls madvise, which libraries below MPI replace by
     * something that the sanitizer does not survive then. */
    pthread_barrier_wait(&finished);
    for (;;)
        pause();
    return NULL;
}

int main(void)
{
    static rank ranks[RANKS];
    pthread_t thread[RANKS];
    rota_arena_card card;

    if (rota_arena_open(&card) != MPI_SUCCESS) {
        printf("skipped: %s\n", rota_fail_text());
        return 77;
    }
    must(rota_progress_hold(), "the progress thread");
    pthread_barrier_init(&reserved, NULL, RANKS);
    pthread_barrier_init(&run_over, NULL, RANKS);
    pthread_barrier_init(&finished, NULL, RANKS + 1);
    for (int q = 0; q < RANKS; q++) {
        near[q] = (rota_near){
            .head = rota_arena_own(), .bell = &bell[q], .board = board[q]};
        ranks[q] = (rank){.me = q, .chance = (uint64_t)q};
    }
    near[0].bell = &rota_arena_own()->bell; /* on which a wait sleeps */
    for (int q = 0; q < RANKS; q++)
        must(pthread_create(&thread[q], NULL, live, &ranks[q]) == 0, "thread");
    pthread_barrier_wait(&finished);
    return EXIT_SUCCESS;
}
