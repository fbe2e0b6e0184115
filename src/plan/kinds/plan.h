/* plan.h - a plan: makes and destroys it. */
#ifndef ROTA_PLAN_H
#define ROTA_PLAN_H

#include "base/crossing.h"
#include "device/device.h"
#include "exec/exec.h"
#include "plan/args/validate.h"
#include "plan/kinds/record.h"
#include "rota.h"

struct rota_plan {
    rota_comm *comm;
    rota_kind kind;
    rota_stats stats;
    bool uniform; /* all blocks of all ranks have one size */
    rota_choice choice;
    rota_decision decision; /* what the choice was; rota_plan_give_up_ipc may
                               change it later */
    bool checked;           /* counts across ranks and overlaps were checked */
    bool unmatched;         /* some rank expects what another does not send */
    rota_progress progress; /* as asked for */
    int copied_once_from;   /* bytes, from a hint; 0: none */
    bool active;            /* started, and not yet completed */
    rota_record *record;    /* record of its starts (ROTA_RECORD), or NULL */
    bool has_id;
    int id;                /* unique on its communicator */
    int native;            /* index of its native communicator, or -1 */
    size_t largest;        /* bytes of all ranks' largest block, or max_block */
    const rota_topo *topo; /* what builders see: the communicator's, or */
    rota_topo pretended;   /* the one that rota_node_size asks for; else zero */
    rota_problem problem;  /* fixed plans: as given; varying: only the types */
    rota_crossing crossing; /* edges between nodes, if looked for */
    rota_sched sched;
    rota_exec exec;
    size_t *bytes;        /* [n_blocks] sizes */
    ptrdiff_t *offset;    /* [n_blocks] offsets from the base of the region */
    char *scratch;        /* memory of region ROTA_TMP */
    rota_scratch room;    /* how much of it is needed */
    const char *node_why; /* why MPI carries messages in the node; else NULL */
    bool no_room;         /* no shared memory for what this rank receives */
    bool apart;  /* memory of another rank that it needs cannot be mapped */
    char *stage; /* in place: the send blocks, moved out of the way */
    size_t stage_bytes;

    /* For plans whose counts vary. */
    size_t max_block;
    rota_unit unit;

    struct rota_sparse_lists *sparse; /* for a sparse exchange; else NULL */

    /* For exchanges: where blocks are collected, unless in the executor's
     * buffer. */
    char *user_out; /* the caller's, or NULL */
    size_t user_room;

    /* For buffers on a device; unused without one. */
    const rota_device *device; /* in use when the plan was made; or NULL */
    bool follow;               /* stream is the user's */
    void *stream;
    bool on_device[2]; /* the last start's ROTA_SRC, ROTA_DST are on one */
    bool device_asked; /* a hint says how blocks on it travel */
    bool ipc; /* blocks can go from device to device, if the algorithm allows
                 it; the same on all ranks */
    char ipc_why[ROTA_ERR_TEXT]; /* why not; "": another rank knows */
};

/* Make a plan. neighbors: the communicator's; NULL: an all-to-all. Collective;
 * the ranks agree on every failure. */
int rota_plan_make(rota_comm *c, const rota_neighbors *neighbors,
                   const rota_args *args, const rota_hints *hints, int status,
                   rota_plan **plan);
void rota_plan_destroy(rota_plan *plan); /* plan may be NULL */

/* Why the plan, once started, progresses only in calls of Rota's; NULL: it does
 * not. */
const char *rota_plan_needs_calls(const rota_plan *p);

/* Does the rank send itself as much as it expects? A longer block would be
 * written beyond its place. */
int rota_check_own(const rota_plan *plan);

#endif /* ROTA_PLAN_H */
