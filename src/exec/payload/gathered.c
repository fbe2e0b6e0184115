/* gathered.c - plain blocks that MPI gathers by a datatype: see payload.h. */
#include "exec/payload/payload.h"

#include <limits.h>

static bool takes(const rota_exec *x, const rota_makeup *k)
{
    if (!k->apart || k->shares || !k->via->needs_mpi ||
        !x->blocks.s->by_datatype || !x->fixed || k->bytes > INT_MAX)
        return false;
    for (uint32_t i = 0; i < k->n; i++)
        if (!rota_type_is_bytes(rota_block_type(&x->blocks, k->item[i])))
            return false;
    return true;
}

const rota_payload rota_payload_gathered = {.takes = takes};
