/* packer.h - functions of the program that write and read blocks, in place of a
 * datatype: see rota_plan_set_pack in rota.h.
 */
#ifndef ROTA_PACKER_H
#define ROTA_PACKER_H

#include "exec/move/status.h"

#include <mpi.h>

/* One that fails ends no run, in which other ranks wait for messages: it is noted,
 * and the block counts as written or read. */
typedef struct rota_packer {
    int (*pack)(void *context, int dest, MPI_Count begin, MPI_Count end,
                void *to);
    int (*unpack)(void *context, int source, MPI_Count begin, MPI_Count end,
                  const void *from);
    void *context;
    rota_status *status; /* of the run; as is */
} rota_packer;

/* Are there functions of the program at all? */
static inline bool rota_packer_is_on(const rota_packer *p)
{
    return p->pack || p->unpack;
}

/* Have bytes begin to end of a block written or read. n: its number in the list of
 * destinations or sources. */
static inline void rota_packer_pack(const rota_packer *p, int n, size_t begin,
                                    size_t end, char *to)
{
    const int code = begin < end ? p->pack(p->context, n, (MPI_Count)begin,
                                           (MPI_Count)end, to)
                                 : 0;

    if (code)
        rota_status_note(p->status, ROTA_PACK_FAILED, n, (size_t)code, 0);
}

static inline void rota_packer_unpack(const rota_packer *p, int n, size_t begin,
                                      size_t end, const char *from)
{
    const int code = begin < end ? p->unpack(p->context, n, (MPI_Count)begin,
                                             (MPI_Count)end, from)
                                 : 0;

    if (code)
        rota_status_note(p->status, ROTA_UNPACK_FAILED, n, (size_t)code, 0);
}

#endif /* ROTA_PACKER_H */
