/* lines.c - see lines.h. */
#define _GNU_SOURCE
#include "exec/transport/lines.h"
#include "exec/late.h"
#include "exec/lock.h"
#include "exec/move.h"
#include "exec/program.h"
#include "exec/strided.h"
#include "exec/trace.h"
#include "exec/transport/line.h"
#include "exec/transport/loan.h"
#include "exec/transport/pool.h"
#include "exec/transport/told.h"
#include "exec/transport/waking.h"

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
    bool paired; /* one message each way a run: each proves the other taken */
    bool lends[ROTA_N_DIRS]; /* messages are handed over by this rank's stays */
    bool touched; /* something was written or taken since the last flush */
    bool
        flagged; /* its interest flag was set, and may have been cleared by it */
    bool typed;  /* elements are sent, by way of pieces */
    bool
        awaited; /* between rota_lines_count and rota_lines_await: will be set */
    rota_doorbell *bell;                 /* of the peer's process */
    rota_interest *interest;             /* of the peer in this process */
    rota_piece piece[ROTA_LINE_ENTRIES]; /* by entry */
    const rota_near *near;               /* the communicator's */
    rota_peer *peer;
    int position, rank;       /* of the peer in the node, in all */
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
    bool unpacked;       /* sent: there was no memory to gather it in */
    const char *head;    /* sent first, head_bytes of it, and then body */
    size_t head_bytes;
    char *rest;     /* received: where a message goes that could not be read */
    uint64_t entry; /* sent: not 0: complete when this one is taken */
    char *own;      /* staging of elements, where counts vary */
    size_t own_room;
    rota_loan *hand;   /* NULL: it is not handed over */
    bool told;         /* sent: the receiver knows the layout of its block */
    rota_type *source; /* received: what was told of it, or NULL */
} line_op;

struct rota_lines {
    rota_reach reach;
    channel *channel; /* [n] of the ranks that it has messages with */
    int n;
    line_op *op[ROTA_N_DIRS]; /* [n messages] */
    channel **touched;        /* [n] */
    int n_touched;
    bool hurry;   /* this process is about to sleep: none waits for a piece */
    size_t piece; /* bytes of the longest */
    void *told;   /* in the arena: layouts of blocks to others, or NULL */
    void *memory[ROTA_N_USES];             /* of all queues, in the arena */
    size_t bytes[ROTA_N_USES], long_bytes; /* of that */
    char *tables;               /* for others, if scratch is lent to them */
    _Atomic uint64_t *finished; /* likewise: runs */
    void *lent;                 /* scratch, when the plan is freed */
    struct rota_lines *next;    /* of those whose readers have not finished */
};

/* Of long entries of all plans of the process. */
static _Atomic size_t long_entries;

/* ---- making ------------------------------------------------------------------ */

/* Bytes of a message in an entry. */
static size_t most_bytes(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msg *const msg = &x->s->msgs[dir].msg[m];
    const size_t n = rota_msg_blocks(msg);

    if (msg->handed && x->hands)
        return 0;
    if (x->handover)
        return x->handover->place_bytes;
    if (x->fixed)
        return rota_message_bytes(x, dir, m);
    return x->max_block > SIZE_MAX / n - sizeof(size_t)
               ? SIZE_MAX
               : n * (sizeof(size_t) + x->max_block);
}

static rota_block first_block(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->s->msgs[dir].item[x->s->msgs[dir].msg[m].first];
}

static const rota_type *first_type(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return rota_block_type(x, first_block(x, dir, m));
}

/* Position of the peer of message m, or -1: MPI carries it. */
static int position_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const int i = x->lines->reach.node->of[x->s->msgs[dir].msg[m].peer];

    return i >= 0 && x->lines->reach.node->near[i].peer ? i : -1;
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
    c->rank = x->s->msgs[dir].msg[m].peer;
    c->near = &x->lines->reach.node->near[i];
    c->peer = c->near->peer;
    c->room[dir] = bytes > c->room[dir] ? bytes : c->room[dir];
    if (dir == ROTA_SEND)
        c->typed = c->typed || !rota_type_is_bytes(first_type(x, dir, m));
}

static void enlist_all(rota_exec *x, int index[])
{
    for (int i = 0; i < x->lines->reach.node->n; i++)
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
    for (int i = 0; i < lines->n && !x->handover; i++) {
        const channel *const c = &lines->channel[i];
        if (c->room[ROTA_SEND] > ROTA_LINE_ROOM &&
            !(x->fixed && c->near->may_attach && !c->typed &&
              c->room[ROTA_SEND] >= x->lines->reach.cma_from))
            wanted += ROTA_LINE_ENTRIES *
                      rota_smaller(c->room[ROTA_SEND], lines->piece);
    }
    rota_pool_reserve(wanted);
}

