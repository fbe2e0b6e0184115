/* lines.c - see lines.h. */
#include "exec/memory/waking.h"
#include "exec/move/blocks.h"
#include "exec/transport/lines/channel.h"

/* ---- batches ------------------------------------------------------------- */

static int advance_one(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    return dir == ROTA_SEND ? rota_lines_advance_send(x, m, done)
                            : rota_lines_advance_recv(x, m, done);
}

static int advance_each(rota_exec *x, rota_batch *b)
{
    const uint32_t *const open = rota_batch_open(b);
    uint32_t left = 0;
    int err = MPI_SUCCESS;

    for (uint32_t i = 0; i < b->n_open; i++) {
        bool complete = false;
        if (err == MPI_SUCCESS)
            err = advance_one(x, b->dir, open[i], &complete);
        if (!complete)
            b->open[left++] = open[i];
    }
    b->n_open = left;
    return err;
}

/* Does every message come in one entry that its sender need not wait for? */
static bool come_at_once(const rota_exec *x, const rota_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const rota_line_op *const op =
            &rota_lines_of(x)->op[ROTA_RECV][b->message[i]];
        if (!op->with->paired ||
            op->data.bytes > rota_line_room(&op->with->line[ROTA_RECV]))
            return false;
    }
    return true;
}

/* Do messages with this payload consist of bytes in one place, copied as they
 * are? */
static bool is_plain(const rota_exec *x, const rota_payload *has)
{
    return has->bound && has->flat && !rota_fetching_of(x);
}

/* Is each message one block of plain bytes, whose size and place a start tells,
 * and all that its pair has? */
static bool are_lone(const rota_exec *x, const rota_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const rota_channel *const c =
            rota_lines_of(x)->op[b->dir][b->message[i]].with;
        if (c->messages[b->dir] != 1 ||
            !rota_msg_is_direct(x->blocks.s, b->dir, b->message[i]) ||
            !rota_type_is_bytes(rota_lines_type(x, b->dir, b->message[i])))
            return false;
    }
    return b->payload->flat && !b->payload->bound && !rota_fetching_of(x);
}

static bool choose_sends(const rota_exec *x, rota_batch *b)
{
    const bool plain = is_plain(x, b->payload), lone = are_lone(x, b);

    b->begin = plain  ? rota_lines_begin_plain_sends
               : lone ? rota_lines_begin_lone_sends
                      : rota_lines_begin_sends;
    b->advance = advance_each;
    return plain || lone;
}

/* List the messages in the order of their blocks. */
static void sort_by_block(const rota_exec *x, const rota_batch *b)
{
    const rota_line_op *const ops = rota_lines_of(x)->op[b->dir];
    uint32_t *const message =
        x->program.message + (b->message - x->program.message);

    for (uint32_t i = 1; i < b->n; i++) {
        const uint32_t m = message[i];
        uint32_t at = i;
        for (; at > 0 && ops[message[at - 1]].block > ops[m].block; at--)
            message[at] = message[at - 1];
        message[at] = m;
    }
}

static bool choose_recvs(const rota_exec *x, rota_batch *b)
{
    const bool plain = is_plain(x, b->payload), lone = are_lone(x, b);

    /* If there are several phases, a block may have to wait for one that comes
     * in a later phase. */
    if (lone && b->payload->lands && x->blocks.s->n_phases == 1) {
        sort_by_block(x, b);
        b->begin = NULL;
        b->advance = rota_lines_advance_landing;
        return true;
    }
    const bool lies = lone && !b->payload->lands;
    b->begin = plain || lies ? NULL : rota_lines_begin_recvs;
    b->advance = plain  ? rota_lines_advance_plain_recvs
                 : lies ? rota_lines_advance_lone_recvs
                        : advance_each;
    return lies || (plain && come_at_once(x, b));
}

static bool choose(const rota_exec *x, rota_batch *b)
{
    return b->dir == ROTA_SEND ? choose_sends(x, b) : choose_recvs(x, b);
}

