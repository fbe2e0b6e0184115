/* network.h - what messages between the nodes of this machine take, measured where
 * nobody has calibrated it.
 */
#ifndef ROTA_NETWORK_H
#define ROTA_NETWORK_H

#include "choose/cost.h"

/* rota_ranks.try_network; comm: a rota_comm. It is tried once by a process, with
 * the first communicator that has several nodes, for some hundred times what a
 * short message takes and twice what half a megabyte does. Collective; every
 * failure is agreed on. */
int rota_network_try(const void *comm, rota_machine *machine);

#endif /* ROTA_NETWORK_H */
