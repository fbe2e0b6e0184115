#define _POSIX_C_SOURCE 200809L /* clock_gettime, sched_yield */

#include "common/sync.h"

#include "common/util.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

/* Where every rank has a core: polls of one wait before it yields. In the order
 * of 0.1 ms, longer than ranks are apart after most exchanges, since coming
 * back from a yield late would count as time of the next one. */
#define SPINS_OWN_CORE 2000

/* Where ranks share cores: how long one yields before it sleeps. A core that sleeps
 * takes some 20 us to wake on a virtual machine, which would be in every figure.
 * Beside a busy process the first yield may take longer than all of this. */
#define YIELDING_US 200

struct bench_meeting {
    pthread_mutex_t lock;
    pthread_cond_t met;
    _Atomic int here;       /* ranks that have come to this round */
    _Atomic unsigned round; /* that is over */
    /* Of this round, the next and the one before. */
    _Atomic bool flag[3];
    _Atomic int64_t last_ns[3]; /* when the last rank came */
};

/* Not so where they are threads that simulate processes. */
static bool are_processes(const bench_sync *sync)
{
    const int pid = (int)getpid();
    int least, most;

    bench_must(MPI_Allreduce(&pid, &least, 1, MPI_INT, MPI_MIN, sync->comm),
               "MPI_Allreduce");
    bench_must(MPI_Allreduce(&pid, &most, 1, MPI_INT, MPI_MAX, sync->comm),
               "MPI_Allreduce");
    return least < most;
}

static bool open_meeting(bench_meeting *m)
{
    pthread_mutexattr_t lock;
    pthread_condattr_t met;

    atomic_init(&m->here, 0);
    atomic_init(&m->round, 0);
    for (int i = 0; i < 3; i++) {
        atomic_init(&m->flag[i], false);
        atomic_init(&m->last_ns[i], 0);
    }
    return pthread_mutexattr_init(&lock) == 0 &&
           pthread_mutexattr_setpshared(&lock, PTHREAD_PROCESS_SHARED) == 0 &&
           pthread_mutex_init(&m->lock, &lock) == 0 &&
           pthread_condattr_init(&met) == 0 &&
           pthread_condattr_setpshared(&met, PTHREAD_PROCESS_SHARED) == 0 &&
           pthread_cond_init(&m->met, &met) == 0;
}

static void share_meeting(bench_sync *sync)
{
    const MPI_Aint bytes = sync->me == 0 ? sizeof *sync->meeting : 0;
    MPI_Aint all;
    int unit;

    bench_must(MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, sync->comm,
                                       &sync->meeting, &sync->window),
               "MPI_Win_allocate_shared");
    bench_must(
        MPI_Win_shared_query(sync->window, 0, &all, &unit, &sync->meeting),
        "MPI_Win_shared_query");
    if (sync->me == 0 && !open_meeting(sync->meeting))
        bench_die("no barrier in shared memory");
    bench_must(MPI_Barrier(sync->comm), "MPI_Barrier");
}

static bench_sync make_sync(MPI_Comm comm, int spins)
{
    bench_sync sync = {.spins = spins};

    bench_must(MPI_Comm_dup(comm, &sync.comm), "MPI_Comm_dup");
    bench_must(MPI_Comm_size(comm, &sync.P), "MPI_Comm_size");
    bench_must(MPI_Comm_rank(comm, &sync.me), "MPI_Comm_rank");
    return sync;
}

void sync_create(bench_sync *sync, MPI_Comm comm, bool oversubscribed,
                 bool one_node)
{
    *sync = make_sync(comm, oversubscribed ? 0 : SPINS_OWN_CORE);
    sync->sleeps = oversubscribed && one_node && are_processes(sync);
    if (sync->sleeps)
        share_meeting(sync);
}

void sync_create_shared(bench_sync *sync, MPI_Comm comm)
{
    *sync = make_sync(comm, 0);
    sync->sleeps = are_processes(sync);
    share_meeting(sync);
}

