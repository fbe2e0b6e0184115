/* check.c - prove that P schedules together are an all-to-all, or an exchange
 * among neighbours.
 *
 * All ranks are run against each other on labels; a label names a rank and one
 * of its send blocks. Every message is synchronous (it completes when both
 * sides have posted it), which is the least that MPI promises. Completing more
 * never disables anything, so one greedy run decides whether the schedules can
 * deadlock.
 *
 * In a flow phase, a send is posted when the last label that it waits for is
 * there, but not before the earlier sends to the same rank; a copy of a block
 * that the phase receives is made when the block has arrived.
 */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING UINT64_MAX /* label of a block that was never written */

/* State of flow phases. The arrays are NULL if the schedule has none. */
typedef struct stream {
    uint32_t *due;   /* [n_blocks] 1 + the flow phase that receives it, or 0 */
    uint32_t *made;  /* [n_blocks] 1 + the flow phase that makes it by a copy
                        which waits for no receive, or 0 */
    uint32_t copied; /* copies of the phase made so far */
    uint32_t *want;  /* [n sends] first item that may be missing, or POSTED */
    uint32_t *held;  /* [P] the last scan in which a send to it had to wait */
    uint32_t scan;   /* number of the current scan over the unposted sends */
    uint32_t first;  /* all sends before this one are posted */
} stream;

#define POSTED UINT32_MAX

typedef struct rank_state {
    const rota_sched *s;
    const size_t *bytes; /* [n_blocks], NULL if not folded */
    uint64_t *label;     /* [n_blocks] rank << 32 | send block */
    uint64_t *wanted;    /* [n_recv] label that each receive block is to get */
    rota_block *tmp;     /* [n_places] number of the block now in each place */
    uint32_t phase;
    uint32_t posted[ROTA_N_DIRS]; /* all messages before this one are posted */
    uint32_t open[ROTA_N_DIRS];   /* messages posted and not completed */
    uint32_t *mark; /* [n_places] phase << 4 | what it does with the place */
    bool *handed;   /* [n_blocks] shared blocks that another rank has written */
    stream flow;
    bool entered; /* the current phase has begun */
    bool called;  /* all ranks have reached the current native phase */
    bool queued;
} rank_state;

/* Messages of one ordered pair, posted and not yet matched. Pairs are found by
 * hashing, since an array of pairs would take P * P entries. */
typedef struct pending {
    uint64_t key; /* (src * P + dst) * 2 + dir, or NOTHING */
    uint32_t head, tail;
} pending;

typedef struct posted_msg {
    uint32_t msg, next;
} posted_msg;

typedef struct checker {
    int P;
    rank_state *rank; /* [P] */
    pending *table;
    size_t table_size; /* power of two */
    size_t table_used;
    posted_msg *node;
    uint32_t n_nodes, node_room, free_node;
    int *queue; /* [P] ring of ranks that may be able to go on */
    int queue_head, queue_n;
    int in_native; /* ranks waiting in the current native phase */
} checker;

#define NO_NODE UINT32_MAX

static void enqueue(checker *c, int rank)
{
    if (c->rank[rank].queued)
        return;
    c->rank[rank].queued = true;
    c->queue[(c->queue_head + c->queue_n++) % c->P] = rank;
}

static int fault(const rank_state *r, const char *what, rota_block b)
{
    return rota_fail(MPI_ERR_INTERN,
                     "schedule of rank %d, phase %u, block %u: %s", r->s->me,
                     (unsigned)r->phase, (unsigned)b, what);
}

/* May blocks take the place of b in turn? So it is with slots of scratch and,
 * as temporary blocks may lie in it, with the receive buffer. */
static bool is_place(const rota_sched *s, rota_block b)
{
    return rota_block_region(s, b) != ROTA_SRC;
}

/* ---- reading and writing labels ------------------------------------------ */

static int read_label(const rank_state *r, rota_block b, uint64_t *label)
{
    *label = r->label[b];
    if (*label == NOTHING)
        return fault(r, "read before it was written", b);
    if (is_place(r->s, b) && r->tmp[rota_block_place(r->s, b)] != b)
        return fault(r, "read after its slot was taken", b);
    return MPI_SUCCESS;
}

