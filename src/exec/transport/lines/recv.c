/* recv.c - receives messages within the node: see channel.h. */
#include "exec/memory/attach.h"
#include "exec/move/blocks.h"
#include "exec/move/strided.h"
#include "exec/move/trace.h"
#include "exec/payload/collected.h"
#include "exec/transport/lines/channel.h"
#include "exec/transport/lines/told.h"

#include <errno.h>
#include <string.h>

static const rota_payload *payload_of(const rota_exec *x, uint32_t m)
{
    return x->program.op[ROTA_RECV][m].payload;
}

/* All of the message has been taken. */
static int finish(rota_exec *x, uint32_t m, rota_line_op *op)
{
    const rota_payload *const has = payload_of(x, m);

    return has->finish ? has->finish(x, m, &op->data) : MPI_SUCCESS;
}

/* Take the whole message, which lies at from. */
static int take_whole(rota_exec *x, uint32_t m, rota_line_op *op,
                      const char *from)
{
    const rota_payload *const has = payload_of(x, m);
    const int64_t begin = x->trace ? rota_trace_now(x->trace) : 0;

    ROTA_TRY(has->take(x, m, &op->data, 0, op->data.bytes, from));
    ROTA_TRY(finish(x, m, op));
    if (x->trace && has->hold)
        rota_trace_note(x->trace, ROTA_TRACE_UNPACK, begin, op->with->rank,
                        op->data.bytes);
    return MPI_SUCCESS;
}

/* Does the entry hold all of the message, or name a piece that does? */
static bool is_whole(const rota_line *in, const rota_entry *e)
{
    rota_part part;

    if (rota_entry_kind_of(e) == ROTA_ENTRY_DATA)
        return e->bytes <= rota_line_room(in);
    memcpy(&part, e->data, sizeof part);
    return rota_entry_kind_of(e) == ROTA_ENTRY_PIECE && part.bytes == e->bytes;
}

/* How the message comes, by its first entry. */
static rota_coming coming_of(const rota_line *in, const rota_entry *e,
                             bool tells)
{
    const rota_entry_kind kind = rota_entry_kind_of(e);

    if (tells && (kind == ROTA_ENTRY_ARENA || kind == ROTA_ENTRY_PRIVATE))
        return ROTA_COMES_APART;
    return kind == ROTA_ENTRY_ARENA || is_whole(in, e) ? ROTA_COMES_WHOLE
                                                       : ROTA_COMES_IN_PARTS;
}

/* For plans that find out which way is faster: which one does the sender say?
 * Messages that go directly in a run in which this rank reads votes, vote. */
static void note_way(const rota_exec *x, const rota_entry *e)
{
    const rota_reach *const reach = &rota_lines_of(x)->reach;
    const rota_entry_kind kind = rota_entry_kind_of(e);
    const bool direct = (kind == ROTA_ENTRY_ARENA && reach->contests_arena) ||
                        (kind == ROTA_ENTRY_PRIVATE && reach->contests_kernel);
    rota_part part;

    memcpy(&part, e->data, sizeof part);
    if (direct || (kind == ROTA_ENTRY_PIECE && part.votes))
        rota_contest_note(x->contest, direct);
}

/* The first entry is here: make room for the parts. */
static int prepare_recv(rota_exec *x, uint32_t m, const rota_entry *e)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];
    const rota_payload *const has = payload_of(x, m);

    op->foreign = !has->tells && e->bytes != op->data.bytes;
    if (op->foreign)
        rota_status_note(&x->status, ROTA_MISMATCH,
                         x->blocks.s->msgs[ROTA_RECV].msg[m].peer, e->bytes,
                         op->data.bytes);
    op->data.bytes = e->bytes;
    if (x->contest)
        note_way(x, e);
    if (op->foreign || !has->expect || rota_entry_kind_of(e) == ROTA_ENTRY_LENT)
        return MPI_SUCCESS;
    return has->expect(x, m, &op->data,
                       coming_of(&op->with->line[ROTA_RECV], e, has->tells));
}