void sync_destroy(bench_sync *sync)
{
    if (sync->meeting)
        bench_must(MPI_Win_free(&sync->window), "MPI_Win_free");
    bench_must(MPI_Comm_free(&sync->comm), "MPI_Comm_free");
}

bool sync_sleeps(const bench_sync *sync)
{
    return sync->sleeps;
}

static void wait_both(const bench_sync *sync, MPI_Request requests[2])
{
    for (long polls = 0;; polls++) {
        /* gcc 12 warns of MPI_STATUSES_IGNORE as MPICH 4.0 defines it. */
        MPI_Status unused[2];
        int done = 0;

        bench_must(MPI_Testall(2, requests, &done, unused), "MPI_Testall");
        if (done)
            return;
        if (polls >= sync->spins)
            sched_yield();
    }
}

/* Dissemination: after round k a rank has heard of the 2^(k+1) ranks up to and
 * including itself, so that the flags are combined on the way. */
static unsigned char pass(const bench_sync *sync, unsigned char flag)
{
    int tag = 0;

    for (int distance = 1; distance < sync->P; distance *= 2, tag++) {
        const int to = (sync->me + distance) % sync->P;
        const int from = (sync->me - distance + sync->P) % sync->P;
        unsigned char heard = 0;
        MPI_Request requests[2];

        bench_must(
            MPI_Irecv(&heard, 1, MPI_BYTE, from, tag, sync->comm, &requests[0]),
            "MPI_Irecv");
        bench_must(
            MPI_Isend(&flag, 1, MPI_BYTE, to, tag, sync->comm, &requests[1]),
            "MPI_Isend");
        wait_both(sync, requests);
        flag = (unsigned char)(flag | heard);
    }
    return flag;
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void raise_to(_Atomic int64_t *to, int64_t value)
{
    int64_t was = atomic_load(to);

    while (was < value && !atomic_compare_exchange_weak(to, &was, value))
        ;
}

static void end_round(bench_meeting *m)
{
    atomic_store(&m->here, 0);
    pthread_mutex_lock(&m->lock);
    atomic_fetch_add(&m->round, 1);
    pthread_cond_broadcast(&m->met);
    pthread_mutex_unlock(&m->lock);
}

/* Threads that simulate processes take turns where they look at the clock. */
static void wait_for_end(bench_meeting *m, unsigned round, bool sleeps)
{
    const int64_t until = now_ns() + YIELDING_US * 1000;

    while (atomic_load(&m->round) == round && (now_ns() < until || !sleeps))
        sched_yield();
    if (atomic_load(&m->round) != round)
        return;
    pthread_mutex_lock(&m->lock);
    while (atomic_load(&m->round) == round)
        pthread_cond_wait(&m->met, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

/* Who comes to a round knows that all have seen what there is of the one before the
 * last, which is that of the next. */
static bool meet(bench_sync *sync, bool flag)
{
    bench_meeting *const m = sync->meeting;
    const unsigned round = sync->round++;

    atomic_store(&m->flag[(round + 1) % 3], false);
    atomic_store(&m->last_ns[(round + 1) % 3], 0);
    if (flag)
        atomic_store(&m->flag[round % 3], true);
    raise_to(&m->last_ns[round % 3], now_ns());
    if (atomic_fetch_add(&m->here, 1) + 1 == sync->P)
        end_round(m);
    else
        wait_for_end(m, round, sync->sleeps);
    return atomic_load(&m->flag[round % 3]);
}

double sync_last_us(const bench_sync *sync)
{
    return (double)atomic_load(&sync->meeting->last_ns[(sync->round - 1) % 3]) *
           1e-3;
}

/* Polling: the first pass waits for the slowest rank. Where ranks share cores
 * it lets them go as they are scheduled; the second begins with all of them
 * awake and lets them go closer together. Beside other busy processes a yield
 * costs a rank its share of the processor, and what follows is late by
 * milliseconds; so ranks that can sleep do, unless the wait is short. */
bool sync_barrier(bench_sync *sync, bool flag)
{
    return sync->meeting ? meet(sync, flag) : pass(sync, pass(sync, flag)) != 0;
}

double sync_now_us(void)
{
    return (double)now_ns() * 1e-3;
}
