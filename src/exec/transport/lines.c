/* lines.c - see lines.h. */
#define _GNU_SOURCE
#include "exec/transport/lines.h"
#include "device/ipc.h"
#include "exec/active.h"
#include "exec/late.h"
#include "exec/move.h"
#include "exec/program.h"
#include "exec/transport/line.h"
#include "exec/transport/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Entries are longer than a line, so that messages fit them, on nodes of at most
 * FEW_RANKS, up to LONG_ENTRY bytes each and LONG_ENTRIES of a process for all
 * its plans: a message that is found by one look is 10 to 15 % faster than one
 * whose piece is found by its entry (512 B to 4 KiB, P = 2, rota-bench --starts
 * 20). */
enum { FEW_RANKS = 16, LONG_ENTRY = 1 << 13, LONG_ENTRIES = 1 << 20 };

/* Of a longer message only the first line is claimed ahead: more lines than a
 * core may have under way keep it from other work (4 KiB: 2 to 10 %). */
enum { MOST_CLAIMED = 1 << 11 };

/* Attempts in vain to find a piece before a message goes through entries: the
 * receivers of others may give theirs back. */
enum { ATTEMPTS = 200 };

/* The messages between this rank and another one of its node. */
typedef struct channel {
    rota_line line[ROTA_N_DIRS];    /* in: this rank's; out: the peer's */
    uint32_t turn[ROTA_N_DIRS];     /* messages complete in this run */
    uint32_t messages[ROTA_N_DIRS]; /* of the schedule */
    bool paired;  /* one message each way a run: each proves the other taken */
    bool touched; /* something was written or taken since the last flush */
    bool
        flagged; /* its interest flag was set, and may have been cleared by it */
    bool
        awaited; /* between rota_lines_count and rota_lines_await: will be set */
    rota_doorbell *bell;                 /* of the peer's process */
    rota_interest *interest;             /* of the peer in this process */
    rota_piece piece[ROTA_LINE_ENTRIES]; /* by entry */
    const rota_near *near;               /* the communicator's */
    rota_peer *peer;
    int position;             /* of the peer in the node */
    size_t room[ROTA_N_DIRS]; /* bytes of the longest message */
} channel;

/* A message. */
typedef struct line_op {
    channel *with;       /* NULL: it goes by MPI */
    char *body;          /* of what is sent or received */
    size_t bytes, moved; /* in all, so far: 0 when a run is over */
    uint32_t order;      /* among the messages of the pair and direction */
    uint16_t attempts;   /* to find a piece */
    bool foreign;        /* received: not of the expected length */
    bool done;           /* sent one by one: complete before it was asked for */
    const char *head;    /* sent first, head_bytes of it, and then body */
    size_t head_bytes;
    uint64_t entry; /* sent: not 0: complete when this one is taken */
    char *own;      /* staging of elements, where counts vary */
    size_t own_room;
} line_op;

struct rota_lines {
    channel *channel; /* [n] of the ranks that it has messages with */
    int n;
    line_op *op[ROTA_N_DIRS]; /* [n messages] */
    channel **touched;        /* [n] */
    int n_touched;
    bool hurry;   /* this process is about to sleep: none waits for a piece */
    size_t piece; /* bytes of the longest */
    void *memory[ROTA_N_USES];             /* of all queues, in the arena */
    size_t bytes[ROTA_N_USES], long_bytes; /* of that */
    struct rota_lines *next; /* of those whose readers have not finished */
};

/* Of long entries of all plans of the process. */
static _Atomic size_t long_entries;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- making ------------------------------------------------------------------ */

/* Bytes of a message in an entry. */
static size_t most_bytes(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msg *const msg = &x->s->msgs[dir].msg[m];
    const size_t n = msg[1].first - msg[0].first;

    if (x->ipc)
        return sizeof(rota_ipc_place);
    if (x->fixed)
        return rota_message_bytes(x, dir, m);
    return x->max_block > SIZE_MAX / n - sizeof(size_t)
               ? SIZE_MAX
               : n * (sizeof(size_t) + x->max_block);
}

/* Position of the peer of message m, or -1: MPI carries it. */
static int position_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const int i = x->node->of[x->s->msgs[dir].msg[m].peer];

    return i >= 0 && x->node->near[i].peer ? i : -1;
}

static channel *find_channel(struct rota_lines *lines, int index[], int i)
{
    if (index[i] < 0) {
        index[i] = lines->n++;
        lines->channel[index[i]] = (channel){.position = i};
    }
    return &lines->channel[index[i]];
}

static void enlist(rota_exec *x, rota_dir dir, uint32_t m, int index[])
{
    const int i = position_of(x, dir, m);
    const size_t bytes = most_bytes(x, dir, m);

    if (i < 0)
        return;
    channel *const c = find_channel(x->lines, index, i);
    line_op *const op = &x->lines->op[dir][m];
    op->with = c;
    op->order = c->messages[dir]++;
    c->near = &x->node->near[i];
    c->peer = c->near->peer;
    c->room[dir] = bytes > c->room[dir] ? bytes : c->room[dir];
}

static void enlist_all(rota_exec *x, int index[])
{
    for (int i = 0; i < x->node->n; i++)
        index[i] = -1;
    for (uint32_t p = 0; p < x->s->n_phases; p++) {
        const rota_phase *const phase = &x->s->phase[p];
        for (int dir = 0; dir < ROTA_N_DIRS && !rota_phase_is_whole(x, phase);
             dir++)
            for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++)
                enlist(x, (rota_dir)dir, m, index);
    }
}

/* Bytes of the pool that messages of one run may take, those that are copied
 * from where they lie left out, and how long their pieces are to be. */
