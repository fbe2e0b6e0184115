/* layout.c - elements of datatypes with known layouts, packed and unpacked in
 * parts or copied from layout to layout: see payload.h.
 */
#include "exec/move/strided.h"
#include "exec/payload/payload.h"

/* Are the layouts of all types in the message known? */
static bool takes(const rota_exec *x, const rota_makeup *k)
{
    bool typed = false;

    if (!k->apart || k->shares || k->via->needs_mpi || !x->fixed)
        return false;
    for (uint32_t i = 0; i < k->n; i++) {
        const rota_type *const t = rota_block_type(&x->blocks, k->item[i]);
        if (!rota_type_is_bytes(t) && !t->layout)
            return false;
        typed = typed || t->layout;
    }
    return typed;
}

static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    d->bytes = rota_message_bytes(&x->blocks, dir, m);
    return MPI_SUCCESS;
}

static int put(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
               size_t end, bool streams, char *to)
{
    (void)d;
    rota_message_pack_part(&x->blocks, m, begin, end, streams, to);
    return MPI_SUCCESS;
}

static int take(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
                size_t end, const char *from)
{
    rota_message_unpack_part(&x->blocks, m, begin, end,
                             d->bytes >= ROTA_STREAMED, from);
    return MPI_SUCCESS;
}

const rota_payload rota_payload_layout = {
    .bound = true, .takes = takes, .begin = begin, .put = put, .take = take};
