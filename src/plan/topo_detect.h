/* topo_detect.h - which ranks share a node, and which domains they are in. */
#ifndef ROTA_TOPO_DETECT_H
#define ROTA_TOPO_DETECT_H

#include "base/topo.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Of this process's node; it is another machine than this where hwloc is told
 * so. */
int rota_topo_cores(void);
int rota_topo_domains(void);
bool rota_topo_is_elsewhere(void);
/* Fill what rota_topo_alloc gave. n_domains: the most of any node; spread: over
 * them, whatever ranks are bound to. Collective, and both the same on all
 * ranks; each call of MPI's here costs much where ranks share cores. */
int rota_topo_detect(MPI_Comm comm, int me, int n_domains, bool spread,
                     rota_topo *topo);
/* Have its pages, from now on, in the domain that this rank is bound to. */
void rota_topo_bind_memory(void *memory, size_t bytes);

#endif /* ROTA_TOPO_DETECT_H */
