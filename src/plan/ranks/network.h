/* network.h - measures messages between the nodes of a machine that nobody has
 * calibrated.
 */
#ifndef ROTA_NETWORK_H
#define ROTA_NETWORK_H

#include "choose/cost.h"

/* rota_ranks.try_network; comm: a rota_comm. A process measures once, with its
 * first communicator of several nodes; it takes as long as some hundreds of
 * short messages and ten of a quarter of a megabyte. Collective; the ranks agree
 * on every failure. */
int rota_network_try(const void *comm, rota_machine *machine);

#endif /* ROTA_NETWORK_H */
