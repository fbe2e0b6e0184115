/* node.h - introduces the ranks of a node to each other. */
#ifndef ROTA_PLAN_NODE_H
#define ROTA_PLAN_NODE_H

#include "plan/ranks/comm.h"

/* Map the memory of the node's ranks, unless it was tried before. If it cannot
 * be mapped, that is no failure. Collective. */
int rota_comm_open_node(rota_comm *c);

/* Some ranks could not map memory that others have added: from now on, those
 * pairs share none. Collective. */
int rota_comm_part_node(rota_comm *c);

/* Map memory that others have added. Returns whether all could be mapped.
 * Local. */
bool rota_comm_update_node(const rota_comm *c);
void rota_node_free(rota_node *node); /* node may be NULL */

#endif /* ROTA_PLAN_NODE_H */
