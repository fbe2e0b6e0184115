/* lines_send.c - sends messages within the node: see channel.h. */
#include "exec/move/blocks.h"
#include "exec/move/strided.h"
#include "exec/move/trace.h"
#include "exec/payload/varlen.h"
#include "exec/transport/lines/channel.h"
#include "exec/transport/lines/told.h"

#include <string.h>

/* How often to look for a piece before the message goes through entries: other
 * receivers may free theirs meanwhile. */
enum { ATTEMPTS = 200 };

static inline void put(rota_exec *x, rota_line_op *op, rota_entry_kind kind)
{
    rota_line_put(&op->with->line[ROTA_SEND], kind, op->bytes);
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

/* Copy the next n bytes of head and body; body bytes past the caches if
 * streams. */
static void fill(const rota_line_op *op, char *to, size_t n, bool streams)
{
    size_t at = op->moved;

    if (at < op->head_bytes) {
        const size_t left = op->head_bytes - at;
        const size_t k = rota_smaller(n, left);
        memcpy(to, op->head + at, k);
        to += k;
        at += k;
        n -= k;
    }
    if (streams)
        rota_copy_stream(to, op->body + (at - op->head_bytes), n);
    else if (n > 0)
        rota_copy_fast(to, op->body + (at - op->head_bytes), n);
}

/* The same for a message of any kind. */
static void fill_next(const rota_exec *x, const rota_line_op *op, char *to,
                      size_t n, bool streams)
{
    const uint32_t m = (uint32_t)(op - rota_lines_of(x)->op[ROTA_SEND]);

    if (x->program.op[ROTA_SEND][m].kind == ROTA_OP_TYPED)
        rota_message_pack_part(&x->blocks, m, op->moved, op->moved + n, streams,
                               to);
    else
        fill(op, to, n, streams);
}

static void put_data(rota_exec *x, rota_line_op *op, rota_entry *e, size_t n)
{
    fill_next(x, op, e->data, n, false);
    put(x, op, ROTA_ENTRY_DATA);
    op->moved += n;
}

static void name_piece(rota_exec *x, rota_line_op *op, rota_entry *e,
                       rota_piece *p, size_t n)
{
    const rota_part part = {p->at, n};

    memcpy(e->data, &part, sizeof part);
    p->entry = op->with->line[ROTA_SEND].next + 1;
    put(x, op, ROTA_ENTRY_PIECE);
    op->moved += n;
}

static void put_piece(rota_exec *x, rota_line_op *op, rota_entry *e,
                      rota_piece *p)
{
    const size_t n = rota_smaller(op->bytes - op->moved, p->bytes);

    fill_next(x, op, p->memory, n,
              rota_lines_of(x)->reach.node->streams && n > ROTA_LONG_ENTRY);
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
static bool is_readable_typed(const rota_exec *x, uint32_t m,
                              const rota_line_op *op, rota_place *at)
{
    const rota_extents all =
        rota_extents_of(rota_lines_type(x, ROTA_SEND, m), op->bytes);

    return op->told && peer_finds(op, op->body + all.begin, all.bytes, at);
}

/* How the receiver may read the message where it lies, and where that is;
 * ROTA_ENTRY_DATA: it may not. */
static rota_entry_kind find_readable(const rota_exec *x, const rota_line_op *op,
                                     rota_place *at)
{
    const size_t body = op->bytes - op->head_bytes;
    const uint32_t m = (uint32_t)(op - rota_lines_of(x)->op[ROTA_SEND]);

    if (x->program.op[ROTA_SEND][m].kind == ROTA_OP_TYPED)
        return is_readable_typed(x, m, op, at) ? ROTA_ENTRY_TYPED
                                               : ROTA_ENTRY_DATA;
    return body >= rota_lines_of(x)->reach.arena_threshold &&
                   sizeof *at + op->head_bytes <=
                       rota_line_room(&op->with->line[ROTA_SEND]) &&
                   peer_finds(op, op->body, body, at)
               ? ROTA_ENTRY_ARENA
               : ROTA_ENTRY_DATA;
}

/* Write an entry that says where the message lies, with the header. */
static void put_place(rota_exec *x, rota_line_op *op, rota_entry *e,
                      rota_place at, rota_entry_kind kind)
{
    memcpy(e->data, &at, sizeof at);
    if (op->head_bytes > 0)
        memcpy(e->data + sizeof at, op->head, op->head_bytes);
    put(x, op, kind);
    op->moved = op->bytes;
    op->entry = op->with->line[ROTA_SEND].next;
}

/* Write one entry. Returns false if there is no entry, or no piece. */
static bool push_entry(rota_exec *x, rota_line_op *op)
{
    rota_line *const out = &op->with->line[ROTA_SEND];
    rota_entry *const e = rota_line_begin(out);
    const size_t left = op->bytes - op->moved, room = rota_line_room(out);
    rota_place at;

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
    while (op->moved < op->bytes && push_entry(x, op))
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
        if (op->moved < op->bytes)
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

/* Pack a message right into the entry or piece that carries all of it; *done:
 * there was one. */
static int pack_into(rota_exec *x, uint32_t m, rota_line_op *op, bool *done)
{
    rota_channel *const c = op->with;
    rota_line *const out = &c->line[ROTA_SEND];

    *done = false;
    if (!rota_line_op_is_turn(op, ROTA_SEND))
        return MPI_SUCCESS;
    rota_entry *const e = rota_line_begin(out);
    if (!e)
        return MPI_SUCCESS;
    const bool fits = op->bytes <= rota_line_room(out);
    rota_piece *const p = !fits && op->bytes <= rota_lines_of(x)->piece
                              ? find_piece(x, op, op->bytes)
                              : NULL;
    if (!fits && (!p || p->bytes < op->bytes))
        return MPI_SUCCESS;
    ROTA_TRY(rota_message_pack(&x->blocks, m, fits ? e->data : p->memory));
    if (fits)
        put(x, op, ROTA_ENTRY_DATA);
    else
        name_piece(x, op, e, p, op->bytes);
    op->moved = 0;
    rota_channel_end_turn(c, ROTA_SEND);
    *done = true;
    return MPI_SUCCESS;
}

static int begin_gathered(rota_exec *x, uint32_t m, rota_line_op *op,
                          bool *done)
{
    const int64_t begin = x->trace ? rota_trace_now(x->trace) : 0;

    op->bytes = rota_message_bytes(&x->blocks, ROTA_SEND, m);
    ROTA_TRY(pack_into(x, m, op, done));
    if (!*done) {
        int err = rota_lines_stage(x, ROTA_SEND, m, &op->body);
        op->unpacked = rota_status_postpone(&x->status, &err);
        if (op->unpacked || err != MPI_SUCCESS)
            return err;
        ROTA_TRY(rota_message_pack(&x->blocks, m, op->body));
    }
    if (x->trace)
        rota_trace_note(x->trace, ROTA_TRACE_PACK, begin, op->with->rank,
                        op->bytes);
    return MPI_SUCCESS;
}

/* Post a message now that could not be gathered before for want of memory. */
static int pack_at_last(rota_exec *x, uint32_t m, bool *done)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_SEND][m];

    ROTA_TRY(begin_gathered(x, m, op, done));
    *done = *done || (!op->unpacked && advance_send(x, op));
    return MPI_SUCCESS;
}

static int begin_fetched(rota_exec *x, rota_line_op *op, bool *done)
{
    rota_entry *const e = rota_line_begin(&op->with->line[ROTA_SEND]);

    if (!e || !rota_line_op_is_turn(op, ROTA_SEND))
        return MPI_SUCCESS;
    x->fetching->tell(x,
                      x->blocks.s->msgs[ROTA_SEND]
                          .msg[op - rota_lines_of(x)->op[ROTA_SEND]]
                          .peer,
                      op->body, e->data);
    put(x, op, ROTA_ENTRY_FETCHED);
    op->moved = op->bytes;
    op->entry = op->with->line[ROTA_SEND].next;
    rota_channel_end_turn(op->with, ROTA_SEND);
    *done = false;
    return MPI_SUCCESS;
}

/* Hand over a message by shared blocks. */
static int begin_handed(rota_exec *x, uint32_t m, rota_line_op *op, bool *done)
{
    rota_loan *const h = op->loan;

    *done = false;
    if (!rota_line_op_is_turn(op, ROTA_SEND) || !rota_loan_may_go(h) ||
        !rota_line_begin(&op->with->line[ROTA_SEND]))
        return MPI_SUCCESS;
    ROTA_TRY(rota_loan_copy(x, ROTA_SEND, m, h));
    h->runs++;
    op->bytes = h->bytes;
    put(x, op, ROTA_ENTRY_LENT);
    rota_channel_end_turn(op->with, ROTA_SEND);
    x->moved = true;
    *done = true;
    return MPI_SUCCESS;
}

/* Post a send of any kind. */
int rota_lines_begin_send(rota_exec *x, uint32_t m, bool *done)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_SEND][m];

    *done = false;
    op->attempts = 0;
    if (op->with->paired)
        rota_line_prove(&op->with->line[ROTA_SEND]);
    rota_lines_of(x)->hurry = false;
    if (op->loan)
        return begin_handed(x, m, op, done);
    switch (x->program.op[ROTA_SEND][m].kind) {
    case ROTA_OP_VARLEN:
        ROTA_TRY(rota_varlen_gather(x, m, &op->head, &op->head_bytes, &op->body,
                                    &op->bytes));
        break;
    case ROTA_OP_GATHERED:
        ROTA_TRY(begin_gathered(x, m, op, done));
        break;
    case ROTA_OP_VARYING: /* its block may be above the bound */
        rota_lines_resolve(x, ROTA_SEND, m);
        if (op->bytes > 0 && rota_lines_is_gathered(x, ROTA_SEND, m))
            ROTA_TRY(begin_gathered(x, m, op, done));
        break;
    case ROTA_OP_FETCHED:
        return begin_fetched(x, op, done);
    default:
        break;
    }
    *done = *done || (!op->unpacked && advance_send(x, op));
    return MPI_SUCCESS;
}

