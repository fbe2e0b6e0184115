/* memory.h - memory of blocks on their way: the node's, and this rank's. */
#ifndef ROTA_PLAN_MEMORY_H
#define ROTA_PLAN_MEMORY_H

#include "plan/kinds/built.h"

/* Why MPI carries messages within the node, as far as all ranks know it once
 * they have agreed on the choice; NULL: it need not. Local. */
const char *rota_built_refuses_node(const rota_built *b);

/* Let shared memory carry messages within the node, unless something on any
 * rank prevents it: then b->node_why is set on all. All ranks have reserved
 * their memory then, and this one has opened that of others, or b->apart is set.
 * Collective; the ranks agree on every failure. */
int rota_built_share(rota_built *b, int status);

/* The bytes from which messages may be copied by the kernel, or why none is, as
 * rota_comm_attach_from says. Local. */
size_t rota_task_attach_from(const rota_task *t, const char **why);

/* Bind to memory: stage what is on a device, make scratch unless it is lent,
 * make messages. May fail on one rank alone. */
int rota_built_bind(rota_built *b);

/* Call after rota_exec_unbind, which leaves no scratch that was lent. */
void rota_built_free_scratch(rota_built *b);

/* Why the plan, once started, progresses only in calls of Rota's; NULL: it does
 * not. */
const char *rota_built_needs_calls(const rota_built *b);

#endif /* ROTA_PLAN_MEMORY_H */