static int write_label(rank_state *r, rota_block b, uint64_t label)
{
    if (b < (rota_block)r->s->n_send)
        return fault(r, "the send buffer is written", b);
    if (r->label[b] != NOTHING)
        return fault(r, "written twice", b);
    const rota_block before = r->tmp[rota_block_place(r->s, b)];
    if (before != 0 &&
        (rota_block_is_shared(r->s, b) || rota_block_is_shared(r->s, before)))
        return fault(r, "the place of a shared block is taken twice", b);
    if (rota_block_arrives(r->s, b) &&
        label != r->wanted[rota_block_slot(r->s, b)])
        return fault(r, "holds another block than it should", b);
    r->label[b] = label;
    r->tmp[rota_block_place(r->s, b)] = b;
    return MPI_SUCCESS;
}

/* ---- what a phase reads and writes --------------------------------------- */

enum { SENT = 1, RECEIVED = 2, COPIED_FROM = 4, COPIED_TO = 8 };

/* Does the current phase, a flow phase, receive the block? */
static bool is_due(const rank_state *r, rota_block b)
{
    return r->s->phase[r->phase].flow && r->flow.due[b] == r->phase + 1;
}

/* Does the current phase, a flow phase, make the block by a copy that it may
 * send on? */
static bool is_made(const rank_state *r, rota_block b)
{
    return r->s->phase[r->phase].flow && r->flow.made[b] == r->phase + 1;
}

/* The other uses of block b's place that clash with this one in a phase. Without
 * a window, a block may leave a slot and another take it: what leaves is packed
 * before what arrives is unpacked. With a window, or in a flow phase, nothing
 * says which comes first. What the phase itself makes or receives is there
 * before it is sent or copied on. */
static uint32_t clashes(const rank_state *r, rota_block b, uint32_t use)
{
    const rota_phase *const phase = &r->s->phase[r->phase];
    const bool in_turn = phase->window > 0 || phase->flow;

    switch (use) {
    case SENT:
        if (is_made(r, b))
            return RECEIVED;
        if (is_due(r, b))
            return COPIED_TO;
        return in_turn ? COPIED_TO | RECEIVED : COPIED_TO;
    case COPIED_FROM:
        return is_due(r, b) ? COPIED_TO : COPIED_TO | RECEIVED;
    case RECEIVED:
        return RECEIVED | COPIED_FROM | COPIED_TO | (in_turn ? SENT : 0u);
    default:
        return SENT | RECEIVED | COPIED_FROM | COPIED_TO;
    }
}

/* Record a use of block b's place, and refuse one that clashes with another of
 * the phase. The phase number in the upper bits tells marks of earlier phases
 * apart. */
static int use_slot(rank_state *r, rota_block b, uint32_t use)
{
    if (b >= r->s->n_blocks)
        return fault(r, "no such block", b);
    if (!is_place(r->s, b))
        return MPI_SUCCESS;
    uint32_t *const mark = &r->mark[rota_block_place(r->s, b)];
    const uint32_t tag = (r->phase + 1) << 4;
    const uint32_t seen = (*mark & ~15u) == tag ? *mark & 15u : 0;

    *mark = tag | seen | use;
    return seen & clashes(r, b, use)
               ? fault(r, "its slot is used twice in the phase", b)
               : MPI_SUCCESS;
}

static int use_messages(rank_state *r, rota_dir dir)
{
    const rota_phase *const phase = &r->s->phase[r->phase];
    const rota_msgs *const l = &r->s->msgs[dir];
    const bool sent = dir == ROTA_SEND;

    for (uint32_t i = l->msg[phase->msg[dir]].first;
         i < l->msg[phase[1].msg[dir]].first; i++) {
        ROTA_TRY(use_slot(r, l->item[i], sent ? SENT : RECEIVED));
        if (phase->flow && !sent)
            r->flow.due[l->item[i]] = r->phase + 1;
    }
    return MPI_SUCCESS;
}

static int use_copies(rank_state *r)
{
    const rota_phase *const phase = &r->s->phase[r->phase];

    for (uint32_t i = phase->copy; i < phase[1].copy; i++) {
        const rota_copy *const k = &r->s->copy[i];
        ROTA_TRY(use_slot(r, k->from, COPIED_FROM));
        ROTA_TRY(use_slot(r, k->to, COPIED_TO));
        if (phase->flow && !is_due(r, k->from))
            r->flow.made[k->to] = r->phase + 1;
    }
    return MPI_SUCCESS;
}

