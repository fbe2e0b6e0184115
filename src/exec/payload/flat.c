/* flat.c - bytes that lie end to end, or elements that MPI takes from where they
 * lie: see payload.h.
 */
#include "exec/payload/payload.h"

static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    d->bytes = rota_message_bytes(&x->blocks, dir, m);
    d->body = rota_block_at(&x->blocks, rota_payload_first(x, dir, m));
    return MPI_SUCCESS;
}

static rota_mpi_buffer as_mpi(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_block first = rota_payload_first(x, dir, m);
    const rota_type *const t = rota_block_type(&x->blocks, first);

    return (rota_mpi_buffer){rota_block_at(&x->blocks, first),
                             rota_message_bytes(&x->blocks, dir, m) / t->size,
                             t->mpi};
}

static bool takes_all(const rota_exec *x, const rota_makeup *k)
{
    (void)x;
    (void)k;
    return true;
}

const rota_payload rota_payload_flat = {.flat = true,
                                        .bound = true,
                                        .takes = takes_all,
                                        .begin = begin,
                                        .put = rota_payload_put,
                                        .take = rota_payload_take_body,
                                        .as_mpi = as_mpi};

/* ---- their number becomes known when a run starts ------------------------ */

static bool takes_varying(const rota_exec *x, const rota_makeup *k)
{
    (void)k;
    return !x->fixed;
}

const rota_payload rota_payload_varying = {.flat = true,
                                           .takes = takes_varying,
                                           .begin = begin,
                                           .put = rota_payload_put,
                                           .take = rota_payload_take_body,
                                           .as_mpi = as_mpi};
