/* packed.c - blocks that are not end to end, or elements whose layout is not
 * known: packed and unpacked on the way; see payload.h.
 *
 * A message goes right into memory that takes all of it, and is unpacked right
 * from memory that has all of it. Otherwise it is gathered in a place of the
 * packing area or, if its size varies, in memory of its own.
 */
#include "exec/payload/payload.h"

/* Elements whose number varies, unless MPI takes them from where they lie. */
static bool varies(const rota_exec *x, const rota_makeup *k)
{
    const rota_type *const t = rota_block_type(&x->blocks, k->item[0]);

    return !x->fixed && !rota_type_is_bytes(t) &&
           (t->packer || !k->via->needs_mpi);
}

/* Also what is handed over, which is packed only if a loan's copy does it. */
static bool takes(const rota_exec *x, const rota_makeup *k)
{
    return k->apart || k->handed || varies(x, k);
}

static bool stages(const rota_makeup *k)
{
    return k->apart;
}

static int gather(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    rota_op *const op = &x->program.op[dir][m];

    if (op->stage != ROTA_NO_STAGE) {
        d->body = x->program.area + op->stage;
        return MPI_SUCCESS;
    }
    ROTA_TRY(
        rota_grow(&op->memory, &op->room, d->bytes, "a message of elements"));
    d->body = op->memory;
    return MPI_SUCCESS;
}

static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    d->bytes = rota_message_bytes(&x->blocks, dir, m);
    d->body = NULL;
    return MPI_SUCCESS;
}

static int hold(rota_exec *x, uint32_t m, rota_data *d)
{
    ROTA_TRY(gather(x, ROTA_SEND, m, d));
    return rota_message_pack(&x->blocks, m, d->body);
}

/* All of it, unless it is held. */
static int put(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
               size_t end, bool streams, char *to)
{
    if (!d->body)
        return rota_message_pack(&x->blocks, m, to);
    rota_copy_bulk(to, d->body + begin, end - begin, streams);
    return MPI_SUCCESS;
}

static int expect(rota_exec *x, uint32_t m, rota_data *d, rota_coming how)
{
    d->body = NULL;
    return how == ROTA_COMES_WHOLE ? MPI_SUCCESS : gather(x, ROTA_RECV, m, d);
}

static int take(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
                size_t end, const char *from)
{
    if (!d->body)
        return rota_message_unpack(&x->blocks, m, from);
    rota_copy_fast(d->body + begin, from, end - begin);
    return MPI_SUCCESS;
}

static int finish(rota_exec *x, uint32_t m, rota_data *d)
{
    const char *const from = d->body;

    d->body = NULL;
    return from ? rota_message_unpack(&x->blocks, m, from) : MPI_SUCCESS;
}

static rota_mpi_buffer as_mpi(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_op *const op = &x->program.op[dir][m];

    return (rota_mpi_buffer){
        op->stage == ROTA_NO_STAGE ? op->memory : x->program.area + op->stage,
        rota_message_bytes(&x->blocks, dir, m), MPI_BYTE};
}

const rota_payload rota_payload_packed = {.takes = takes,
                                          .stages = stages,
                                          .unbind = rota_payload_unbind,
                                          .begin = begin,
                                          .hold = hold,
                                          .put = put,
                                          .expect = expect,
                                          .take = take,
                                          .finish = finish,
                                          .as_mpi = as_mpi};
