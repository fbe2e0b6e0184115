/* node.h - introduce the ranks of a node to each other. */
#ifndef ROTA_PLAN_NODE_H
#define ROTA_PLAN_NODE_H

#include "plan/comm.h"

/* Map the memory of the ranks of the node, unless it has been tried. That it
 * cannot be done is no failure. Collective. */
int rota_comm_open_node(rota_comm *c);

/* Some ranks could not map what others have since added to their memory: from now
 * on those pairs share none. Collective. */
int rota_comm_part_node(rota_comm *c);

/* Map what others have added. Returns whether all could be. Local. */
bool rota_comm_update_node(const rota_comm *c);
void rota_node_free(rota_node *node); /* node may be NULL */

/* Give mine to n ranks, this one among them, and put theirs into addresses, in
 * their order; bytes each. If the status is an error on one rank, all fail.
 * Collective over c, whose ranks may do so in groups. */
int rota_swap_addresses(const rota_comm *c, const int rank[], int n, int status,
                        const void *mine, void *addresses, size_t bytes);

#endif /* ROTA_PLAN_NODE_H */