/* Receives first and sends last, so that sends know what is due or made. */
static int use_slots(rank_state *r)
{
    ROTA_TRY(use_messages(r, ROTA_RECV));
    ROTA_TRY(use_copies(r));
    return use_messages(r, ROTA_SEND);
}

/* ---- pending messages of a pair ------------------------------------------ */

static pending *find(checker *c, uint64_t key)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 20) & (c->table_size - 1);

    while (c->table[at].key != key && c->table[at].key != NOTHING)
        at = (at + 1) & (c->table_size - 1);
    return &c->table[at];
}

static int grow_table(checker *c)
{
    const size_t old_size = c->table_size;
    pending *const old = c->table;

    c->table_size = old_size ? 2 * old_size : 1024;
    c->table = malloc(c->table_size * sizeof *c->table);
    if (!c->table) {
        c->table = old;
        c->table_size = old_size;
        return rota_fail_mem("checking a schedule");
    }
    for (size_t i = 0; i < c->table_size; i++)
        c->table[i] = (pending){NOTHING, NO_NODE, NO_NODE};
    for (size_t i = 0; i < old_size; i++)
        if (old[i].key != NOTHING)
            *find(c, old[i].key) = old[i];
    free(old);
    return MPI_SUCCESS;
}

static int new_node(checker *c, uint32_t msg, uint32_t *node)
{
    if (c->free_node != NO_NODE) {
        *node = c->free_node;
        c->free_node = c->node[*node].next;
    } else {
        if (c->n_nodes == c->node_room) {
            const uint32_t room = c->node_room ? 2 * c->node_room : 1024;
            posted_msg *const bigger = realloc(c->node, room * sizeof *bigger);
            if (!bigger)
                return rota_fail_mem("checking a schedule");
            c->node = bigger;
            c->node_room = room;
        }
        *node = c->n_nodes++;
    }
    c->node[*node] = (posted_msg){.msg = msg, .next = NO_NODE};
    return MPI_SUCCESS;
}

static int push(checker *c, uint64_t key, uint32_t msg)
{
    uint32_t node = NO_NODE;

    if (2 * (c->table_used + 1) > c->table_size)
        ROTA_TRY(grow_table(c));
    ROTA_TRY(new_node(c, msg, &node));
    pending *const p = find(c, key);
    if (p->key == NOTHING) {
        p->key = key;
        c->table_used++;
    }
    if (p->head == NO_NODE)
        p->head = node;
    else
        c->node[p->tail].next = node;
    p->tail = node;
    return MPI_SUCCESS;
}

/* Take the oldest pending message of key; false if there is none. */
static bool pop(checker *c, uint64_t key, uint32_t *msg)
{
    pending *const p = c->table_size ? find(c, key) : NULL;

    if (!p || p->head == NO_NODE)
        return false;
    const uint32_t node = p->head;
    *msg = c->node[node].msg;
    p->head = c->node[node].next;
    c->node[node].next = c->free_node;
    c->free_node = node;
    return true;
}

/* ---- running ------------------------------------------------------------- */

/* Are all blocks of message m shared, or none of them? */
static bool all_or_none_shared(const rota_sched *s, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &s->msgs[dir];

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        if (rota_block_is_shared(s, l->item[i]) != rota_msg_lends(s, dir, m))
            return false;
    return true;
}

/* The rank without the shared blocks copies what is handed over, once and at
 * any time. So a shared block that one rank wrote is not handed to a third. */
static int hand_over(rank_state *from, uint32_t sent, rank_state *to,
                     uint32_t received)
{
    const rota_msgs *const out = &from->s->msgs[ROTA_SEND];
    const rota_msgs *const in = &to->s->msgs[ROTA_RECV];

    if (out->msg[sent].handed != in->msg[received].handed ||
        !all_or_none_shared(from->s, ROTA_SEND, sent) ||
        !all_or_none_shared(to->s, ROTA_RECV, received) ||
        rota_msg_lends(from->s, ROTA_SEND, sent) ==
            rota_msg_lends(to->s, ROTA_RECV, received))
        return rota_fail(MPI_ERR_INTERN,
                         "what rank %d hands over to rank %d is not all in "
                         "shared blocks of one of them",
                         from->s->me, to->s->me);
    for (uint32_t i = out->msg[sent].first; i < out->msg[sent + 1].first; i++)
        if (from->handed[out->item[i]])
            return fault(from, "is handed over twice", out->item[i]);
    for (uint32_t i = in->msg[received].first; i < in->msg[received + 1].first;
         i++)
        to->handed[in->item[i]] = rota_block_is_shared(to->s, in->item[i]);
    return MPI_SUCCESS;
}