/* ---- ways ---------------------------------------------------------------- */

/* The bytes of the message that the entry brings. */
static size_t bytes_of(const rota_line_op *op, const rota_entry *e)
{
    const size_t left = op->data.bytes - op->moved;
    rota_part part;

    memcpy(&part, e->data, sizeof part);
    switch (rota_entry_kind_of(e)) {
    case ROTA_ENTRY_DATA:
        return rota_smaller(left, rota_line_room(&op->with->line[ROTA_RECV]));
    case ROTA_ENTRY_PIECE:
        return part.bytes;
    default:
        return left;
    }
}

/* Take a part of the message, which lies at from. */
static int take_part(rota_exec *x, uint32_t m, rota_line_op *op,
                     const char *from, size_t n)
{
    const size_t end = op->moved + n;

    if (n == op->data.bytes)
        return take_whole(x, m, op, from);
    ROTA_TRY(payload_of(x, m)->take(x, m, &op->data, op->moved, end, from));
    return end == op->data.bytes ? finish(x, m, op) : MPI_SUCCESS;
}

static int take_data(rota_exec *x, uint32_t m, rota_line_op *op, rota_entry *e)
{
    return take_part(x, m, op, e->data, bytes_of(op, e));
}

static int take_piece(rota_exec *x, uint32_t m, rota_line_op *op, rota_entry *e)
{
    rota_part part;

    memcpy(&part, e->data, sizeof part);
    return take_part(x, m, op, rota_peer_at(op->with->peer, part.at),
                     part.bytes);
}

/* Where the entry says that the message lies. */
static char *find_place(const rota_line_op *op, const rota_entry *e)
{
    rota_place at;

    memcpy(&at, e->data, sizeof at);
    return rota_peer_at(op->with->peer, at);
}

/* A message that tells its length has its header in the entry, behind the place of
 * the rest: take it. *to: where the rest goes, *bytes: its length. */
static int take_header(rota_exec *x, uint32_t m, const rota_line_op *op,
                       const rota_entry *e, char **to, size_t *bytes)
{
    const rota_payload *const has = payload_of(x, m);
    const size_t head = has->header(x, m);

    *bytes = op->data.bytes - head;
    ROTA_TRY(has->take(x, m, &op->data, 0, head, e->data + sizeof(uint64_t)));
    return has->rest(x, m, &op->data, to);
}

static int take_place(rota_exec *x, uint32_t m, rota_line_op *op, rota_entry *e)
{
    const char *const from = find_place(op, e);
    size_t bytes;
    char *to;

    if (!payload_of(x, m)->tells)
        return take_whole(x, m, op, from);
    ROTA_TRY(take_header(x, m, op, e, &to, &bytes));
    rota_copy_fast(to, from, bytes);
    return finish(x, m, op);
}

/* Have the kernel copy bytes of the sender's private memory. That this is allowed
 * was found out before (attaching.h). If it is no longer, the run reports it when it
 * is over, as nobody should wait for it. */
static void attach(rota_exec *x, const rota_line_op *op, rota_foreign from,
                   char *to, size_t bytes)
{
    if (rota_attach_read(op->with->peer->pid, from, to, bytes))
        return;
    rota_status_note(&x->status, ROTA_UNREADABLE, op->with->rank, (size_t)errno,
                     0);
    memset(to, 0, bytes);
}

/* The same, of a message that is taken by parts. Not inline: its memory is large. */
__attribute__((noinline)) static int
attach_parts(rota_exec *x, uint32_t m, rota_line_op *op, rota_foreign from)
{
    const size_t bytes = op->data.bytes;
    _Alignas(ROTA_CACHE_LINE) char way[1 << 13];

    for (size_t at = 0, n; at < bytes; at += n) {
        n = rota_smaller(sizeof way, bytes - at);
        attach(x, op, from + at, way, n);
        ROTA_TRY(payload_of(x, m)->take(x, m, &op->data, at, at + n, way));
    }
    return MPI_SUCCESS;
}