/* The common case: a single look at the queue. */
static bool send_now(rota_exec *x, rota_line_op *op)
{
    rota_channel *const c = op->with;
    rota_line *const out = &c->line[ROTA_SEND];

    if (!op->in_entry || !rota_line_op_is_turn(op, ROTA_SEND))
        return false;
    rota_entry *const e = rota_line_begin(out);
    if (!e)
        return false;
    rota_copy_short(e->data, op->body, op->bytes);
    put(x, op, ROTA_ENTRY_DATA);
    rota_channel_end_turn(c, ROTA_SEND);
    return true;
}

int rota_lines_advance_send(rota_exec *x, uint32_t m, bool *done)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_SEND][m];

    *done = false;
    if (op->loan)
        return begin_handed(x, m, op, done);
    if (x->program.op[ROTA_SEND][m].kind == ROTA_OP_FETCHED && op->entry == 0)
        return begin_fetched(x, op, done);
    if (op->unpacked)
        return pack_at_last(x, m, done);
    *done = advance_send(x, op);
    return MPI_SUCCESS;
}

/* ---- batches ------------------------------------------------------------- */

int rota_lines_begin_sends(rota_exec *x, rota_batch *b)
{
    b->n_open = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        bool done = false;
        ROTA_TRY(rota_lines_begin_send(x, b->message[i], &done));
        if (!done)
            b->open[b->n_open++] = b->message[i];
    }
    return MPI_SUCCESS;
}

int rota_lines_begin_plain_sends(rota_exec *x, rota_batch *b)
{
    b->n_open = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t m = b->message[i];
        rota_line_op *const op = &rota_lines_of(x)->op[ROTA_SEND][m];
        if (op->with->paired)
            rota_line_prove(&op->with->line[ROTA_SEND]);
        if (send_now(x, op))
            continue;
        rota_lines_of(x)->hurry = false;
        op->attempts = 0;
        if (!advance_send(x, op))
            b->open[b->n_open++] = m;
    }
    return MPI_SUCCESS;
}
