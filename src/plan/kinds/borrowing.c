/* borrowing.c - exchanges whose receivers read blocks of their node where the senders
 * have them: see exec/memory/lending.h.
 *
 * To the executor this is an exchange in which a rank of the node is sent a
 * descriptor in place of a long block. So every algorithm can be used, and a rank
 * waits for nobody whom it would not wait for in an exchange.
 */
#include "exec/memory/lending.h"
#include "exec/payload/collected.h"
#include "plan/kinds/counted.h"
#include "plan/kinds/exchange.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- making -------------------------------------------------------------- */

/* A message may be a descriptor. */
size_t rota_borrowing_bound(const rota_task *t, size_t largest)
{
    (void)largest;
    return t->max_block > sizeof(rota_descriptor) ? t->max_block
                                                  : sizeof(rota_descriptor);
}

/* What is sent is in the plan's memory, or another of the host. */
static int prepare(rota_task *t, const rota_args *args)
{
    t->use.device = NULL;
    ROTA_TRY(rota_counted_prepare(t, args));
    const rota_counted *const own = t->own;
    return own->plain
               ? MPI_SUCCESS
               : rota_fail(MPI_ERR_TYPE,
                           "blocks are read where they lie, so the elements of "
                           "type must be bytes without gaps");
}

int rota_borrowing_build(rota_built *b)
{
    b->exec.lending = calloc(1, sizeof *b->exec.lending);
    return b->exec.lending ? rota_built_schedule(b)
                           : rota_fail_mem("what a plan lends");
}

int rota_borrowing_sendbuf(rota_built *b, size_t bytes, void **sendbuf)
{
    rota_lending *const l = b->exec.lending;

    if (b->exec.status.broken)
        return rota_status_refuse();
    if (!rota_lending_has_room(l, bytes) && !rota_lending_grow(l, bytes))
        return rota_fail_mem("a send buffer");
    *sendbuf = l->buffer[l->turn];
    return MPI_SUCCESS;
}

/* ---- starting ------------------------------------------------------------ */

/* The blocks of the last start may still be read. */
static int check_buffer(const rota_lending *l, const char *send)
{
    const int last = 1 - l->turn;

    return l->buffer[last] &&
                   (uintptr_t)send - (uintptr_t)l->buffer[last] < l->room[last]
               ? rota_fail(MPI_ERR_BUFFER,
                           "others may still read sendbuf, which the last "
                           "start had; call rota_exchange_get_sendbuf")
               : MPI_SUCCESS;
}

/* Can the block be read where it lies? Then it is at that place. */
static bool lies_in_buffer(const rota_lending *l, const char *block,
                           size_t bytes, rota_place *at)
{
    const size_t from = (uintptr_t)block - (uintptr_t)l->buffer[l->turn];
    const size_t room = l->room[l->turn];

    *at = l->at[l->turn] + from;
    return l->at[l->turn] && from < room && bytes <= room - from;
}

/* Send a descriptor in place of block q, if it is to be read where it lies. */
static void lend(rota_built *b, int q)
{
    rota_lending *const l = b->exec.lending;
    const rota_blocks *const blocks = &b->exec.blocks;
    const rota_block i = rota_src(&b->sched, q);
    const size_t bytes = blocks->bytes[i];
    char *const base = blocks->base[ROTA_SRC],
                *block = base + blocks->offset[i];
    const int position = l->node->of[q];
    rota_lent *const lent = &l->lent[l->turn][position];
    rota_place at;

    if (bytes == sizeof lent->copy) {
        memcpy(lent->copy, block, bytes);
        at = l->lent_at[l->turn] +
             (rota_place)((char *)lent->copy - (char *)l->lent[l->turn]);
    } else if (bytes < l->from || (bytes & ROTA_LEFT_OUT) ||
               !lies_in_buffer(l, block, bytes, &at) ||
               !rota_peer_has(l->peer[position], at)) {
        return;
    }
    lent->descriptor = (rota_descriptor){.at = at, .bytes = bytes};
    l->bytes += bytes;
    blocks->bytes[i] = sizeof lent->descriptor;
    blocks->offset[i] =
        (ptrdiff_t)((uintptr_t)&lent->descriptor - (uintptr_t)base);
}