/* Bytes of an entry for messages to this rank. */
static size_t stride_of(const rota_exec *x, const channel *c)
{
    const size_t room = c->room[ROTA_RECV];
    const size_t stride = rota_line_stride(room <= LONG_ENTRY ? room : 0);
    const size_t line = sizeof(rota_entry);

    if (x->handover || stride == line)
        return stride;
    if (x->lines->reach.node->n > FEW_RANKS ||
        atomic_load(&long_entries) + x->lines->long_bytes +
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
    if (x->lends)
        lines->bytes[ROTA_COUNTERS] += sizeof(uint64_t);
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
    rota_board *const board =
        x->lines->reach.node->near[x->lines->reach.node->me].board;
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
    lines->finished = (void *)((char *)lines->memory[ROTA_COUNTERS] + counter);
}

static size_t table_bytes(const rota_exec *x, const channel *c)
{
    const uint32_t n = rota_loan_count(x, c->rank);

    return n > 0 ? sizeof(rota_loan_table) + n * sizeof(uint64_t) : 0;
}

/* Tell the others where this rank's shared stays lie. Who is not told hands
 * nothing over. */
static void make_tables(rota_exec *x)
{
    struct rota_lines *const lines = x->lines;
    rota_board *const board =
        x->lines->reach.node->near[x->lines->reach.node->me].board;
    rota_place at, scratch, finished;
    size_t bytes = 0;

    for (int i = 0; i < lines->n && x->lends; i++)
        bytes += table_bytes(x, &lines->channel[i]);
    if (bytes == 0 || !rota_arena_find(x->base[ROTA_TMP], 1, &scratch) ||
        !rota_arena_find((void *)lines->finished, 1, &finished))
        return;
    lines->tables = rota_arena_take(ROTA_ENTRIES, bytes, &at);
    for (size_t i = 0, begin = 0; i < (size_t)lines->n && lines->tables; i++) {
        const channel *const c = &lines->channel[i];
        rota_loan_table *const table = (void *)(lines->tables + begin);
        const size_t n = table_bytes(x, c);
        if (n == 0)
            continue;
        table->scratch = scratch;
        table->finished = finished;
        rota_loan_tell(x, c->rank, table);
        board[c->position].table = at + begin;
        begin += n;
    }
}

/* Is it the block from the one rank to the other, alone, in a plan whose blocks
 * stay where they are? */
static bool is_direct(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msg *const msg = &x->s->msgs[dir].msg[m];
    const rota_block b = first_block(x, dir, m);

    return x->fixed && !x->handover && rota_msg_blocks(msg) == 1 &&
           b == (dir == ROTA_SEND ? rota_src(x->s, msg->peer)
                                  : rota_dst(x->s, msg->peer));
}

/* What the layout takes of a block that can be copied from where it lies. */
static size_t told_bytes(const rota_exec *x, uint32_t m)
{
    const line_op *const op = &x->lines->op[ROTA_SEND][m];

    return op->with && is_direct(x, ROTA_SEND, m) &&
                   rota_message_bytes(x, ROTA_SEND, m) >=
                       x->lines->reach.arena_from
               ? rota_told_bytes(first_type(x, ROTA_SEND, m))
               : 0;
}

/* Tell others where the elements that this rank sends them lie. Where there is no
 * memory they are sent in pieces. */
static void tell_layouts(rota_exec *x)
{
    rota_board *const board =
        x->lines->reach.node->near[x->lines->reach.node->me].board;
    const uint32_t n = x->s->msgs[ROTA_SEND].n;
    size_t bytes = 0;
    rota_place at;

    for (uint32_t m = 0; m < n; m++)
        bytes += told_bytes(x, m);
    if (bytes > 0)
        x->lines->told = rota_arena_take(ROTA_ENTRIES, bytes, &at);
    char *memory = x->lines->told;
    for (uint32_t m = 0; memory && m < n; m++) {
        line_op *const op = &x->lines->op[ROTA_SEND][m];
        const size_t more = told_bytes(x, m);
        if (more == 0)
            continue;
        rota_told_write(first_type(x, ROTA_SEND, m), memory);
        board[op->with->position].told = at;
        op->told = true;
        memory += more;
        at += more;
    }
}

/* Keep what the others have told. */
static int hear_layouts(rota_exec *x)
{
    for (uint32_t m = 0; m < x->s->msgs[ROTA_RECV].n; m++) {
        line_op *const op = &x->lines->op[ROTA_RECV][m];
        if (!op->with || !is_direct(x, ROTA_RECV, m))
            continue;
        const rota_place at =
            op->with->near->board[x->lines->reach.node->me].told;
        if (at == 0)
            continue;
        op->source = rota_told_read(rota_peer_at(op->with->peer, at));
        if (!op->source)
            return rota_fail_mem("layouts of blocks");
    }
    return MPI_SUCCESS;
}

static void put_memory(struct rota_lines *lines)
{
    rota_arena_put(ROTA_ENTRIES, lines->tables);
    lines->tables = NULL;
    rota_arena_put(ROTA_ENTRIES, lines->told);
    lines->told = NULL;
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
    int *const index = malloc((size_t)x->lines->reach.node->n * sizeof *index);

    lines->channel =
        calloc((size_t)x->lines->reach.node->n, sizeof *lines->channel);
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

int rota_lines_reserve(rota_exec *x, const rota_reach *reach, bool *refused)
{
    rota_board *const board = reach->node->near[reach->node->me].board;
    rota_place at[ROTA_N_USES];

    *refused = false;
    reap();
    x->lines = calloc(1, sizeof *x->lines);
    if (!x->lines)
        return rota_fail_mem("messages within the node");
    x->lines->reach = *reach;
    ROTA_TRY(make_channels(x));
    for (int i = 0; i < reach->node->n; i++) {
        board[i].lines = board[i].table = board[i].told = 0;
        board[i].hands = x->hands;
    }
    reserve_pool(x);
    *refused = !take_memory(x, at);
    if (*refused) {
        put_memory(x->lines);
        return MPI_SUCCESS;
    }
    make_lines(x, at);
    make_tables(x);
    tell_layouts(x);
    return MPI_SUCCESS;
}

static void open_channel(const rota_exec *x, channel *c)
{
    const rota_peer *const peer = c->peer;
    const rota_board *const b = &c->near->board[x->lines->reach.node->me];

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

static bool carries(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const channel *const c = x->lines ? x->lines->op[dir][m].with : NULL;

    return c && c->line[dir].entries;
}

/* The table that the rank at the other end has made for this one. */
static const rota_loan_table *table_of(const rota_exec *x, const channel *c)
{
    const rota_place at = c->near->board[x->lines->reach.node->me].table;

    if (!x->hands || at == 0 || rota_place_segment(at) >= c->peer->n_segments)
        return NULL;
    const rota_loan_table *const t = (void *)rota_peer_at(c->peer, at);
    return rota_place_segment(t->scratch) < c->peer->n_segments &&
                   rota_place_segment(t->finished) < c->peer->n_segments
               ? t
               : NULL;
}

/* Is message m handed over, and by stays of this rank's? */
static int find_hand(rota_exec *x, rota_dir dir, uint32_t m, uint64_t used[])
{
    line_op *const op = &x->lines->op[dir][m];
    channel *const c = op->with;
    const bool lends = rota_msg_lends(x->s, dir, m);
    const rota_loan_table *const table = lends ? NULL : table_of(x, c);
    uint64_t *const at = &used[c - x->lines->channel];
    const uint32_t n = rota_msg_blocks(&x->s->msgs[dir].msg[m]);

    if (lends && x->lines->tables &&
        c->near->board[x->lines->reach.node->me].hands) {
        c->lends[dir] = true;
        op->hand = rota_loan_lend(x, dir, m);
    } else if (table && *at + n <= table->n) {
        op->hand = rota_loan_find(x, dir, m, c->peer, table, at);
    } else {
        return MPI_SUCCESS;
    }
    return op->hand ? MPI_SUCCESS : rota_fail_mem("what is handed over");
}

int rota_lines_meet(rota_exec *x)
{
    uint64_t *const used = calloc((size_t)x->lines->n + 1, sizeof *used);
    /* In a lender's table what comes to it is before what goes out. */
    const rota_dir order[] = {ROTA_SEND, ROTA_RECV};
    int err = used ? MPI_SUCCESS : rota_fail_mem("what is handed over");

    for (int k = 0; k < ROTA_N_DIRS; k++)
        for (uint32_t m = 0;
             m < x->s->msgs[order[k]].n && x->hands && err == MPI_SUCCESS; m++)
            if (x->s->msgs[order[k]].msg[m].handed && carries(x, order[k], m))
                err = find_hand(x, order[k], m, used);
    free(used);
    return err;
}

static bool hands(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->lines->op[dir][m].hand;
}

size_t rota_lines_bytes(const rota_exec *x)
{
    const struct rota_lines *const l = x->lines;

    return l ? l->bytes[ROTA_ENTRIES] + l->bytes[ROTA_COUNTERS] : 0;
}

const rota_reach *rota_lines_reach(const rota_exec *x)
{
    return &x->lines->reach;
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
    if (lines->lent)
        rota_arena_free(lines->lent);
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
    rota_lock();
    for (struct rota_lines **link = &lingering; *link;) {
        struct rota_lines *const lines = *link;
        if (!all_read(lines)) {
            link = &lines->next;
            continue;
        }
        *link = lines->next;
        end_linger(lines);
    }
    rota_unlock();
}

/* What is lent to others, which read it later than this rank frees the plan, is
 * left; all that was sent to it has been taken. */
static void release(rota_exec *x)
{
    struct rota_lines *const lines = x->lines;

    if (!lines)
        return;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        for (uint32_t m = 0; lines->op[dir] && m < x->s->msgs[dir].n; m++) {
            free(lines->op[dir][m].own);
            rota_loan_free(lines->op[dir][m].hand);
            free(lines->op[dir][m].source);
        }
        free(lines->op[dir]);
    }
    free(lines->touched);
    put_memory(lines);
    lines->lent = x->lent;
    x->lent = NULL;
    x->lines = NULL;
    rota_lock();
    if (!lines->channel || all_read(lines))
        destroy(lines);
    else
        linger(lines);
    rota_unlock();
}

/* ---- waking ------------------------------------------------------------------ */

/* This process's interest in the peer. */
static rota_interest *flag_of(const rota_exec *x, const channel *c)
{
    return &x->lines->reach.node->near[x->lines->reach.node->me]
                .peer->head->interest[c->peer->slot];
}

static void touch(rota_exec *x, channel *c)
{
    if (c->touched)
        return;
    c->touched = x->rings = true;
    x->lines->touched[x->lines->n_touched++] = c;
}

void rota_lines_flush(rota_exec *x)
{
    struct rota_lines *const lines = x->lines;
    rota_waking w = {.node = lines->reach.node};

    x->rings = false;
    rota_doorbell_fence();
    for (int i = 0; i < lines->n_touched; i++) {
        channel *const c = lines->touched[i];
        c->touched = false;
        rota_waking_ring(&w, c->position, c->bell, c->interest);
    }
    lines->n_touched = 0;
    rota_waking_carry_out(&w);
}

/* ---- sending ----------------------------------------------------------------- */

/* Memory to gather a message in. */
static int stage(const rota_exec *x, rota_dir dir, uint32_t m, char **memory)
{
    const rota_op *const w = &x->program.op[dir][m];
    line_op *const op = &x->lines->op[dir][m];

    if (w->packed) {
        *memory = x->program.area + w->stage;
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
        bytes <= MOST_CLAIMED ? rota_smaller(bytes, rota_line_room(l)) : 0;

    if (l->next - l->seen >= ROTA_LINE_ENTRIES)
        return;
    for (size_t at = 0; at < ROTA_ENTRY_HEAD + n; at += ROTA_CACHE_LINE)
        claim_line(next + at);
}

static inline void put(rota_exec *x, line_op *op, rota_entry_kind kind)
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

static bool take_piece(const rota_exec *x, channel *c, rota_piece *p,
                       size_t bytes)
{
    p->is_taken = is_piece_taken;
    p->owner = c;
    return rota_pool_take(p, rota_smaller(bytes, x->lines->piece), c->peer);
}

/* A piece for the next entry, of up to bytes; NULL: there is none now. The one
 * that the entry had last is the sender's again. */
static rota_piece *find_piece(rota_exec *x, line_op *op, size_t bytes)
{
    channel *const c = op->with;
    rota_piece *const p =
        &c->piece[c->line[ROTA_SEND].next % ROTA_LINE_ENTRIES];

    bytes = rota_smaller(bytes, x->lines->piece);
    if (p->memory && p->bytes >= bytes)
        return p;
    if (p->memory)
        rota_pool_put(p);
    return take_piece(x, c, p, bytes) ? p : NULL;
}

/* Copy n bytes of head and body, from the one at moved on; those of the body past
 * the caches. */
static void fill(const line_op *op, char *to, size_t n, bool streams)
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

/* The next n bytes of a message of any kind. */
static void fill_next(const rota_exec *x, const line_op *op, char *to, size_t n,
                      bool streams)
{
    const uint32_t m = (uint32_t)(op - x->lines->op[ROTA_SEND]);

    if (x->program.op[ROTA_SEND][m].kind == ROTA_OP_TYPED)
        rota_message_pack_part(x, m, op->moved, op->moved + n, streams, to);
    else
        fill(op, to, n, streams);
}

static void put_data(rota_exec *x, line_op *op, rota_entry *e, size_t n)
{
    fill_next(x, op, e->data, n, false);
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
    const size_t n = rota_smaller(op->bytes - op->moved, p->bytes);

    fill_next(x, op, p->memory, n,
              x->lines->reach.node->streams && n > LONG_ENTRY);
    name_piece(x, op, e, p, n);
}

/* The same of elements whose layout it was told. */
static bool is_readable_typed(const rota_exec *x, uint32_t m, const line_op *op,
                              rota_place *at)
{
    const rota_type *const t = first_type(x, ROTA_SEND, m);

    const rota_extents all = rota_extents_of(t, op->bytes);

    return op->told && rota_arena_find(op->body + all.begin, all.bytes, at) &&
           rota_peer_has(op->with->peer, *at);
}

/* May the receiver read the message where it lies? */
static bool is_readable(const rota_exec *x, const line_op *op, rota_place *at,
                        rota_entry_kind *kind)
{
    const size_t body = op->bytes - op->head_bytes;
    const uint32_t m = (uint32_t)(op - x->lines->op[ROTA_SEND]);

    *kind = ROTA_ENTRY_TYPED;
    if (x->program.op[ROTA_SEND][m].kind == ROTA_OP_TYPED)
        return is_readable_typed(x, m, op, at);
    if (body < x->lines->reach.arena_from && body < x->lines->reach.cma_from)
        return false;
    if (sizeof *at + op->head_bytes >
        rota_line_room(&op->with->line[ROTA_SEND]))
        return false;
    *kind = ROTA_ENTRY_ARENA;
    if (rota_arena_find(op->body, body, at) &&
        rota_peer_has(op->with->peer, *at))
        return body >= x->lines->reach.arena_from;
    *kind = ROTA_ENTRY_CMA;
    *at = (uint64_t)(uintptr_t)op->body;
    return body >= x->lines->reach.cma_from && op->with->near->may_attach &&
           !atomic_load_explicit(&op->with->peer->blind, memory_order_relaxed);
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
        put_data(x, op, e, rota_smaller(left, room));
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

/* The receiver could not read the message: put the next part into its entry, or
 * into a piece. From now on it is not asked to any more. */
static void answer(rota_exec *x, line_op *op)
{
    channel *const c = op->with;
    rota_line *const out = &c->line[ROTA_SEND];
    rota_entry *const e = rota_line_entry(out, op->entry - 1);
    rota_piece *const p = &c->piece[(op->entry - 1) % ROTA_LINE_ENTRIES];
    rota_part part = {0};

    if (!rota_line_is_refused(out, op->entry))
        return;
    atomic_store_explicit(&c->peer->blind, true, memory_order_relaxed);
    if (op->moved == op->bytes)
        op->moved = op->head_bytes;
    const size_t left = op->bytes - op->moved;
    if (p->memory || take_piece(x, c, p, left)) {
        part = (rota_part){p->at, rota_smaller(left, p->bytes)};
        p->entry = op->entry;
        fill(op, p->memory, part.bytes, false);
    } else {
        part.bytes = rota_smaller(left, rota_line_room(out) - sizeof part);
        fill(op, e->data + sizeof part, part.bytes, false);
    }
    memcpy(e->data, &part, sizeof part);
    op->moved += part.bytes;
    rota_line_turn(out, op->entry, ROTA_ENTRY_ANSWER);
    touch(x, c);
    x->moved = true;
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
    if (!is_sent(op)) {
        answer(x, op);
        return false;
    }
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
    const int64_t begin = x->trace ? rota_trace_now(x) : 0;

    op->bytes = rota_message_bytes(x, ROTA_SEND, m);
    ROTA_TRY(pack_into(x, m, op, done));
    if (!*done) {
        int err = stage(x, ROTA_SEND, m, &op->body);
        op->unpacked = rota_status_postpone(&x->status, &err);
        if (op->unpacked || err != MPI_SUCCESS)
            return err;
        ROTA_TRY(rota_message_pack(x, m, op->body));
    }
    if (x->trace)
        rota_trace_note(x, ROTA_TRACE_PACK, begin, op->with->rank, op->bytes);
    return MPI_SUCCESS;
}

/* Where there was no memory to gather it in, a message is not posted yet. */
static int pack_at_last(rota_exec *x, uint32_t m, bool *done)
{
    line_op *const op = &x->lines->op[ROTA_SEND][m];

    ROTA_TRY(begin_gathered(x, m, op, done));
    *done = *done || (!op->unpacked && advance_send(x, op));
    return MPI_SUCCESS;
}

static int begin_handover(rota_exec *x, line_op *op, bool *done)
{
    rota_entry *const e = rota_line_begin(&op->with->line[ROTA_SEND]);

    if (!e || !is_turn(op, ROTA_SEND))
        return MPI_SUCCESS;
    x->handover->tell(
        x, x->s->msgs[ROTA_SEND].msg[op - x->lines->op[ROTA_SEND]].peer,
        op->body, e->data);
    put(x, op, ROTA_ENTRY_HANDOVER);
    op->moved = op->bytes;
    op->entry = op->with->line[ROTA_SEND].next;
    end_turn(op->with, ROTA_SEND);
    *done = false;
    return MPI_SUCCESS;
}

/* Hand a message over. */
static int begin_handed(rota_exec *x, uint32_t m, line_op *op, bool *done)
{
    rota_loan *const h = op->hand;

    *done = false;
    if (!is_turn(op, ROTA_SEND) || !rota_loan_may_go(h) ||
        !rota_line_begin(&op->with->line[ROTA_SEND]))
        return MPI_SUCCESS;
    ROTA_TRY(rota_loan_copy(x, ROTA_SEND, m, h));
    h->runs++;
    op->bytes = h->bytes;
    put(x, op, ROTA_ENTRY_HANDED);
    end_turn(op->with, ROTA_SEND);
    x->moved = true;
    *done = true;
    return MPI_SUCCESS;
}

/* Are the message's blocks elements of a datatype, or apart from each other? Where
 * counts vary, buffers do, too. */
static bool is_gathered(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->s->msgs[dir];

    switch (x->program.op[dir][m].kind) {
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
    if (op->hand)
        return begin_handed(x, m, op, done);
    switch (x->program.op[ROTA_SEND][m].kind) {
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
    case ROTA_OP_HANDOVER:
        return begin_handover(x, op, done);
    default:
        break;
    }
    *done = *done || (!op->unpacked && advance_send(x, op));
    return MPI_SUCCESS;
}

/* The common case, one look at the queue: a message that fits its entry, and that
 * is not better copied from where it lies. */
static bool send_now(rota_exec *x, line_op *op)
{
    channel *const c = op->with;
    rota_line *const out = &c->line[ROTA_SEND];

    if (op->bytes > rota_line_room(out) ||
        op->bytes >= x->lines->reach.arena_from || !is_turn(op, ROTA_SEND))
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

    if (is_gathered(x, ROTA_RECV, m)) {
        const int64_t begin = x->trace ? rota_trace_now(x) : 0;
        const int err = rota_message_unpack(x, m, from);
        if (x->trace)
            rota_trace_note(x, ROTA_TRACE_UNPACK, begin, op->with->rank,
                            op->bytes);
        return err;
    }
    if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_TYPED) {
        rota_message_unpack_part(x, m, 0, op->bytes, from);
        return MPI_SUCCESS;
    }
    rota_copy_fast(op->body, from, op->bytes);
    return x->program.op[ROTA_RECV][m].kind == ROTA_OP_LATE
               ? rota_late_unpack(x, m)
               : MPI_SUCCESS;
}

/* All parts have been put together in body. */
static int finish(rota_exec *x, uint32_t m)
{
    if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_LATE)
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
    const rota_op_kind kind = x->program.op[ROTA_RECV][m].kind;

    if (kind == ROTA_OP_LATE) {
        const bool placed = rota_entry_kind_of(e) == ROTA_ENTRY_ARENA ||
                            rota_entry_kind_of(e) == ROTA_ENTRY_CMA;
        op->bytes = e->bytes;
        return rota_late_room(x, m, placed ? rota_late_header(x, m) : op->bytes,
                              &op->body);
    }
    op->foreign = e->bytes != op->bytes;
    if (op->foreign) {
        rota_status_note(&x->status, ROTA_MISMATCH,
                         x->s->msgs[ROTA_RECV].msg[m].peer, e->bytes,
                         op->bytes);
        op->bytes = e->bytes;
        return MPI_SUCCESS;
    }
    return is_gathered(x, ROTA_RECV, m) &&
                   rota_entry_kind_of(e) != ROTA_ENTRY_HANDED &&
                   !is_whole(&op->with->line[ROTA_RECV], e)
               ? stage(x, ROTA_RECV, m, &op->body)
               : MPI_SUCCESS;
}

/* False: the kernel refuses it. */
static bool read_directly(const rota_peer *peer, uint64_t at, char *to,
                          size_t n)
{
    while (n > 0) {
        struct iovec here = {to, n}, there = {(void *)(uintptr_t)at, n};
        const ssize_t got =
            process_vm_readv((pid_t)peer->pid, &here, 1, &there, 1, 0);
        if (got <= 0)
            return false;
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

/* Where the kernel would copy slowly (move.h), by way of memory that is half a
 * page away from both ends. */
static bool read_private(const rota_peer *peer, uint64_t at, char *to, size_t n)
{
    enum { ROOM = 8 * ROTA_COPY_PAGE };
    char memory[ROOM + ROTA_COPY_PAGE];
    char *const way =
        memory + (at + ROTA_COPY_PAGE / 2 - (uintptr_t)memory) % ROTA_COPY_PAGE;

    if (!rota_copy_is_slow(to, at))
        return read_directly(peer, at, to, n);
    for (size_t done = 0; done < n; done += ROOM) {
        const size_t k = rota_smaller(n - done, ROOM);
        if (!read_directly(peer, at + done, way, k))
            return false;
        memcpy(to + done, way, k);
    }
    return true;
}

/* That it has begun is enough for the sender to know. */
static int fetch_handover(rota_exec *x, uint32_t m, const rota_entry *e)
{
    const line_op *const op = &x->lines->op[ROTA_RECV][m];

    return x->handover->fetch(x, x->s->msgs[ROTA_RECV].msg[m].peer, e->data,
                              op->body, op->bytes);
}

/* From the sender's private memory, where it lies end to end, to elements. If it
 * cannot be read, nothing counts as read. */
static void fetch_to_elements(rota_exec *x, uint32_t m, uint64_t from)
{
    enum { AT_ONCE = 1 << 15 };
    line_op *const op = &x->lines->op[ROTA_RECV][m];
    char way[AT_ONCE];

    for (size_t at = 0, n; at < op->bytes; at += n) {
        n = rota_smaller(AT_ONCE, op->bytes - at);
        if (!read_directly(op->with->peer, from + at, way, n))
            return;
        rota_message_unpack_part(x, m, at, at + n, way);
    }
    op->moved = op->bytes;
}

/* From the layout that the sender told, of which first is the first byte, to this
 * rank's. */
static void copy_elements(rota_exec *x, uint32_t m, const char *first)
{
    enum { AT_ONCE = 1 << 15 };
    const line_op *const op = &x->lines->op[ROTA_RECV][m];
    const char *const from =
        first - rota_extents_of(op->source, op->bytes).begin;
    rota_strided straight;
    char way[AT_ONCE];

    if (rota_strided_match(first_type(x, ROTA_RECV, m), op->source, op->bytes,
                           &straight)) {
        rota_strided_copy(&straight, op->body, from);
        return;
    }
    for (size_t at = 0, n; at < op->bytes; at += n) {
        n = rota_smaller(AT_ONCE, op->bytes - at);
        rota_strided_pack(op->source, from, at, at + n, false, way);
        if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_TYPED)
            rota_message_unpack_part(x, m, at, at + n, way);
        else
            rota_copy_fast(op->body + at, way, n);
    }
}

/* The entry says where the message lies. */
static int fetch(rota_exec *x, uint32_t m, rota_entry *e, rota_entry_kind kind)
{
    line_op *const op = &x->lines->op[ROTA_RECV][m];
    const rota_peer *const peer = op->with->peer;
    const bool late = x->program.op[ROTA_RECV][m].kind == ROTA_OP_LATE;
    const size_t head = late ? rota_late_header(x, m) : 0;
    char *to = op->body;
    rota_place at;

    memcpy(&at, e->data, sizeof at);
    if (kind == ROTA_ENTRY_TYPED) {
        op->moved = op->bytes;
        copy_elements(x, m, rota_peer_at(peer, at));
        return MPI_SUCCESS;
    }
    if (!late && kind == ROTA_ENTRY_ARENA) {
        op->moved = op->bytes;
        return land(x, m, rota_peer_at(peer, at));
    }
    if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_TYPED) {
        op->moved = 0;
        fetch_to_elements(x, m, at);
        return MPI_SUCCESS;
    }
    if (late) {
        memcpy(op->body, e->data + sizeof at, head);
        ROTA_TRY(rota_late_body(x, m, op->bytes - head, &to));
    }
    op->moved = head;
    op->rest = to;
    if (kind == ROTA_ENTRY_CMA && !read_private(peer, at, to, op->bytes - head))
        return MPI_SUCCESS;
    if (kind == ROTA_ENTRY_ARENA)
        rota_copy_fast(to, rota_peer_at(peer, at), op->bytes - head);
    op->moved = op->bytes;
    return finish(x, m);
}

/* The sender's part of a message that could not be read. */
static int take_answer(rota_exec *x, uint32_t m, const rota_entry *e)
{
    line_op *const op = &x->lines->op[ROTA_RECV][m];
    rota_part part;

    memcpy(&part, e->data, sizeof part);
    const char *const from =
        part.at ? rota_peer_at(op->with->peer, part.at) : e->data + sizeof part;
    op->moved += part.bytes;
    if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_TYPED) {
        rota_message_unpack_part(x, m, op->moved - part.bytes, op->moved, from);
        return MPI_SUCCESS;
    }
    memcpy(op->rest, from, part.bytes);
    op->rest += part.bytes;
    return op->moved == op->bytes ? finish(x, m) : MPI_SUCCESS;
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
    if (x->program.op[ROTA_RECV][m].kind == ROTA_OP_TYPED) {
        rota_message_unpack_part(x, m, before, op->moved, from);
        return MPI_SUCCESS;
    }
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
        return take_part(
            x, m, e->data,
            rota_smaller(op->bytes - op->moved,
                         rota_line_room(&op->with->line[ROTA_RECV])));
    case ROTA_ENTRY_PIECE:
        memcpy(&part, e->data, sizeof part);
        return take_part(x, m, rota_peer_at(op->with->peer, part.at),
                         part.bytes);
    case ROTA_ENTRY_HANDED:
        op->moved = op->bytes;
        return op->foreign ? MPI_SUCCESS
                           : rota_loan_copy(x, ROTA_RECV, m, op->hand);
    case ROTA_ENTRY_HANDOVER:
        op->moved = op->bytes;
        return op->foreign ? MPI_SUCCESS : fetch_handover(x, m, e);
    case ROTA_ENTRY_ANSWER:
        return take_answer(x, m, e);
    default:
        if (!op->foreign)
            return fetch(x, m, e, kind);
        op->moved = op->bytes;
        return MPI_SUCCESS;
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

/* Does the entry, which has been looked at, stay for what is missing? */
static bool is_kept(const line_op *op, rota_entry_kind kind)
{
    return op->moved < op->bytes &&
           (kind == ROTA_ENTRY_CMA || kind == ROTA_ENTRY_ANSWER);
}

/* Take entries as long as there are any. A sender may wait for each but the only
 * one of its only message. Where there is no memory for what comes, it stays. */
static int pull(rota_exec *x, uint32_t m, line_op *op)
{
    rota_line *const in = &op->with->line[ROTA_RECV];
    int err = MPI_SUCCESS;

    while (err == MPI_SUCCESS && op->moved < op->bytes) {
        rota_entry *const e = rota_line_look(in);
        const rota_entry_kind kind = e ? rota_entry_kind_of(e) : 0;
        if (!e || kind == ROTA_ENTRY_REFUSED)
            return MPI_SUCCESS;
        const bool only = op->with->paired && is_whole(in, e);
        if (op->moved == 0 && kind != ROTA_ENTRY_ANSWER)
            err = prepare_recv(x, m, e);
        if (err == MPI_SUCCESS)
            err = take_entry(x, m, e);
        if (rota_status_postpone(&x->status, &err))
            return MPI_SUCCESS;
        if (err == MPI_SUCCESS && is_kept(op, kind))
            rota_line_turn(in, in->next + 1, ROTA_ENTRY_REFUSED);
        else
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
    switch (x->program.op[ROTA_RECV][m].kind) {
    case ROTA_OP_LATE: /* at least a header comes */
        op->bytes = 1;
        break;
    case ROTA_OP_GATHERED:
        op->bytes =
            op->hand ? op->hand->bytes : rota_message_bytes(x, ROTA_RECV, m);
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
    if (op->hand)
        return begin_handed(x, m, op, done);
    if (x->program.op[ROTA_SEND][m].kind == ROTA_OP_HANDOVER && op->entry == 0)
        return begin_handover(x, op, done);
    if (op->unpacked)
        return pack_at_last(x, m, done);
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
        if (e && receive_now(x, &ops[m], e))
            continue;
        if (e && err == MPI_SUCCESS)
            err = advance_recv(x, m, &complete);
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

/* ---- lending ------------------------------------------------------------------ */

bool rota_lines_lend(const rota_exec *x)
{
    return x->lines && x->lines->tables;
}

bool rota_lines_are_taken(rota_exec *x)
{
    for (int i = 0; i < x->lines->n; i++) {
        channel *const c = &x->lines->channel[i];
        if (c->lends[ROTA_SEND] && !is_read(c))
            return false;
    }
    return true;
}

void rota_lines_finish(rota_exec *x)
{
    struct rota_lines *const lines = x->lines;

    atomic_store_explicit(
        lines->finished,
        atomic_load_explicit(lines->finished, memory_order_relaxed) + 1,
        memory_order_release);
    for (int i = 0; i < lines->n; i++)
        if (lines->channel[i].lends[ROTA_RECV])
            touch(x, &lines->channel[i]);
}

/* ---- the transport ------------------------------------------------------------ */

/* Where what is known when x is bound lies. */
static void resolve_all(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->s->msgs[dir].n; m++) {
            const rota_op_kind kind = x->program.op[dir][m].kind;
            if (x->program.op[dir][m].via != &rota_transport_lines)
                continue;
            if (kind == ROTA_OP_PLAIN || kind == ROTA_OP_TYPED ||
                kind == ROTA_OP_HANDOVER)
                resolve(x, (rota_dir)dir, m);
            if (x->lines->op[dir][m].hand)
                rota_loan_resolve(x, (rota_dir)dir, m,
                                  x->lines->op[dir][m].hand);
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
            if (x->lines->op[dir][m].with && !x->program.op[dir][m].late)
                x->lines->op[dir][m].with->paired = false;
}

static int bind(rota_exec *x)
{
    if (!x->lines)
        return MPI_SUCCESS;
    find_pairs(x);
    resolve_all(x);
    return hear_layouts(x);
}

const rota_transport rota_transport_lines = {
    .first = ROTA_SEND, /* before those come in that others send */
    .carries = carries,
    .hands = hands,
    .bind = bind,
    .resolve = choose,
    .post = post,
    .test = test,
    .rebase = rebase,
    .release = release,
};
