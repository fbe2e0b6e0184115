/* race_shm.c - messages through shared memory between threads, for the thread
 * sanitizer.
 *
 * Every thread is a rank: an executor of its own, bound to a schedule of one or
 * several messages a pair, which it steps through as a run does, standing still
 * now and then. In some jobs two more threads of a rank make blocks ready and
 * read what has arrived meanwhile. Each rank has a head with a doorbell and flags
 * of its own; all share the process's arena and pool. In some jobs rank 0 runs as
 * a process would, beside a progress thread. Before that, threads of a process
 * whose first plans are made at once do so: what begins once begins there, while
 * others wait, and nothing but the library orders them. MPI is not called.
 */
#include "exec/memory/pool.h"
#include "exec/move/blocks.h"
#include "exec/move/lock.h"
#include "exec/run/active.h"
#include "exec/run/progress.h"
#include "exec/run/run.h"
#include "exec/run/waiting.h"
#include "exec/transport/lines/lines.h"
#include "pattern.h"
#include "plan/kinds/parts.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 4 };

/* Of a sleep in which no thread does anything, so that nobody is left to end it.
 * The library itself sleeps for 4 ms at most. */
#define LIMIT_NS 3000000000

/* What threads have done, by no order in memory, which might hide a race. */
static _Atomic uint64_t steps;

/* Who sends: all ranks; only rank 0; or, for some runs, one rank of each pair, and
 * then the other. Then who has nothing to send wakes who waits for room to. */
typedef enum senders { ALL, FIRST, IN_TURN } senders;

/* What all ranks do at the same time. */
typedef struct job {
    size_t bytes; /* of a block */
    senders who;
    bool in_arena;
    int runs;
    bool by_thread; /* rank 0's part */
    int repeats;    /* messages a pair and run */
    bool parts;     /* others write blocks, and read those that arrive */
} job;

static const job jobs[] = {
    {8, ALL, false, 200, false, 3, false},
    {8, FIRST, false, 500, false, 3, false},
    {8, ALL, false, 400, false, 1, false},
    {700, ALL, false, 100, false, 1, false},
    {700, ALL, false, 100, false, 3, false},
    {5000, ALL, true, 50, false, 3, false},
    {5000, FIRST, true, 100, false, 3, false},
    {200000, ALL, false, 3, false, 1, false},
    {200000, ALL, true, 3, false, 3, false},
    {1200000, FIRST, false, 2, false, 3, false},
    {1200000, ALL, false, 1, false, 3, false},
    {300, FIRST, false, 200, false, 3, false},
    {8, ALL, false, 60, true, 3, false},
    {200000, ALL, true, 12, true, 3, false},
    {1200000, ALL, false, 6, true, 3, false},
    {8, IN_TURN, false, 400, false, 1, false},
    {8, ALL, false, 60, false, 1, true},
    {700, ALL, false, 30, false, 1, true},
    {5000, ALL, true, 20, false, 1, true},
    {200000, ALL, false, 3, false, 1, true},
};

/* Each rank's, as all know it, and as seen by each. */
static rota_arena_head head[RANKS];
static rota_peer peer[RANKS][RANKS];
static rota_near near[RANKS][RANKS];
static rota_wake_word word[ROTA_WAKE_WORDS];
static rota_endpoint endpoints[RANKS][RANKS];
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
    char *buffer[2];        /* sent, received */
    pthread_barrier_t turn; /* of this thread, a producer and a consumer */
    int run;
} rank;

static void must(bool good, const char *what)
{
    if (good)
        return;
    printf("FAILED: %s\n", what);
    exit(EXIT_FAILURE);
}

static size_t bytes_between(const job *j, int src, int dst, int run)
{
    const bool silent =
        (j->who == FIRST && src != 0) ||
        (j->who == IN_TURN && (run / 5 % 2 == 0) != (src < dst));

    return src == dst || silent ? 0 : j->bytes;
}

