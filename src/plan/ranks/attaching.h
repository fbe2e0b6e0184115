/* attaching.h - whether the kernel copies long messages of a node from private
 * memory (exec/memory/attach.h). */
#ifndef ROTA_ATTACHING_H
#define ROTA_ATTACHING_H

#include "plan/ranks/comm.h"

/* Find out what is not known of a communicator, for a plan with blocks of at most
 * `largest` bytes: whether all ranks may read the private memory of those that they
 * share memory with; and from how many bytes in all copies by the kernel are
 * faster, unless a hint says from which size on (wish; 0: none does). Plans with
 * short blocks, and those whose hint forbids it, need neither. Lack of memory is no
 * failure. The arguments are the same on all ranks. Collective, after
 * rota_comm_open_node; the ranks agree on every failure. */
int rota_comm_try_attaching(rota_comm *c, size_t largest, int wish);

/* The bytes from which a message is to be copied so; SIZE_MAX: none is. sent: what
 * this rank sends to others of its node in a start; SIZE_MAX: not known. *why, if
 * not NULL: why it is so. Local. */
size_t rota_comm_attach_from(const rota_comm *c, int wish, size_t sent,
                             const char **why);

#endif /* ROTA_ATTACHING_H */
