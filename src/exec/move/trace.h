/* trace.h - records what runs do, and when, in a file: ROTA_TRACE.
 *
 * The file has the JSON form of Chrome's about:tracing, which Perfetto also
 * reads. A process is a node, a thread a rank. A rank has spans for runs, steps
 * and copies; messages by MPI are asynchronous events, from their posting until
 * their completion is seen. All ranks append to one file when they end. Times
 * are the host's, in microseconds since midnight UTC.
 */
#ifndef ROTA_TRACE_H
#define ROTA_TRACE_H

#include "exec/move/blocks.h"

typedef enum rota_trace_kind {
    ROTA_TRACE_RUN,
    ROTA_TRACE_STEP,
    ROTA_TRACE_COPY,    /* between blocks of the rank */
    ROTA_TRACE_GATHER,  /* to temporary blocks of another rank */
    ROTA_TRACE_SCATTER, /* from temporary blocks of another rank */
    ROTA_TRACE_PACK,    /* for a message within the node */
    ROTA_TRACE_UNPACK,
    ROTA_TRACE_SEND, /* from here on: messages by MPI */
    ROTA_TRACE_RECEIVE,
} rota_trace_kind;

/* The trace of one executor. */
typedef struct rota_trace {
    const rota_blocks *blocks;    /* of the executor; borrowed */
    int plan;                     /* its number in the file */
    int64_t run, step;            /* when the current ones began */
    uint64_t runs;                /* number of runs before the current one */
    int64_t *posted[ROTA_N_DIRS]; /* [n messages] when each was posted */
} rota_trace;

/* Begin to trace if the environment names a file. rank: in MPI_COMM_WORLD;
 * node: its number. Local; later calls do nothing. */
void rota_trace_open(int rank, int node);

/* Trace a plan's runs, if tracing is on; else *t is NULL. */
int rota_trace_make(const rota_blocks *b, int plan, rota_trace **t);
void rota_trace_free(rota_trace *t); /* t may be NULL, here and below */

/* The time in nanoseconds, if runs are traced. */
int64_t rota_trace_now(const rota_trace *t);

/* Record an event that lasted from begin until now. peer: a rank, or -1. Called
 * under the lock of active executors. */
void rota_trace_note(const rota_trace *t, rota_trace_kind kind, int64_t begin,
                     int peer, size_t bytes);

static inline void rota_trace_post(const rota_trace *t, rota_dir dir,
                                   uint32_t m)
{
    if (t)
        t->posted[dir][m] = rota_trace_now(t);
}

/* Record that message m, carried by MPI, is complete. */
void rota_trace_message(const rota_trace *t, rota_dir dir, uint32_t m);

#endif /* ROTA_TRACE_H */