/* Every pair's block goes so often, in one phase. */
static void build(rank *r, const job *j)
{
    must(rota_sched_init(&r->s, RANKS, r->me) == MPI_SUCCESS, "a schedule");
    rota_phase_begin(&r->s, 0);
    for (int k = 0; k < j->repeats; k++)
        for (int i = 1; i < RANKS; i++) {
            const int src = (r->me + RANKS - i) % RANKS;
            const int dst = (r->me + i) % RANKS;
            rota_emit_recv(&r->s, src, rota_dst(&r->s, src));
            rota_emit_send(&r->s, dst, rota_src(&r->s, dst));
        }
    must(rota_sched_end(&r->s) == MPI_SUCCESS, "a schedule");
}

static void set_sizes(rank *r, const job *j, int run)
{
    for (int q = 0; q < RANKS; q++) {
        r->bytes[q] = bytes_between(j, r->me, q, run);
        r->bytes[RANKS + q] = bytes_between(j, q, r->me, run);
    }
}

static void set_sides(rank *r, const job *j)
{
    const size_t room = RANKS * j->bytes + 1;

    for (int side = 0; side < 2; side++) {
        for (int q = 0; q < RANKS; q++)
            r->offset[side * RANKS + q] = (ptrdiff_t)((size_t)q * j->bytes);
        r->buffer[side] = j->in_arena ? rota_arena_alloc(room) : malloc(room);
        must(r->buffer[side] != NULL, "a buffer");
    }
    set_sizes(r, j, 0);
    if (j->who != IN_TURN)
        rota_sched_fold(&r->s, r->bytes);
}

/* As many as the process has now, where it has them. */
static void see_segments(const rank *r)
{
    const rota_peer *const self = rota_arena_self();

    for (int i = 0; i < RANKS; i++) {
        rota_peer *const p = &peer[r->me][i];
        memcpy(p->segment, self->segment, sizeof p->segment);
        p->n_segments = self->n_segments;
        if (i == r->me && i > 0)
            atomic_store(&p->head->n_segments, (uint32_t)self->n_segments);
    }
    pthread_barrier_wait(&reserved);
}