static int take_private(rota_exec *x, uint32_t m, rota_line_op *op,
                        rota_entry *e)
{
    char *to = op->data.body;
    size_t bytes = op->data.bytes;
    rota_foreign from;

    memcpy(&from, e->data, sizeof from);
    if (payload_of(x, m)->tells)
        ROTA_TRY(take_header(x, m, op, e, &to, &bytes));
    if (payload_of(x, m)->tells || to)
        attach(x, op, from, to, bytes);
    else
        ROTA_TRY(attach_parts(x, m, op, from));
    return finish(x, m, op);
}

/* Copy from the layout that the sender told, whose first byte the entry names,
 * to this rank's. */
static int take_told(rota_exec *x, uint32_t m, rota_line_op *op, rota_entry *e)
{
    enum { AT_ONCE = 1 << 15 };
    const rota_block b = rota_lines_block(x, ROTA_RECV, m);
    const size_t bytes = op->data.bytes;
    rota_strided straight;
    char way[AT_ONCE];

    const char *const from =
        find_place(op, e) - rota_extents_of(op->source, bytes).begin;

    if (!payload_of(x, m)->by_parts &&
        rota_strided_match(rota_block_type(&x->blocks, b), op->source, bytes,
                           &straight)) {
        rota_strided_copy(&straight, rota_block_at(&x->blocks, b), from);
        return MPI_SUCCESS;
    }
    for (size_t at = 0, n; at < bytes; at += n) {
        n = rota_smaller(AT_ONCE, bytes - at);
        rota_strided_pack(op->source, from, at, at + n, false, way);
        ROTA_TRY(payload_of(x, m)->take(x, m, &op->data, at, at + n, way));
    }
    return finish(x, m, op);
}

static int take_lent(rota_exec *x, uint32_t m, rota_line_op *op, rota_entry *e)
{
    (void)e;
    return rota_loan_copy(x, ROTA_RECV, m, op->loan);
}

/* The sender need only know that the copy has begun. */
static int take_fetched(rota_exec *x, uint32_t m, rota_line_op *op,
                        rota_entry *e)
{
    return rota_fetching_of(x)->fetch(x,
                                      x->blocks.s->msgs[ROTA_RECV].msg[m].peer,
                                      e->data, op->data.body, op->data.bytes);
}

/* How each kind of entry is taken, of a message of the expected length. */
static int (*const take_by[ROTA_ENTRY_KINDS])(rota_exec *x, uint32_t m,
                                              rota_line_op *op,
                                              rota_entry *e) = {
    [ROTA_ENTRY_DATA] = take_data,   [ROTA_ENTRY_PIECE] = take_piece,
    [ROTA_ENTRY_ARENA] = take_place, [ROTA_ENTRY_PRIVATE] = take_private,
    [ROTA_ENTRY_TYPED] = take_told,  [ROTA_ENTRY_FETCHED] = take_fetched,
    [ROTA_ENTRY_LENT] = take_lent,
};

/* ---- messages ------------------------------------------------------------ */

