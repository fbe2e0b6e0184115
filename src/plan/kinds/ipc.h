/* ipc.h - plans whose blocks go from device to device within the node. */
#ifndef ROTA_PLAN_IPC_H
#define ROTA_PLAN_IPC_H

#include "plan/kinds/plan.h"

/* Why this rank's blocks cannot go from its device to others, or from theirs to
 * its own; NULL: as far as it knows, they can. The algorithm is not known yet.
 * Local. */
const char *rota_plan_why_no_ipc(const rota_plan *plan,
                                 const rota_hints *hints);

/* Set plan->ipc. why: as above; not_all: it is not NULL on some rank. Call
 * after rota_comm_open_node. */
void rota_plan_settle_ipc(rota_plan *plan, const char *why, bool not_all);

/* Have the ranks open each other's memory, once IPC is chosen and plan->exec is
 * set, before memory of the node is reserved. Collective; the ranks agree on
 * every failure. */
int rota_plan_use_ipc(rota_plan *plan);

/* Stage blocks instead; an error if a hint asks for IPC. All ranks do, before
 * plan->exec is bound. Local. */
int rota_plan_give_up_ipc(rota_plan *plan, const char *why);

#endif /* ROTA_PLAN_IPC_H */
