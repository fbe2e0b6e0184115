/* channels.c - makes and frees the queues of a plan: see channel.h. */
#include "exec/move/blocks.h"
#include "exec/move/lock.h"
#include "exec/transport/lines/channel.h"
#include "exec/transport/lines/told.h"

#include <stdlib.h>
#include <string.h>

/* On nodes of at most FEW_RANKS, entries are as long as the messages, up to
 * ROTA_LONG_ENTRY bytes each, and up to LONG_ENTRIES bytes for all plans of a
 * process. A message in its entry is 10 to 15 % faster than one in a piece that
 * the entry names (512 B to 4 KiB, P = 2, rota-bench --starts 20). */
enum { FEW_RANKS = 16, LONG_ENTRIES = 1 << 20 };

/* Room in entries for messages that may be of any length. */
enum { UNBOUNDED_ENTRY = 1 << 12 };

/* Bytes of long entries in all plans of the process. */
static _Atomic size_t long_entries;

/* ---- memory that others may still read ----------------------------------- */

static void put_memory(struct rota_lines *lines)
{
    rota_arena_put(ROTA_ENTRIES, lines->tables);
    lines->tables = NULL;
    rota_arena_put(ROTA_ENTRIES, lines->told);
    lines->told = NULL;
    for (int use = 0; use < ROTA_N_USES; use++)
        rota_arena_put((rota_use)use, lines->memory[use]);
    if (lines->memory[ROTA_COUNTERS]) /* allocated last */
        atomic_fetch_sub(&long_entries, lines->long_bytes);
    memset(lines->memory, 0, sizeof lines->memory);
    memset(lines->bytes, 0, sizeof lines->bytes);
}

static struct rota_lines *deferred; /* guarded by rota_lock */

static bool all_read(struct rota_lines *lines)
{
    for (int i = 0; i < lines->n; i++)
        if (!rota_channel_is_read(&lines->channel[i]))
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

/* Free later, when the peers' counts say that all has been taken. */
static void defer_free(struct rota_lines *lines)
{
    for (int i = 0; i < lines->n; i++)
        rota_arena_hold(lines->channel[i].peer);
    lines->next = deferred;
    deferred = lines;
}

static void end_deferred(struct rota_lines *lines)
{
    for (int i = 0; i < lines->n; i++)
        rota_arena_drop(lines->channel[i].peer);
    destroy(lines);
}

void rota_lines_sweep(void)
{
    rota_lock();
    for (struct rota_lines **link = &deferred; *link;) {
        struct rota_lines *const lines = *link;
        if (!all_read(lines)) {
            link = &lines->next;
            continue;
        }
        *link = lines->next;
        end_deferred(lines);
    }
    rota_unlock();
}

void rota_lines_release(rota_exec *x)
{
    struct rota_lines *const lines = rota_lines_of(x);

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        for (uint32_t m = 0; lines->op[dir] && m < x->blocks.s->msgs[dir].n;
             m++) {
            rota_loan_free(lines->op[dir][m].loan);
            free(lines->op[dir][m].source);
        }
        free(lines->op[dir]);
    }
    free(lines->touched);
    x->contest = x->stores = NULL;
    put_memory(lines);
    if (lines->lent)
        x->blocks.base[ROTA_TMP] = NULL;
    x->path[ROTA_BY_lines] = NULL;
    rota_lock();
    if (!lines->channel || all_read(lines))
        destroy(lines);
    else
        defer_free(lines);
    rota_unlock();
}

/* ---- making -------------------------------------------------------------- */

/* Most bytes that a message may need in an entry. */
static size_t most_bytes(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msg *const msg = &x->blocks.s->msgs[dir].msg[m];
    const size_t n = rota_msg_blocks(msg);

    if (msg->handed && rota_lines_of(x)->reach.hands)
        return 0;
    if (rota_fetching_of(x))
        return rota_fetching_of(x)->place_bytes;
    if (x->fixed)
        return rota_message_bytes(&x->blocks, dir, m);
    return x->max_block > SIZE_MAX / n - sizeof(size_t)
               ? SIZE_MAX
               : n * (sizeof(size_t) + x->max_block);
}

