/* lines_recv.c - receives messages within the node: see channel.h. */
#include "exec/move/blocks.h"
#include "exec/move/strided.h"
#include "exec/move/trace.h"
#include "exec/payload/varlen.h"
#include "exec/transport/lines/channel.h"
#include "exec/transport/lines/told.h"

#include <string.h>

/* A longer message has only the first line of its next entry claimed ahead: a
 * core can fetch only so many lines at a time, and more delay its other work (4
 * KiB: 2 to 10 %). */
enum { MOST_CLAIMED = 1 << 11 };

/* Bytes begin to end of a message of elements. */
static void unpack_part(rota_exec *x, uint32_t m, size_t begin, size_t end,
                        const char *from)
{
    rota_message_unpack_part(
        &x->blocks, m, begin, end,
        rota_lines_of(x)->op[ROTA_RECV][m].bytes >= ROTA_STREAMED, from);
}

/* Put the whole message, which lies at from, in its place. */
static int land(rota_exec *x, uint32_t m, char *from)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];

    if (rota_lines_is_gathered(x, ROTA_RECV, m)) {
        const int64_t begin = x->trace ? rota_trace_now(x->trace) : 0;
        const int err = rota_message_unpack(&x->blocks, m, from);
        if (x->trace)
            rota_trace_note(x->trace, ROTA_TRACE_UNPACK, begin, op->with->rank,
                            op->bytes);
        return err;
    }
    if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_TYPED) {
        unpack_part(x, m, 0, op->bytes, from);
        return MPI_SUCCESS;
    }
    rota_copy_fast(op->body, from, op->bytes);
    return x->program.op[ROTA_RECV][m].kind == ROTA_OP_VARLEN
               ? rota_varlen_unpack(x, m)
               : MPI_SUCCESS;
}

/* All parts are together in body: unpack them if need be. */
static int finish(rota_exec *x, uint32_t m)
{
    if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_VARLEN)
        return rota_varlen_unpack(x, m);
    return rota_lines_is_gathered(x, ROTA_RECV, m)
               ? rota_message_unpack(&x->blocks, m,
                                     rota_lines_of(x)->op[ROTA_RECV][m].body)
               : MPI_SUCCESS;
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

/* The first entry is here: decide where the parts go. */
static int prepare_recv(rota_exec *x, uint32_t m, const rota_entry *e)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];
    const rota_op_kind kind = x->program.op[ROTA_RECV][m].kind;

    if (kind == ROTA_OP_VARLEN) {
        const bool placed = rota_entry_kind_of(e) == ROTA_ENTRY_ARENA;
        op->bytes = e->bytes;
        return rota_varlen_room(
            x, m, placed ? rota_varlen_header(x, m) : op->bytes, &op->body);
    }
    op->foreign = e->bytes != op->bytes;
    if (op->foreign) {
        rota_status_note(&x->status, ROTA_MISMATCH,
                         x->blocks.s->msgs[ROTA_RECV].msg[m].peer, e->bytes,
                         op->bytes);
        op->bytes = e->bytes;
        return MPI_SUCCESS;
    }
    return rota_lines_is_gathered(x, ROTA_RECV, m) &&
                   rota_entry_kind_of(e) != ROTA_ENTRY_LENT &&
                   !is_whole(&op->with->line[ROTA_RECV], e)
               ? rota_lines_stage(x, ROTA_RECV, m, &op->body)
               : MPI_SUCCESS;
}

/* The sender need only know that the copy has begun. */
static int begin_fetch(rota_exec *x, uint32_t m, const rota_entry *e)
{
    const rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];

    return x->fetching->fetch(x, x->blocks.s->msgs[ROTA_RECV].msg[m].peer,
                              e->data, op->body, op->bytes);
}

/* Copy from the layout that the sender told, whose first byte is at first, to
 * this rank's. */
