/* ipc.h - blocks that go from device to device within the node. */
#ifndef ROTA_PLAN_IPC_H
#define ROTA_PLAN_IPC_H

#include "choose/hints.h"
#include "plan/kinds/built.h"

/* Why this rank's blocks cannot go from its device to others, or from theirs to
 * its own; NULL: as far as it knows, they can. The algorithm is not known yet.
 * Local. */
const char *rota_task_why_no_ipc(const rota_task *task,
                                 const rota_hints *hints);

/* Set task->use.ipc. why: as above; not_all: it is not NULL on some rank, as all
 * have agreed. Call after rota_comm_open_node. Local. */
void rota_task_set_ipc(rota_task *task, const char *why, bool not_all);

/* Have the ranks open each other's memory, once IPC is chosen and b->exec is
 * set, before memory of the node is reserved. If that fails on any rank, all
 * stage blocks instead. Collective; the ranks agree on every failure. */
int rota_built_use_ipc(rota_built *b);

/* Stage blocks instead; an error if a hint asks for IPC. All ranks do, having
 * agreed on why, before b->exec is bound. Local. */
int rota_built_give_up_ipc(rota_built *b, const char *why);

#endif /* ROTA_PLAN_IPC_H */
