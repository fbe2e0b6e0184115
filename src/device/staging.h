/* staging.h - blocks in device memory, exchanged by way of the host: a gate.
 *
 * The executor works on host memory only. A side of the exchange that is on a
 * device has a bounce buffer there. A queue of the device copies send blocks
 * down when a run starts, and receive blocks up when they have arrived, while
 * messages travel.
 *
 * Send blocks stand in line in the order in which the schedule reads them, and
 * come in that order, piece by piece. So the line's progress says which
 * messages may leave and which phases may begin. Only messages of send blocks
 * alone may leave before all blocks of their phase are here, because nothing is
 * written where they lie. All other phases wait for all that they read.
 *
 * Without bounce buffers, only the order of the queue is kept here, for copies
 * on the device and for those between devices (ipc.h).
 */
#ifndef ROTA_STAGING_H
#define ROTA_STAGING_H

#include "device/layout.h"
#include "exec/exec.h"

/* Let x stage; its schedule must be final. queue belongs to the
 * staging from now on, even after a failure. straight: the device makes copies
 * from send blocks to receive blocks directly between the caller's buffers,
 * both of plain bytes. */
int rota_staging_make(rota_exec *x, const rota_device *device,
                      rota_queue *queue, bool straight);

/* Is staging the gate of x? */
bool rota_staging_is_on(const rota_exec *x);

/* Wait for copies under way and free all. Does nothing if x does not stage. */
void rota_staging_free(rota_exec *x);

/* Give a region, ROTA_SRC or ROTA_DST, a bounce buffer of plain bytes. Its
 * blocks lie at base + offset[q], as their types say, with sizes x->blocks.bytes. May
 * wait for copies; allocates if the blocks need more room than before. offset:
 * [P], copied. types: with known layouts; borrowed. */
int rota_staging_bounce(rota_exec *x, rota_region region, char *base,
                        const ptrdiff_t offset[], const rota_types *types);

/* Take the bounce buffers away again; the owner resets x. */
void rota_staging_unbounce(rota_exec *x);

bool rota_staging_bounces(const rota_exec *x, rota_region region);

/* The caller's blocks of regions with bounce buffers have new bases.
 */
void rota_staging_rebase(rota_exec *x, char *src, char *dst);

/* From now on, copies come after what is in this stream of the user's when a
 * run starts, and what is put in it after a run comes after them. So a run ends
 * when the last copies are queued, not when they are made. */
void rota_staging_set_stream(rota_exec *x, bool follow, void *stream);

/* Bytes of bounce buffers; are all of them page-locked? */
size_t rota_staging_bytes(const rota_exec *x, bool *pinned);

/* Microseconds of the last run: until the last send block was here, from then
 * until the last message had arrived, and from then until all was copied up. */
void rota_staging_times(const rota_exec *x, double *down, double *exchange,
                        double *up);

/* Copy up all receive blocks, which are in the bounce buffer, and wait for that
 * unless a stream orders it. x is inactive. */
int rota_staging_deliver(rota_exec *x);

#endif /* ROTA_STAGING_H */
