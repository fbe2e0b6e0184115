/* agree.h - the only place that reduces an error, hash, size or price over
 * ranks. */
#ifndef ROTA_AGREE_H
#define ROTA_AGREE_H

#include "base/alike.h"
#include "plan/comm.h"

/* What ranks find out together when they agree. */
typedef struct rota_vote {
    const rota_alike *alike; /* in: what must be; NULL on all ranks: nothing */
    uint64_t clash;          /* in, out: some rank refuses the proposed id */
    uint64_t used; /* in, out: native communicators in use on some rank */
    uint64_t smallest, largest; /* in, out: bytes of a block */
    uint64_t busiest;   /* in: bytes that the rank sends or receives, whichever
                         is more; out: of the rank that has most */
    uint64_t total;     /* in: bytes that the rank sends; out: all ranks */
    uint64_t filled;    /* likewise blocks that have any */
    uint64_t blocks;    /* likewise all blocks */
    uint64_t unmatched; /* in: what the rank sends less what it expects, in
                           digests of counts; out: 0 if that is the same */
    uint64_t no_ipc;    /* in, out: some rank's blocks cannot go from device to
                    device */
} rota_vote;

/* All ranks return MPI_SUCCESS if all brought it, otherwise all return the
 * error of one of them, with its text. vote may be NULL on all ranks.
 * Collective; O(log P) messages. */
int rota_agree(const rota_comm *c, int status, rota_vote *vote);

/* Pass bytes, at most INT_MAX and the same number everywhere, on from root to
 * all. Collective; fails only if MPI does. */
int rota_spread(const rota_comm *c, int root, void *data, size_t bytes);

/* The same for choosing, and more; c is borrowed. */
rota_ranks rota_comm_ranks(const rota_comm *c);

#endif /* ROTA_AGREE_H */
