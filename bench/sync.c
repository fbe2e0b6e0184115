#define _POSIX_C_SOURCE 200809L /* clock_gettime, sched_yield */

#include "sync.h"

#include "util.h"

#include <sched.h>
#include <time.h>

/* Where every rank has a core: polls of one wait before it yields. In the order
 * of 0.1 ms, longer than ranks are apart after most exchanges, since coming
 * back from a yield late would count as time of the next one. */
#define SPINS_OWN_CORE 2000

void sync_create(bench_sync *sync, MPI_Comm comm, bool oversubscribed)
{
    bench_must(MPI_Comm_dup(comm, &sync->comm), "MPI_Comm_dup");
    bench_must(MPI_Comm_size(comm, &sync->P), "MPI_Comm_size");
    bench_must(MPI_Comm_rank(comm, &sync->me), "MPI_Comm_rank");
    sync->spins = oversubscribed ? 0 : SPINS_OWN_CORE;
}

void sync_destroy(bench_sync *sync)
{
    bench_must(MPI_Comm_free(&sync->comm), "MPI_Comm_free");
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

/* The first pass waits for the slowest rank. Where ranks share cores it lets
 * them go as they are scheduled; the second begins with all of them awake and
 * lets them go closer together. Neither sleeps, which would be kinder to other
 * processes: waking up late would count as time of the exchange. */
bool sync_barrier(bench_sync *sync, bool flag)
{
    return pass(sync, pass(sync, flag)) != 0;
}

double sync_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}