/* Post one message by itself. */
static int post(rota_exec *x, rota_dir dir, uint32_t m)
{
    rota_line_op *const op = &rota_lines_of(x)->op[dir][m];
    bool done = false;

    if (dir == ROTA_RECV)
        return rota_lines_begin_recv(x, m);
    ROTA_TRY(rota_lines_begin_send(x, m, &done));
    op->done = done;
    return MPI_SUCCESS;
}

static int test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    rota_line_op *const op = &rota_lines_of(x)->op[dir][m];

    *done = op->done;
    op->done = false;
    return *done ? MPI_SUCCESS : advance_one(x, dir, m, done);
}

/* ---- waking -------------------------------------------------------------- */

/* This process's interest in the peer. */
static rota_interest *flag_of(const rota_exec *x, const rota_channel *c)
{
    return &rota_lines_of(x)
                ->reach.node->near[rota_lines_of(x)->reach.node->me]
                .peer->head->interest[c->peer->slot];
}

/* Ring the peers of n channels that wait for something from here. */
ROTA_RARE static void ring(const rota_node *node, rota_channel *const touched[],
                           int n)
{
    rota_waking w = {.node = node};

    for (int i = 0; i < n; i++)
        rota_waking_ring(&w, touched[i]->position, touched[i]->bell,
                         touched[i]->interest);
    rota_waking_carry_out(&w);
}

static void flush(rota_exec *x)
{
    struct rota_lines *const lines = rota_lines_of(x);
    rota_channel **const touched = lines->touched;
    const int n = lines->n_touched;
    bool wanted = false;

    lines->n_touched = 0;
    rota_doorbell_fence();
    for (int i = 0; i < n; i++) {
        touched[i]->touched = false;
        wanted = wanted || rota_doorbell_is_wanted(touched[i]->bell,
                                                   touched[i]->interest);
    }
    if (wanted)
        ring(lines->reach.node, touched, n);
}

/* The current step, if it posts all its messages at once; else NULL. */
static const rota_step *bulk_step(const rota_exec *x)
{
    return x->step->kind->one_by_one ? NULL : x->step;
}

/* Mark the channels with open messages of the step. Returns whether part of one
 * has moved, so that the rest may at any time. */
static bool find_awaited(rota_exec *x, const rota_step *step)
{
    bool under_way = false;

    for (uint32_t i = 0; i < step->n_batches; i++) {
        const rota_batch *const b = &step->batch[i];
        for (uint32_t k = 0; b->via == &rota_path_lines && k < b->n_open; k++) {
            const rota_line_op *const op =
                &rota_lines_of(x)->op[b->dir][rota_batch_open(b)[k]];
            if (b->dir == ROTA_RECV &&
                rota_line_look(&op->with->line[ROTA_RECV]))
                continue;
            op->with->awaited = true;
            under_way =
                under_way || (op->moved > 0 && op->moved < op->data.bytes);
        }
    }
    return under_way;
}

/* If each message may release another one, the run may wait for any channel. */
int rota_lines_count(rota_exec *x)
{
    struct rota_lines *const lines = rota_lines_of(x);
    const rota_step *const step = bulk_step(x);
    const bool all = step && !find_awaited(x, step);
    int n = 0;

    lines->hurry = true;
    for (int i = 0; i < lines->n; i++) {
        rota_channel *const c = &lines->channel[i];
        c->awaited = c->awaited || !step;
        n += c->awaited;
        if (c->flagged && !c->awaited)
            atomic_store_explicit(flag_of(x, c), 0, memory_order_relaxed);
        c->flagged = c->awaited;
    }
    return all && n > 0 ? n : 1;
}

void rota_lines_await(rota_exec *x)
{
    for (int i = 0; i < rota_lines_of(x)->n; i++) {
        rota_channel *const c = &rota_lines_of(x)->channel[i];
        if (c->awaited)
            atomic_store_explicit(flag_of(x, c), 1, memory_order_release);
        c->awaited = false;
    }
}

/* In a single phase, all messages of a bulk step go as it begins; a lender's program
 * has more steps that wait. */
