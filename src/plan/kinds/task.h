/* task.h - what a plan is asked to do, and what its kind does about it.
 *
 * A plan is built from a task and a choice (built.h). So is what is measured
 * before the choice is made, from a task like the plan's (trial.h).
 */
#ifndef ROTA_TASK_H
#define ROTA_TASK_H

#include "base/crossing.h"
#include "device/device.h"
#include "exec/move/packer.h"
#include "exec/move/reduction.h"
#include "plan/args/validate.h"
#include "plan/kinds/record.h"
#include "plan/ranks/agree.h"
#include "rota.h"

typedef struct rota_built rota_built; /* built.h */
typedef struct rota_task rota_task;

/* What an exchange has received. counts, displs: as int or, if large, as MPI_Count
 * and MPI_Aint. Of an exchange, the caller's arrays, [n_recv], each of which may be
 * NULL; of a sparse exchange, the plan's, [n_sources]. */
typedef struct rota_found {
    void *buffer;
    bool large;
    int n_sources; /* of a sparse exchange */
    void *counts, *displs;
    /* Of a borrowing exchange [n_recv], or of one of n arrays [n * n_recv]: */
    const void **blocks; /* the caller's */
    void **arrays;       /* [n] the caller's, of an exchange of arrays */
    const int *sources;  /* of a sparse exchange, ascending */
} rota_found;

/* What a kind of plan does: a table of functions, which may be NULL: there is
 * nothing to do. Nobody asks for the kind itself, except where it is data, in
 * choices and records. */
typedef struct rota_kind_table {
    rota_kind kind;
    const char *title; /* "a plan with ..."; NULL: as the next */
    const char *is;    /* what "the plan is" */
    const char *wait;  /* for kinds that collect: what ends a run */
    bool fixed;        /* counts and buffers are those that the plan is made
                          with, and rota_plan_set_buffers changes */
    bool collects;     /* blocks are collected after the run that brings them */
    bool borrows;      /* or read where they lie, by ranks of the node */
    bool gathers;      /* all that others get lies in the plan's memory */
    bool parts;        /* a block may leave later than the start */
    size_t own_bytes;  /* of task->own, if it has any */

    /* The bound of blocks, once all ranks know the largest one. Local; the same on
     * all ranks. */
    size_t (*bound)(const rota_task *task, size_t largest);

    /* Read the arguments, and make task->own. May fail on one rank alone. */
    int (*prepare)(rota_task *task, const rota_args *args);
    /* Add to what must be the same on all ranks, and to the vote; also after
     * prepare has failed. Local. */
    void (*vote)(const rota_task *task, rota_alike *alike, rota_vote *vote);
    void (*forget)(rota_task *task); /* free task->own */

    /* Write the schedule, once all ranks have agreed on the choice. May fail on
     * one rank alone. */
    int (*build)(rota_built *b);
    /* Learn sizes, unless building has failed on some rank: then status, this
     * rank's own, is an error there. Collective; the ranks agree on every
     * failure, if they have anything to learn. */
    int (*learn)(rota_built *b, int *status);
    /* For kinds whose ranks find out together who sends to whom: form groups of
     * ranks. Memory of the node carries blocks within a group, unless
     * b->node_why says why not. May fail on one rank alone. */
    int (*group)(rota_built *b);
    /* Buffers are known: stage what lies on a device. May fail on one rank
     * alone. */
    int (*place)(rota_built *b);

    int (*start)(rota_built *b, const rota_start_args *args);
    /* The run is complete: collect its blocks in the order of ranks. Fails if the
     * buffer is too small or a count does not fit, and may then be called
     * again. */
    int (*collect)(rota_built *b, rota_found *found);
    /* May a start be made again as it was, on these or other buffers? NULL: no. */
    bool (*repeats)(const rota_built *b);
    /* Use other buffers from the next start on, which is to be so made if counts
     * come with it. */
    int (*rebase)(rota_built *b, const void *sendbuf, void *recvbuf);
} rota_kind_table;

extern const rota_kind_table rota_kind_fixed, rota_kind_varying,
    rota_kind_exchange, rota_kind_borrowing, rota_kind_arrays, rota_kind_sparse,
    rota_kind_scaled;

/* Buffers on a device. */
typedef struct rota_device_use {
    const rota_device *device; /* in use when the plan was made; or NULL */
    bool asked;                /* a hint says how blocks on it travel */
    bool follow;               /* stream is the user's */
    void *stream;
    const char *memory; /* on it, of a fixed plan when it is made; or NULL */
    bool on[2];         /* the last start's ROTA_SRC, ROTA_DST are on it */
    bool ipc; /* blocks can go from device to device, if the algorithm allows
                 it; the same on all ranks */
    char ipc_why[ROTA_ERR_TEXT]; /* why not; "": another rank knows */
} rota_device_use;

struct rota_task {
    /* What a start looks at: up to use.device. */
    const rota_kind_table *kind;
    void *own;           /* the kind's */
    rota_record *record; /* of its starts (ROTA_RECORD), or NULL */
    bool leaves_own;     /* the program moves what a rank has for itself */
    bool partitioned;    /* blocks leave as they are said to be ready */
    bool checked;        /* counts across ranks and overlaps are checked */
    rota_device_use use;

    rota_comm *comm;        /* borrowed */
    rota_problem problem;   /* fixed plans: as given; others: only the types */
    rota_crossing crossing; /* edges between nodes, if looked for */
    const rota_topo *topo;  /* what builders see; borrowed */
    size_t max_block;       /* ROTA_UNBOUNDED: none, or the plan is fixed */
    size_t largest;      /* bytes of all ranks' largest block, or max_block */
    size_t largest_unit; /* bytes; 0: the unit does not change */
    rota_progress progress;   /* as asked for */
    int copied_once_from;     /* bytes, from a hint; 0: none */
    int attached_from;        /* likewise */
    rota_reduction reduction; /* that travels with its messages, if any */
    rota_operator
        accumulate;      /* combines arriving blocks with what is there; its
                                 combine NULL: they overwrite it */
    rota_packer packer;  /* the program's functions, if any, and what they */
    rota_type packed[2]; /* make of send and receive blocks */
};

#endif /* ROTA_TASK_H */
