/* sync.h - the clock, and a barrier of our own.
 *
 * MPI's barrier would do where every rank has a core. With more ranks than
 * cores an MPI library that spins needs a scheduler tick (milliseconds) to
 * hand the core on, and then every iteration would measure that. This one
 * gives the core up, the same way for all algorithms that are compared: where
 * all ranks are processes of one node it yields for a while and sleeps, else it
 * polls and yields.
 */
#ifndef BENCH_SYNC_H
#define BENCH_SYNC_H

#include <mpi.h>
#include <stdbool.h>

typedef struct bench_meeting bench_meeting;

typedef struct bench_sync {
    MPI_Comm comm; /* owned: its traffic meets no other */
    MPI_Win window;
    bench_meeting *meeting; /* in it, shared by all; or NULL: poll and yield */
    unsigned round;         /* of meetings, so far */
    int P, me;
    int spins;   /* polls before the core is given up */
    bool sleeps; /* who waits for the others of a meeting, in the end */
} bench_sync;

/* Collective over comm. oversubscribed: more ranks than cores somewhere. */
void sync_create(bench_sync *sync, MPI_Comm comm, bool oversubscribed,
                 bool one_node);
/* Likewise of ranks of one node, wherever they run: by memory that they share. */
void sync_create_shared(bench_sync *sync, MPI_Comm comm);
void sync_destroy(bench_sync *sync);

bool sync_sleeps(const bench_sync *sync);

/* Wait for all ranks. Returns true, on all of them, if any rank passed true. */
bool sync_barrier(bench_sync *sync, bool flag);

/* When the last rank came to the last barrier, the same on all of them; only if
 * sync_sleeps(). */
double sync_last_us(const bench_sync *sync);

/* Monotonic time in microseconds, from an arbitrary start. */
double sync_now_us(void);

#endif