/* Move the labels of a matched pair of messages. */
static int deliver(checker *c, int src, uint32_t sent, int dst,
                   uint32_t received)
{
    rank_state *const from = &c->rank[src], *const to = &c->rank[dst];
    const rota_msgs *const out = &from->s->msgs[ROTA_SEND];
    const rota_msgs *const in = &to->s->msgs[ROTA_RECV];
    const uint32_t a = out->msg[sent].first, b = in->msg[received].first;
    const uint32_t n = rota_msg_blocks(&out->msg[sent]);
    const uint32_t expected = rota_msg_blocks(&in->msg[received]);

    if (n != expected)
        return rota_fail(MPI_ERR_INTERN,
                         "rank %d sends %u blocks, rank %d expects %u", src,
                         (unsigned)n, dst, (unsigned)expected);
    if (out->msg[sent].handed || in->msg[received].handed)
        ROTA_TRY(hand_over(from, sent, to, received));
    for (uint32_t i = 0; i < n; i++) {
        const rota_block sb = out->item[a + i], rb = in->item[b + i];
        if (from->bytes && from->bytes[sb] != to->bytes[rb])
            return rota_fail(MPI_ERR_INTERN,
                             "rank %d sends %zu bytes, rank %d expects %zu",
                             src, from->bytes[sb], dst, to->bytes[rb]);
        /* The sender's labels were read when it posted the message. They still
         * hold: a number is written only once. */
        ROTA_TRY(write_label(to, rb, from->label[sb]));
    }
    from->open[ROTA_SEND]--;
    to->open[ROTA_RECV]--;
    enqueue(c, src);
    enqueue(c, dst);
    return MPI_SUCCESS;
}

static int post(checker *c, rank_state *r, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &r->s->msgs[dir];
    const int me = r->s->me, peer = l->msg[m].peer;
    uint32_t other;

    if (peer < 0 || peer >= c->P)
        return rota_fail(MPI_ERR_INTERN, "rank %d has a message with rank %d",
                         me, peer);
    r->open[dir]++;
    const int src = dir == ROTA_SEND ? me : peer;
    const int dst = dir == ROTA_SEND ? peer : me;
    const uint64_t pair = 2 * ((uint64_t)src * (uint64_t)c->P + (uint64_t)dst);
    if (!pop(c, pair + !dir, &other))
        return push(c, pair + (uint64_t)dir, m);
    return dir == ROTA_SEND ? deliver(c, src, m, dst, other)
                            : deliver(c, src, other, dst, m);
}

static int post_up_to_window(checker *c, rank_state *r)
{
    const rota_phase *const phase = &r->s->phase[r->phase];
    const uint32_t window = phase->window > 0 ? (uint32_t)phase->window : ~0u;

    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        while (r->posted[dir] < phase[1].msg[dir] && r->open[dir] < window)
            ROTA_TRY(post(c, r, (rota_dir)dir, r->posted[dir]++));
    return MPI_SUCCESS;
}

/* ---- flow phases --------------------------------------------------------- */

static void enter_flow(rank_state *r)
{
    const rota_phase *const phase = &r->s->phase[r->phase];
    const rota_msgs *const l = &r->s->msgs[ROTA_SEND];

    for (uint32_t m = phase->msg[ROTA_SEND]; m < phase[1].msg[ROTA_SEND]; m++)
        r->flow.want[m] = l->msg[m].first;
    r->flow.first = phase->msg[ROTA_SEND];
}

/* Are all blocks there that send m waits for? */
static bool is_ready(rank_state *r, uint32_t m)
{
    const rota_msgs *const l = &r->s->msgs[ROTA_SEND];
    uint32_t *const want = &r->flow.want[m];

    for (; *want < l->msg[m + 1].first; ++*want)
        if (is_due(r, l->item[*want]) && r->label[l->item[*want]] == NOTHING)
            return false;
    return true;
}

