/* exchange.c - plans of exchanges, which find receive counts out.
 *
 * Making one learns nothing, so it agrees only where built.c does. Starting and
 * collecting are local: a rank that has no room for what it received fails alone,
 * keeps its blocks, and may collect again; nobody waits for it.
 */
#include "device/staging.h"
#include "exec/payload/collected.h"
#include "plan/kinds/counted.h"
#include "plan/kinds/device.h"

#include <stdint.h>

/* ---- starting ------------------------------------------------------------ */

/* Nothing has come, but what the rank sends itself. Blocks may be received right
 * into the plan's own buffer, unless the caller has given one, which it may still
 * change. */
static void expect_nothing(rota_built *b)
{
    const rota_sched *const s = &b->sched;
    size_t *const bytes = b->exec.blocks.bytes;

    for (int i = 0; i < s->n_recv; i++) {
        bytes[rota_dst(s, i)] = ROTA_NOT_COME;
        b->exec.blocks.place[rota_dst(s, i)] = NULL;
    }
    for (int i = 0; s->neighbors && i < s->n_recv; i++)
        if (rota_from(s, i) == ROTA_NOBODY)
            bytes[rota_dst(s, i)] = 0;
    for (int k = 0; k < rota_n_own(s); k++) {
        const rota_own own = rota_own_block(s, k);
        bytes[rota_dst(s, own.recv)] = bytes[rota_src(s, own.send)];
    }
    b->sizing.used = false;
    b->sizing.known = 0;
    b->sizing.early = !rota_counted_of(b)->buffer &&
                      rota_types_are_bytes(&b->task->problem.recv.types);
}

static int start(rota_built *b, const rota_start_args *args)
{
    rota_exec *const x = &b->exec;
    size_t largest = 0;
    char *const send = (char *)args->send.base; /* MPI's const: not written */

    if (args->send.base == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE");
    ROTA_TRY(rota_counted_fill(b, args, ROTA_SRC, &largest));
    rota_counted_leave_out(b, largest, (rota_block)b->sched.n_send);
    x->blocks.base[ROTA_SRC] = send;
    if (b->task->use.device) {
        x->blocks.types[ROTA_SRC] = b->task->problem.recv.types;
        ROTA_TRY(rota_built_stage(b, send, NULL, false));
    }
    expect_nothing(b);
    ROTA_TRY(rota_exec_start(x));
    if (b->task->record)
        rota_built_record(b, x->blocks.bytes);
    return MPI_SUCCESS;
}

/* ---- collecting ---------------------------------------------------------- */

static size_t elements(const rota_built *b, rota_block i)
{
    const size_t element = rota_counted_of(b)->unit.element;

    return element ? rota_cell_bytes(b->exec.blocks.bytes[i]) / element : 0;
}

/* Fill in counts and displacements, in elements; *total: their sum. */
static int tell_counts(const rota_built *b, const rota_found *found,
                       size_t *total)
{
    size_t at = 0;
    bool fit = true;

    for (int q = 0; q < b->sched.n_recv; q++) {
        const size_t n = elements(b, rota_dst(&b->sched, q));
        fit = rota_counted_note(found, q, n, at) && fit;
        at += n;
    }
    *total = at;
    return fit ? MPI_SUCCESS
               : rota_fail(MPI_ERR_COUNT,
                           "counts or displacements do not fit an int; call "
                           "rota_exchange_wait_c");
}

static void find_offsets(rota_built *b)
{
    const rota_unit *const unit = &rota_counted_of(b)->unit;
    size_t at = 0;

    for (int q = 0; q < b->sched.n_recv; q++) {
        const rota_block i = rota_dst(&b->sched, q);
        b->exec.blocks.offset[i] =
            (ptrdiff_t)at * unit->spacing + unit->true_lb;
        at += elements(b, i);
    }
}

/* Blocks that are in the plan's own buffer move along when it grows; others lie
 * elsewhere. */
static int choose_buffer(rota_built *b, size_t bytes, char **buffer)
{
    rota_sizing *const c = &b->sizing;
    char **const place = b->exec.blocks.place;
    const uintptr_t was = (uintptr_t)c->out;
    const size_t had = c->room;

    ROTA_TRY(rota_counted_buffer(b, bytes, &c->out, &c->room, buffer));
    for (int q = 0; (uintptr_t)c->out != was && q < b->sched.n_recv; q++) {
        const rota_block i = rota_dst(&b->sched, q);
        const uintptr_t at = (uintptr_t)place[i] - was;
        if (at < had)
            place[i] = c->out + at;
    }
    return MPI_SUCCESS;
}

static int put_in_place(rota_built *b, rota_block i)
{
    const rota_blocks *const blocks = &b->exec.blocks;
    char *const to = blocks->base[ROTA_DST] + blocks->offset[i];
    const char *const from = blocks->place[i];

    if (elements(b, i) == 0 || !from || from == to)
        return MPI_SUCCESS;
    return rota_type_unpack(blocks->types[ROTA_DST].type, from,
                            blocks->bytes[i], to, blocks->comm);
}

static int copy_own(rota_built *b, rota_block from, rota_block to)
{
    return elements(b, to) == 0
               ? MPI_SUCCESS
               : rota_block_copy(&b->exec.blocks,
                                 &(rota_copy){.from = from, .to = to});
}

static int collect(rota_built *b, rota_found *found)
{
    const rota_sched *const s = &b->sched;
    size_t total;
    char *buffer;

    ROTA_TRY(tell_counts(b, found, &total));
    find_offsets(b);
    ROTA_TRY(choose_buffer(b, total * (size_t)rota_counted_of(b)->unit.spacing,
                           &buffer));
    ROTA_TRY(rota_built_stage_found(b, buffer));
    for (int i = 0; i < s->n_recv; i++)
        ROTA_TRY(put_in_place(b, rota_dst(s, i)));
    for (int k = 0; k < rota_n_own(s); k++) {
        const rota_own own = rota_own_block(s, k);
        ROTA_TRY(copy_own(b, rota_src(s, own.send), rota_dst(s, own.recv)));
    }
    if (rota_staging_bounces(&b->exec, ROTA_DST))
        ROTA_TRY(rota_staging_deliver(&b->exec));
    found->buffer = buffer;
    return MPI_SUCCESS;
}

const rota_kind_table rota_kind_exchange = {
    .kind = ROTA_EXCHANGE,
    .title = "an exchange",
    .is = "an exchange",
    .wait = "rota_exchange_wait",
    .collects = true,
    .own_bytes = sizeof(rota_counted),
    .prepare = rota_counted_prepare,
    .vote = rota_counted_vote,
    .forget = rota_counted_forget,
    .build = rota_built_schedule,
    .start = start,
    .collect = collect,
};
