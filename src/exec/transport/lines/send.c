/* send.c - sends messages within the node: see channel.h. */
#include "exec/memory/attach.h"
#include "exec/move/blocks.h"
#include "exec/move/strided.h"
#include "exec/move/trace.h"
#include "exec/transport/lines/channel.h"
#include "exec/transport/lines/told.h"

#include <string.h>

/* How often to look for a piece before the message goes through entries: other
 * receivers may free theirs meanwhile. */
enum { ATTEMPTS = 200 };

static void put(rota_exec *x, const rota_line_op *op, rota_entry *e,
                rota_entry_kind kind)
{
    rota_line_put(&op->with->line[ROTA_SEND], e, kind, op->data.bytes);
    rota_channel_touch(x, op->with);
}

static bool is_piece_taken(void *owner, uint64_t entry)
{
    rota_channel *const c = owner;

    return rota_line_taken(&c->line[ROTA_SEND], entry);
}

static bool take_piece(const rota_exec *x, rota_channel *c, rota_piece *p,
                       size_t bytes)
{
    p->is_taken = is_piece_taken;
    p->owner = c;
    return rota_pool_take(p, rota_smaller(bytes, rota_lines_of(x)->piece),
                          c->peer);
}

/* Get a piece of up to `bytes` for the next entry; NULL: none now. The piece
 * that the entry had last is the sender's again. */
static rota_piece *find_piece(rota_exec *x, rota_line_op *op, size_t bytes)
{
    rota_channel *const c = op->with;
    rota_piece *const p =
        &c->piece[c->line[ROTA_SEND].next % ROTA_LINE_ENTRIES];

    bytes = rota_smaller(bytes, rota_lines_of(x)->piece);
    if (p->memory && p->bytes >= bytes)
        return p;
    if (p->memory)
        rota_pool_put(p);
    return take_piece(x, c, p, bytes) ? p : NULL;
}

static uint32_t message_of(const rota_exec *x, const rota_line_op *op)
{
    return (uint32_t)(op - rota_lines_of(x)->op[ROTA_SEND]);
}

static const rota_payload *payload_of(const rota_exec *x, uint32_t m)
{
    return x->program.op[ROTA_SEND][m].payload;
}

/* Write the next n bytes of a message that has begun. A payload that may fail
 * has a hold, and is written elsewhere unless it is held. */
static void fill_next(rota_exec *x, const rota_line_op *op, char *to, size_t n,
                      bool streams)
{
    const uint32_t m = message_of(x, op);
    const int err = payload_of(x, m)->put(x, m, &op->data, op->moved,
                                          op->moved + n, streams, to);

    ROTA_ASSERT(err == MPI_SUCCESS);
    (void)err;
}

static void put_data(rota_exec *x, rota_line_op *op, rota_entry *e, size_t n)
{
    fill_next(x, op, e->data, n, false);
    put(x, op, e, ROTA_ENTRY_DATA);
    op->moved += n;
}

static void name_piece(rota_exec *x, rota_line_op *op, rota_entry *e,
                       rota_piece *p, size_t n)
{
    const rota_part part = {p->at, n, op->votes};

    memcpy(e->data, &part, sizeof part);
    p->entry = op->with->line[ROTA_SEND].next + 1;
    put(x, op, e, ROTA_ENTRY_PIECE);
    op->moved += n;
}

/* Are long pieces written past the caches in this run? As the process last found,
 * until a plan that has some finds out. */
static bool streams(rota_exec *x)
{
    rota_contest *const c = x->stores;

    if (!c)
        return rota_copy_streams_well;
    if (!c->asked)
        x->program.contest(x, c, rota_copy_streams_well);
    if (c->judged && c->won != rota_copy_streams_well)
        rota_copy_streams_well = c->won;
    return c->direct;
}

static void put_piece(rota_exec *x, rota_line_op *op, rota_entry *e,
                      rota_piece *p)
{
    const size_t n = rota_smaller(op->data.bytes - op->moved, p->bytes);

    fill_next(x, op, p->memory, n, n > ROTA_LONG_ENTRY && streams(x));
    name_piece(x, op, e, p, n);
}

static bool peer_finds(const rota_line_op *op, const char *begin, size_t bytes,
                       rota_place *at)
{
    return rota_arena_find(begin, bytes, at) &&
           rota_peer_has(op->with->peer, *at);
}

/* May the receiver read these elements, whose layout it was told, where they
 * lie? */
static bool find_told(const rota_exec *x, const rota_line_op *op,
                      rota_place *at)
{
    const rota_block b = rota_lines_block(x, ROTA_SEND, message_of(x, op));
    const rota_extents all =
        rota_extents_of(rota_block_type(&x->blocks, b), op->data.bytes);

    return peer_finds(op, rota_block_at(&x->blocks, b) + all.begin, all.bytes,
                      at);
}