static void reserve_pool(const rota_exec *x)
{
    struct rota_lines *const lines = x->lines;
    size_t most, wanted = 0;

    rota_pool_bytes(&most);
    lines->piece = ROTA_PIECE;
    while (lines->piece > 1024 &&
           lines->piece * (size_t)lines->n > most / ROTA_LINE_ENTRIES)
        lines->piece /= 2;
    for (int i = 0; i < lines->n && !x->ipc; i++) {
        const channel *const c = &lines->channel[i];
        if (c->room[ROTA_SEND] > ROTA_LINE_ROOM &&
            !(x->fixed && c->near->may_attach &&
              c->room[ROTA_SEND] >= x->cma_from))
            wanted +=
                ROTA_LINE_ENTRIES * smaller(c->room[ROTA_SEND], lines->piece);
    }
    rota_pool_reserve(wanted);
}

/* Bytes of an entry for messages to this rank. */
static size_t stride_of(const rota_exec *x, const channel *c)
{
    const size_t room = c->room[ROTA_RECV];
    const size_t stride = rota_line_stride(room <= LONG_ENTRY ? room : 0);
    const size_t line = sizeof(rota_entry);

    if (x->ipc || stride == line)
        return stride;
    if (x->node->n > FEW_RANKS || atomic_load(&long_entries) +
                                          x->lines->long_bytes +
                                          ROTA_LINE_ENTRIES * stride >
                                      LONG_ENTRIES)
        return line;
    x->lines->long_bytes += ROTA_LINE_ENTRIES * stride;
    return stride;
}

static bool is_received(const channel *c)
{
    return c->messages[ROTA_RECV] > 0;
}

/* Where entries of the stride begin, from there on: long ones in the middle of a
 * page, as pieces of the pool do. */
static size_t entries_at(size_t at, size_t stride)
{
    enum { LONG = 1024, HALF = ROTA_COPY_PAGE / 2 };

    return stride < LONG
               ? at
               : (at + HALF - 1) / ROTA_COPY_PAGE * ROTA_COPY_PAGE + HALF;
}

/* Memory for all queues into this rank. Returns false if there is none. */
static bool take_memory(rota_exec *x, rota_place at[ROTA_N_USES])
{
    struct rota_lines *const lines = x->lines;

    for (int i = 0; i < lines->n; i++) {
        channel *const c = &lines->channel[i];
        if (!is_received(c))
            continue;
        const size_t stride = stride_of(x, c);
        c->line[ROTA_RECV].stride = stride;
        lines->bytes[ROTA_ENTRIES] =
            entries_at(lines->bytes[ROTA_ENTRIES], stride) +
            ROTA_LINE_ENTRIES * stride;
        lines->bytes[ROTA_COUNTERS] += sizeof(uint64_t);
    }
    if (lines->long_bytes > 0) /* so that a page begins in it */
        lines->bytes[ROTA_ENTRIES] += ROTA_COPY_PAGE;
    for (int use = 0; use < ROTA_N_USES && lines->bytes[use] > 0; use++) {
        lines->memory[use] =
            rota_arena_take((rota_use)use, lines->bytes[use], &at[use]);
        if (!lines->memory[use])
            return false;
    }
    atomic_fetch_add(&long_entries, lines->long_bytes);
    return true;
}

/* Set up the queues and tell the others where they are. Whoever is not told has
 * none. */
static void make_lines(rota_exec *x, const rota_place at[ROTA_N_USES])
{
    struct rota_lines *const lines = x->lines;
    rota_board *const board = x->node->near[x->node->me].board;
    char *const memory = lines->memory[ROTA_ENTRIES];
    const size_t page = lines->long_bytes > 0
                            ? -(uintptr_t)memory % ROTA_COPY_PAGE
                            : 0; /* bytes before one begins */
    size_t entry = page, counter = 0;

    for (int i = 0; i < lines->n; i++) {
        channel *const c = &lines->channel[i];
        if (!is_received(c))
            continue;
        const size_t stride = c->line[ROTA_RECV].stride;
        void *const taken = (char *)lines->memory[ROTA_COUNTERS] + counter;
        entry = page + entries_at(entry - page, stride);
        rota_line_make(&c->line[ROTA_RECV], memory + entry, taken, stride);
        board[c->position].lines = at[ROTA_ENTRIES] + entry;
        board[c->position].taken = at[ROTA_COUNTERS] + counter;
        board[c->position].stride = (uint32_t)stride;
        entry += ROTA_LINE_ENTRIES * stride;
        counter += sizeof(uint64_t);
    }
}

static void put_memory(struct rota_lines *lines)
{
    for (int use = 0; use < ROTA_N_USES; use++)
        rota_arena_put((rota_use)use, lines->memory[use]);
    if (lines->memory[ROTA_COUNTERS]) /* the last that was taken */
        atomic_fetch_sub(&long_entries, lines->long_bytes);
    memset(lines->memory, 0, sizeof lines->memory);
    memset(lines->bytes, 0, sizeof lines->bytes);
}

static int make_channels(rota_exec *x)
{
    struct rota_lines *const lines = x->lines;
    int *const index = malloc((size_t)x->node->n * sizeof *index);

    lines->channel = calloc((size_t)x->node->n, sizeof *lines->channel);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        lines->op[dir] =
            calloc((size_t)x->s->msgs[dir].n + 1, sizeof *lines->op[dir]);
    const bool good =
        index && lines->channel && lines->op[ROTA_RECV] && lines->op[ROTA_SEND];
    if (good)
        enlist_all(x, index);
    free(index);
    lines->touched =
        good ? malloc(((size_t)lines->n + 1) * sizeof *lines->touched) : NULL;
    return lines->touched ? MPI_SUCCESS
                          : rota_fail_mem("messages within the node");
}

static void reap(void);