/* Request a cache line for writing, without waiting for it. */
static void claim_line(const char *line)
{
#if defined __x86_64__ /* GCC by itself would prefetch only for reading */
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Request the cache lines of the next entry to the peer, if it is known to have
 * read them. Writing them is then not delayed. */
static void claim_next(const rota_channel *c)
{
    const rota_line *const out = &c->line[ROTA_SEND];
    const size_t n = c->claimed;

    if (out->next - out->seen >= ROTA_LINE_ENTRIES)
        return;
    const char *const next = (const char *)rota_line_entry(out, out->next);
    size_t at = 0;
    do
        claim_line(next + at);
    while ((at += ROTA_CACHE_LINE) < n);
}

/* The message of a pair has been taken. The peer learns it from the next message
 * to it; the next entry to it is free, so claim it. */
static inline void end_pair(rota_channel *c)
{
    c->owed = true;
    rota_line_prove(&c->line[ROTA_SEND]);
    claim_next(c);
}

/* Take all entries that are full. The sender may wait for each, unless it is
 * the only one of a pair's message. If there is no memory for an entry, it
 * stays. */
static int pull(rota_exec *x, uint32_t m, rota_line_op *op)
{
    rota_line *const in = &op->with->line[ROTA_RECV];
    int err = MPI_SUCCESS;

    while (err == MPI_SUCCESS && op->moved < op->data.bytes) {
        rota_entry *const e = rota_line_look(in);
        if (!e)
            return MPI_SUCCESS;
        const bool only = op->with->paired && is_whole(in, e);
        if (op->moved == 0)
            err = prepare_recv(x, m, e);
        if (err == MPI_SUCCESS && !op->foreign)
            err = take_by[rota_entry_kind_of(e)](x, m, op, e);
        if (rota_status_postpone(&x->status, &err))
            return MPI_SUCCESS;
        op->moved += bytes_of(op, e);
        rota_line_take(in);
        if (!only)
            rota_channel_touch(x, op->with);
        x->moved = true;
    }
    return err;
}

/* The common case: the entry holds a whole message of so many bytes. */
static inline bool holds(const rota_line *in, const rota_entry *e, size_t bytes)
{
    return rota_entry_kind_of(e) == ROTA_ENTRY_DATA && e->bytes == bytes &&
           bytes <= rota_line_room(in);
}

static inline void take_now(rota_exec *x, rota_channel *c, const rota_entry *e,
                            char *to, size_t bytes)
{
    rota_copy_short(to, e->data, bytes);
    rota_line_take(&c->line[ROTA_RECV]);
    if (c->paired)
        end_pair(c);
    else
        rota_channel_touch(x, c);
    x->moved = true;
}

/* It must also be the message's turn. */
static inline bool receive_now(rota_exec *x, const rota_line_op *op,
                               rota_channel *c, const rota_entry *e)
{
    if (!holds(&c->line[ROTA_RECV], e, op->data.bytes) ||
        !rota_line_op_is_turn(op, ROTA_RECV))
        return false;
    take_now(x, c, e, op->data.body, op->data.bytes);
    rota_channel_end_turn(c, ROTA_RECV);
    return true;
}

int rota_lines_begin_recv(rota_exec *x, uint32_t m)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];

    op->foreign = false;
    op->moved = 0;
    if (op->loan)
        op->data.bytes = op->loan->bytes;
    else if (!payload_of(x, m)->bound)
        ROTA_TRY(payload_of(x, m)->begin(x, ROTA_RECV, m, &op->data));
    return MPI_SUCCESS;
}

int rota_lines_advance_recv(rota_exec *x, uint32_t m, bool *done)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];

    *done = false;
    if (!rota_line_op_is_turn(op, ROTA_RECV))
        return MPI_SUCCESS;
    ROTA_TRY(pull(x, m, op));
    if (op->moved < op->data.bytes)
        return MPI_SUCCESS;
    if (op->foreign && x->fixed)
        op->data.bytes = rota_message_bytes(&x->blocks, ROTA_RECV, m);
    op->moved = 0;
    op->foreign = false;
    rota_channel_end_turn(op->with, ROTA_RECV);
    if (op->with->paired && (op->data.bytes > 0 || payload_of(x, m)->tells))
        end_pair(op->with);
    x->moved = true;
    *done = true;
    return MPI_SUCCESS;
}

/* ---- batches ------------------------------------------------------------- */

int rota_lines_begin_recvs(rota_exec *x, rota_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        ROTA_TRY(rota_lines_begin_recv(x, b->message[i]));
    return MPI_SUCCESS;
}

/* Any other message with a full entry. Returns whether it is complete. Inline it
 * would slow down the others: what has an address is in memory. */
