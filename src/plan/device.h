/* device.h - plans whose buffers are memory of a device. */
#ifndef ROTA_PLAN_DEVICE_H
#define ROTA_PLAN_DEVICE_H

#include "plan/plan.h"

/* Can the plan, whose algorithm and types are known, do what the hint on devices
 * asks for? Local. */
int rota_plan_check_device(const rota_plan *plan);

/* Let what lies on a device be exchanged by way of the host: plan->exec, set for
 * these buffers, is changed. send is not used in place. Local. */
int rota_plan_stage(rota_plan *plan, char *send, char *recv, bool in_place);

/* Give the plan, which has none, a queue near that memory and staging with it,
 * behind the stream that it follows. straight: as of rota_staging_make. */
int rota_plan_make_staging(rota_plan *plan, const char *near, bool straight,
                           rota_queue **queue);

int rota_plan_stage_fixed(rota_plan *plan);

/* From the next start on, follow a stream of the user's or none. */
void rota_plan_follow(rota_plan *plan, bool follow, void *stream);

/* rota_plan_set_buffers. */
int rota_plan_rebase(rota_plan *plan, const void *sendbuf, void *recvbuf);

/* Let the blocks of an exchange go to buffer, or to a bounce buffer of it if it
 * is on a device: then rota_staging_deliver is to follow. Their sizes and
 * offsets from buffer are set. */
int rota_plan_stage_found(rota_plan *plan, char *buffer);

#endif /* ROTA_PLAN_DEVICE_H */