int rota_lines_reserve(rota_exec *x, bool *refused)
{
    rota_board *const board = x->node->near[x->node->me].board;
    rota_place at[ROTA_N_USES];

    *refused = false;
    reap();
    x->lines = calloc(1, sizeof *x->lines);
    if (!x->lines)
        return rota_fail_mem("messages within the node");
    ROTA_TRY(make_channels(x));
    for (int i = 0; i < x->node->n; i++)
        board[i].lines = 0;
    reserve_pool(x);
    *refused = !take_memory(x, at);
    if (*refused)
        put_memory(x->lines);
    else
        make_lines(x, at);
    return MPI_SUCCESS;
}

static void open_channel(const rota_exec *x, channel *c)
{
    const rota_peer *const peer = c->peer;
    const rota_board *const b = &c->near->board[x->node->me];

    c->bell = &peer->head->bell;
    c->interest = &peer->head->interest[peer->slot_there];
    if (c->messages[ROTA_SEND] > 0 && b->lines &&
        rota_place_segment(b->lines) < peer->n_segments &&
        rota_place_segment(b->taken) < peer->n_segments)
        rota_line_open(&c->line[ROTA_SEND], rota_peer_at(peer, b->lines),
                       (void *)rota_peer_at(peer, b->taken), b->stride);
}

/* A peer that has no queue for this rank receives by MPI or expects nothing,
 * whatever this rank sends: counts that were not checked may differ. */
bool rota_lines_attach(rota_exec *x)
{
    bool all = true;

    for (int i = 0; i < x->lines->n; i++)
        all = rota_arena_update(x->lines->channel[i].peer) && all;
    for (int i = 0; i < x->lines->n && all; i++)
        open_channel(x, &x->lines->channel[i]);
    return all;
}

bool rota_lines_carry(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const channel *const c = x->lines ? x->lines->op[dir][m].with : NULL;

    return c && c->line[dir].entries;
}

size_t rota_lines_bytes(const rota_exec *x)
{
    const struct rota_lines *const l = x->lines;

    return l ? l->bytes[ROTA_ENTRIES] + l->bytes[ROTA_COUNTERS] : 0;
}

/* ---- memory that others may still read ------------------------------------------ */

static struct rota_lines *lingering; /* under the lock of active executors */

static bool is_read(channel *c)
{
    rota_line *const out = &c->line[ROTA_SEND];

    return !out->entries || rota_line_taken(out, out->next);
}

static bool all_read(struct rota_lines *lines)
{
    for (int i = 0; i < lines->n; i++)
        if (!is_read(&lines->channel[i]))
            return false;
    return true;
}

static void destroy(struct rota_lines *lines)
{
    for (int i = 0; i < lines->n; i++)
        for (int k = 0; k < ROTA_LINE_ENTRIES; k++)
            rota_pool_put(&lines->channel[i].piece[k]);
    free(lines->channel);
    free(lines);
}

/* The peers' counts are looked at until they say that all has been taken. */
static void linger(struct rota_lines *lines)
{
    for (int i = 0; i < lines->n; i++)
        rota_arena_hold(lines->channel[i].peer);
    lines->next = lingering;
    lingering = lines;
}

static void end_linger(struct rota_lines *lines)
{
    for (int i = 0; i < lines->n; i++)
        rota_arena_drop(lines->channel[i].peer);
    destroy(lines);
}

static void reap(void)
{
    rota_active_lock();
    for (struct rota_lines **link = &lingering; *link;) {
        struct rota_lines *const lines = *link;
        if (!all_read(lines)) {
            link = &lines->next;
            continue;
        }
        *link = lines->next;
        end_linger(lines);
    }
    rota_active_unlock();
}

/* What is lent to others, which read it later than this rank frees the plan, is
 * left; all that was sent to it has been taken. */
static void release(rota_exec *x)
{
    struct rota_lines *const lines = x->lines;

    if (!lines)
        return;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        for (uint32_t m = 0; lines->op[dir] && m < x->s->msgs[dir].n; m++)
            free(lines->op[dir][m].own);
        free(lines->op[dir]);
    }
    free(lines->touched);
    put_memory(lines);
    x->lines = NULL;
    rota_active_lock();
    if (!lines->channel || all_read(lines))
        destroy(lines);
    else
        linger(lines);
    rota_active_unlock();
}

/* ---- waking ------------------------------------------------------------------ */

/* This process's interest in the peer. */
static rota_interest *flag_of(const rota_exec *x, const channel *c)
{
    return &x->node->near[x->node->me].peer->head->interest[c->peer->slot];
}

static void touch(rota_exec *x, channel *c)
{
    if (c->touched)
        return;
    c->touched = x->rings = true;
    x->lines->touched[x->lines->n_touched++] = c;
}

/* Bits of a wake word that is to be woken. */
typedef struct waking {
    rota_wake_word *word;
    uint32_t bits;
} waking;

static void carry_out(waking *w)
{
    if (w->bits)
        rota_wake_word_wake(w->word, w->bits);
    w->bits = 0;
}

/* Wake the rank at position i, at once or with others. One that since it was
 * counted down has begun to wait for other ranks than those of the node sleeps
 * until its limit. */
static void wake(const rota_node *node, const channel *c, waking *w)
{
    if (rota_doorbell_shared(c->bell) == 0) {
        rota_doorbell_wake(c->bell);
        return;
    }
    if (w->word != rota_node_word(node, c->position))
        carry_out(w);
    w->word = rota_node_word(node, c->position);
    w->bits |= (uint32_t)1 << rota_node_bit(c->position);
}

/* Does the peer sleep on a word that ranks of the node know, or on its own? */
static bool is_known(const rota_node *node, const channel *c)
{
    const uint64_t name = rota_doorbell_shared(c->bell);

    return name == 0 || name == node->word_name;
}

void rota_lines_flush(rota_exec *x)
{
    struct rota_lines *const lines = x->lines;
    waking w = {0};

    x->rings = false;
    rota_doorbell_fence();
    for (int i = 0; i < lines->n_touched; i++) {
        channel *const c = lines->touched[i];
        c->touched = false;
        if (rota_doorbell_is_armed(c->bell) && is_known(x->node, c) &&
            rota_doorbell_ring(c->bell, c->interest))
            wake(x->node, c, &w);
    }
    lines->n_touched = 0;
    carry_out(&w);
}