static int copy_due(rank_state *r);

static int post_flow(checker *c, rank_state *r)
{
    const rota_phase *const phase = &r->s->phase[r->phase];
    const uint32_t end = phase[1].msg[ROTA_SEND];
    stream *const f = &r->flow;

    while (r->posted[ROTA_RECV] < phase[1].msg[ROTA_RECV])
        ROTA_TRY(post(c, r, ROTA_RECV, r->posted[ROTA_RECV]++));
    ROTA_TRY(copy_due(r));
    f->scan++;
    for (uint32_t m = f->first; m < end; m++) {
        const int peer = r->s->msgs[ROTA_SEND].msg[m].peer;
        const bool known = peer >= 0 && peer < c->P;
        if (f->want[m] == POSTED)
            continue;
        if (known && (f->held[peer] == f->scan || !is_ready(r, m))) {
            f->held[peer] = f->scan;
            continue;
        }
        f->want[m] = POSTED;
        r->posted[ROTA_SEND]++;
        ROTA_TRY(post(c, r, ROTA_SEND, m));
    }
    while (f->first < end && f->want[f->first] == POSTED)
        f->first++;
    return MPI_SUCCESS;
}

/* ---- a rank -------------------------------------------------------------- */

/* What a phase sends must be there when it begins, except what a flow phase
 * receives or makes. Otherwise no receive or copy of the phase may provide a
 * block that it sends, or destroy one (see use_slot). */
static int read_sends(const rank_state *r)
{
    const rota_phase *const phase = &r->s->phase[r->phase];
    const rota_msgs *const l = &r->s->msgs[ROTA_SEND];
    uint64_t label;

    for (uint32_t i = l->msg[phase->msg[ROTA_SEND]].first;
         i < l->msg[phase[1].msg[ROTA_SEND]].first; i++)
        if (!is_due(r, l->item[i]) && !is_made(r, l->item[i]))
            ROTA_TRY(read_label(r, l->item[i], &label));
    return MPI_SUCCESS;
}

/* Do the two sizes match? Padding may exceed the data. */
static bool sizes_fit(const rank_state *r, const rota_copy *k)
{
    const size_t from = r->bytes[k->from], to = r->bytes[k->to];

    return from == to || (from > to ? rota_block_is_padded(r->s, k->from)
                                    : rota_block_is_padded(r->s, k->to));
}

static int make_copy(rank_state *r, const rota_copy *k)
{
    uint64_t label;

    ROTA_TRY(read_label(r, k->from, &label));
    ROTA_TRY(write_label(r, k->to, label));
    r->flow.copied++;
    return r->bytes && !sizes_fit(r, k)
               ? fault(r, "is copied to a block of another size", k->from)
               : MPI_SUCCESS;
}

/* Make all copies but those that wait for a receive. */
static int make_copies(rank_state *r)
{
    const rota_phase *const phase = &r->s->phase[r->phase];

    r->flow.copied = 0;
    for (uint32_t i = phase->copy; i < phase[1].copy; i++)
        if (!is_due(r, r->s->copy[i].from))
            ROTA_TRY(make_copy(r, &r->s->copy[i]));
    return MPI_SUCCESS;
}

/* Make the copies whose block has arrived. */
static int copy_due(rank_state *r)
{
    const rota_phase *const phase = &r->s->phase[r->phase];
    const uint32_t n = phase[1].copy - phase->copy;

    for (uint32_t i = phase->copy; i < phase[1].copy && r->flow.copied < n;
         i++) {
        const rota_copy *const k = &r->s->copy[i];
        if (is_due(r, k->from) && r->label[k->from] != NOTHING &&
            r->label[k->to] == NOTHING)
            ROTA_TRY(make_copy(r, k));
    }
    return MPI_SUCCESS;
}

static int enter_phase(checker *c, rank_state *r)
{
    r->entered = true;
    ROTA_TRY(use_slots(r));
    ROTA_TRY(read_sends(r));
    /* Copies do not see what the phase receives, so they may be made first. */
    ROTA_TRY(make_copies(r));
    if (r->s->phase[r->phase].flow)
        enter_flow(r);
    c->in_native += r->s->phase[r->phase].native != ROTA_NOT_NATIVE;
    return MPI_SUCCESS;
}

