/* device.h - blocks in memory of a device. */
#ifndef ROTA_PLAN_DEVICE_H
#define ROTA_PLAN_DEVICE_H

#include "plan/kinds/built.h"

/* A block that lies on a device, of the buffers that a fixed plan is made with; NULL:
 * none does, or they come later. Local. */
const char *rota_task_memory_on_device(const rota_task *task);

/* Can the algorithm, with these types, do what rota_device asks for? Local. */
int rota_built_check_device(const rota_built *b);

/* Stage what lies on a device. Changes b->exec, which is set for these buffers.
 * send is unused if in_place. Local. */
int rota_built_stage(rota_built *b, char *send, char *recv, bool in_place);

/* Make a queue near that memory, behind the stream that is followed, and
 * staging with it; there is none yet. straight: as in rota_staging_make. */
int rota_built_make_staging(rota_built *b, const char *memory, bool straight,
                            rota_queue **queue);

/* From the next start on, follow a stream of the user's, or none. */
void rota_built_follow(rota_built *b, bool follow, void *stream);

/* Use these buffers, which have been checked, from the next start on. */
int rota_built_rebase(rota_built *b, const void *sendbuf, void *recvbuf);

/* Receive the blocks of an exchange in buffer or, if that is on a device, in a
 * bounce buffer of it: then call rota_staging_deliver afterwards. Their sizes,
 * and offsets from buffer, are set. */
int rota_built_stage_found(rota_built *b, char *buffer);

#endif /* ROTA_PLAN_DEVICE_H */
