/* trace.h - what runs do and when, in a file: ROTA_TRACE.
 *
 * The file is in the JSON form of Chrome's about:tracing, which Perfetto reads
 * as well: a process is a node, a thread a rank. Spans of a rank are runs, steps
 * of a program and copies in them; messages by MPI are asynchronous events, from
 * when they are posted until they are seen to be complete. All ranks append to
 * one file when they end. Time is the host's, in microseconds
 * since midnight, UTC.
 */
#ifndef ROTA_TRACE_H
#define ROTA_TRACE_H

#include "exec/exec.h"

typedef enum rota_trace_kind {
    ROTA_TRACE_RUN,
    ROTA_TRACE_STEP,
    ROTA_TRACE_COPY,    /* from block to block of the rank */
    ROTA_TRACE_GATHER,  /* to temporary blocks of another rank */
    ROTA_TRACE_SCATTER, /* from there */
    ROTA_TRACE_PACK,    /* for a message within the node */
    ROTA_TRACE_UNPACK,
    ROTA_TRACE_SEND, /* from here on messages by MPI */
    ROTA_TRACE_RECEIVE,
} rota_trace_kind;

/* Of one executor, which is NULL where nothing is traced. */
typedef struct rota_trace {
    int64_t run, step;            /* when they began */
    uint64_t runs;                /* before the present one */
    int64_t *posted[ROTA_N_DIRS]; /* [n messages] */
} rota_trace;

/* Trace from now on if the environment names a file. rank: of all ranks; node:
 * the number of its node. Local; calls after the first do nothing. */
void rota_trace_open(int rank, int node);

/* Have x traced, if anything is. */
int rota_trace_bind(rota_exec *x);
void rota_trace_unbind(rota_exec *x);

/* Now, in nanoseconds, if x is traced. */
int64_t rota_trace_now(const rota_exec *x);

/* It has taken from begin until now. peer: -1 for none. Under the lock of active
 * executors. */
void rota_trace_note(const rota_exec *x, rota_trace_kind kind, int64_t begin,
                     int peer, size_t bytes);

static inline void rota_trace_post(rota_exec *x, rota_dir dir, uint32_t m)
{
    if (x->trace)
        x->trace->posted[dir][m] = rota_trace_now(x);
}

/* Message m by MPI is complete. */
void rota_trace_message(const rota_exec *x, rota_dir dir, uint32_t m);

#endif /* ROTA_TRACE_H */