static bool phase_done(const rank_state *r)
{
    const rota_phase *const phase = &r->s->phase[r->phase];

    return r->posted[0] == phase[1].msg[0] && r->posted[1] == phase[1].msg[1] &&
           r->open[0] == 0 && r->open[1] == 0 &&
           r->flow.copied == phase[1].copy - phase->copy;
}

static rota_native_kind native_now(const rank_state *r)
{
    return r->s->phase[r->phase].native;
}

/* A collective begins when all ranks have called it. */
static int call_native(checker *c)
{
    if (c->in_native < c->P)
        return MPI_SUCCESS;
    c->in_native = 0;
    for (int q = 0; q < c->P; q++) {
        if (native_now(&c->rank[q]) != native_now(&c->rank[0]))
            return rota_fail(MPI_ERR_INTERN,
                             "schedule of rank %d, phase %u: MPI's all-to-all "
                             "is another one than rank 0's",
                             q, (unsigned)c->rank[q].phase);
        c->rank[q].called = true;
        enqueue(c, q);
    }
    return MPI_SUCCESS;
}

static int advance(checker *c, rank_state *r)
{
    while (r->phase < r->s->n_phases) {
        if (!r->entered)
            ROTA_TRY(enter_phase(c, r));
        if (r->s->phase[r->phase].native && !r->called) {
            ROTA_TRY(call_native(c));
            if (!r->called)
                return MPI_SUCCESS;
        }
        ROTA_TRY(r->s->phase[r->phase].flow ? post_flow(c, r)
                                            : post_up_to_window(c, r));
        if (!phase_done(r))
            return MPI_SUCCESS;
        r->phase++;
        r->entered = false;
        r->called = false;
    }
    return MPI_SUCCESS;
}

/* Report why the rank is stuck: a message that only one side has posted, or a
 * collective that not all ranks call. */
static int stuck(const checker *c, int rank)
{
    const unsigned phase = (unsigned)c->rank[rank].phase;
    const uint64_t P = (uint64_t)c->P;

    for (size_t i = 0; i < c->table_size; i++) {
        const pending *const p = &c->table[i];
        const uint64_t pair = p->key / 2, src = pair / P, dst = pair % P;
        if (p->head == NO_NODE ||
            (src != (uint64_t)rank && dst != (uint64_t)rank))
            continue;
        return rota_fail(MPI_ERR_INTERN,
                         "deadlock: rank %d never leaves phase %u: a message "
                         "from rank %d to rank %d is only %s",
                         rank, phase, (int)src, (int)dst,
                         p->key % 2 == ROTA_SEND ? "sent" : "awaited");
    }
    return rota_fail(MPI_ERR_INTERN,
                     "deadlock: rank %d never leaves phase %u: not all ranks "
                     "call MPI's all-to-all",
                     rank, phase);
}

static int check_end(const checker *c)
{
    for (int q = 0; q < c->P; q++)
        if (c->rank[q].phase < c->rank[q].s->n_phases)
            return stuck(c, q);
    for (int q = 0; q < c->P; q++) {
        const rank_state *const r = &c->rank[q];
        for (int i = 0; i < r->s->n_recv; i++) {
            const rota_block b = rota_dst(r->s, i);
            const bool empty = (r->bytes && r->bytes[b] == 0) ||
                               rota_from(r->s, i) == ROTA_NOBODY;
            if (!empty && (r->label[b] == NOTHING ||
                           r->tmp[rota_block_place(r->s, b)] != b))
                return rota_fail(MPI_ERR_INTERN,
                                 "rank %d never gets its block from rank %d", q,
                                 rota_from(r->s, i));
        }
    }
    return MPI_SUCCESS;
}

/* ---- faults within one schedule ------------------------------------------ */

/* Does block b lie where the collective can find it? A collective takes all its
 * blocks from one buffer; MPI_Alltoall takes blocks of one size, end to end. */
static bool lies_well(const rota_sched *s, rota_native_kind kind,
                      const rota_msg *msg, rota_block b, rota_block first)
{
    return rota_block_region(s, b) == rota_block_region(s, first) &&
           (kind != ROTA_NATIVE_ALLTOALL ||
            (rota_block_is_padded(s, b) &&
             rota_block_region(s, b) == ROTA_TMP &&
             b == first + (rota_block)msg->peer));
}

