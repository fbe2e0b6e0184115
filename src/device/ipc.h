/* ipc.h - messages that the receiver copies from the sender's memory of a device
 * to its own, without the host.
 *
 * A line of the node's shared memory (lines.h) carries the place of a message: a
 * handle of the allocation that it lies in, and where. Each rank has two marks
 * that all the others have opened:
 *
 *   ready  put by a sender when a run begins, behind what its queue follows:
 *          receivers' queues await it before they copy
 *   taken  put by a receiver behind each copy: senders' queues await it before
 *          a run ends
 *
 * A queue awaits what a mark was last put behind, so the mark must be put before
 * another process asks for that: the entry of the line says that the one has
 * been put, and that the entry has been taken says it of the other. That mark
 * may have been put again since; then what is awaited is more, all of which had
 * been put in a queue before, so that nothing waits in a circle.
 *
 * Nobody says when the others have done with a mark. So it is not freed with
 * its plan, but kept for the next one.
 */
#ifndef ROTA_IPC_H
#define ROTA_IPC_H

#include "device/device.h"
#include "exec/exec.h"

/* What an entry carries in the place of a message. */
typedef struct rota_ipc_place {
    rota_handle memory;
    uint64_t at; /* bytes from its begin */
} rota_ipc_place;

/* What ranks tell each other when a plan is made. */
typedef struct rota_ipc_address {
    bool sends; /* it has bytes to send: memory is set */
    rota_handle memory, ready, taken;
} rota_ipc_address;

/* The allocation that holds all of P blocks. Returns NULL, or why other
 * processes cannot open it. At least one block has bytes. */
const char *rota_ipc_share(const rota_device *device, int P, const char *base,
                           const size_t bytes[], const ptrdiff_t offset[],
                           rota_allocation *allocation);

/* Let all messages of x, which are of one block each, go this way: all ranks
 * are in x->node, and are to open each other's addresses. queue is borrowed.
 * Local. */
int rota_ipc_make(rota_exec *x, const rota_device *device, rota_queue *queue,
                  rota_ipc_address *address);
int rota_ipc_open(rota_exec *x, const rota_ipc_address addresses[]); /* [P] */

/* Waits for the queue; there may be none of it. */
void rota_ipc_free(rota_exec *x);

/* Send blocks lie at base + x->offset[] from now on. Fails where others cannot
 * open that. */
int rota_ipc_rebase(rota_exec *x, const char *base);

/* ---- for staging, of an executor that has it ------------------------------ */

/* A run: what is in the queue comes before what is sent. */
int rota_ipc_begin(rota_exec *x);

/* All messages have been taken: what is put in the queue comes behind that. */
int rota_ipc_end(rota_exec *x);

#endif /* ROTA_IPC_H */
