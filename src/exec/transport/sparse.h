/* sparse.h - the one step of a sparse exchange: each rank names whom it sends
 * to, and finds out who has sent to it.
 *
 * Ranks form groups: those that share a node's memory, or each rank alone. All
 * ranks enter a start and learn when all others have (the consensus of
 * [Hoefler10], within a group by a counter):
 *
 *   within a group   a sender copies its block to its area, links it to the
 *                    receiver's mailbox, and counts itself in when all its blocks
 *                    are out. When all are counted in, all blocks are there: no
 *                    receiver acknowledges anything.
 *   between groups   blocks are synchronous messages, which receivers find by
 *                    probing; a sender counts itself in when they are complete.
 *                    When a whole group is counted in, its leader enters a
 *                    dissemination barrier of the leaders, and then lets its
 *                    group through.
 *
 * A block too long for the area goes as between groups, and its mail says so.
 *
 * By bundles (consensus_node) short blocks for another node are first linked to the
 * mailbox of a member, the agent for that node. When all members have handed over
 * theirs, it sends them in one message to an agent there, or to their receiver if
 * that is one, and that agent links them on. When the barrier is through, each
 * member counts itself a third time, as soon as it has passed on all it has got.
 *
 * Time and memory of a start follow the blocks, and the logarithm of the groups;
 * a sleeping rank of the node may cost others a look at its doorbell.
 */
#ifndef ROTA_SPARSE_H
#define ROTA_SPARSE_H

#include "base/topo.h"
#include "exec/exec.h"
#include "exec/transport/node.h"

/* Which ranks form a group. */
typedef struct rota_groups {
    int n;         /* of all ranks */
    int size;      /* ranks of this one's */
    int leader;    /* its lowest rank */
    int rounds;    /* of a barrier of leaders: ceil(log2 n) */
    int *to;       /* [rounds] leaders that this group's tells; owned */
    int *from;     /* [rounds] and those that it hears from, behind to */
    const int *of; /* [P] members have this rank's number and are in x->node;
                      borrowed. Unused where size is 1, without bundles */
    const rota_topo *nodes; /* whose nodes groups are, which send bundles;
                               borrowed; NULL: there are none */
    size_t bundled;         /* bytes that a block in a bundle has at most */
} rota_groups;

typedef struct rota_sparse_block {
    int rank; /* where it goes to or comes from */
    size_t bytes;
    char *data; /* plain bytes */
} rota_sparse_block;

/* Take part by these groups, which are x's from now on; an earlier call is
 * undone. node: whose memory groups share, or NULL. Local. */
int rota_sparse_make(rota_exec *x, const rota_groups *groups,
                     const rota_node *node);
void rota_sparse_free(rota_exec *x);

/* Memory of the group, as of rota_lines_reserve and rota_lines_attach. */
int rota_sparse_reserve(rota_exec *x, bool *refused);
bool rota_sparse_attach(rota_exec *x);
/* The node by whose memory messages of any kind go, or NULL. */
const rota_node *rota_shared_node(const rota_exec *x);

size_t rota_sparse_bytes(const rota_exec *x);

/* Give back what plans have left because others were still reading it. */
void rota_sparse_free_deferred(void);

/* Before a run. */
void rota_sparse_prepare(rota_exec *x);

/* Room for n blocks that the run is to send, one for a rank at most. They
 * are the caller's to fill, and stay as they are until the run is over. */
int rota_sparse_blocks(rota_exec *x, size_t n, rota_sparse_block **send);

/* What the last run has brought, by rank. The blocks stay where they are until
 * rota_sparse_finish, which is called once after each run. Fails for want of
 * memory only, and can then be called again. */
int rota_sparse_found(rota_exec *x, const rota_sparse_block **found, size_t *n);
void rota_sparse_finish(rota_exec *x);

/* The doorbell has been armed: let all of the group ring it. */
void rota_sparse_await(rota_exec *x);

#endif /* ROTA_SPARSE_H */