static void open_job(rank *r, const job *j)
{
    rota_refusal refusal = true;

    build(r, j);
    set_sides(r, j);
    r->node = (rota_node){.n = RANKS,
                          .me = r->me,
                          .of = r->of,
                          .near = near[r->me],
                          .word = word,
                          .word_name = 1};
    r->x = (rota_exec){
        .blocks = {.s = &r->s,
                   .types = {rota_types_bytes, rota_types_bytes,
                             rota_types_bytes},
                   .base = {r->buffer[0], r->buffer[1], NULL},
                   .bytes = r->bytes,
                   .offset = r->offset},
        .fixed = j->who != IN_TURN,
        .by_thread = j->by_thread,
    };
    const rota_reach reach = {.node = &r->node,
                              .arena_threshold = 2048,
                              .saving_threshold = 2048,
                              .attach_threshold = SIZE_MAX};
    const int err = rota_exec_reserve(&r->x, &reach, &refusal);
    must(err == MPI_SUCCESS, "lines");
    must(refusal == ROTA_REFUSED_NOTHING || (j->who == FIRST && r->me == 0),
         "room for lines");
    pthread_barrier_wait(&reserved);
    see_segments(r);
    must(rota_exec_attach(&r->x), "attaching");
    pthread_barrier_wait(&reserved); /* before endpoints are written again */
    must(!j->parts || rota_parts_make(&r->x) == MPI_SUCCESS, "parts");
    must(rota_exec_bind(&r->x) == MPI_SUCCESS, "binding");
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

static rota_doorbell *bell_of(const rank *r)
{
    return &near[r->me][r->me].peer->head->bell;
}

/* One half of the ranks do so on the shared word. */
static bool sleeps_on_word(const rank *r)
{
    return r->me % 2 == 1;
}

static bool sleep_until(rank *r, uint32_t armed_at, long ns)
{
    return sleeps_on_word(r)
               ? rota_wake_word_sleep(rota_node_word(&r->node, r->me),
                                      rota_node_bit(r->me), bell_of(r), ns)
               : rota_doorbell_sleep(bell_of(r), armed_at, ns);
}

/* All may stand still between the last flag and waking: once. */
static _Atomic int overslept;

/* Until the doorbell is rung, however long others are kept from running: all of
 * them may have been, together, until this one ran again. */
static void sleep_armed(rank *r, uint32_t armed_at)
{
    uint64_t before = steps_done();
    int limits = 0;

    while (!sleep_until(r, armed_at, LIMIT_NS)) {
        limits = steps_done() == before ? limits + 1 : 0;
        must(limits < 3, "a wake-up was lost");
        must(rota_doorbell_is_armed(bell_of(r)) ||
                 atomic_fetch_add(&overslept, 1) < RANKS,
             "sleeps went on with all flags cleared");
        before = steps_done();
    }
}

/* Rank 0 may not have started yet when it is called, so it is called again. */
static void call(rank *r, uint32_t armed_at)
{
    rota_lines_call(&r->x);
    sleep_until(r, armed_at, 1000000);
}

static uint32_t arm(rank *r)
{
    const int n = rota_lines_count(&r->x);

    dawdle(r);
    const uint32_t armed_at = rota_doorbell_arm(
        bell_of(r), n, sleeps_on_word(r) ? r->node.word_name : 0);
    dawdle(r);
    rota_lines_await(&r->x);
    rota_doorbell_fence();
    dawdle(r);
    return armed_at;
}

/* Advance the run as a wait does, asleep when nothing moves, but with no end in
 * sight: a wake-up that is lost is seen. */
static void run_alone(rank *r)
{
    uint32_t armed_at = 0;

    for (bool armed = false, done = false; !done;) {
        if (armed)
            armed_at = arm(r);
        r->x.moved = false;
        done = rota_run_advance(&r->x);
        dawdle(r);
        if (done || r->x.moved) {
            armed = false;
            continue;
        }
        if (armed && r->x.by_thread)
            call(r, armed_at);
        else if (armed)
            sleep_armed(r, armed_at);
        armed = !armed;
    }
    must(r->x.status.err == MPI_SUCCESS, "a run");
}

static void write_block(const rank *r, int q, int iteration)
{
    char *const out = r->buffer[0] + r->offset[q];

    for (size_t i = 0; i < r->bytes[q]; i++)
        out[i] = (char)payload(r->me, q, i, iteration);
    count_step();
}

static void fill(rank *r, const job *j, int iteration)
{
    set_sizes(r, j, iteration);
    for (int q = 0; q < RANKS; q++) {
        if (!j->parts)
            write_block(r, q, iteration);
        memset(r->buffer[1] + r->offset[RANKS + q], 0, r->bytes[RANKS + q]);
    }
}

static void check_block(const rank *r, int q, int iteration)
{
    count_step();
    for (size_t i = 0; i < r->bytes[RANKS + q]; i++)
        must(r->buffer[1][r->offset[RANKS + q] + (ptrdiff_t)i] ==
                 (char)payload(q, r->me, i, iteration),
             "wrong data");
}

static void check(const rank *r, int iteration)
{
    for (int q = 0; q < RANKS; q++)
        check_block(r, q, iteration);
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
    r->x.step = r->x.program.step;
    r->x.entered = false;
    rota_run_advance(&r->x); /* as a start does, before any wait */
    run_alone(r);
    if (r->x.by_thread)
        pthread_barrier_wait(&run_over);
}

/* ---- by parts ------------------------------------------------------------ */

static void *produce(void *arg)
{
    rank *const r = arg;

    for (;;) {
        pthread_barrier_wait(&r->turn);
        for (int i = 1; i <= RANKS; i++) {
            const int q = (r->me + i * (r->run % 2 ? 1 : 3)) % RANKS;
            write_block(r, q, r->run);
            must(rota_parts_ready(&r->x, q, q) == MPI_SUCCESS, "ready");
            sched_yield();
        }
        pthread_barrier_wait(&r->turn);
    }
    return NULL;
}

static void *consume(void *arg)
{
    rank *const r = arg;

    for (;;) {
        pthread_barrier_wait(&r->turn);
        for (int q = 0; q < RANKS; q++) {
            while (!rota_parts_arrived(&r->x, q))
                sched_yield();
            check_block(r, q, r->run);
        }
        pthread_barrier_wait(&r->turn);
    }
    return NULL;
}

/* A run with a gate is advanced again and again: nobody rings for what is ready. */
static void run_by_parts(rank *r, int run)
{
    r->run = run;
    must(r->x.gate->begin(&r->x) == MPI_SUCCESS, "start");
    pthread_barrier_wait(&r->turn);
    r->x.step = r->x.program.step;
    r->x.entered = false;
    while (!rota_run_advance(&r->x))
        dawdle(r);
    must(r->x.status.err == MPI_SUCCESS, "a run");
    pthread_barrier_wait(&r->turn);
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
            if (jobs[i].parts)
                run_by_parts(r, run);
            else if (r->x.by_thread && r->me == 0)
                run_whole(r, run);
            else
                run_parts(r);
            check(r, run);
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

/* ---- beginning ----------------------------------------------------------- */

/* Threads that have found that there is an arena. By no order in memory. */
static _Atomic int have_arena;

static int all_have_it(void *unused, bool *flag)
{
    (void)unused;
    *flag = atomic_load_explicit(&have_arena, memory_order_relaxed) == RANKS;
    return MPI_SUCCESS;
}

/* As a thread that makes a plan, and one that runs another meanwhile. */
static void *begin(void *arg)
{
    static _Atomic bool refused;
    rota_arena_address address;
    rota_place at;
    char here;

    for (int i = 0; i < 100; i++) {
        must(!rota_arena_find(&here, 1, &at), "a stack in the arena");
        sched_yield();
    }
    if (arg && rota_arena_open(&address) != MPI_SUCCESS)
        refused = true;
    if (arg)
        rota_wait_set_crowded();
    while (!rota_arena_own() && !refused)
        sched_yield();
    if (!refused)
        must(rota_arena_find(rota_arena_own(), 1, &at), "the arena's head");
    atomic_fetch_add_explicit(&have_arena, 1, memory_order_relaxed);
    must(rota_wait_until(all_have_it, NULL) == MPI_SUCCESS, "a wait");
    pthread_barrier_wait(&finished);
    for (;;)
        pause(); /* see live */
    return NULL;
}

static void begin_together(void)
{
    static char yes;
    pthread_t thread[RANKS];

    rota_lock_need(ROTA_LOCK_THREADS);
    for (int q = 0; q < RANKS; q++)
        must(pthread_create(&thread[q], NULL, begin, q % 2 ? &yes : NULL) == 0,
             "thread");
    pthread_barrier_wait(&finished);
}

/* Rank i as rank q knows it. Rank 0's head is the process's, by whose doorbell a
 * wait sleeps. */
static void make_peer(int q, int i)
{
    rota_peer *const p = &peer[q][i];

    *p = *rota_arena_self();
    p->head = i == 0 ? rota_arena_own() : &head[i];
    p->slot = i;
    p->slot_there = q;
    p->uses = 1; /* it stays */
    for (int k = 0; k < RANKS; k++)
        atomic_store(&p->head->mapped[k], ROTA_SEGMENTS);
    near[q][i] = (rota_near){.peer = p, .endpoints = endpoints[i]};
}

int main(void)
{
    static rank ranks[RANKS];
    pthread_t thread[RANKS];
    rota_arena_address address;

    pthread_barrier_init(&finished, NULL, RANKS + 1);
    begin_together();
    if (rota_arena_open(&address) != MPI_SUCCESS) {
        printf("skipped: %s\n", rota_fail_text());
        return 77;
    }
    must(rota_progress_hold(), "the progress thread");
    pthread_barrier_init(&reserved, NULL, RANKS);
    pthread_barrier_init(&run_over, NULL, RANKS);
    rota_pool_allow(RANKS);
    rota_pool_reserve(SIZE_MAX); /* whoever maps it has all of it */
    for (int q = 0; q < RANKS; q++) {
        ranks[q] = (rank){.me = q, .chance = (uint64_t)q};
        for (int i = 0; i < RANKS; i++)
            make_peer(q, i);
    }
    for (int q = 0; q < RANKS; q++) {
        pthread_t other;
        pthread_barrier_init(&ranks[q].turn, NULL, 3);
        must(pthread_create(&thread[q], NULL, live, &ranks[q]) == 0 &&
                 pthread_create(&other, NULL, produce, &ranks[q]) == 0 &&
                 pthread_create(&other, NULL, consume, &ranks[q]) == 0,
             "thread");
    }
    pthread_barrier_wait(&finished);
    return EXIT_SUCCESS;
}
