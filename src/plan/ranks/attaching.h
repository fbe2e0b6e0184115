/* attaching.h - whether the kernel may copy long messages of a node from private
 * memory (exec/memory/attach.h). */
#ifndef ROTA_ATTACHING_H
#define ROTA_ATTACHING_H

#include "plan/ranks/comm.h"

/* Find out what is not known of a communicator, for a plan with blocks of at most
 * `largest` bytes (SIZE_MAX: without a bound): whether all ranks may read the
 * private memory of those that they share memory with. Plans with short blocks need
 * not know, nor those whose hint (wish) forbids it; wish 0: none says from which
 * size on. If a rank has no memory for what others are to read, the answer is no; if
 * it has none for their addresses, all ranks fail. The arguments are the same on all
 * ranks. Collective, after rota_comm_open_node; the ranks agree on every failure. */
int rota_comm_ask_attaching(rota_comm *c, size_t largest, int wish);

/* The bytes from which a message may be copied so, or with a hint is; SIZE_MAX: none
 * is, and *why says why; else that is NULL. sent: what this rank sends to others of
 * its node in a start; SIZE_MAX: not known. Local. */
size_t rota_comm_attach_from(const rota_comm *c, int wish, size_t sent,
                             const char **why);

#endif /* ROTA_ATTACHING_H */
