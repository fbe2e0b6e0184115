/* topo_detect.h - which ranks share a node, and which domains they are in. */
#ifndef ROTA_TOPO_DETECT_H
#define ROTA_TOPO_DETECT_H

#include "base/topo.h"
#include "plan/fellows.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Cores of this process's node, or of another machine that hwloc is told to
 * describe. */
int rota_topo_cores(void);
int rota_topo_domains(void);
bool rota_topo_is_elsewhere(void);
/* Fill in what rota_topo_alloc has allocated, and processes [P]. n_domains: the most of any node;
 * spread: spread ranks over them, whatever they are bound to. Both are the same
 * on all ranks. Collective; each MPI call here is expensive where ranks share
 * cores. */
int rota_topo_detect(MPI_Comm comm, int me, int n_domains, bool spread,
                     rota_topo *topo, rota_process processes[]);
/* From now on, place its pages in the domain that this rank is bound to. */
void rota_topo_bind_memory(void *memory, size_t bytes);

#endif /* ROTA_TOPO_DETECT_H */
