/* topo_detect.h - which ranks share a node, and which domains they are in. */
#ifndef ROTA_TOPO_DETECT_H
#define ROTA_TOPO_DETECT_H

#include "plan/ranks/comm.h"

#include <stddef.h>

/* Cores of this process's node, or of another machine that hwloc is told to
 * describe. */
int rota_topo_cores(void);
/* Find the topology of c, the roster of its node, and the cores of the node that
 * has the fewest. If status is an error on one rank, all fail. Collective; the ranks
 * agree on every failure. */
int rota_topo_detect(rota_comm *c, int status);
/* From now on, place its pages in the domain that this rank is bound to. */
void rota_topo_bind_memory(void *memory, size_t bytes);

#endif /* ROTA_TOPO_DETECT_H */
