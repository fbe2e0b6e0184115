/* attaching.h - whether the kernel copies long messages of a node from private
 * memory (exec/memory/attach.h). */
#ifndef ROTA_ATTACHING_H
#define ROTA_ATTACHING_H

#include "plan/ranks/comm.h"

/* Find out whether all ranks of all nodes may read each other's memory and, in each
 * process that does not know, whether copies by the kernel are faster: once for each
 * communicator, for plans with blocks of at most `largest` bytes if those are long
 * enough, or asked: a hint asks for it. The arguments are the same on all ranks.
 * Collective, after rota_comm_open_node; the ranks agree on every failure. */
int rota_comm_try_attaching(rota_comm *c, size_t largest, bool asked);

/* The bytes from which a message is to be copied so; SIZE_MAX: none is. wish: the
 * hint's value; 0: there is none. Local. */
size_t rota_comm_attach_from(const rota_comm *c, int wish);

#endif /* ROTA_ATTACHING_H */