_Static_assert(sizeof(rota_place) == sizeof(rota_foreign),
               "as long in entries");

/* Does a message go directly in this run that may? A plan that has one is to find out
 * whether that is faster. */
static bool goes_directly(rota_exec *x, rota_line_op *op, bool shared)
{
    rota_contest *const c = x->contest;

    if (!c->asked)
        x->program.contest(x, c, shared);
    op->votes = c->votes;
    return c->direct;
}

static bool goes_in_place(rota_exec *x, rota_line_op *op)
{
    return !rota_lines_of(x)->reach.contests_arena ||
           goes_directly(x, op, true);
}

/* Whether memory is readable takes a system call: it is not asked for nothing. */
static bool goes_by_kernel(rota_exec *x, rota_line_op *op, size_t body)
{
    const rota_contest *const c =
        rota_lines_of(x)->reach.contests_kernel ? x->contest : NULL;

    return (!c || !c->asked || c->direct || c->votes) &&
           rota_attach_is_readable(op->data.body, body) &&
           (!c || goes_directly(x, op, false));
}

/* How the receiver may read the message where it lies, and where that is, a
 * rota_place or rota_foreign; ROTA_ENTRY_DATA: it may not. */
static rota_entry_kind find_readable(rota_exec *x, rota_line_op *op,
                                     uint64_t *at)
{
    const rota_reach *const reach = &rota_lines_of(x)->reach;
    const size_t body = op->data.bytes - op->data.head_bytes;

    op->votes = false;
    if (op->told)
        return find_told(x, op, at) ? ROTA_ENTRY_TYPED : ROTA_ENTRY_DATA;
    if (!op->data.body || sizeof *at + op->data.head_bytes >
                              rota_line_room(&op->with->line[ROTA_SEND]))
        return ROTA_ENTRY_DATA;
    if (body >= reach->arena_threshold &&
        peer_finds(op, op->data.body, body, at))
        return goes_in_place(x, op) ? ROTA_ENTRY_ARENA : ROTA_ENTRY_DATA;
    *at = (uintptr_t)op->data.body;
    return body >= reach->attach_threshold && goes_by_kernel(x, op, body)
               ? ROTA_ENTRY_PRIVATE
               : ROTA_ENTRY_DATA;
}

/* Write an entry that says where the message lies, with the header. */
static void put_place(rota_exec *x, rota_line_op *op, rota_entry *e,
                      uint64_t at, rota_entry_kind kind)
{
    memcpy(e->data, &at, sizeof at);
    if (op->data.head_bytes > 0)
        fill_next(x, op, e->data + sizeof at, op->data.head_bytes, false);
    put(x, op, e, kind);
    op->moved = op->data.bytes;
    op->entry = op->with->line[ROTA_SEND].next;
}

/* Write one entry. Returns false if there is no entry, or no piece. */
static bool push_entry(rota_exec *x, rota_line_op *op)
{
    rota_line *const out = &op->with->line[ROTA_SEND];
    rota_entry *const e = rota_line_begin(out);
    const size_t left = op->data.bytes - op->moved, room = rota_line_room(out);
    uint64_t at;

    if (!e)
        return false;
    const rota_entry_kind kind =
        op->moved == 0 ? find_readable(x, op, &at) : ROTA_ENTRY_DATA;
    if (kind != ROTA_ENTRY_DATA) {
        put_place(x, op, e, at, kind);
        return true;
    }
    rota_piece *const p = left > room ? find_piece(x, op, left) : NULL;
    if (p) {
        put_piece(x, op, e, p);
    } else {
        if (left > room && !rota_lines_of(x)->hurry &&
            op->attempts < ATTEMPTS) {
            op->attempts++;
            return false;
        }
        put_data(x, op, e, rota_smaller(left, room));
    }
    return true;
}

static void push(rota_exec *x, rota_line_op *op)
{
    while (op->moved < op->data.bytes && push_entry(x, op))
        x->moved = true;
}

/* Is the message complete at this end, after its turn? */
static bool is_sent(rota_line_op *op)
{
    return op->entry == 0 ||
           rota_line_taken(&op->with->line[ROTA_SEND], op->entry);
}

/* Advance a message that waits for its turn or for room. */
static bool advance_send(rota_exec *x, rota_line_op *op)
{
    if (op->entry == 0) {
        if (!rota_line_op_is_turn(op, ROTA_SEND))
            return false;
        push(x, op);
        if (op->moved < op->data.bytes)
            return false;
        rota_channel_end_turn(op->with, ROTA_SEND);
    }
    if (!is_sent(op))
        return false;
    op->moved = 0;
    op->entry = 0;
    x->moved = true;
    return true;
}

/* ---- ways ---------------------------------------------------------------- */

/* Write a message right into the entry or piece that takes all of it; *done:
 * there was one. */
