/* announced.c - one block within the node whose size both ends know, in a plan
 * whose messages carry values: also an empty one is sent, as it tells that the
 * sender's value is there. See payload.h.
 */
#include "exec/payload/carried.h"
#include "exec/payload/payload.h"

static bool takes(const rota_exec *x, const rota_makeup *k)
{
    return x->carried && !x->counts_unknown && k->via->tells && !k->handed &&
           rota_msg_is_direct(x->blocks.s, k->dir, k->m);
}

static int bind(rota_exec *x, rota_dir dir, uint32_t m)
{
    x->carried->stocks =
        x->carried->stocks || !rota_payload_is_bytes(x, dir, m);
    return MPI_SUCCESS;
}

/* Elements of a datatype are packed. */
static int stock(rota_exec *x, rota_dir dir, uint32_t m)
{
    return rota_payload_is_bytes(x, dir, m)
               ? MPI_SUCCESS
               : rota_payload_make_room(x, dir, m,
                                        rota_message_bytes(&x->blocks, dir, m));
}

/* At least its length comes. */
static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    const rota_block b = rota_payload_first(x, dir, m);

    d->bytes = dir == ROTA_SEND ? rota_cell_bytes(x->blocks.bytes[b]) : 1;
    d->head_bytes = 0;
    d->body = rota_block_at(&x->blocks, b);
    if (dir == ROTA_RECV || d->bytes == 0 || rota_payload_is_bytes(x, dir, m))
        return MPI_SUCCESS;
    d->body = x->program.op[dir][m].memory;
    return rota_block_pack(&x->blocks, b, d->body);
}

/* One of another size is taken out of the way. */
static int expect(rota_exec *x, uint32_t m, rota_data *d, rota_coming how)
{
    const rota_block b = rota_payload_first(x, ROTA_RECV, m);
    const size_t expected = x->blocks.bytes[b];

    (void)how;
    d->body = rota_block_at(&x->blocks, b);
    if (d->bytes == expected && rota_payload_is_bytes(x, ROTA_RECV, m))
        return MPI_SUCCESS;
    if (d->bytes != expected)
        rota_status_note(&x->status, ROTA_MISMATCH,
                         x->blocks.s->msgs[ROTA_RECV].msg[m].peer, d->bytes,
                         expected);
    ROTA_TRY(rota_payload_make_room(x, ROTA_RECV, m, d->bytes));
    d->body = x->program.op[ROTA_RECV][m].memory;
    return MPI_SUCCESS;
}

static int finish(rota_exec *x, uint32_t m, rota_data *d)
{
    const rota_block b = rota_payload_first(x, ROTA_RECV, m);

    return d->bytes == 0 || d->bytes != x->blocks.bytes[b] ||
                   rota_payload_is_bytes(x, ROTA_RECV, m)
               ? MPI_SUCCESS
               : rota_block_unpack(&x->blocks, d->body, b);
}

const rota_payload rota_payload_announced = {.flat = true,
                                             .tells = true,
                                             .takes = takes,
                                             .bind = bind,
                                             .unbind = rota_payload_unbind,
                                             .stock = stock,
                                             .begin = begin,
                                             .put = rota_payload_put,
                                             .expect = expect,
                                             .take = rota_payload_take_body,
                                             .header = rota_payload_no_header,
                                             .rest = rota_payload_rest_body,
                                             .finish = finish};