/* The channel with a rank, whose position in the node is i. */
static rota_channel *find_channel(struct rota_lines *lines, int index[],
                                  int rank, int i)
{
    const rota_near *const near = &lines->reach.node->near[i];

    if (index[i] < 0) {
        index[i] = lines->n++;
        lines->channel[index[i]] =
            (rota_channel){.position = i,
                           .rank = rank,
                           .there = &near->endpoints[lines->reach.node->me],
                           .peer = near->peer};
    }
    return &lines->channel[index[i]];
}

static void enlist(rota_exec *x, rota_dir dir, uint32_t m, int index[])
{
    struct rota_lines *const lines = rota_lines_of(x);
    const int rank = x->blocks.s->msgs[dir].msg[m].peer;
    const int i = lines->reach.node->of[rank];
    const size_t bytes = most_bytes(x, dir, m);

    if (i < 0 || !lines->reach.node->near[i].peer)
        return; /* MPI carries it */
    rota_channel *const c = find_channel(lines, index, rank, i);
    lines->op[dir][m].with = c;
    lines->op[dir][m].order = c->messages[dir]++;
    c->room[dir] = bytes > c->room[dir] ? bytes : c->room[dir];
}

static void enlist_all(rota_exec *x, int index[])
{
    for (uint32_t p = 0; p < x->blocks.s->n_phases; p++) {
        const rota_phase *const phase = &x->blocks.s->phase[p];
        for (int dir = 0; dir < ROTA_N_DIRS && !phase->native; dir++)
            for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++)
                enlist(x, (rota_dir)dir, m, index);
    }
}

/* Choose how long pieces are, and reserve pool memory for the messages of a
 * run. */
static void reserve_pool(const rota_exec *x)
{
    struct rota_lines *const lines = rota_lines_of(x);
    size_t most, wanted = 0;

    rota_pool_bytes(&most);
    lines->piece = ROTA_PIECE;
    while (lines->piece > 1024 &&
           lines->piece * (size_t)lines->n > most / ROTA_LINE_ENTRIES)
        lines->piece /= 2;
    for (int i = 0; i < lines->n && !rota_fetching_of(x); i++) {
        const rota_channel *const c = &lines->channel[i];
        if (c->room[ROTA_SEND] > ROTA_LINE_ROOM)
            wanted += ROTA_LINE_ENTRIES *
                      rota_smaller(c->room[ROTA_SEND], lines->piece);
    }
    rota_pool_reserve(wanted);
}

/* Bytes of an entry of the queue into this rank. */
static size_t stride_of(const rota_exec *x, const rota_channel *c)
{
    struct rota_lines *const lines = rota_lines_of(x);
    const size_t room = c->room[ROTA_RECV];
    const size_t longest = x->fixed ? 0 : UNBOUNDED_ENTRY;
    const size_t stride =
        rota_line_stride(room <= ROTA_LONG_ENTRY ? room : longest);
    const size_t all = lines->long_bytes + ROTA_LINE_ENTRIES * stride;

    if (rota_fetching_of(x) || stride == sizeof(rota_entry))
        return stride;
    if (lines->reach.node->n > FEW_RANKS ||
        atomic_load(&long_entries) + all > LONG_ENTRIES)
        return sizeof(rota_entry);
    lines->long_bytes = all;
    return stride;
}

/* What this rank tells the others: [node n]. */
static rota_endpoint *own_endpoints(const struct rota_lines *lines)
{
    const rota_node *const node = lines->reach.node;

    return node->near[node->me].endpoints;
}

static bool is_received(const rota_channel *c)
{
    return c->messages[ROTA_RECV] > 0;
}

/* The first offset from `at` on for entries of this stride. Long entries begin
 * in the middle of a page, as pieces of the pool do. */
static size_t entries_at(size_t at, size_t stride)
{
    enum { LONG = 1024, HALF = ROTA_COPY_PAGE / 2 };

    return stride < LONG
               ? at
               : (at + HALF - 1) / ROTA_COPY_PAGE * ROTA_COPY_PAGE + HALF;
}

