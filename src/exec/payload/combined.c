/* combined.c - one block of plain bytes that is combined with what is there, part by
 * part as it comes, from where its sender has it or the message lies: see payload.h
 * and exec/move/accumulate.h.
 */
#include "exec/move/accumulate.h"
#include "exec/payload/payload.h"

static int block_of(const rota_exec *x, uint32_t m)
{
    return (int)rota_block_slot(x->blocks.s,
                                rota_payload_first(x, ROTA_RECV, m));
}

static bool takes(const rota_exec *x, const rota_makeup *k)
{
    const rota_accumulation *const a = x->accumulation;

    if (!a || !a->apart || k->dir != ROTA_RECV || k->n != 1 || k->handed ||
        k->shares || k->via->needs_mpi ||
        rota_block_region(x->blocks.s, k->item[0]) != ROTA_DST)
        return false;
    const uint32_t i = rota_block_slot(x->blocks.s, k->item[0]);
    return a->once[i] && rota_type_is_bytes(rota_types_at(a->types, i));
}

static int bind(rota_exec *x, rota_dir dir, uint32_t m)
{
    (void)dir;
    x->accumulation->direct[block_of(x, m)] = true;
    return MPI_SUCCESS;
}

static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    d->bytes = rota_message_bytes(&x->blocks, dir, m);
    d->body = NULL;
    return MPI_SUCCESS;
}

static int take(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
                size_t end, const char *from)
{
    (void)d;
    return rota_accumulate_part(x->accumulation, &x->blocks, block_of(x, m),
                                begin, end, from);
}

const rota_payload rota_payload_combined = {.by_parts = true,
                                            .takes = takes,
                                            .bind = bind,
                                            .begin = begin,
                                            .take = take};
