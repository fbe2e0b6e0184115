/* bulk.c - steps that post all their messages at once. */
#include "exec/memory/node.h"
#include "exec/move/blocks.h"
#include "exec/move/trace.h"
#include "exec/payload/parcels.h"
#include "exec/payload/sized.h"
#include "exec/step/steps.h"

static inline void move_some(const rota_step *step, uint32_t first,
                             uint32_t end)
{
    const rota_move *const last = step->move + end;

    for (const rota_move *m = step->move + first; m < last; m++)
        rota_copy_short(m->to, m->from, m->bytes);
}

static inline void copy_plain(const rota_blocks *b, const rota_step *step,
                              uint32_t first, uint32_t end)
{
    const rota_copy *const last = step->copy + end;

    for (const rota_copy *k = step->copy + first; k < last; k++)
        rota_copy_short(b->base[ROTA_DST] + b->offset[k->to],
                        b->base[ROTA_SRC] + b->offset[k->from],
                        b->bytes[k->from]);
}

static int copy_one(rota_exec *x, const rota_copy *k)
{
    return rota_has_parcels(x) && rota_block_is_shared(x->blocks.s, k->from)
               ? rota_sized_arrive(x, k->to, x->blocks.bytes[k->from],
                                   rota_block_at(&x->blocks, k->from))
               : rota_block_copy(&x->blocks, k);
}

static int copy_some(rota_exec *x, const rota_step *step, uint32_t first,
                     uint32_t end)
{
    for (uint32_t i = first, n; i < end; i += n) {
        bool taken = false;
        n = 1;
        if (x->gate && x->gate->copy)
            ROTA_TRY(x->gate->copy(x, &step->copy[i], &taken));
        if (!taken && rota_has_parcels(x) &&
            rota_block_is_shared(x->blocks.s, step->copy[i].to))
            ROTA_TRY(rota_parcels_copy(x, &step->copy[i], end - i, &n));
        else if (!taken)
            ROTA_TRY(copy_one(x, &step->copy[i]));
    }
    return MPI_SUCCESS;
}

static inline int copies(rota_exec *x, const rota_step *step, uint32_t first,
                         uint32_t end)
{
    if (step->copying == ROTA_COPIES_BOUND)
        move_some(step, first, end);
    else if (step->copying == ROTA_COPIES_PLAIN)
        copy_plain(&x->blocks, step, first, end);
    else
        return copy_some(x, step, first, end);
    return MPI_SUCCESS;
}

ROTA_RARE static int copies_traced(rota_exec *x, const rota_step *step,
                                   uint32_t first, uint32_t end)
{
    const int64_t begin = rota_trace_now(x->trace);
    const int err = copies(x, step, first, end);

    if (first < end)
        rota_trace_note(x->trace, ROTA_TRACE_COPY, begin, -1, 0);
    return err;
}

static inline int copy_blocks(rota_exec *x, const rota_step *step,
                              uint32_t first, uint32_t end)
{
    return x->trace ? copies_traced(x, step, first, end)
                    : copies(x, step, first, end);
}

int rota_step_copies(rota_exec *x, const rota_step *step)
{
    return copy_blocks(x, step, 0, step->n_copies);
}

int rota_step_copy(rota_exec *x, const rota_step *step, uint32_t first,
                   uint32_t end)
{
    return copy_blocks(x, step, first, end);
}

static int enter(rota_exec *x, rota_step *step)
{
    rota_batch *const end = step->batch + step->n_batches;

    for (rota_batch *b = step->batch; b < end; b++) {
        b->n_open = b->n;
        if (b->begin)
            ROTA_TRY(b->begin(x, b));
    }
    return copy_blocks(x, step, 0, step->n_copies);
}

/* One MPI call progresses all messages of MPI. So once a batch of them is found
 * incomplete, no other is tested. */
static int poll(rota_exec *x, rota_step *step, bool *done)
{
    rota_batch *const end = step->batch + step->n_batches;
    bool all = true, mpi_waits = false;

    for (rota_batch *b = step->batch; b < end; b++) {
        if (b->n_open == 0)
            continue;
        if (!mpi_waits || !b->via->needs_mpi)
            ROTA_TRY(b->advance(x, b));
        if (b->n_open == 0)
            continue;
        all = false;
        mpi_waits = mpi_waits || b->via->needs_mpi;
    }
    *done = all;
    return MPI_SUCCESS;
}

int rota_step_help(rota_exec *x, rota_step *step)
{
    for (uint32_t i = 0; i < step->n_batches; i++) {
        rota_batch *const b = &step->batch[i];
        if (b->n_open > 0 && !b->via->needs_mpi)
            ROTA_TRY(b->advance(x, b));
    }
    return MPI_SUCCESS;
}

/* The messages that are open: [n_open]. MPI's complete in list order (p2p.c). */
static const uint32_t *open_of(const rota_batch *b)
{
    return b->via->needs_mpi || b->n_open == b->n
               ? b->message + (b->n - b->n_open)
               : b->open;
}

void rota_step_whom(const rota_exec *x, const rota_step *step, bool awaited[])
{
    for (uint32_t i = 0; i < step->n_batches; i++) {
        const rota_batch *const b = &step->batch[i];
        for (uint32_t k = 0; k < b->n_open; k++)
            awaited[x->blocks.s->msgs[b->dir].msg[open_of(b)[k]].peer] = true;
    }
}

/* The core of a rank, 0 if it is not known, -1 on another node. */
static int core_of(const rota_node *node, int rank)
{
    return node->of[rank] >= 0 ? rota_node_core(node, node->of[rank]) : -1;
}

/* Is a message open whose rank is, or may be, on this core? */
static bool has_open_on(const rota_exec *x, const rota_batch *b, int core)
{
    const rota_msg *const msg = x->blocks.s->msgs[b->dir].msg;

    for (uint32_t i = 0; i < b->n_open; i++) {
        const int there = core_of(x->shared, msg[open_of(b)[i]].peer);
        if (there == core || there == 0)
            return true;
    }
    return false;
}

/* The messages with data of ranks on this core. */
static int count_on(const rota_exec *x, const rota_batch *b, int core)
{
    const rota_msg *const msg = x->blocks.s->msgs[b->dir].msg;
    int n = 0;

    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t m = b->message[i];
        n += core_of(x->shared, msg[m].peer) == core &&
             (b->payload->tells ||
              rota_message_bytes(&x->blocks, b->dir, m) > 0);
    }
    return n;
}

/* Ranks of this core from which all has come have had their turn, and wait for other
 * cores, too. Who sends nothing may not have had it. */
static bool wants_core(const rota_exec *x, const rota_step *step, int core)
{
    const rota_node *const node = x->shared;
    int mates = 0, heard = 0;

    for (uint32_t i = 0; i < step->n_batches; i++) {
        const rota_batch *const b = &step->batch[i];
        if (b->n_open > 0 && (b->via->needs_mpi || has_open_on(x, b, core)))
            return true;
        if (b->dir == ROTA_RECV)
            heard += count_on(x, b, core);
    }
    for (int i = 0; i < node->n; i++)
        mates += i != node->me && rota_node_core(node, i) == core;
    return heard < mates;
}

const rota_step_kind rota_step_bulk = {.enter = enter,
                                       .poll = poll,
                                       .whom = rota_step_whom,
                                       .wants_core = wants_core};