/* Allocate all queues into this rank. Returns false if there is no memory. */
static bool take_memory(rota_exec *x, rota_place at[ROTA_N_USES])
{
    struct rota_lines *const lines = rota_lines_of(x);

    for (int i = 0; i < lines->n; i++) {
        rota_channel *const c = &lines->channel[i];
        if (!is_received(c))
            continue;
        const size_t stride = stride_of(x, c);
        c->line[ROTA_RECV].stride = stride;
        lines->bytes[ROTA_ENTRIES] =
            entries_at(lines->bytes[ROTA_ENTRIES], stride) +
            ROTA_LINE_ENTRIES * stride;
        lines->bytes[ROTA_COUNTERS] += sizeof(uint64_t);
    }
    if (lines->long_bytes > 0) /* so that the entries can begin at a page */
        lines->bytes[ROTA_ENTRIES] += ROTA_COPY_PAGE;
    if (lines->reach.lends)
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

/* Set up the queues into this rank and tell the peers where they are. */
static void make_lines(struct rota_lines *lines,
                       const rota_place at[ROTA_N_USES])
{
    rota_endpoint *const endpoints = own_endpoints(lines);
    char *const memory = lines->memory[ROTA_ENTRIES];
    const size_t page = lines->long_bytes > 0
                            ? -(uintptr_t)memory % ROTA_COPY_PAGE
                            : 0; /* bytes before the first page begins */
    size_t entry = page, counter = 0;

    for (int i = 0; i < lines->n; i++) {
        rota_channel *const c = &lines->channel[i];
        if (!is_received(c))
            continue;
        const size_t stride = c->line[ROTA_RECV].stride;
        void *const taken = (char *)lines->memory[ROTA_COUNTERS] + counter;
        entry = page + entries_at(entry - page, stride);
        rota_line_make(&c->line[ROTA_RECV], memory + entry, taken, stride);
        endpoints[c->position].lines = at[ROTA_ENTRIES] + entry;
        endpoints[c->position].taken = at[ROTA_COUNTERS] + counter;
        endpoints[c->position].stride = (uint32_t)stride;
        entry += ROTA_LINE_ENTRIES * stride;
        counter += sizeof(uint64_t);
    }
    lines->finished = (void *)((char *)lines->memory[ROTA_COUNTERS] + counter);
}

static size_t table_bytes(const rota_exec *x, const rota_channel *c)
{
    const uint32_t n = rota_loan_count(x, c->rank);

    return n > 0 ? sizeof(rota_loan_table) + n * sizeof(uint64_t) : 0;
}

/* Tell the peers where this rank's shared blocks lie, so that they can hand
 * over messages. */
static void make_tables(rota_exec *x)
{
    struct rota_lines *const lines = rota_lines_of(x);
    rota_endpoint *const endpoints = own_endpoints(lines);
    rota_place at, scratch, finished;
    size_t bytes = 0;

    for (int i = 0; i < lines->n && lines->reach.lends; i++)
        bytes += table_bytes(x, &lines->channel[i]);
    if (bytes == 0 || !rota_arena_find(x->blocks.base[ROTA_TMP], 1, &scratch) ||
        !rota_arena_find((void *)lines->finished, 1, &finished))
        return;
    lines->tables = rota_arena_take(ROTA_ENTRIES, bytes, &at);
    for (size_t i = 0, begin = 0; i < (size_t)lines->n && lines->tables; i++) {
        const rota_channel *const c = &lines->channel[i];
        rota_loan_table *const table = (void *)(lines->tables + begin);
        const size_t n = table_bytes(x, c);
        if (n == 0)
            continue;
        table->scratch = scratch;
        table->finished = finished;
        rota_loan_tell(x, c->rank, table);
        endpoints[c->position].table = at + begin;
        begin += n;
    }
}

/* Is the message just the block from one rank to the other, in a plan whose
 * blocks stay in place? Both ends must agree. So neighbours are left out: each
 * numbers blocks in its own way, and may have several for one pair. */
static bool is_direct(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msg *const msg = &x->blocks.s->msgs[dir].msg[m];
    const rota_block b = rota_lines_block(x, dir, m);

    return x->fixed && !rota_fetching_of(x) && !x->blocks.s->neighbors &&
           rota_msg_blocks(msg) == 1 &&
           b == (dir == ROTA_SEND ? rota_src(x->blocks.s, msg->peer)
                                  : rota_dst(x->blocks.s, msg->peer));
}

/* Bytes to tell the layout of a block that may be read where it lies; 0: not
 * told. */
static size_t told_bytes(const rota_exec *x, uint32_t m)
{
    const struct rota_lines *const lines = rota_lines_of(x);

    return lines->op[ROTA_SEND][m].with && is_direct(x, ROTA_SEND, m) &&
                   rota_message_bytes(&x->blocks, ROTA_SEND, m) >=
                       lines->reach.saving_threshold
               ? rota_told_bytes(rota_lines_type(x, ROTA_SEND, m))
               : 0;
}

/* Tell peers the layouts of the elements that they receive. Without memory for
 * this, the elements go in pieces. */
static void tell_layouts(rota_exec *x)
{
    struct rota_lines *const lines = rota_lines_of(x);
    const uint32_t n = x->blocks.s->msgs[ROTA_SEND].n;
    size_t bytes = 0;
    rota_place at;

    for (uint32_t m = 0; m < n; m++)
        bytes += told_bytes(x, m);
    if (bytes > 0)
        lines->told = rota_arena_take(ROTA_ENTRIES, bytes, &at);
    char *memory = lines->told;
    for (uint32_t m = 0; memory && m < n; m++) {
        rota_line_op *const op = &lines->op[ROTA_SEND][m];
        const size_t more = told_bytes(x, m);
        if (more == 0)
            continue;
        rota_told_write(rota_lines_type(x, ROTA_SEND, m), memory);
        own_endpoints(lines)[op->with->position].told = at;
        op->told = true;
        memory += more;
        at += more;
    }
}

/* Read the layouts that the peers have told. */
int rota_lines_hear(rota_exec *x)
{
    for (uint32_t m = 0; m < x->blocks.s->msgs[ROTA_RECV].n; m++) {
        rota_line_op *const op = &rota_lines_of(x)->op[ROTA_RECV][m];
        if (!op->with || !is_direct(x, ROTA_RECV, m) ||
            op->with->there->told == 0)
            continue;
        op->source =
            rota_told_read(rota_peer_at(op->with->peer, op->with->there->told));
        if (!op->source)
            return rota_fail_mem("layouts of blocks");
    }
    return MPI_SUCCESS;
}

static int make_channels(rota_exec *x)
{
    struct rota_lines *const lines = rota_lines_of(x);
    const size_t n = (size_t)lines->reach.node->n;
    int *const index = malloc(n * sizeof *index);

    lines->channel = aligned_alloc(ROTA_CACHE_LINE, n * sizeof *lines->channel);
    for (size_t i = 0; index && i < n; i++)
        index[i] = -1;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        lines->op[dir] = calloc((size_t)x->blocks.s->msgs[dir].n + 1,
                                sizeof *lines->op[dir]);
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

/* Do messages of the schedule go one by one? Else a phase as a whole, by another
 * path. */
static bool has_messages(const rota_exec *x)
{
    for (uint32_t p = 0; p < x->blocks.s->n_phases; p++)
        if (x->blocks.s->phase[p].sparse)
            return false;
    return true;
}

int rota_lines_reserve(rota_exec *x, const rota_reach *reach,
                       rota_refusal *refusal)
{
    rota_endpoint *const endpoints =
        reach->node->near[reach->node->me].endpoints;
    rota_place at[ROTA_N_USES];

    if (!has_messages(x))
        return MPI_SUCCESS;
    struct rota_lines *const lines = calloc(1, sizeof *lines);
    if (!lines)
        return rota_fail_mem("messages within the node");
    x->path[ROTA_BY_lines] = lines;
    x->shared = reach->node;
    lines->reach = *reach;
    x->contest = reach->contests_arena || reach->contests_kernel
                     ? &lines->contest
                     : NULL;
    x->stores = reach->contests_stores ? &lines->stores : NULL;
    rota_arena_offer_heap();
    ROTA_TRY(make_channels(x));
    for (int i = 0; i < reach->node->n; i++) {
        endpoints[i].lines = endpoints[i].table = endpoints[i].told = 0;
        endpoints[i].hands = reach->hands;
    }
    reserve_pool(x);
    if (!take_memory(x, at)) {
        *refusal = rota_fetching_of(x) ? ROTA_REFUSED_PLAN : ROTA_REFUSED_MINE;
        put_memory(lines);
        return MPI_SUCCESS;
    }
    make_lines(lines, at);
    make_tables(x);
    tell_layouts(x);
    return MPI_SUCCESS;
}

static void open_channel(rota_channel *c)
{
    const rota_peer *const peer = c->peer;
    const rota_endpoint *const b = c->there;

    c->bell = &peer->head->bell;
    c->interest = &peer->head->interest[peer->slot_there];
    if (c->messages[ROTA_SEND] > 0 && b->lines)
        rota_line_open(&c->line[ROTA_SEND], rota_peer_at(peer, b->lines),
                       (void *)rota_peer_at(peer, b->taken), b->stride);
    rota_channel_claim(c, rota_smaller(c->room[ROTA_SEND],
                                       rota_line_room(&c->line[ROTA_SEND])));
}

/* All segments of the peers are mapped then, and so is all that they have reserved
 * before. A peer without a queue for this rank receives by MPI or expects nothing,
 * whatever this rank sends: counts that were not checked may differ. */
bool rota_lines_attach(rota_exec *x)
{
    struct rota_lines *const lines = rota_lines_of(x);
    bool all = true;

    if (lines->reach.lends)
        lines->lent = x->blocks.base[ROTA_TMP];
    for (int i = 0; i < lines->n; i++)
        all = rota_arena_update(lines->channel[i].peer) && all;
    for (int i = 0; i < lines->n && all; i++)
        open_channel(&lines->channel[i]);
    return all;
}

/* The table that the peer has made for this rank; NULL: none. */
static const rota_loan_table *table_of(const rota_channel *c)
{
    const rota_place at = c->there->table;

    return at ? (void *)rota_peer_at(c->peer, at) : NULL;
}

/* Find out whether message m is handed over, and which end lends. */
static int find_loan(rota_exec *x, rota_dir dir, uint32_t m, uint64_t used[])
{
    const struct rota_lines *const lines = rota_lines_of(x);
    rota_line_op *const op = &lines->op[dir][m];
    rota_channel *const c = op->with;
    const bool lends = rota_msg_lends(x->blocks.s, dir, m);
    const rota_loan_table *const table = lends ? NULL : table_of(c);
    uint64_t *const at = &used[c - lines->channel];
    const uint32_t n = rota_msg_blocks(&x->blocks.s->msgs[dir].msg[m]);

    if (lends && lines->tables && c->there->hands) {
        c->lends[dir] = true;
        op->loan = rota_loan_lend(x, dir, m);
    } else if (table && *at + n <= table->n) {
        op->loan = rota_loan_find(x, dir, m, c->peer, table, at);
    } else {
        return MPI_SUCCESS;
    }
    return op->loan ? MPI_SUCCESS : rota_fail_mem("what is handed over");
}

int rota_lines_meet(rota_exec *x)
{
    const struct rota_lines *const lines = rota_lines_of(x);
    uint64_t *const used = calloc((size_t)lines->n + 1, sizeof *used);
    /* A lender's table lists what comes to it first, then what goes out. */
    const rota_dir order[] = {ROTA_SEND, ROTA_RECV};
    int err = used ? MPI_SUCCESS : rota_fail_mem("what is handed over");

    for (int k = 0; k < ROTA_N_DIRS; k++)
        for (uint32_t m = 0; m < x->blocks.s->msgs[order[k]].n &&
                             lines->reach.hands && err == MPI_SUCCESS;
             m++)
            if (x->blocks.s->msgs[order[k]].msg[m].handed &&
                rota_lines_carry(x, order[k], m))
                err = find_loan(x, order[k], m, used);
    free(used);
    return err;
}

bool rota_lines_hand(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return rota_lines_of(x)->op[dir][m].loan;
}

void rota_lines_describe(const rota_exec *x, rota_path_facts *facts)
{
    const struct rota_lines *const l = rota_lines_of(x);

    facts->bytes += l->bytes[ROTA_ENTRIES] + l->bytes[ROTA_COUNTERS];
    facts->read_from = l->reach.arena_threshold;
}

const rota_type *rota_lines_source(const rota_exec *x, uint32_t m)
{
    return rota_lines_of(x)->op[ROTA_RECV][m].source;
}

bool rota_lines_carry(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_channel *const c =
        rota_lines_of(x) ? rota_lines_of(x)->op[dir][m].with : NULL;

    return c && c->line[dir].entries;
}

/* ---- lending ------------------------------------------------------------- */

bool rota_lines_lend(const rota_exec *x)
{
    return rota_lines_of(x) && rota_lines_of(x)->tables;
}
