/* device.h - plans whose buffers are memory of a device. */
#ifndef ROTA_PLAN_DEVICE_H
#define ROTA_PLAN_DEVICE_H

#include "plan/kinds/plan.h"

/* Can the plan, whose algorithm and types are known, do what rota_device asks
 * for? Local. */
int rota_plan_check_device(const rota_plan *plan);

/* Stage what lies on a device. Changes plan->exec, which is set for these
 * buffers. send is unused if in_place. Local. */
int rota_plan_stage(rota_plan *plan, char *send, char *recv, bool in_place);

/* Give the plan a queue near that memory, behind the stream that it follows,
 * and staging with it; it has none yet. straight: as in rota_staging_make. */
int rota_plan_make_staging(rota_plan *plan, const char *near, bool straight,
                           rota_queue **queue);

int rota_plan_stage_fixed(rota_plan *plan);

/* From the next start on, follow a stream of the user's, or none. */
void rota_plan_follow(rota_plan *plan, bool follow, void *stream);

/* rota_plan_set_buffers. */
int rota_plan_rebase(rota_plan *plan, const void *sendbuf, void *recvbuf);

/* Receive the blocks of an exchange in buffer or, if that is on a device, in a
 * bounce buffer of it: then call rota_staging_deliver afterwards. Their sizes,
 * and offsets from buffer, are set. */
int rota_plan_stage_found(rota_plan *plan, char *buffer);

#endif /* ROTA_PLAN_DEVICE_H */