static int start(rota_built *b, const rota_start_args *args)
{
    rota_exec *const x = &b->exec;
    rota_lending *const l = x->lending;
    size_t largest;
    char *const send = (char *)args->send.base; /* MPI's const: not written */

    if (send == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE");
    ROTA_TRY(check_buffer(l, send));
    ROTA_TRY(rota_counted_fill(b, args, ROTA_SRC, &largest, false));
    rota_counted_leave_out(b, largest, (rota_block)b->sched.n_send);
    x->blocks.base[ROTA_SRC] = send;
    if (b->task->record)
        rota_built_record(b, x->blocks.bytes);
    l->bytes = 0;
    for (int q = 0; l->node && q < b->sched.P; q++)
        if (rota_lending_reaches(l, q))
            lend(b, q);
    rota_exchange_expect(b, false);
    ROTA_TRY(rota_exec_start(x));
    l->turn = 1 - l->turn;
    l->read = false;
    return MPI_SUCCESS;
}

/* ---- collecting ---------------------------------------------------------- */

/* A rank of the node has sent this block: a descriptor, or what it could not lend,
 * perhaps since it lies in memory that this rank has not mapped yet. */
static char *read_descriptor(rota_built *b, int q, char *block, size_t *bytes)
{
    const rota_lending *const l = b->exec.lending;
    rota_peer *const peer = l->peer[l->node->of[q]];
    rota_descriptor found;

    if (*bytes != sizeof found) {
        if (*bytes >= l->from)
            rota_arena_update(peer);
        return block;
    }
    memcpy(&found, block, sizeof found);
    *bytes = found.bytes;
    return rota_peer_at(peer, found.at);
}

/* Find out where all blocks lie. */
static void read_descriptors(rota_built *b)
{
    rota_lending *const l = b->exec.lending;
    rota_collection *const c = b->exec.collection;
    const rota_blocks *const blocks = &b->exec.blocks;
    const rota_sched *const s = &b->sched;

    rota_collected_end(&b->exec);
    for (int q = 0; q < s->P; q++) {
        const rota_block i = rota_dst(s, q);
        char *block =
            blocks->place[i] ? blocks->place[i] : c->to + blocks->offset[i];
        if (q == s->me)
            block = rota_block_at(blocks, rota_src(s, q));
        else if (rota_lending_reaches(l, q))
            block = read_descriptor(b, q, block, &blocks->bytes[i]);
        blocks->place[i] = block;
    }
    c->elsewhere = true;
    l->read = true;
}

static int collect(rota_built *b, rota_found *found)
{
    const rota_sched *const s = &b->sched;
    const rota_blocks *const blocks = &b->exec.blocks;

    if (!b->exec.lending->read)
        read_descriptors(b);
    ROTA_TRY(rota_exchange_note(b, found));
    for (int q = 0; found->blocks && q < s->P; q++) {
        const rota_block i = rota_dst(s, q);
        found->blocks[q] = blocks->bytes[i] > 0 ? blocks->place[i] : NULL;
    }
    return MPI_SUCCESS;
}

const rota_kind_table rota_kind_borrowing = {
    .kind = ROTA_EXCHANGE,
    .is = "an exchange with borrowed blocks",
    .wait = "rota_exchange_wait_borrow",
    .collects = true,
    .borrows = true,
    .own_bytes = sizeof(rota_counted),
    .bound = rota_borrowing_bound,
    .prepare = prepare,
    .vote = rota_counted_vote,
    .forget = rota_counted_forget,
    .build = rota_borrowing_build,
    .start = start,
    .collect = collect,
};
