/* agree.h - the only place that reduces an error, hash, size or price over
 * ranks. */
#ifndef ROTA_AGREE_H
#define ROTA_AGREE_H

#include "base/alike.h"
#include "plan/ranks/comm.h"

/* What ranks find out when they agree. in: this rank's, out: of all ranks. */
typedef struct rota_vote {
    const rota_alike *alike; /* in: what must be equal; NULL everywhere: none */
    uint64_t clash;          /* in, out: some rank refuses the proposed id */
    uint64_t used; /* in, out: native communicators in use on some rank */
    uint64_t smallest, largest; /* in, out: bytes of a block */
    uint64_t busiest;   /* in: bytes that the rank sends or receives, whichever
                           is more; out: the maximum */
    uint64_t total;     /* in: bytes that the rank sends; out: the sum */
    uint64_t filled;    /* in: blocks with bytes; out: the sum */
    uint64_t blocks;    /* in: blocks; out: the sum */
    uint64_t unmatched; /* in: digests of the counts it sends minus those it
                           expects; out: 0 if all match */
    uint64_t no_ipc;    /* in, out: some rank's blocks cannot go by IPC */
    uint64_t on_device; /* in, out: some rank's blocks are on a device */
} rota_vote;

/* All ranks return MPI_SUCCESS if all pass it; otherwise all return the error
 * of one of them, with its text. vote may be NULL on all ranks. Collective;
 * O(log P) messages. */
int rota_agree(const rota_comm *c, int status, rota_vote *vote);

/* These functions, and more, for choosing; c is borrowed. */
rota_ranks rota_comm_ranks(const rota_comm *c);

#endif /* ROTA_AGREE_H */