void rota_lines_call(rota_exec *x)
{
    const rota_step *const step = bulk_step(x);
    const bool all = !step || x->blocks.s->n_phases > 1 || rota_lines_lend(x);

    if (step)
        find_awaited(x, step);
    for (int i = 0; i < rota_lines_of(x)->n; i++) {
        rota_channel *const c = &rota_lines_of(x)->channel[i];
        rota_doorbell *const helper = &c->peer->head->helper;
        if ((all || c->awaited) && rota_doorbell_count(helper))
            rota_doorbell_wake(helper);
        c->awaited = false;
    }
}

/* ---- the path ------------------------------------------------------------ */

/* Does the message go in its entry? It must fit, and it must not be one that is
 * better, and can be, read where it lies. */
static bool fits_entry(const rota_exec *x, const rota_line_op *op)
{
    const rota_reach *const reach = &rota_lines_of(x)->reach;
    const size_t bytes = op->data.bytes;
    rota_place at;

    return bytes <= rota_line_room(&op->with->line[ROTA_SEND]) &&
           bytes < reach->attach_threshold &&
           (bytes < reach->arena_threshold ||
            !rota_arena_find(op->data.body, bytes, &at));
}

/* Find the data of all messages that are known when x is bound. */
static void resolve_all(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->blocks.s->msgs[dir].n; m++) {
            const rota_payload *const has = x->program.op[dir][m].payload;
            rota_line_op *const op = &rota_lines_of(x)->op[dir][m];
            if (x->program.op[dir][m].via != &rota_path_lines)
                continue;
            op->block = rota_lines_block(x, (rota_dir)dir, m);
            if (has->bound)
                has->begin(x, (rota_dir)dir, m, &op->data);
            op->in_entry =
                is_plain(x, has) && dir == ROTA_SEND && fits_entry(x, op);
            op->way = rota_lines_way(x, op);
            if (op->loan)
                rota_loan_resolve(x, (rota_dir)dir, m, op->loan);
        }
}

static int rebase(rota_exec *x, const bool moved[])
{
    (void)moved;
    resolve_all(x);
    return MPI_SUCCESS;
}

/* Find the pairs in which each message proves that the last one was taken. Where
 * one has no bytes, and is not sent, rota_channel_send_nothing takes its place. */
static void find_pairs(rota_exec *x)
{
    const rota_reach *const reach = &rota_lines_of(x)->reach;
    const size_t readable =
        rota_smaller(reach->arena_threshold, reach->attach_threshold);

    for (int i = 0; i < rota_lines_of(x)->n; i++) {
        rota_channel *const c = &rota_lines_of(x)->channel[i];
        c->paired = c->messages[ROTA_RECV] == 1 &&
                    c->messages[ROTA_SEND] == 1 && c->line[ROTA_RECV].entries &&
                    c->line[ROTA_SEND].entries;
        c->quick = (uint16_t)rota_smaller(rota_line_room(&c->line[ROTA_SEND]),
                                          readable - 1);
    }
}

static int bind(rota_exec *x)
{
    if (!rota_lines_of(x))
        return MPI_SUCCESS;
    find_pairs(x);
    resolve_all(x);
    return rota_lines_hear(x);
}

const rota_path rota_path_lines = {
    .tells = true,
    .first = ROTA_SEND, /* others should have their messages early */
    .reserve = rota_lines_reserve,
    .attach = rota_lines_attach,
    .meet = rota_lines_meet,
    .describe = rota_lines_describe,
    .release = rota_lines_release,
    .sweep = rota_lines_sweep,
    .carries = rota_lines_carry,
    .hands = rota_lines_hand,
    .source = rota_lines_source,
    .bind = bind,
    .resolve = choose,
    .post = post,
    .test = test,
    .rebase = rebase,
    .lends = rota_lines_lend,
    .reclaim = &rota_lines_reclaim,
    .finish = &rota_lines_finish_run,
    .count = rota_lines_count,
    .mark = rota_lines_await,
    .call = rota_lines_call,
    .flush = flush,
};
