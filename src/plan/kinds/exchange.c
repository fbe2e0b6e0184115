/* exchange.c - plans of exchanges, which find receive counts out.
 *
 * Making one learns nothing, so it agrees only where built.c does. Starting and
 * collecting are local: a rank that has no room for what it received fails alone,
 * keeps its blocks, and may collect again; nobody waits for it.
 */
#include "plan/kinds/exchange.h"
#include "device/staging.h"
#include "plan/kinds/device.h"

#include <limits.h>
#include <stdint.h>

/* ---- starting ------------------------------------------------------------ */

static ROTA_ANEW int start_as(rota_built *b, const rota_start_args *args,
                              bool usual)
{
    rota_exec *const x = &b->exec;
    size_t largest;
    char *const send = (char *)args->send.base; /* MPI's const: not written */

    if (args->send.base == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE");
    ROTA_TRY(rota_counted_fill(b, args, ROTA_SRC, &largest, usual));
    rota_counted_leave_out(b, largest, (rota_block)b->sched.n_send);
    x->blocks.base[ROTA_SRC] = send;
    if (!usual && b->task->use.device) {
        x->blocks.types[ROTA_SRC] = b->task->problem.recv.types;
        ROTA_TRY(rota_built_stage(b, send, NULL, false));
    }
    rota_exchange_expect(b, usual);
    if (b->task->record)
        rota_built_record(b, x->blocks.bytes);
    return rota_exec_start(x);
}

ROTA_RARE static int start_unusual(rota_built *b, const rota_start_args *args)
{
    return start_as(b, args, false);
}

static int start(rota_built *b, const rota_start_args *args)
{
    return rota_counted_is_usual(b) ? start_as(b, args, true)
                                    : start_unusual(b, args);
}

/* ---- collecting ---------------------------------------------------------- */

/* Find the offsets of all blocks from the buffer; returns the bytes of it that all
 * take. */
ROTA_RARE static size_t lay_out(rota_built *b)
{
    const rota_unit *const unit = &rota_counted_of(b)->unit;
    const rota_blocks *const blocks = &b->exec.blocks;
    size_t at = 0;

    for (int q = 0; q < b->sched.n_recv; q++) {
        const rota_block i = rota_dst(&b->sched, q);
        blocks->offset[i] = (ptrdiff_t)at * unit->spacing + unit->true_lb;
        at += rota_unit_elements(unit, blocks->bytes[i]);
    }
    return at * (size_t)unit->spacing;
}

/* The same for plain bytes: most are known. */
static inline size_t complete_layout(const rota_built *b)
{
    rota_collected_end(&b->exec);
    return b->exec.collection->end;
}

ROTA_RARE int rota_exchange_note(const rota_built *b, const rota_found *found)
{
    const size_t *const bytes = b->exec.blocks.bytes + b->sched.n_send;
    size_t at = 0;
    bool fit = true;

    for (int q = 0; q < b->sched.n_recv; q++) {
        const size_t n =
            rota_unit_elements(&rota_counted_of(b)->unit, bytes[q]);
        fit = rota_counted_note(found, q, n, at) && fit;
        at += n;
    }
    return fit ? MPI_SUCCESS
               : rota_fail(MPI_ERR_COUNT,
                           "counts or displacements do not fit an int; call "
                           "%s_c",
                           b->task->kind->wait);
}

static ROTA_ANEW int tell_counts(const rota_built *b, const rota_found *found)
{
    const rota_unit unit = rota_counted_of(b)->unit;
    const size_t *const bytes = b->exec.blocks.bytes + b->sched.n_send;
    int *const counts = found->counts, *const displs = found->displs;
    const int n = b->sched.n_recv;
    size_t at = 0;

    if (found->large || !counts || !displs)
        return rota_exchange_note(b, found);
    for (int q = 0; q < n; q++) {
        const size_t count = rota_unit_elements(&unit, bytes[q]);
        counts[q] = (int)count;
        displs[q] = (int)at;
        at += count;
    }
    return at > INT_MAX ? rota_exchange_note(b, found) : MPI_SUCCESS;
}

/* Blocks have come into a buffer of the caller's that is not the one to collect in,
 * or too small. The caller may free it from now on: move them to the plan's own. */
ROTA_RARE static int rescue(rota_collection *c, size_t bytes)
{
    ROTA_TRY(rota_grow(&c->out, &c->room, bytes, "what an exchange receives"));
    memcpy(c->out, c->to, rota_smaller(bytes, c->limit));
    c->to = c->out;
    return MPI_SUCCESS;
}

/* Where to collect so many bytes, if that is not where they have come. */
ROTA_RARE static int find_another(const rota_built *b, size_t bytes,
                                  char **buffer)
{
    rota_collection *const c = b->exec.collection;
    const bool in_own = c->to == c->out;
    const int err = rota_counted_buffer(b, bytes, &c->out, &c->room, buffer);

    if (in_own)
        c->to = c->out;
    else if (err != MPI_SUCCESS || *buffer != c->to)
        ROTA_TRY(rescue(c, bytes));
    return err;
}

/* Are so many bytes collected at `to`, where blocks have come? */
static ROTA_ANEW bool stay(const rota_built *b, const char *to, size_t bytes)
{
    const rota_counted *const own = rota_counted_of(b);
    const rota_collection *const c = b->exec.collection;

    return own->buffer ? to == own->buffer && bytes <= own->room
                       : to == c->out && bytes <= c->room;
}

/* Put what has come where it belongs. Blocks that lie nowhere else are in the buffer
 * of the run, end to end. */
ROTA_RARE static int put_in_place(const rota_built *b)
{
    const rota_sched *const s = &b->sched;
    const rota_blocks *const blocks = &b->exec.blocks;
    const char *own = b->exec.collection->to;

    for (int q = 0; q < s->n_recv; q++) {
        const rota_block i = rota_dst(s, q);
        const char *const from = blocks->place[i] ? blocks->place[i] : own;
        char *const to = blocks->base[ROTA_DST] + blocks->offset[i];
        if (blocks->bytes[i] > 0 && from != to && rota_from(s, q) != s->me)
            ROTA_TRY(rota_type_unpack(blocks->types[ROTA_DST].type, from,
                                      blocks->bytes[i], to, blocks->comm));
        own += blocks->bytes[i];
    }
    return MPI_SUCCESS;
}

/* What the rank sends itself. */
static ROTA_ANEW int copy_own(const rota_built *b, bool plain, bool usual)
{
    const rota_sched *const s = &b->sched;
    const rota_blocks *const blocks = &b->exec.blocks;

    for (int k = 0; k < rota_counted_n_own(s, usual); k++) {
        const rota_own own = rota_counted_own(s, k, usual);
        const rota_copy copy = {rota_src(s, own.send), rota_dst(s, own.recv)};
        if (plain)
            rota_copy_short(blocks->base[ROTA_DST] + blocks->offset[copy.to],
                            blocks->base[ROTA_SRC] + blocks->offset[copy.from],
                            blocks->bytes[copy.to]);
        else
            ROTA_TRY(rota_block_copy(blocks, &copy));
    }
    return MPI_SUCCESS;
}

static ROTA_ANEW int collect_as(rota_built *b, rota_found *found, bool usual)
{
    const rota_counted *const own = rota_counted_of(b);
    const bool device = !usual && b->task->use.device;
    const bool plain = usual || (own->plain && !device);
    const size_t bytes = plain ? complete_layout(b) : lay_out(b);
    const rota_collection *const c = b->exec.collection;

    ROTA_TRY(tell_counts(b, found));
    char *buffer = c->to;
    bool moves = device;
    if (!stay(b, buffer, bytes)) {
        char *other; /* has an address, so that buffer has none */
        ROTA_TRY(find_another(b, bytes, &other));
        moves = device || other != c->to;
        buffer = other;
    }
    b->exec.blocks.base[ROTA_DST] = buffer;
    if (device)
        ROTA_TRY(rota_built_stage_found(b, buffer));
    if (moves || c->elsewhere)
        ROTA_TRY(put_in_place(b));
    ROTA_TRY(copy_own(b, plain, usual));
    if (device && rota_staging_bounces(&b->exec, ROTA_DST))
        ROTA_TRY(rota_staging_deliver(&b->exec));
    found->buffer = buffer;
    return MPI_SUCCESS;
}

ROTA_RARE static int collect_unusual(rota_built *b, rota_found *found)
{
    return collect_as(b, found, false);
}

static int collect(rota_built *b, rota_found *found)
{
    return rota_counted_is_usual(b) ? collect_as(b, found, true)
                                    : collect_unusual(b, found);
}

const rota_kind_table rota_kind_exchange = {
    .kind = ROTA_EXCHANGE,
    .is = "an exchange",
    .wait = "rota_exchange_wait",
    .collects = true,
    .parts = true,
    .own_bytes = sizeof(rota_counted),
    .prepare = rota_counted_prepare,
    .vote = rota_counted_vote,
    .forget = rota_counted_forget,
    .build = rota_built_schedule,
    .start = start,
    .collect = collect,
};
