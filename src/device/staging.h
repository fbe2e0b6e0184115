/* staging.h - blocks in memory of a device, exchanged by way of the host.
 *
 * Whatever the executor does, it does to memory of the host. A side of the
 * exchange that lies on a device has a bounce buffer there: send blocks are
 * copied down when a run starts, receive blocks are copied up when they have
 * arrived, by a queue of the device's, while messages travel.
 *
 * Send blocks stand in line in the order in which the schedule reads them, and
 * come in that order, piece by piece. So how far the line has got says which
 * messages may leave and which phases may begin. What may leave before all of a
 * phase is here are messages of send blocks alone, since nothing is written
 * where they lie; other phases wait for all that they read.
 *
 * Without bounce buffers it is the order of the queue that is kept here, for
 * copies on the device and those between devices (ipc.h).
 */
#ifndef ROTA_STAGING_H
#define ROTA_STAGING_H

#include "device/layout.h"
#include "exec/exec.h"

/* staged.c: let x stage, whose schedule will not change any more. queue is the staging's
 * from now on, also after a failure. straight: copies from a send block to a
 * receive block are made by the device, from where the caller has the one to
 * where he has the other, both of plain bytes. */
int rota_staging_make(rota_exec *x, const rota_device *device,
                      rota_queue *queue, bool straight);

/* Waits for copies that are under way; there may be no staging. */
void rota_staging_free(rota_exec *x);

/* A bounce buffer for the blocks of region ROTA_SRC or ROTA_DST, which lie at
 * base + offset[q] as their types say and have the sizes in x->bytes: from now
 * on the region is a bounce buffer's, of plain bytes. May wait for copies and
 * allocates if the blocks need more room than before. offset: [P], copied.
 * types: of which the layouts are known; borrowed. */
int rota_staging_bounce(rota_exec *x, rota_region region, char *base,
                        const ptrdiff_t offset[], const rota_types *types);

/* No region has a bounce buffer any more; the owner sets x as it was. */
void rota_staging_unbounce(rota_exec *x);

bool rota_staging_bounces(const rota_exec *x, rota_region region);

/* The caller's blocks of regions that have bounce buffers lie at other bases.
 */
void rota_staging_rebase(rota_exec *x, char *src, char *dst);

/* Copies come after what is in this stream of the user's when a run starts, and
 * what is put in it after a run comes after them: then a run ends when the last
 * copies are queued, not when they are made. */
void rota_staging_set_stream(rota_exec *x, bool follow, void *stream);

/* Bytes of bounce buffers; are all of them page-locked? */
size_t rota_staging_bytes(const rota_exec *x, bool *pinned);

/* Microseconds of the last run: until the last send block had come, until the
 * last message had arrived after that, and until all was copied up. */
void rota_staging_times(const rota_exec *x, double *down, double *exchange,
                        double *up);

/* All receive blocks lie in the bounce buffer, x is inactive: copy them up and,
 * unless there is a stream to see to that, wait until they are there. */
int rota_staging_deliver(rota_exec *x);

/* ---- for staged.c ----------------------------------------------------------- */

/* What rota_staging_make makes, but for the program's steps. */
int rota_staging_open(rota_exec *x, const rota_device *device,
                      rota_queue *queue, bool straight,
                      const rota_hooks *hooks);

/* As in rota_hooks. */
int rota_staging_begin(rota_exec *x); /* queues the copies down */
int rota_staging_may_send(rota_exec *x, uint32_t m, bool *may);
int rota_staging_arrived(rota_exec *x, uint32_t m);
int rota_staging_copy(rota_exec *x, const rota_copy *copy, bool *taken);

/* May the current phase be entered? */
int rota_staging_may_enter(rota_exec *x, bool *may);

/* The current phase is complete: copy up what it has received and written. */
int rota_staging_leave(rota_exec *x);

/* All phases are complete: is the run? */
int rota_staging_end(rota_exec *x, bool *done);

#endif /* ROTA_STAGING_H */
