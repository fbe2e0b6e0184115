/* exchange.h - what exchanges have in common that collect their blocks, or borrow
 * them. */
#ifndef ROTA_EXCHANGE_H
#define ROTA_EXCHANGE_H

#include "exec/payload/collected.h"
#include "plan/kinds/counted.h"

/* A run begins: nothing has come, but what the rank sends itself. */
static ROTA_ANEW void rota_exchange_expect(rota_built *b, bool usual)
{
    const rota_counted *const own = rota_counted_of(b);
    const rota_sched *const s = &b->sched;
    size_t *const bytes = b->exec.blocks.bytes;
    rota_collection *const c = b->exec.collection;
    const bool on_device = !usual && b->task->use.device;
    const bool plain = usual || own->plain;
    size_t own_bytes = 0;

    if (!usual && s->neighbors)
        rota_neighbors_drop(s->n_recv, s->neighbors->from,
                            bytes + rota_dst(s, 0));
    for (int k = 0; k < rota_counted_n_own(s, usual); k++) {
        const rota_own block = rota_counted_own(s, k, usual);
        own_bytes = bytes[rota_src(s, block.send)];
        bytes[rota_dst(s, block.recv)] = own_bytes;
    }
    if (plain && !own->buffer)
        rota_collected_begin(&b->exec, c->out, c->room, true, own_bytes);
    else if (plain && own->early && !on_device)
        rota_collected_begin(&b->exec, own->buffer, own->room, true, own_bytes);
    else
        rota_collected_begin(&b->exec, c->out, 0, false, own_bytes);
}

/* Tell counts and displacements, in elements; any may be large or not asked for. */
int rota_exchange_note(const rota_built *b, const rota_found *found);

/* Of rota_kind_borrowing, on which an exchange of arrays is built. */
size_t rota_borrowing_bound(const rota_task *t, size_t largest);
int rota_borrowing_build(rota_built *b);

/* Of rota_kind_borrowing: the buffer for the next start. Local. */
int rota_borrowing_sendbuf(rota_built *b, size_t bytes, void **sendbuf);

#endif /* ROTA_EXCHANGE_H */