static int check_phase(const rota_sched *s, uint32_t p)
{
    const rota_phase *const phase = &s->phase[p];
    bool good = phase[1].copy == phase->copy;

    if (!phase->native)
        return MPI_SUCCESS;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &s->msgs[dir];
        const rota_block *const first_item =
            &l->item[l->msg[phase->msg[dir]].first];
        int before = -1;
        for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++) {
            const rota_block *const item = &l->item[l->msg[m].first];
            good =
                good && l->msg[m].peer > before &&
                rota_msg_blocks(&l->msg[m]) == 1 && item[0] < s->n_blocks &&
                first_item[0] < s->n_blocks &&
                lies_well(s, phase->native, &l->msg[m], item[0], first_item[0]);
            before = l->msg[m].peer;
        }
    }
    return good ? MPI_SUCCESS
                : rota_fail(MPI_ERR_INTERN,
                            "schedule of rank %d, phase %u: MPI's all-to-all "
                            "has copies, or not one block a rank in order, or "
                            "blocks where it cannot find them",
                            s->me, (unsigned)p);
}

static int check_shape(const rota_sched *s, int P, int rank)
{
    if (s->P != P || s->me != rank)
        return rota_fail(MPI_ERR_INTERN, "schedule %d is of another rank",
                         rank);
    if (s->phase[0].copy > 0 || s->phase[0].msg[ROTA_RECV] > 0 ||
        s->phase[0].msg[ROTA_SEND] > 0)
        return rota_fail(MPI_ERR_INTERN,
                         "schedule of rank %d: something is in no phase", rank);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < s->msgs[dir].n; m++)
            if (s->msgs[dir].msg[m].first == s->msgs[dir].msg[m + 1].first)
                return rota_fail(MPI_ERR_INTERN,
                                 "schedule of rank %d: a message has no blocks",
                                 rank);
    for (uint32_t p = 0; p < s->n_phases; p++)
        ROTA_TRY(check_phase(s, p));
    return MPI_SUCCESS;
}

static int init_stream(stream *f, const rota_sched *s)
{
    const size_t n_sends = (size_t)s->msgs[ROTA_SEND].n + 1;

    f->due = calloc(s->n_blocks, sizeof *f->due);
    f->made = calloc(s->n_blocks, sizeof *f->made);
    f->want = malloc(n_sends * sizeof *f->want);
    f->held = calloc((size_t)s->P, sizeof *f->held);
    return f->due && f->made && f->want && f->held
               ? MPI_SUCCESS
               : rota_fail_mem("checking a schedule");
}

static uint64_t label_of(const rota_sched *s, int block)
{
    const int first = s->same_as ? s->same_as[block] : block;

    return (uint64_t)s->me << 32 | (uint32_t)first;
}

static int init_rank(rank_state *r, const rota_sched *s, const size_t *bytes)
{
    *r = (rank_state){.s = s, .bytes = bytes};
    const size_t n = (size_t)s->n_blocks + 1;
    const size_t places = (size_t)rota_sched_places(s) + 1;
    r->label = malloc(n * sizeof *r->label);
    r->wanted = malloc(((size_t)s->n_recv + 1) * sizeof *r->wanted);
    r->tmp = calloc(places, sizeof *r->tmp);
    r->mark = calloc(places, sizeof *r->mark);
    r->handed = calloc(n, sizeof *r->handed);
    if (!r->label || !r->wanted || !r->tmp || !r->mark || !r->handed)
        return rota_fail_mem("checking a schedule");
    for (rota_block b = 0; b < s->n_blocks; b++)
        r->label[b] = b < (rota_block)s->n_send ? label_of(s, (int)b) : NOTHING;
    for (int i = 0; i < s->n_recv && !s->neighbors; i++)
        r->wanted[i] = (uint64_t)i << 32 | (uint32_t)s->me;
    return rota_sched_flows(s) ? init_stream(&r->flow, s) : MPI_SUCCESS;
}

/* ---- neighbours ---------------------------------------------------------- */