__attribute__((noinline)) static bool receive(rota_exec *x, uint32_t m,
                                              int *err)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];
    bool complete = false;

    if (op->moved == 0 && payload_of(x, m)->tells)
        op->data.bytes = 1; /* as payloads begin that tell their length */
    if (*err == MPI_SUCCESS)
        *err = rota_lines_advance_recv(x, m, &complete);
    return complete;
}

int rota_lines_advance_plain_recvs(rota_exec *x, rota_batch *b)
{
    const rota_line_op *const ops = rota_lines_of(x)->op[ROTA_RECV];
    const uint32_t *const open = rota_batch_open(b);
    const uint32_t n = b->n_open;
    uint32_t left = 0;
    int err = MPI_SUCCESS;

    for (uint32_t i = 0; i < n; i++) {
        const rota_line_op *const op = &ops[open[i]];
        rota_channel *const c = op->with;
        const rota_entry *const e = rota_line_look(&c->line[ROTA_RECV]);
        if (!e || (!receive_now(x, op, c, e) && !receive(x, open[i], &err)))
            b->open[left++] = open[i];
    }
    b->n_open = left;
    return err;
}

/* Where nothing is expected, nothing is waited for, unless word of that comes. */
int rota_lines_advance_lone_recvs(rota_exec *x, rota_batch *b)
{
    rota_line_op *const ops = rota_lines_of(x)->op[ROTA_RECV];
    const rota_blocks *const blocks = &x->blocks;
    const uint32_t *const open = rota_batch_open(b);
    const uint32_t n = b->n_open;
    const size_t least = b->payload->tells ? 0 : 1; /* bytes of a message */
    uint32_t left = 0;
    int err = MPI_SUCCESS;

    for (uint32_t i = 0; i < n; i++) {
        rota_line_op *const op = &ops[open[i]];
        rota_channel *const c = op->with;
        const size_t bytes = blocks->bytes[op->block];
        if (bytes < least)
            continue;
        const rota_entry *const e = rota_line_look(&c->line[ROTA_RECV]);
        if (e && op->moved == 0) {
            char *const to = blocks->base[ROTA_DST] + blocks->offset[op->block];
            if (holds(&c->line[ROTA_RECV], e, bytes)) {
                take_now(x, c, e, to, bytes);
                continue;
            }
            op->data.bytes = bytes;
            op->data.body = to;
        }
        if (!e || !receive(x, open[i], &err))
            b->open[left++] = open[i];
    }
    b->n_open = left;
    return err;
}

/* Must others come first? Its sender need not wait, if all of it is here. */
static bool stays(const rota_exec *x, const rota_line_op *op,
                  const rota_entry *e)
{
    return is_whole(&op->with->line[ROTA_RECV], e) &&
           rota_collected_waits(x, op->block, e->bytes);
}

int rota_lines_advance_landing(rota_exec *x, rota_batch *b)
{
    rota_line_op *const ops = rota_lines_of(x)->op[ROTA_RECV];
    const uint32_t *const open = rota_batch_open(b);
    const uint32_t n = b->n_open;
    uint32_t left = 0;
    int err = MPI_SUCCESS;

    for (uint32_t i = 0; i < n; i++) {
        rota_line_op *const op = &ops[open[i]];
        rota_channel *const c = op->with;
        const rota_entry *const e = rota_line_look(&c->line[ROTA_RECV]);
        bool later = !e;
        if (e && op->moved == 0) {
            const size_t bytes = e->bytes;
            char *to;
            if (holds(&c->line[ROTA_RECV], e, bytes) &&
                rota_collected_land(x, op->block, bytes, &to)) {
                take_now(x, c, e, to, bytes);
                continue;
            }
            later = stays(x, op, e);
        }
        if (later || !receive(x, open[i], &err))
            b->open[left++] = open[i];
    }
    b->n_open = left;
    return err;
}