static int put_whole(rota_exec *x, uint32_t m, rota_line_op *op, bool *done)
{
    rota_line *const out = &op->with->line[ROTA_SEND];
    const size_t bytes = op->data.bytes;

    if (!rota_line_op_is_turn(op, ROTA_SEND))
        return MPI_SUCCESS;
    rota_entry *const e = rota_line_begin(out);
    if (!e)
        return MPI_SUCCESS;
    op->votes = false;
    const bool fits = bytes <= rota_line_room(out);
    rota_piece *const p = !fits && bytes <= rota_lines_of(x)->piece
                              ? find_piece(x, op, bytes)
                              : NULL;
    if (!fits && (!p || p->bytes < bytes))
        return MPI_SUCCESS;
    ROTA_TRY(payload_of(x, m)->put(x, m, &op->data, 0, bytes, false,
                                   fits ? e->data : p->memory));
    if (fits)
        put(x, op, e, ROTA_ENTRY_DATA);
    else
        name_piece(x, op, e, p, bytes);
    op->moved = 0;
    rota_channel_end_turn(op->with, ROTA_SEND);
    *done = true;
    return MPI_SUCCESS;
}

/* Write it as a whole, or hold it; if there is no memory to hold it, try again
 * later. */
static int put_or_hold(rota_exec *x, uint32_t m, rota_line_op *op, bool *done)
{
    const int64_t begin = x->trace ? rota_trace_now(x->trace) : 0;

    op->starved = false;
    ROTA_TRY(put_whole(x, m, op, done));
    if (!*done) {
        int err = payload_of(x, m)->hold(x, m, &op->data);
        op->starved = rota_status_postpone(&x->status, &err);
        if (op->starved || err != MPI_SUCCESS)
            return err;
    }
    if (x->trace)
        rota_trace_note(x->trace, ROTA_TRACE_PACK, begin, op->with->rank,
                        op->data.bytes);
    return MPI_SUCCESS;
}

/* A message without bytes, whose receiver learns just that, or what length it
 * would have. */
static int offer_length(rota_exec *x, rota_line_op *op, bool *done)
{
    rota_line *const out = &op->with->line[ROTA_SEND];
    rota_entry *const e = rota_line_begin(out);

    if (!e || !rota_line_op_is_turn(op, ROTA_SEND))
        return MPI_SUCCESS;
    rota_line_put(out, e, ROTA_ENTRY_DATA, op->data.head_bytes);
    rota_channel_touch(x, op->with);
    rota_channel_end_turn(op->with, ROTA_SEND);
    x->moved = true;
    *done = true;
    return MPI_SUCCESS;
}

static int advance_data(rota_exec *x, uint32_t m, rota_line_op *op, bool *done)
{
    if (op->data.bytes == 0 && payload_of(x, m)->tells)
        return offer_length(x, op, done);
    if (op->starved)
        ROTA_TRY(put_or_hold(x, m, op, done));
    *done = *done || (!op->starved && advance_send(x, op));
    return MPI_SUCCESS;
}

/* By entries, pieces, or a place to read it from. */
static int begin_data(rota_exec *x, uint32_t m, rota_line_op *op, bool *done)
{
    const rota_payload *const has = payload_of(x, m);

    op->starved = false;
    if (!has->bound)
        ROTA_TRY(has->begin(x, ROTA_SEND, m, &op->data));
    if (op->data.bytes == 0 && has->tells)
        return offer_length(x, op, done);
    if (op->data.bytes == 0)
        rota_channel_send_nothing(x, op->with);
    else if (has->hold)
        ROTA_TRY(put_or_hold(x, m, op, done));
    *done = *done || (!op->starved && advance_send(x, op));
    return MPI_SUCCESS;
}

/* By a description of memory that the host does not touch. */
static int offer_fetched(rota_exec *x, uint32_t m, rota_line_op *op, bool *done)
{
    if (op->entry != 0)
        return advance_data(x, m, op, done);
    rota_entry *const e = rota_line_begin(&op->with->line[ROTA_SEND]);
    if (!e || !rota_line_op_is_turn(op, ROTA_SEND))
        return MPI_SUCCESS;
    rota_fetching_of(x)->tell(x, x->blocks.s->msgs[ROTA_SEND].msg[m].peer,
                              op->data.body, e->data);
    put(x, op, e, ROTA_ENTRY_FETCHED);
    op->moved = op->data.bytes;
    op->entry = op->with->line[ROTA_SEND].next;
    rota_channel_end_turn(op->with, ROTA_SEND);
    return MPI_SUCCESS;
}