static void copy_elements(rota_exec *x, uint32_t m, const char *first)
{
    enum { AT_ONCE = 1 << 15 };
    const rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];
    const char *const from =
        first - rota_extents_of(op->source, op->bytes).begin;
    rota_strided straight;
    char way[AT_ONCE];

    if (rota_strided_match(rota_lines_type(x, ROTA_RECV, m), op->source,
                           op->bytes, &straight)) {
        rota_strided_copy(&straight, op->body, from);
        return;
    }
    for (size_t at = 0, n; at < op->bytes; at += n) {
        n = rota_smaller(AT_ONCE, op->bytes - at);
        rota_strided_pack(op->source, from, at, at + n, false, way);
        if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_TYPED)
            unpack_part(x, m, at, at + n, way);
        else
            rota_copy_fast(op->body + at, way, n);
    }
}

/* The header is in the entry. */
static int fetch_varlen(rota_exec *x, uint32_t m, const rota_entry *e,
                        const char *from)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];
    const size_t head = rota_varlen_header(x, m);
    char *to;

    memcpy(op->body, e->data + sizeof(rota_place), head);
    ROTA_TRY(rota_varlen_body(x, m, op->bytes - head, &to));
    rota_copy_fast(to, from, op->bytes - head);
    op->moved = op->bytes;
    return rota_varlen_unpack(x, m);
}

/* Fetch the message from where the entry says. */
static int fetch(rota_exec *x, uint32_t m, rota_entry *e, rota_entry_kind kind)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];
    rota_place at;

    memcpy(&at, e->data, sizeof at);
    char *const from = rota_peer_at(op->with->peer, at);
    if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_VARLEN)
        return fetch_varlen(x, m, e, from);
    op->moved = op->bytes;
    if (kind == ROTA_ENTRY_ARENA)
        return land(x, m, from);
    copy_elements(x, m, from);
    return MPI_SUCCESS;
}

/* Take a part of the message, n bytes at from. */
static int take_part(rota_exec *x, uint32_t m, char *from, size_t n)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];
    const size_t before = op->moved;

    op->moved += n;
    if (op->foreign)
        return MPI_SUCCESS;
    if (n == op->bytes)
        return land(x, m, from);
    if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_TYPED) {
        unpack_part(x, m, before, op->moved, from);
        return MPI_SUCCESS;
    }
    rota_copy_fast(op->body + before, from, n);
    return op->moved == op->bytes ? finish(x, m) : MPI_SUCCESS;
}

static int take_entry(rota_exec *x, uint32_t m, rota_entry *e)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];
    const rota_entry_kind kind = rota_entry_kind_of(e);
    rota_part part;

    switch (kind) {
    case ROTA_ENTRY_DATA:
        return take_part(
            x, m, e->data,
            rota_smaller(op->bytes - op->moved,
                         rota_line_room(&op->with->line[ROTA_RECV])));
    case ROTA_ENTRY_PIECE:
        memcpy(&part, e->data, sizeof part);
        return take_part(x, m, rota_peer_at(op->with->peer, part.at),
                         part.bytes);
    case ROTA_ENTRY_LENT:
        if (!op->foreign)
            ROTA_TRY(rota_loan_copy(x, ROTA_RECV, m, op->loan));
        op->moved = op->bytes;
        return MPI_SUCCESS;
    case ROTA_ENTRY_FETCHED:
        op->moved = op->bytes;
        return op->foreign ? MPI_SUCCESS : begin_fetch(x, m, e);
    default:
        if (!op->foreign)
            return fetch(x, m, e, kind);
        op->moved = op->bytes;
        return MPI_SUCCESS;
    }
}

