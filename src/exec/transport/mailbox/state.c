/* state.c - what a rank sends in a sparse exchange, with or without
 * bundles: mail through memory, and messages by MPI.
 */
#include "exec/transport/mailbox/state.h"
#include "exec/transport/p2p_calls.h"

#include "exec/move/blocks.h"

int rota_sparse_make_room(struct rota_sparse *c, size_t n)
{
    return rota_grow(&c->out, &c->out_room, n * sizeof *c->out,
                     "the messages of a sparse exchange");
}

void rota_sparse_link(const rota_exec *x, int i, mail *m, size_t place)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    mailbox *const box = (mailbox *)(void *)c->memory[i];
    _Atomic uint64_t *const newest = &box->newest[parity(c)];
    const uint64_t here = (uint64_t)(c->node->me + 1) << 32 | place;

    m->next = atomic_load_explicit(newest, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        newest, &m->next, here, memory_order_release, memory_order_relaxed))
        continue;
}

bool rota_sparse_put(rota_exec *x, const mail *like, const void *data, int i)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    const size_t place = area_at(c) + c->area_used;
    const size_t left = AREA - c->area_used;

    if (left < sizeof(mail) || like->bytes > left - sizeof(mail))
        return false;
    mail *const m = (mail *)(void *)(c->memory[c->node->me] + place);
    *m = *like;
    if (m->bytes > 0)
        rota_copy_fast(m + 1, data, (size_t)m->bytes);
    c->area_used += mail_step(m) < left ? mail_step(m) : left;
    rota_sparse_link(x, i, m, place);
    return true;
}

int rota_sparse_post(rota_exec *x, kind kind, void *data, size_t bytes,
                     int rank)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    x->program.by_mpi = true;
    ROTA_TRY(rota_p2p_synchronous(data, bytes, rank, sparse_tag(x, (int)kind),
                                  x->comm, &c->out[c->n_out].request));
    c->out[c->n_out++].to = rank;
    return MPI_SUCCESS;
}
