/* ipc.h - messages that the receiver's device copies from the sender's device
 * memory, without the host.
 *
 * A line of the node's shared memory (lines.h) carries only a descriptor: a
 * handle of the allocation, and the offset in it. Each rank has two marks,
 * which all others have opened:
 *
 *   ready  put by a sender when a run begins, behind what its queue follows;
 *          receivers' queues await it before they copy
 *   taken  put by a receiver behind each copy; senders' queues await it before
 *          a run ends
 *
 * A queue awaits what a mark was last put behind. So the mark must be put
 * before another process asks for it. The entry of the line tells the receiver
 * that `ready` has been put; that the entry was taken tells the sender that
 * `taken` has been put. `taken` may have been put again since. Then the sender
 * awaits more, but only what was queued before, so no circle of waits can
 * arise.
 *
 * Nobody says when others are done with a mark. So it is not freed with its
 * plan, but kept for the next plan.
 */
#ifndef ROTA_IPC_H
#define ROTA_IPC_H

#include "device/device.h"
#include "exec/exec.h"

/* The descriptor in an entry. */
typedef struct rota_ipc_place {
    rota_handle memory;
    uint64_t at; /* byte offset in the allocation */
} rota_ipc_place;

/* What ranks tell each other when a plan is made. */
typedef struct rota_ipc_address {
    bool sends; /* it has bytes to send, and memory is set */
    rota_handle memory, ready, taken;
} rota_ipc_address;

/* Share the allocation that holds all of P blocks, of which one at least has
 * bytes. Returns NULL, or the reason why other processes cannot open it. */
const char *rota_ipc_share(const rota_device *device, int P, const char *base,
                           const size_t bytes[], const ptrdiff_t offset[],
                           rota_allocation *allocation);

/* Send all messages of x, which stages, of one block each, this way. All ranks are in
 * x->node, and open each other's addresses next. queue is borrowed. Local. */
int rota_ipc_make(rota_exec *x, const rota_device *device, rota_queue *queue,
                  rota_ipc_address *address);
int rota_ipc_open(rota_exec *x, const rota_ipc_address addresses[]); /* [P] */

/* Send blocks now lie at base + x->blocks.offset[]. Fails if others cannot open
 * that. */
int rota_ipc_rebase(rota_exec *x, const char *base);

/* ---- for staging ---------------------------------------------------------- */

/* A run begins: order what is sent behind what is in the queue. */
int rota_ipc_begin(rota_exec *x);

/* All messages have been taken: order what is put in the queue behind that. */
int rota_ipc_end(rota_exec *x);

/* Wait for the queue and free all. Does nothing if x does not use it. */
void rota_ipc_free(rota_exec *x);

#endif /* ROTA_IPC_H */