/* Request a cache line for writing, without waiting for it. */
static void claim_line(const char *line)
{
#if defined __x86_64__ /* GCC by itself would prefetch only for reading */
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Request the cache lines of the next entry for a message as long as this one,
 * if the receiver is known to have read them. Writing them is then not
 * delayed. */
static void claim(const rota_line *l, size_t bytes)
{
    const char *const next = (const char *)rota_line_entry(l, l->next);
    const size_t n =
        bytes <= MOST_CLAIMED ? rota_smaller(bytes, rota_line_room(l)) : 0;

    if (l->next - l->seen >= ROTA_LINE_ENTRIES)
        return;
    for (size_t at = 0; at < ROTA_ENTRY_HEAD + n; at += ROTA_CACHE_LINE)
        claim_line(next + at);
}

/* The peer's message proves that its entry is free: claim the next one to
 * it. */
static void claim_next(rota_channel *c)
{
    rota_line *const out = &c->line[ROTA_SEND];

    if (out->seen < out->before)
        out->seen = out->before;
    claim(out, c->room[ROTA_SEND]);
}

/* Take all entries that are full. The sender may wait for each, unless it is
 * the only one of a pair's message. If there is no memory for an entry, it
 * stays. */
static int pull(rota_exec *x, uint32_t m, rota_line_op *op)
{
    rota_line *const in = &op->with->line[ROTA_RECV];
    int err = MPI_SUCCESS;

    while (err == MPI_SUCCESS && op->moved < op->bytes) {
        rota_entry *const e = rota_line_look(in);
        if (!e)
            return MPI_SUCCESS;
        const bool only = op->with->paired && is_whole(in, e);
        if (op->moved == 0)
            err = prepare_recv(x, m, e);
        if (err == MPI_SUCCESS)
            err = take_entry(x, m, e);
        if (rota_status_postpone(&x->status, &err))
            return MPI_SUCCESS;
        rota_line_take(in);
        if (!only)
            rota_channel_touch(x, op->with);
        x->moved = true;
    }
    return err;
}

/* The common case: the entry holds the whole message, as expected. */
static bool receive_now(rota_exec *x, rota_line_op *op, const rota_entry *e)
{
    rota_channel *const c = op->with;
    rota_line *const in = &c->line[ROTA_RECV];

    if (rota_entry_kind_of(e) != ROTA_ENTRY_DATA || e->bytes != op->bytes ||
        op->bytes > rota_line_room(in) || op->moved > 0 ||
        !rota_line_op_is_turn(op, ROTA_RECV))
        return false;
    rota_copy_short(op->body, e->data, op->bytes);
    rota_line_take(in);
    rota_channel_end_turn(c, ROTA_RECV);
    if (c->paired)
        claim_next(c);
    else
        rota_channel_touch(x, c);
    x->moved = true;
    return true;
}

int rota_lines_begin_recv(rota_exec *x, uint32_t m)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];

    op->foreign = false;
    op->moved = 0;
    switch (x->program.op[ROTA_RECV][m].kind) {
    case ROTA_OP_VARLEN: /* at least a header comes */
        op->bytes = 1;
        break;
    case ROTA_OP_GATHERED:
        op->bytes = op->loan ? op->loan->bytes
                             : rota_message_bytes(&x->blocks, ROTA_RECV, m);
        break;
    case ROTA_OP_VARYING:
        rota_lines_resolve(x, ROTA_RECV, m);
        break;
    default:
        break;
    }
    return MPI_SUCCESS;
}

int rota_lines_advance_recv(rota_exec *x, uint32_t m, bool *done)
{
    rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];

    *done = false;
    if (!rota_line_op_is_turn(op, ROTA_RECV))
        return MPI_SUCCESS;
    ROTA_TRY(pull(x, m, op));
    if (op->moved < op->bytes)
        return MPI_SUCCESS;
    if (op->foreign && x->fixed)
        op->bytes = rota_message_bytes(&x->blocks, ROTA_RECV, m);
    op->moved = 0;
    op->foreign = false;
    rota_channel_end_turn(op->with, ROTA_RECV);
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

int rota_lines_advance_plain_recvs(rota_exec *x, rota_batch *b)
{
    rota_line_op *const ops = rota_lines_of(x)->op[ROTA_RECV];
    const uint32_t *const open = rota_batch_open(b);
    const uint32_t n = b->n_open;
    uint32_t left = 0;
    int err = MPI_SUCCESS;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t m = open[i];
        const rota_entry *const e =
            rota_line_look(&ops[m].with->line[ROTA_RECV]);
        bool complete = false;
        if (e && receive_now(x, &ops[m], e))
            continue;
        if (e && err == MPI_SUCCESS)
            err = rota_lines_advance_recv(x, m, &complete);
        if (!complete)
            b->open[left++] = m;
    }
    b->n_open = left;
    return err;
}
