/* built.h - what a choice makes of a task: a schedule, bound to memory. */
#ifndef ROTA_BUILT_H
#define ROTA_BUILT_H

#include "choose/learnt.h"
#include "exec/exec.h"
#include "exec/payload/sized.h"
#include "exec/run/sizes.h"
#include "plan/kinds/task.h"

/* Sizes and places of blocks, and scratch, belong to it; exec.blocks alone has
 * them. */
struct rota_built {
    rota_task *task;    /* borrowed; NULL: nothing is built */
    rota_choice choice; /* rota_built_give_up_ipc may change it */
    int id;             /* unique on its communicator; 0: it has none yet */
    int native;         /* index of its native communicator, or -1 */
    rota_sched sched;
    rota_exec exec;
    rota_sizing sizing; /* exec's, unless ROTA_META_ONCE */
    rota_scratch room;  /* how much scratch is needed */
    char *stage;        /* in place: the send blocks, moved out of the way */
    size_t stage_bytes;
    const char *node_why; /* why MPI carries messages in the node; else NULL */
    bool no_room;         /* no shared memory for what this rank receives */
    bool apart; /* memory that a rank needs of another cannot be mapped */
};

/* What nothing else on the communicator has, on any rank. */
typedef struct rota_claim {
    int id;
    int native; /* ROTA_MAX_NATIVE: none is free */
} rota_claim;

/* Agree that all ranks have got this far, on a claim, and on what the vote asks.
 * Nothing is taken yet: the same may be claimed again. Collective; the ranks
 * agree on every failure. */
int rota_agree_claim(rota_comm *c, int status, rota_vote *vote,
                     rota_claim *claim);

/* Build and bind what all ranks have agreed on. If b->apart is set then, on all
 * ranks, b cannot run: free it, part the node, and make another one. Collective;
 * the ranks agree on every failure, after which b is free. */
int rota_built_make(rota_built *b, rota_task *task, const rota_choice *choice,
                    rota_claim claim);

/* Free b, unless a run of it has failed: then MPI may still write to memory of
 * its messages and match its tag. Returns whether all is free. */
bool rota_built_free(rota_built *b);

/* Start a run with fixed counts. */
static inline int rota_built_start(rota_built *b)
{
    b->exec.status.note = ROTA_NOTHING;
    return rota_exec_start(&b->exec);
}

/* ---- for kinds ----------------------------------------------------------- */

/* Write the schedule of the choice, and allocate what has an entry per block.
 * May fail on one rank alone. */
int rota_built_schedule(rota_built *b);

/* Run the schedule on send_bytes; then free z, if z->cell is not NULL. A rank that
 * cannot take part must not leave the others waiting, so all first agree on status.
 * Collective; a run may fail on one rank alone. */
int rota_built_run_sizes(const rota_built *b, int status,
                         const size_t send_bytes[], rota_sizes *z);

/* Does the rank send itself as much as it expects? A longer block would be
 * written beyond its place. */
static inline int rota_built_check_own(const rota_built *b)
{
    const rota_sched *const s = &b->sched;
    const size_t *const bytes = b->exec.blocks.bytes;

    for (int k = 0; k < rota_n_own(s); k++) {
        const rota_own own = rota_own_block(s, k);
        const size_t sent = bytes[rota_src(s, own.send)];
        const size_t expected = bytes[rota_dst(s, own.recv)];
        if (sent != expected)
            return rota_fail_mismatch(s->me, s->me, sent, expected);
    }
    return MPI_SUCCESS;
}

/* Move what is sent in place out of the way: lay out send blocks end to end,
 * with the sizes of the receive blocks recv. The rank's own block stays where
 * it is, unless MPI's own all-to-all needs it. Returns the bytes needed. */
size_t rota_built_lay_out_stage(rota_built *b, const size_t recv[]);

/* Record a start that sends bytes[], for neighbours block by block. */
void rota_built_record(const rota_built *b, const size_t bytes[]) ROTA_RARE;

#endif /* ROTA_BUILT_H */