/* Hand over a message by shared blocks. */
static int offer_lent(rota_exec *x, uint32_t m, rota_line_op *op, bool *done)
{
    rota_loan *const h = op->loan;

    if (!rota_line_op_is_turn(op, ROTA_SEND) || !rota_loan_may_go(h))
        return MPI_SUCCESS;
    rota_entry *const e = rota_line_begin(&op->with->line[ROTA_SEND]);
    if (!e)
        return MPI_SUCCESS;
    ROTA_TRY(rota_loan_copy(x, ROTA_SEND, m, h));
    h->runs++;
    op->data.bytes = h->bytes;
    put(x, op, e, ROTA_ENTRY_LENT);
    rota_channel_end_turn(op->with, ROTA_SEND);
    x->moved = true;
    *done = true;
    return MPI_SUCCESS;
}

static const rota_way by_data = {begin_data, advance_data};
static const rota_way by_fetching = {offer_fetched, offer_fetched};
static const rota_way by_lending = {offer_lent, offer_lent};

const rota_way *rota_lines_way(const rota_exec *x, const rota_line_op *op)
{
    if (op->loan)
        return &by_lending;
    return rota_fetching_of(x) ? &by_fetching : &by_data;
}

int rota_lines_begin_send(rota_exec *x, uint32_t m, bool *done)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_SEND][m];

    *done = false;
    op->attempts = 0;
    rota_line_mark(&op->with->line[ROTA_SEND]);
    rota_lines_of(x)->hurry = false;
    return op->way->begin(x, m, op, done);
}

int rota_lines_advance_send(rota_exec *x, uint32_t m, bool *done)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_SEND][m];

    *done = false;
    return op->way->advance(x, m, op, done);
}

/* ---- batches ------------------------------------------------------------- */

/* The common case: a single look at the queue. Bytes that fit an entry go, unless
 * none is free. */
static inline bool put_now(rota_exec *x, rota_channel *c, const char *from,
                           size_t bytes)
{
    rota_line *const out = &c->line[ROTA_SEND];
    rota_entry *const e = rota_line_begin(out);

    if (!e)
        return false;
    rota_copy_short(e->data, from, bytes);
    rota_line_put(out, e, ROTA_ENTRY_DATA, bytes);
    rota_channel_touch(x, c);
    return true;
}

static inline bool send_now(rota_exec *x, const rota_line_op *op)
{
    if (!op->in_entry || !rota_line_op_is_turn(op, ROTA_SEND) ||
        !put_now(x, op->with, op->data.body, op->data.bytes))
        return false;
    rota_channel_end_turn(op->with, ROTA_SEND);
    return true;
}

/* Any other message of a batch: not inline, as is receive of recv.c. */
__attribute__((noinline)) static int begin_one(rota_exec *x, rota_batch *b,
                                               uint32_t m)
{
    bool done = false;

    ROTA_TRY(rota_lines_begin_send(x, m, &done));
    if (!done)
        b->open[b->n_open++] = m;
    return MPI_SUCCESS;
}

int rota_lines_begin_sends(rota_exec *x, rota_batch *b)
{
    b->n_open = 0;
    for (uint32_t i = 0; i < b->n; i++)
        ROTA_TRY(begin_one(x, b, b->message[i]));
    return MPI_SUCCESS;
}

int rota_lines_begin_plain_sends(rota_exec *x, rota_batch *b)
{
    rota_line_op *const ops = rota_lines_of(x)->op[ROTA_SEND];
    const uint32_t *const message = b->message, n = b->n;

    b->n_open = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t m = message[i];
        rota_line_op *const op = &ops[m];
        rota_line_mark(&op->with->line[ROTA_SEND]);
        if (send_now(x, op))
            continue;
        rota_lines_of(x)->hurry = false;
        op->attempts = 0;
        if (!advance_send(x, op))
            b->open[b->n_open++] = m;
    }
    return MPI_SUCCESS;
}

int rota_lines_begin_lone_sends(rota_exec *x, rota_batch *b)
{
    const rota_line_op *const ops = rota_lines_of(x)->op[ROTA_SEND];
    const rota_blocks *const blocks = &x->blocks;
    const uint32_t *const message = b->message, n = b->n;
    const size_t least = b->payload->tells ? 0 : 1; /* bytes of a message */

    b->n_open = 0;
    for (uint32_t i = 0; i < n; i++) {
        const rota_line_op *const op = &ops[message[i]];
        rota_channel *const c = op->with;
        const size_t bytes = blocks->bytes[op->block];
        rota_line_mark(&c->line[ROTA_SEND]);
        if (bytes < least) {
            rota_channel_send_nothing(x, c);
            continue;
        }
        const bool quick = bytes <= c->quick;
        rota_channel_claim(c, quick ? bytes : 0);
        if (!quick ||
            !put_now(x, c, blocks->base[ROTA_SRC] + blocks->offset[op->block],
                     bytes))
            ROTA_TRY(begin_one(x, b, message[i]));
    }
    return MPI_SUCCESS;
}
