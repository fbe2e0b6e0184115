/* mem.h - memory that the other ranks of the node can reach. */
#ifndef ROTA_MEM_H
#define ROTA_MEM_H

#include "plan/ranks/comm.h"

/* Allocate memory for the caller, in the arena if the ranks of each node share
 * it. Collective; the ranks agree on a failure. */
int rota_mem_make(rota_comm *c, size_t bytes, MPI_Info info, int status,
                  void **memory);
int rota_mem_destroy(void *memory); /* local; memory may be NULL */

#endif /* ROTA_MEM_H */