/* ---- sending ----------------------------------------------------------------- */

/* Memory to gather a message in. */
static int stage(const rota_exec *x, rota_dir dir, uint32_t m, char **memory)
{
    const rota_op *const w = &x->op[dir][m];
    line_op *const op = &x->lines->op[dir][m];

    if (w->packed) {
        *memory = x->area + w->stage;
        return MPI_SUCCESS;
    }
    ROTA_TRY(
        rota_grow(&op->own, &op->own_room, op->bytes, "a message of elements"));
    *memory = op->own;
    return MPI_SUCCESS;
}

/* Take a line from the caches of others, without waiting for it. */
static void claim_line(const char *line)
{
#if defined __x86_64__ /* for which GCC by itself only prefetches for reading */
    __asm__ volatile("prefetchw %0" : : "m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Take the lines of the next entry back from the receiver's cache, for a message
 * as long as this one, if it is known to have read them. When they are written,
 * the sender need not wait for them. */
static void claim(const rota_line *l, size_t bytes)
{
    const char *const next = (const char *)rota_line_entry(l, l->next);
    const size_t n =
        bytes <= MOST_CLAIMED ? smaller(bytes, rota_line_room(l)) : 0;

    if (l->next - l->seen >= ROTA_LINE_ENTRIES)
        return;
    for (size_t at = 0; at < ROTA_ENTRY_HEAD + n; at += ROTA_CACHE_LINE)
        claim_line(next + at);
}

static void put(rota_exec *x, line_op *op, rota_entry_kind kind)
{
    rota_line_put(&op->with->line[ROTA_SEND], kind, op->bytes);
    touch(x, op->with);
}

/* The next message of the direction may go, or the next run begin. */
static void end_turn(channel *c, rota_dir dir)
{
    if (++c->turn[dir] == c->messages[dir])
        c->turn[dir] = 0;
}

static bool is_turn(const line_op *op, rota_dir dir)
{
    return op->with->turn[dir] == op->order;
}

static bool is_piece_taken(void *owner, uint64_t entry)
{
    channel *const c = owner;

    return rota_line_taken(&c->line[ROTA_SEND], entry);
}

/* A piece for the next entry, of up to bytes; NULL: there is none now. The one
 * that the entry had last is the sender's again. */
static rota_piece *find_piece(rota_exec *x, line_op *op, size_t bytes)
{
    channel *const c = op->with;
    rota_piece *const p =
        &c->piece[c->line[ROTA_SEND].next % ROTA_LINE_ENTRIES];

    bytes = smaller(bytes, x->lines->piece);
    if (p->memory && p->bytes >= bytes)
        return p;
    if (p->memory)
        rota_pool_put(p);
    p->is_taken = is_piece_taken;
    p->owner = c;
    return rota_pool_take(p, bytes, c->peer) ? p : NULL;
}

/* Copy n bytes of head and body, from the one at moved on; those of the body past
 * the caches. */
static void fill(const line_op *op, char *to, size_t n, bool streams)
{
    size_t at = op->moved;

    if (at < op->head_bytes) {
        const size_t left = op->head_bytes - at;
        const size_t k = smaller(n, left);
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

static void put_data(rota_exec *x, line_op *op, rota_entry *e, size_t n)
{
    fill(op, e->data, n, false);
    put(x, op, ROTA_ENTRY_DATA);
    op->moved += n;
}

static void name_piece(rota_exec *x, line_op *op, rota_entry *e, rota_piece *p,
                       size_t n)
{
    const rota_part part = {p->at, n};

    memcpy(e->data, &part, sizeof part);
    p->entry = op->with->line[ROTA_SEND].next + 1;
    put(x, op, ROTA_ENTRY_PIECE);
    op->moved += n;
}

static void put_piece(rota_exec *x, line_op *op, rota_entry *e, rota_piece *p)
{
    const size_t n = smaller(op->bytes - op->moved, p->bytes);

    fill(op, p->memory, n, x->node->streams && n > LONG_ENTRY);
    name_piece(x, op, e, p, n);
}

/* May the receiver read the message where it lies? */
static bool is_readable(const rota_exec *x, const line_op *op, rota_place *at,
                        rota_entry_kind *kind)
{
    const size_t body = op->bytes - op->head_bytes;

    if (body < x->arena_from && body < x->cma_from)
        return false;
    if (sizeof *at + op->head_bytes >
        rota_line_room(&op->with->line[ROTA_SEND]))
        return false;
    *kind = ROTA_ENTRY_ARENA;
    if (rota_arena_find(op->body, body, at) &&
        rota_peer_has(op->with->peer, *at))
        return body >= x->arena_from;
    *kind = ROTA_ENTRY_CMA;
    *at = (uint64_t)(uintptr_t)op->body;
    return body >= x->cma_from && op->with->near->may_attach;
}

/* Tell where the message lies, and what goes before it. */
static void put_place(rota_exec *x, line_op *op, rota_entry *e, rota_place at,
                      rota_entry_kind kind)
{
    memcpy(e->data, &at, sizeof at);
    if (op->head_bytes > 0)
        memcpy(e->data + sizeof at, op->head, op->head_bytes);
    put(x, op, kind);
    op->moved = op->bytes;
    op->entry = op->with->line[ROTA_SEND].next;
}

/* Write one entry. Returns false while there is neither an entry nor a piece. */
static bool push_entry(rota_exec *x, line_op *op)
{
    rota_line *const out = &op->with->line[ROTA_SEND];
    rota_entry *const e = rota_line_begin(out);
    const size_t left = op->bytes - op->moved, room = rota_line_room(out);
    rota_entry_kind kind;
    rota_place at;

    if (!e)
        return false;
    if (op->moved == 0 && is_readable(x, op, &at, &kind)) {
        put_place(x, op, e, at, kind);
        return true;
    }
    rota_piece *const p = left > room ? find_piece(x, op, left) : NULL;
    if (p) {
        put_piece(x, op, e, p);
    } else {
        if (left > room && !x->lines->hurry && op->attempts < ATTEMPTS) {
            op->attempts++;
            return false;
        }
        put_data(x, op, e, smaller(left, room));
    }
    return true;
}

static void push(rota_exec *x, line_op *op)
{
    while (op->moved < op->bytes && push_entry(x, op))
        x->moved = true;
}

/* Is the message done with, at this end? Its turn is. */
static bool is_sent(line_op *op)
{
    return op->entry == 0 ||
           rota_line_taken(&op->with->line[ROTA_SEND], op->entry);
}

/* All of a message that waits for its turn or for room. */
static bool advance_send(rota_exec *x, line_op *op)
{
    if (op->entry == 0) {
        if (!is_turn(op, ROTA_SEND))
            return false;
        push(x, op);
        if (op->moved < op->bytes)
            return false;
        end_turn(op->with, ROTA_SEND);
    }
    if (!is_sent(op))
        return false;
    op->moved = 0;
    op->entry = 0;
    x->moved = true;
    return true;
}

/* Pack a message right into the entry or piece that is to carry all of it.
 * Returns false if there is none. */
static int pack_into(rota_exec *x, uint32_t m, line_op *op, bool *done)
{
    channel *const c = op->with;
    rota_line *const out = &c->line[ROTA_SEND];

    *done = false;
    if (!is_turn(op, ROTA_SEND))
        return MPI_SUCCESS;
    rota_entry *const e = rota_line_begin(out);
    if (!e)
        return MPI_SUCCESS;
    const bool fits = op->bytes <= rota_line_room(out);
    rota_piece *const p = !fits && op->bytes <= x->lines->piece
                              ? find_piece(x, op, op->bytes)
                              : NULL;
    if (!fits && (!p || p->bytes < op->bytes))
        return MPI_SUCCESS;
    ROTA_TRY(rota_message_pack(x, m, fits ? e->data : p->memory));
    if (fits)
        put(x, op, ROTA_ENTRY_DATA);
    else
        name_piece(x, op, e, p, op->bytes);
    op->moved = 0;
    end_turn(c, ROTA_SEND);
    *done = true;
    return MPI_SUCCESS;
}

static int begin_gathered(rota_exec *x, uint32_t m, line_op *op, bool *done)
{
    op->bytes = rota_message_bytes(x, ROTA_SEND, m);
    ROTA_TRY(pack_into(x, m, op, done));
    if (*done)
        return MPI_SUCCESS;
    ROTA_TRY(stage(x, ROTA_SEND, m, &op->body));
    return rota_message_pack(x, m, op->body);
}

static int begin_device(rota_exec *x, line_op *op, bool *done)
{
    rota_entry *const e = rota_line_begin(&op->with->line[ROTA_SEND]);

    if (!e || !is_turn(op, ROTA_SEND))
        return MPI_SUCCESS;
    const rota_ipc_place place = rota_ipc_tell(
        x, x->s->msgs[ROTA_SEND].msg[op - x->lines->op[ROTA_SEND]].peer,
        op->body);
    memcpy(e->data, &place, sizeof place);
    put(x, op, ROTA_ENTRY_IPC);
    op->moved = op->bytes;
    op->entry = op->with->line[ROTA_SEND].next;
    end_turn(op->with, ROTA_SEND);
    *done = false;
    return MPI_SUCCESS;
}

/* Are the message's blocks elements of a datatype, or apart from each other? Where
 * counts vary, buffers do, too. */
static bool is_gathered(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->s->msgs[dir];

    switch (x->op[dir][m].kind) {
    case ROTA_OP_GATHERED:
        return true;
    case ROTA_OP_VARYING:
        return !rota_type_is_bytes(
            rota_block_type(x, l->item[l->msg[m].first]));
    default:
        return false;
    }
}

/* The one block of the message, where it lies in this run. */
static void resolve(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->s->msgs[dir];
    line_op *const op = &x->lines->op[dir][m];

    op->bytes = rota_message_bytes(x, dir, m);
    op->body = rota_block_at(x, l->item[l->msg[m].first]);
}

/* Post one send of any kind. */
static int begin_send(rota_exec *x, uint32_t m, bool *done)
{
    line_op *const op = &x->lines->op[ROTA_SEND][m];

    *done = false;
    op->attempts = 0;
    if (op->with->paired)
        rota_line_prove(&op->with->line[ROTA_SEND]);
    x->lines->hurry = false;
    switch (x->op[ROTA_SEND][m].kind) {
    case ROTA_OP_LATE:
        ROTA_TRY(rota_late_gather(x, m, &op->head, &op->head_bytes, &op->body,
                                  &op->bytes));
        break;
    case ROTA_OP_GATHERED:
        ROTA_TRY(begin_gathered(x, m, op, done));
        break;
    case ROTA_OP_VARYING: /* its block may be above the bound */
        resolve(x, ROTA_SEND, m);
        if (op->bytes > 0 && is_gathered(x, ROTA_SEND, m))
            ROTA_TRY(begin_gathered(x, m, op, done));
        break;
    case ROTA_OP_DEVICE:
        return begin_device(x, op, done);
    default:
        break;
    }
    *done = *done || advance_send(x, op);
    return MPI_SUCCESS;
}

/* The common case, one look at the queue: a message that fits its entry, and that
 * is not better copied from where it lies. */
static bool send_now(rota_exec *x, line_op *op)
{
    channel *const c = op->with;
    rota_line *const out = &c->line[ROTA_SEND];

    if (op->bytes > rota_line_room(out) || op->bytes >= x->arena_from ||
        !is_turn(op, ROTA_SEND))
        return false;
    rota_entry *const e = rota_line_begin(out);
    if (!e)
        return false;
    rota_copy_short(e->data, op->body, op->bytes);
    put(x, op, ROTA_ENTRY_DATA);
    end_turn(c, ROTA_SEND);
    return true;
}

/* ---- receiving --------------------------------------------------------------- */

/* The message lies in one piece at from. */
static int land(rota_exec *x, uint32_t m, char *from)
{
    line_op *const op = &x->lines->op[ROTA_RECV][m];

    if (is_gathered(x, ROTA_RECV, m))
        return rota_message_unpack(x, m, from);
    rota_copy_fast(op->body, from, op->bytes);
    return x->op[ROTA_RECV][m].kind == ROTA_OP_LATE ? rota_late_unpack(x, m)
                                                    : MPI_SUCCESS;
}

/* All parts have been put together in body. */
static int finish(rota_exec *x, uint32_t m)
{
    if (x->op[ROTA_RECV][m].kind == ROTA_OP_LATE)
        return rota_late_unpack(x, m);
    return is_gathered(x, ROTA_RECV, m)
               ? rota_message_unpack(x, m, x->lines->op[ROTA_RECV][m].body)
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

/* The first entry is here: where do the parts go? */
static int prepare_recv(rota_exec *x, uint32_t m, const rota_entry *e)
{
    line_op *const op = &x->lines->op[ROTA_RECV][m];
    const rota_op_kind kind = x->op[ROTA_RECV][m].kind;

    if (kind == ROTA_OP_LATE) {
        const bool placed = rota_entry_kind_of(e) == ROTA_ENTRY_ARENA ||
                            rota_entry_kind_of(e) == ROTA_ENTRY_CMA;
        op->bytes = e->bytes;
        return rota_late_room(x, m, placed ? rota_late_header(x, m) : op->bytes,
                              &op->body);
    }
    op->foreign = e->bytes != op->bytes;
    if (op->foreign) {
        rota_exec_note(x, ROTA_MISMATCH, x->s->msgs[ROTA_RECV].msg[m].peer,
                       e->bytes, op->bytes);
        op->bytes = e->bytes;
        return MPI_SUCCESS;
    }
    return is_gathered(x, ROTA_RECV, m) &&
                   !is_whole(&op->with->line[ROTA_RECV], e)
               ? stage(x, ROTA_RECV, m, &op->body)
               : MPI_SUCCESS;
}

static int read_directly(const rota_peer *peer, uint64_t at, char *to, size_t n)
{
    while (n > 0) {
        struct iovec here = {to, n}, there = {(void *)(uintptr_t)at, n};
        const ssize_t got =
            process_vm_readv((pid_t)peer->pid, &here, 1, &there, 1, 0);
        if (got <= 0)
            return rota_fail(MPI_ERR_OTHER, "memory of process %lld: %s",
                             (long long)peer->pid,
                             got < 0 ? strerror(errno) : "nothing is there");
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return MPI_SUCCESS;
}

/* Where the kernel would copy slowly (move.h), by way of memory that is half a
 * page away from both ends. */
static int read_private(const rota_peer *peer, uint64_t at, char *to, size_t n)
{
    enum { ROOM = 8 * ROTA_COPY_PAGE };
    char memory[ROOM + ROTA_COPY_PAGE];
    char *const way =
        memory + (at + ROTA_COPY_PAGE / 2 - (uintptr_t)memory) % ROTA_COPY_PAGE;

    if (!rota_copy_is_slow(to, at))
        return read_directly(peer, at, to, n);
    for (size_t done = 0; done < n; done += ROOM) {
        const size_t k = smaller(n - done, ROOM);
        ROTA_TRY(read_directly(peer, at + done, way, k));
        memcpy(to + done, way, k);
    }
    return MPI_SUCCESS;
}

/* That the copy is queued is enough for the sender to know (ipc.h). */
static int fetch_ipc(rota_exec *x, uint32_t m, const rota_entry *e)
{
    const line_op *const op = &x->lines->op[ROTA_RECV][m];
    rota_ipc_place place;

    memcpy(&place, e->data, sizeof place);
    return rota_ipc_fetch(x, x->s->msgs[ROTA_RECV].msg[m].peer, &place,
                          op->body, op->bytes);
}

/* The entry says where the message lies. */
static int fetch(rota_exec *x, uint32_t m, rota_entry *e, rota_entry_kind kind)
{
    line_op *const op = &x->lines->op[ROTA_RECV][m];
    const rota_peer *const peer = op->with->peer;
    const bool late = x->op[ROTA_RECV][m].kind == ROTA_OP_LATE;
    const size_t head = late ? rota_late_header(x, m) : 0;
    char *to = op->body;
    rota_place at;

    memcpy(&at, e->data, sizeof at);
    if (!late && kind == ROTA_ENTRY_ARENA)
        return land(x, m, rota_peer_at(peer, at));
    if (late) {
        memcpy(op->body, e->data + sizeof at, head);
        ROTA_TRY(rota_late_body(x, m, op->bytes - head, &to));
    }
    if (kind == ROTA_ENTRY_CMA)
        ROTA_TRY(read_private(peer, at, to, op->bytes - head));
    else
        rota_copy_fast(to, rota_peer_at(peer, at), op->bytes - head);
    return finish(x, m);
}

/* A part of the message, n bytes from there. */
static int take_part(rota_exec *x, uint32_t m, char *from, size_t n)
{
    line_op *const op = &x->lines->op[ROTA_RECV][m];
    const size_t before = op->moved;

    op->moved += n;
    if (op->foreign)
        return MPI_SUCCESS;
    if (n == op->bytes)
        return land(x, m, from);
    rota_copy_fast(op->body + before, from, n);
    return op->moved == op->bytes ? finish(x, m) : MPI_SUCCESS;
}

static int take_entry(rota_exec *x, uint32_t m, rota_entry *e)
{
    line_op *const op = &x->lines->op[ROTA_RECV][m];
    const rota_entry_kind kind = rota_entry_kind_of(e);
    rota_part part;

    switch (kind) {
    case ROTA_ENTRY_DATA:
        return take_part(x, m, e->data,
                         smaller(op->bytes - op->moved,
                                 rota_line_room(&op->with->line[ROTA_RECV])));
    case ROTA_ENTRY_PIECE:
        memcpy(&part, e->data, sizeof part);
        return take_part(x, m, rota_peer_at(op->with->peer, part.at),
                         part.bytes);
    case ROTA_ENTRY_IPC:
        op->moved = op->bytes;
        return op->foreign ? MPI_SUCCESS : fetch_ipc(x, m, e);
    default:
        op->moved = op->bytes;
        return op->foreign ? MPI_SUCCESS : fetch(x, m, e, kind);
    }
}

/* Having the peer's message, claim the entry for the next one to it. */
static void claim_next(channel *c)
{
    rota_line *const out = &c->line[ROTA_SEND];

    if (out->seen < out->before)
        out->seen = out->before;
    claim(out, c->room[ROTA_SEND]);
}

/* Take entries as long as there are any. A sender may wait for each but the only
 * one of its only message. */
static int pull(rota_exec *x, uint32_t m, line_op *op)
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
        rota_line_take(in);
        if (!only)
            touch(x, op->with);
        x->moved = true;
    }
    return err;
}

/* The common case: a message that is all in this entry, as expected. */
static bool receive_now(rota_exec *x, line_op *op, const rota_entry *e)
{
    channel *const c = op->with;
    rota_line *const in = &c->line[ROTA_RECV];

    if (rota_entry_kind_of(e) != ROTA_ENTRY_DATA || e->bytes != op->bytes ||
        op->bytes > rota_line_room(in) || op->moved > 0 ||
        !is_turn(op, ROTA_RECV))
        return false;
    rota_copy_short(op->body, e->data, op->bytes);
    rota_line_take(in);
    end_turn(c, ROTA_RECV);
    if (c->paired)
        claim_next(c);
    else
        touch(x, c);
    x->moved = true;
    return true;
}

static int begin_recv(rota_exec *x, uint32_t m)
{
    line_op *const op = &x->lines->op[ROTA_RECV][m];

    op->foreign = false;
    op->moved = 0;
    switch (x->op[ROTA_RECV][m].kind) {
    case ROTA_OP_LATE: /* at least a header comes */
        op->bytes = 1;
        break;
    case ROTA_OP_GATHERED:
        op->bytes = rota_message_bytes(x, ROTA_RECV, m);
        break;
    case ROTA_OP_VARYING:
        resolve(x, ROTA_RECV, m);
        break;
    default:
        break;
    }
    return MPI_SUCCESS;
}

static int advance_recv(rota_exec *x, uint32_t m, bool *done)
{
    line_op *const op = &x->lines->op[ROTA_RECV][m];

    *done = false;
    if (!is_turn(op, ROTA_RECV))
        return MPI_SUCCESS;
    ROTA_TRY(pull(x, m, op));
    if (op->moved < op->bytes)
        return MPI_SUCCESS;
    if (op->foreign && x->fixed)
        op->bytes = rota_message_bytes(x, ROTA_RECV, m);
    op->moved = 0;
    op->foreign = false;
    end_turn(op->with, ROTA_RECV);
    x->moved = true;
    *done = true;
    return MPI_SUCCESS;
}

/* ---- batches ----------------------------------------------------------------- */

static int begin_sends(rota_exec *x, rota_batch *b)
{
    b->n_open = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        bool done = false;
        ROTA_TRY(begin_send(x, b->message[i], &done));
        if (!done)
            b->open[b->n_open++] = b->message[i];
    }
    return MPI_SUCCESS;
}

static int begin_plain_sends(rota_exec *x, rota_batch *b)
{
    b->n_open = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t m = b->message[i];
        line_op *const op = &x->lines->op[ROTA_SEND][m];
        if (op->with->paired)
            rota_line_prove(&op->with->line[ROTA_SEND]);
        if (send_now(x, op))
            continue;
        x->lines->hurry = false;
        op->attempts = 0;
        if (!advance_send(x, op))
            b->open[b->n_open++] = m;
    }
    return MPI_SUCCESS;
}

static int begin_recvs(rota_exec *x, rota_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        ROTA_TRY(begin_recv(x, b->message[i]));
    return MPI_SUCCESS;
}

/* Those that are open: all of them, until one is complete. */
static const uint32_t *open_messages(const rota_batch *b)
{
    return b->n_open == b->n ? b->message : b->open;
}

static int advance_one(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    if (dir == ROTA_RECV)
        return advance_recv(x, m, done);
    line_op *const op = &x->lines->op[ROTA_SEND][m];
    *done = false;
    if (x->op[ROTA_SEND][m].kind == ROTA_OP_DEVICE && op->entry == 0)
        return begin_device(x, op, done);
    *done = advance_send(x, op);
    return MPI_SUCCESS;
}

static int advance_each(rota_exec *x, rota_batch *b)
{
    const uint32_t *const open = open_messages(b);
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

/* Receives of plain bytes: only those are looked at further for which something
 * has come. */
static int advance_plain_recvs(rota_exec *x, rota_batch *b)
{
    line_op *const ops = x->lines->op[ROTA_RECV];
    const uint32_t *const open = open_messages(b);
    const uint32_t n = b->n_open;
    uint32_t left = 0;
    int err = MPI_SUCCESS;

    for (uint32_t i = 0; i < n; i++) {
        const uint32_t m = open[i];
        const rota_entry *const e =
            rota_line_look(&ops[m].with->line[ROTA_RECV]);
        bool complete = false;
        if (e && !receive_now(x, &ops[m], e)) {
            if (err == MPI_SUCCESS)
                err = advance_recv(x, m, &complete);
        } else {
            complete = e;
        }
        if (!complete)
            b->open[left++] = m;
    }
    b->n_open = left;
    return err;
}

/* Does each message come in one entry, which its sender has done with? */
static bool come_at_once(const rota_exec *x, const rota_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const line_op *const op = &x->lines->op[ROTA_RECV][b->message[i]];
        if (!op->with->paired ||
            op->bytes > rota_line_room(&op->with->line[ROTA_RECV]))
            return false;
    }
    return true;
}

static bool choose(const rota_exec *x, rota_batch *b)
{
    const bool plain = b->kind == ROTA_OP_PLAIN;

    if (b->dir == ROTA_SEND) {
        b->begin = plain ? begin_plain_sends : begin_sends;
        b->advance = advance_each;
        return plain;
    }
    b->begin = plain ? NULL : begin_recvs;
    b->advance = plain ? advance_plain_recvs : advance_each;
    return plain && come_at_once(x, b);
}

/* One message, posted by itself. */
static int post(rota_exec *x, rota_dir dir, uint32_t m)
{
    line_op *const op = &x->lines->op[dir][m];
    bool done = false;

    if (dir == ROTA_RECV)
        return begin_recv(x, m);
    ROTA_TRY(begin_send(x, m, &done));
    op->done = done;
    return MPI_SUCCESS;
}

static int test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    line_op *const op = &x->lines->op[dir][m];

    *done = op->done;
    op->done = false;
    return *done ? MPI_SUCCESS : advance_one(x, dir, m, done);
}

/* ---- waiting ----------------------------------------------------------------- */

/* The step that the run is in, if its messages are all posted at once. */
static const rota_step *bulk_step(const rota_exec *x)
{
    const rota_step *const step = &x->program.step[x->at];

    return step->kind->one_by_one ? NULL : step;
}

/* Note whom the open messages of the step wait for. Is one of them under way, so
 * that its next part may be taken or written? */
static bool find_awaited(rota_exec *x, const rota_step *step)
{
    bool under_way = false;

    for (uint32_t i = 0; i < step->n_batches; i++) {
        const rota_batch *const b = &step->batch[i];
        for (uint32_t k = 0; b->via == &rota_transport_lines && k < b->n_open;
             k++) {
            const line_op *const op =
                &x->lines->op[b->dir][open_messages(b)[k]];
            op->with->awaited = true;
            under_way = under_way || (op->moved > 0 && op->moved < op->bytes);
        }
    }
    return under_way;
}

/* Where each message that comes may let another one go, any of them may be what
 * the run waits for. */
static void find_all_awaited(rota_exec *x)
{
    for (int i = 0; i < x->lines->n; i++)
        x->lines->channel[i].awaited = true;
}

int rota_lines_count(rota_exec *x)
{
    const rota_step *const step = bulk_step(x);
    bool all = false;
    int n = 0;

    x->lines->hurry = true;
    if (step)
        all = !find_awaited(x, step);
    else
        find_all_awaited(x);
    for (int i = 0; i < x->lines->n; i++) {
        channel *const c = &x->lines->channel[i];
        n += c->awaited;
        if (c->flagged && !c->awaited)
            atomic_store_explicit(flag_of(x, c), 0, memory_order_relaxed);
        c->flagged = c->awaited;
    }
    return all && n > 0 ? n : 1;
}

void rota_lines_await(rota_exec *x)
{
    for (int i = 0; i < x->lines->n; i++) {
        channel *const c = &x->lines->channel[i];
        if (c->awaited)
            atomic_store_explicit(flag_of(x, c), 1, memory_order_release);
        c->awaited = false;
    }
}

void rota_lines_call(rota_exec *x)
{
    const rota_step *const step = bulk_step(x);
    const bool all = x->program.n_steps > 1 || !step;

    if (step)
        find_awaited(x, step);
    for (int i = 0; i < x->lines->n; i++) {
        channel *const c = &x->lines->channel[i];
        rota_doorbell *const helper = &c->peer->head->helper;
        if ((all || c->awaited) && rota_doorbell_count(helper))
            rota_doorbell_wake(helper);
        c->awaited = false;
    }
}

/* ---- the transport ------------------------------------------------------------ */

/* Where what is known when x is bound lies. */
static void resolve_all(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->s->msgs[dir].n; m++) {
            const rota_op_kind kind = x->op[dir][m].kind;
            if (x->op[dir][m].via == &rota_transport_lines &&
                (kind == ROTA_OP_PLAIN || kind == ROTA_OP_DEVICE))
                resolve(x, (rota_dir)dir, m);
        }
}

static int rebase(rota_exec *x, const bool moved[])
{
    (void)moved;
    if (x->lines)
        resolve_all(x);
    return MPI_SUCCESS;
}

/* Each proves the other taken where both always come: not where a message may have
 * no bytes. */
static void find_pairs(rota_exec *x)
{
    for (int i = 0; i < x->lines->n; i++) {
        channel *const c = &x->lines->channel[i];
        c->paired = c->messages[ROTA_RECV] == 1 &&
                    c->messages[ROTA_SEND] == 1 && c->line[ROTA_RECV].entries &&
                    c->line[ROTA_SEND].entries;
    }
    for (int dir = 0; dir < ROTA_N_DIRS && !x->fixed; dir++)
        for (uint32_t m = 0; m < x->s->msgs[dir].n; m++)
            if (x->lines->op[dir][m].with && !x->op[dir][m].late)
                x->lines->op[dir][m].with->paired = false;
}

void rota_lines_bind(rota_exec *x)
{
    find_pairs(x);
    resolve_all(x);
}

const rota_transport rota_transport_lines = {
    .resolve = choose,
    .post = post,
    .test = test,
    .rebase = rebase,
    .release = release,
};
