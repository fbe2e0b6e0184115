/* loan.c - see loan.h. */
#include "exec/transport/lines/loan.h"
#include "exec/move/blocks.h"
#include "exec/move/trace.h"
#include "exec/payload/parcels.h"
#include "exec/payload/sized.h"

#include <stdlib.h>

/* ---- what is lent -------------------------------------------------------- */

static bool is_lent(const rota_exec *x, rota_dir dir, uint32_t m, int peer)
{
    const rota_msg *const msg = &x->blocks.s->msgs[dir].msg[m];

    return msg->handed && msg->peer == peer &&
           rota_msg_lends(x->blocks.s, dir, m);
}

uint32_t rota_loan_count(const rota_exec *x, int peer)
{
    uint32_t n = 0;

    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->blocks.s->msgs[dir].n; m++)
            if (is_lent(x, (rota_dir)dir, m, peer))
                n += rota_msg_blocks(&x->blocks.s->msgs[dir].msg[m]);
    return n;
}

void rota_loan_tell(const rota_exec *x, int peer, rota_loan_table *table)
{
    uint64_t at = 0;

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &x->blocks.s->msgs[dir];
        for (uint32_t m = 0; m < l->n; m++)
            for (uint32_t i = l->msg[m].first;
                 is_lent(x, (rota_dir)dir, m, peer) && i < l->msg[m + 1].first;
                 i++)
                table->offset[at++] = (uint64_t)x->blocks.offset[l->item[i]];
    }
    table->n = at;
}

/* ---- a message ----------------------------------------------------------- */

static rota_loan *make(const rota_exec *x, rota_dir dir, uint32_t m)
{
    rota_loan *const h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->n = rota_msg_blocks(&x->blocks.s->msgs[dir].msg[m]);
    h->bytes = rota_has_parcels(x)
                   ? 1
                   : rota_message_bytes(&x->blocks, dir, m); /* a flag's */
    return h;
}

rota_loan *rota_loan_lend(const rota_exec *x, rota_dir dir, uint32_t m)
{
    rota_loan *const h = make(x, dir, m);

    if (h)
        h->lends = true;
    return h;
}

rota_loan *rota_loan_find(const rota_exec *x, rota_dir dir, uint32_t m,
                          const rota_peer *lender, const rota_loan_table *table,
                          uint64_t *at)
{
    rota_loan *const h = make(x, dir, m);
    char *const scratch = rota_peer_at(lender, table->scratch);

    if (!h)
        return NULL;
    h->there = malloc(h->n * sizeof *h->there);
    h->move = malloc(h->n * sizeof *h->move);
    h->finished = (void *)rota_peer_at(lender, table->finished);
    h->runs = atomic_load(h->finished);
    if (!h->there || !h->move) {
        rota_loan_free(h);
        return NULL;
    }
    for (uint32_t i = 0; i < h->n; i++)
        h->there[i] = scratch + table->offset[(*at)++];
    return h;
}

void rota_loan_free(rota_loan *h)
{
    if (!h)
        return;
    free(h->there);
    free(h->move);
    free(h);
}

/* ---- copying ------------------------------------------------------------- */

void rota_loan_resolve(const rota_exec *x, rota_dir dir, uint32_t m,
                       rota_loan *h)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];
    const rota_block *const item = &l->item[l->msg[m].first];
    const bool sent = dir == ROTA_SEND;

    h->n_moves = 0;
    h->elements = false;
    for (uint32_t i = 0; !h->lends && !rota_has_parcels(x) && i < h->n; i++) {
        char *const here = rota_block_at(&x->blocks, item[i]);
        h->elements = h->elements ||
                      !rota_type_is_bytes(rota_block_type(&x->blocks, item[i]));
        const rota_move next = {.to = sent ? h->there[i] : here,
                                .from = sent ? here : h->there[i],
                                .bytes = x->blocks.bytes[item[i]]};
        rota_move *const last = h->n_moves ? &h->move[h->n_moves - 1] : NULL;
        if (last && last->to + last->bytes == next.to &&
            last->from + last->bytes == next.from)
            last->bytes += next.bytes;
        else
            h->move[h->n_moves++] = next;
    }
}

static int copy_elements(const rota_exec *x, rota_dir dir, uint32_t m,
                         const rota_loan *h)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];
    const rota_block *const item = &l->item[l->msg[m].first];

    for (uint32_t i = 0; i < h->n; i++)
        ROTA_TRY(dir == ROTA_SEND
                     ? rota_block_pack(&x->blocks, item[i], h->there[i])
                     : rota_block_unpack(&x->blocks, h->there[i], item[i]));
    return MPI_SUCCESS;
}

/* The slots are those of memory that is written again when all have taken
 * theirs: what is to be collected later is copied. */
static int take_parcels(rota_exec *x, uint32_t m, char *const slot[])
{
    const rota_msgs *const l = &x->blocks.s->msgs[ROTA_RECV];
    const uint32_t n = rota_msg_blocks(&l->msg[m]);
    rota_op *const op = &x->program.op[ROTA_RECV][m];
    size_t bytes = 0;
    char *to;

    for (uint32_t i = 0; i < n && x->counts_unknown; i++)
        bytes += rota_cell_bytes(((rota_slot *)(void *)slot[i])->cell);
    if (bytes > 0)
        ROTA_TRY(rota_grow(&op->memory, &op->room, bytes,
                           "what an exchange receives"));
    to = bytes > 0 ? op->memory : NULL;
    for (uint32_t i = 0; i < n; i++) {
        rota_slot *const from = (rota_slot *)(void *)slot[i];
        const size_t size = rota_cell_bytes(from->cell);
        char *at = rota_slot_block(from);
        if (to) {
            rota_copy_fast(to, at, size);
            at = to;
            to += size;
        }
        ROTA_TRY(
            rota_sized_arrive(x, l->item[l->msg[m].first + i], from->cell, at));
    }
    return MPI_SUCCESS;
}

static int put_or_take(rota_exec *x, rota_dir dir, uint32_t m,
                       const rota_loan *h)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];

    return dir == ROTA_SEND
               ? rota_parcels_put(x, h->there, l->item + l->msg[m].first, h->n)
               : take_parcels(x, m, h->there);
}

static int copy(rota_exec *x, rota_dir dir, uint32_t m, const rota_loan *h)
{
    if (rota_has_parcels(x))
        return put_or_take(x, dir, m, h);
    if (h->elements)
        return copy_elements(x, dir, m, h);
    for (const rota_move *k = h->move; k < h->move + h->n_moves; k++)
        rota_copy_short(k->to, k->from, k->bytes);
    return MPI_SUCCESS;
}

int rota_loan_copy(rota_exec *x, rota_dir dir, uint32_t m, const rota_loan *h)
{
    if (h->lends)
        return MPI_SUCCESS;
    const int64_t begin = x->trace ? rota_trace_now(x->trace) : 0;
    const int err = copy(x, dir, m, h);
    if (x->trace)
        rota_trace_note(
            x->trace, dir == ROTA_SEND ? ROTA_TRACE_GATHER : ROTA_TRACE_SCATTER,
            begin, x->blocks.s->msgs[dir].msg[m].peer, h->bytes);
    return err;
}
