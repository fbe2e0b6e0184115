/* typed.c - see typed.h. */
#include "exec/run/typed.h"
#include "exec/move/blocks.h"
#include "exec/move/strided.h"

static bool is_known(const rota_type *t)
{
    return rota_type_is_bytes(t) || t->layout;
}

/* Elements of two types; one of them may be plain bytes. */
static void count_pair(const rota_type *to, const rota_type *from, size_t bytes,
                       rota_typed_bytes *n)
{
    rota_strided straight;

    if (bytes == 0 || (rota_type_is_bytes(to) && rota_type_is_bytes(from)))
        return;
    if (rota_strided_match(to, from, bytes, &straight))
        n->straight += bytes;
    else if (is_known(to) && is_known(from))
        n->by_layout += bytes;
    else
        n->by_mpi += bytes;
}

/* A block that comes as packed bytes. */
static void count_block(const rota_exec *x, rota_block b, bool by_mpi,
                        rota_typed_bytes *n)
{
    const rota_type *const t = rota_block_type(&x->blocks, b);

    if (rota_type_is_bytes(t))
        return;
    if (by_mpi || !is_known(t))
        n->by_mpi += x->blocks.bytes[b];
    else
        n->by_layout += x->blocks.bytes[b];
}

static void count_message(const rota_exec *x, uint32_t m, rota_typed_bytes *n)
{
    const rota_msgs *const l = &x->blocks.s->msgs[ROTA_RECV];
    const rota_op *const op = &x->program.op[ROTA_RECV][m];
    const rota_type *const source =
        op->via->source ? op->via->source(x, m) : NULL;

    if (source) {
        count_pair(rota_block_type(&x->blocks, l->item[l->msg[m].first]),
                   source, rota_message_bytes(&x->blocks, ROTA_RECV, m), n);
        return;
    }
    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        count_block(x, l->item[i],
                    op->via->needs_mpi && op->stage == ROTA_NO_STAGE, n);
}

rota_typed_bytes rota_typed_count(const rota_exec *x)
{
    rota_typed_bytes n = {0};

    for (uint32_t m = 0; m < x->blocks.s->msgs[ROTA_RECV].n; m++)
        count_message(x, m, &n);
    for (uint32_t i = 0; i < x->blocks.s->n_copies; i++) {
        const rota_copy *const k = &x->blocks.s->copy[i];
        count_pair(rota_block_type(&x->blocks, k->to),
                   rota_block_type(&x->blocks, k->from),
                   rota_copy_bytes(x->blocks.s, k, x->blocks.bytes), &n);
    }
    return n;
}
