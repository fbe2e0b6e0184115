/* plan.h - a plan: making and destroying it. */
#ifndef ROTA_PLAN_H
#define ROTA_PLAN_H

#include "base/crossing.h"
#include "device/device.h"
#include "exec/exec.h"
#include "plan/record.h"
#include "plan/validate.h"
#include "rota.h"

struct rota_plan {
    rota_comm *comm;
    rota_kind kind;
    rota_stats stats;
    bool uniform; /* all blocks of all ranks have one size */
    rota_choice choice;
    rota_decision decision; /* that made it; rota_plan_give_up_ipc may change
                               the choice afterwards */
    bool checked;   /* counts across ranks and overlaps were looked at */
    bool unmatched; /* and some rank expects what another does not send */
    rota_progress progress; /* that was asked for */
    int copied_once_from;   /* bytes, as a hint says; 0: no wish */
    bool active;            /* started, and not waited for */
    rota_record *record;    /* of its starts (ROTA_RECORD), or NULL */
    bool has_id;
    int id;                /* on its communicator */
    int native;            /* index of the native communicator, or -1 */
    size_t largest;        /* bytes of the largest block of all, or max_block */
    const rota_topo *topo; /* what builders see: the communicator's or */
    rota_topo pretended;   /* what rota_node_size asks for; else zero */
    rota_problem problem;  /* fixed: as given; varying: types only */
    rota_crossing crossing; /* of neighbours, if it was looked for */
    rota_sched sched;
    rota_exec exec;
    size_t *bytes;        /* [n_blocks] */
    ptrdiff_t *offset;    /* [n_blocks] */
    char *scratch;        /* region ROTA_TMP */
    rota_scratch room;    /* what it needs */
    const char *node_why; /* MPI carries messages within the node; else NULL */
    bool no_room;         /* for what this rank receives within the node */
    bool apart;  /* memory of another rank that it needs cannot be mapped */
    char *stage; /* in place: what is sent, moved out of the way */
    size_t stage_bytes;

    /* Plans whose counts vary. */
    size_t max_block;
    rota_unit unit;

    struct rota_sparse_lists *sparse; /* of a sparse exchange; else NULL */

    /* Exchanges: where blocks are collected, unless it is the executor's. */
    char *user_out; /* the caller's, or NULL */
    size_t user_room;

    /* Buffers on a device: nothing of this is used without one. */
    const rota_device *device; /* in use when the plan was made, or NULL */
    bool follow;               /* stream is the user's */
    void *stream;
    bool on_device[2]; /* what the last start has on a device, by ROTA_SRC and
                          ROTA_DST */
    bool device_asked; /* for the way that blocks take: by a hint */
    bool ipc; /* they can go from device to device, where the algorithm lets
                 them; the same on all ranks */
    char ipc_why[ROTA_ERR_TEXT]; /* why not; "": another rank knows */
};

/* Collective; every failure is agreed on. neighbors: NULL for an all-to-all, else
 * the communicator's. */
int rota_plan_make_fixed(rota_comm *c, const rota_neighbors *neighbors,
                         const rota_args *args, const rota_hints *hints,
                         int status, rota_plan **plan);
int rota_plan_make_varying(rota_comm *c, const rota_neighbors *neighbors,
                           rota_kind kind, size_t max_block, MPI_Datatype type,
                           const rota_hints *hints, int status,
                           rota_plan **plan);
void rota_plan_destroy(rota_plan *plan); /* plan may be NULL */

/* Why the plan, once started, goes on in calls of Rota's alone, or NULL. */
const char *rota_plan_needs_calls(const rota_plan *p);

/* Does the rank send itself what it expects? A longer block would be written
 * beyond its place. */
int rota_check_own(const rota_plan *plan);

#endif /* ROTA_PLAN_H */