/* Fill in the labels that a rank's receive blocks are to get. */
static int want(const rota_sched *const set[], int P, rank_state *r)
{
    const rota_neighbors *const n = r->s->neighbors;

    for (int i = 0; i < n->n_received; i++) {
        const rota_edge *const e = &n->received[i];
        const rota_neighbors *const there =
            e->peer >= 0 && e->peer < P ? set[e->peer]->neighbors : NULL;
        const int block =
            there ? rota_edge_find(there->sent, there->n_sent, r->s->me, e->nth)
                  : -1;
        if (block < 0)
            return rota_fail(MPI_ERR_INTERN,
                             "rank %d expects a block from rank %d, which "
                             "sends it none",
                             r->s->me, e->peer);
        r->wanted[e->block] = label_of(set[e->peer], block);
    }
    return MPI_SUCCESS;
}

/* ---- all of it ----------------------------------------------------------- */

static void free_checker(checker *c)
{
    for (int q = 0; c->rank && q < c->P; q++) {
        free(c->rank[q].label);
        free(c->rank[q].wanted);
        free(c->rank[q].tmp);
        free(c->rank[q].mark);
        free(c->rank[q].handed);
        free(c->rank[q].flow.due);
        free(c->rank[q].flow.made);
        free(c->rank[q].flow.want);
        free(c->rank[q].flow.held);
    }
    free(c->rank);
    free(c->queue);
    free(c->table);
    free(c->node);
}

int rota_sched_check(const rota_sched *const set[], int P,
                     const size_t *const bytes[])
{
    checker c = {.P = P, .free_node = NO_NODE};
    int err = MPI_SUCCESS;

    c.rank = calloc((size_t)P, sizeof *c.rank);
    c.queue = malloc((size_t)P * sizeof *c.queue);
    if (!c.rank || !c.queue)
        err = rota_fail_mem("checking a schedule");
    for (int q = 0; q < P && err == MPI_SUCCESS; q++) {
        err = check_shape(set[q], P, q);
        if (err == MPI_SUCCESS)
            err = init_rank(&c.rank[q], set[q], bytes ? bytes[q] : NULL);
    }
    for (int q = 0; q < P && err == MPI_SUCCESS && set[q]->neighbors; q++)
        err = want(set, P, &c.rank[q]);
    for (int q = 0; q < P && err == MPI_SUCCESS; q++)
        enqueue(&c, q);
    while (c.queue_n > 0 && err == MPI_SUCCESS) {
        rank_state *const r = &c.rank[c.queue[c.queue_head]];
        c.queue_head = (c.queue_head + 1) % P;
        c.queue_n--;
        r->queued = false;
        err = advance(&c, r);
    }
    if (err == MPI_SUCCESS)
        err = check_end(&c);
    free_checker(&c);
    return err;
}

/* ---- messages that tell sizes -------------------------------------------- */

/* May message b follow message a of the same pair in a phase? Only where
 * messages go in list order, and never a direct one behind one with sizes: the
 * receive posted for the direct one would match the other. */
static bool go_together(const rota_sched *s, const rota_phase *phase,
                        rota_dir dir, uint32_t a, uint32_t b)
{
    return phase->window == 0 && !phase->sparse &&
           rota_msg_is_direct(s, dir, a) >= rota_msg_is_direct(s, dir, b);
}

/* last: [P] 1 + the last message to or from each rank, or 0. */
static int check_pairs(const rota_sched *s, uint32_t p, rota_dir dir,
                       uint32_t last[])
{
    const rota_phase *const phase = &s->phase[p];
    const rota_msgs *const l = &s->msgs[dir];

    for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++) {
        const int peer = l->msg[m].peer;
        const uint32_t before = last[peer];
        if (before > phase->msg[dir] &&
            !go_together(s, phase, dir, before - 1, m))
            return rota_fail(MPI_ERR_INTERN,
                             "schedule of rank %d, phase %u: messages with "
                             "rank %d that must not share a phase",
                             s->me, (unsigned)p, peer);
        last[peer] = m + 1;
    }
    return MPI_SUCCESS;
}

int rota_sched_check_varlen(const rota_sched *s)
{
    uint32_t *const last = calloc(2 * (size_t)s->P, sizeof *last);
    int err = last ? MPI_SUCCESS : rota_fail_mem("checking a schedule");

    for (uint32_t p = 0; p < s->n_phases && err == MPI_SUCCESS; p++) {
        err = check_pairs(s, p, ROTA_RECV, last);
        if (err == MPI_SUCCESS)
            err = check_pairs(s, p, ROTA_SEND, last + s->P);
    }
    free(last);
    return err;
}
