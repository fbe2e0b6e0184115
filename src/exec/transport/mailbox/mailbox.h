/* mailbox.h - the one step of a sparse exchange: each rank names the ranks that
 * it sends to, and finds out which ranks have sent to it.
 *
 * Ranks form groups: those that share a node's memory, or each rank alone. All
 * ranks enter a start, and learn when all others have (the consensus of
 * [Hoefler10], with a counter within each group):
 *
 *   within a group   A sender copies its block to its area, links it to the
 *                    receiver's mailbox, and enters the count when all its
 *                    blocks are out. When the count is full, all blocks are
 *                    there: no receiver acknowledges anything.
 *   between groups   Blocks are synchronous messages, which receivers find by
 *                    probing. A sender enters the count when its messages are
 *                    complete. When the count is full, the leader enters a
 *                    dissemination barrier of the leaders, and then lets its
 *                    group through.
 *
 * A block too long for the area goes by MPI, as between groups, and its mail
 * says so.
 *
 * With bundles (consensus_node), a member sends its short blocks for another
 * node to the mailbox of the agent for that node, which is a member too. When
 * all members have done so, the agent sends what it has in one message: to an
 * agent of that node or, if all is for one rank, to that rank. The receiving
 * agent links the blocks to the mailboxes of their receivers. After the
 * barrier, a member counts itself once more when it has passed on all that it
 * received.
 *
 * Values that are reduced (carried.h) go with the count. A rank writes its value
 * before it enters. If there is one group, all read it when the count is full.
 * Otherwise the leaders tell each other, with each message of their barrier, the
 * values of all groups that they know of, and their group reads them when it is let
 * through.
 *
 * Time and memory of a start follow the number of blocks, and the logarithm of
 * the number of groups. A sleeping rank may cost the others of its node a look
 * at its doorbell.
 */
#ifndef ROTA_MAILBOX_H
#define ROTA_MAILBOX_H

#include "base/topo.h"
#include "exec/exec.h"
#include "exec/memory/node.h"

/* The groups, and this rank's. */
typedef struct rota_groups {
    int n;         /* number of groups */
    int size;      /* ranks of this group */
    int leader;    /* the lowest rank of this group */
    int rounds;    /* of the leaders' barrier: ceil(log2 n) */
    int *to;       /* [rounds] leaders that this leader tells; owned */
    int *from;     /* [rounds] leaders that it hears from; behind to */
    const int *of; /* [P] a group's ranks have the same number; borrowed. Unused
                      if size is 1 and there are no bundles */
    const rota_topo *nodes; /* its nodes are the groups, which send bundles;
                               borrowed. NULL: no bundles */
    size_t bundled;         /* bytes of the longest block in a bundle */
    /* If messages carry values: the ranks group by group, rank[first[g]] and so on
     * of group g; owned. Else NULL. */
    int *rank;  /* [P] */
    int *first; /* [n+1], behind rank */
    int mine;   /* this rank's group */
} rota_groups;

typedef struct rota_sparse_block {
    int rank; /* destination or source */
    size_t bytes;
    char *data; /* plain bytes */
} rota_sparse_block;

/* Prepare x for these groups, which x owns from now on. Undoes an earlier call.
 * node: the ranks whose memory a group shares, or NULL. Local. */
int rota_sparse_make(rota_exec *x, const rota_groups *groups,
                     const rota_node *node);

/* Make room for the n blocks of the next run, at most one for each rank. The
 * caller fills them in; they are not changed until the run is over. */
int rota_sparse_blocks(rota_exec *x, size_t n, rota_sparse_block **send);

/* The blocks that the last run received, by rank. They stay where they are until
 * rota_sparse_finish, which is called once after each run. Fails only for want
 * of memory, and can then be called again. */
int rota_sparse_found(rota_exec *x, const rota_sparse_block **found, size_t *n);
void rota_sparse_finish(rota_exec *x);

#endif /* ROTA_MAILBOX_H */
