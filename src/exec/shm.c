/* shm.c - see shm.h. */
#define _GNU_SOURCE
#include "exec/shm.h"
#include "exec/ipc.h"
#include "exec/late.h"
#include "exec/move.h"
#include "exec/node.h"
#include "exec/ring.h"
#include "exec/staging.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

/* Longer messages go through a ring in pieces. Of MOST_ROOM bytes, in pieces of
 * 64 KiB, a ring is fastest (P = 2, messages of 64 KiB to 4 MiB by rota-bench
 * --kind fixed, rings of 128 KiB to 2 MiB). It is smaller, down to LEAST_ROOM,
 * where a node has many ranks or a process many plans: the rings of a plan stay
 * within PLAN_ROOM, and each takes a quarter of what those before have left of
 * PROCESS_ROOM. */
enum {
    MOST_ROOM = 1 << 20,
    LEAST_ROOM = 1 << 14,
    PLAN_ROOM = 1 << 23,
    PROCESS_ROOM = 1 << 26,
    LEAST_PIECE = 1 << 12,
};

/* Entries of a ring: at least so many, and enough for all messages of two runs, or
 * for all pieces of long ones. FEW_ENTRIES, so that the sender seldom looks how
 * many were taken, if the rings of all ranks of the node then stay within
 * QUICK_ROOM: what has left the cache until it is used again costs more (16 ranks
 * on 2 cores, 4 KiB: 8 % of the time). A ring of MOST_ROOM holds PIECES. */
enum { LEAST_ENTRIES = 2, FEW_ENTRIES = 8, MOST_ENTRIES = 64, PIECES = 16 };
enum { QUICK_ROOM = 1 << 20 };

/* Of a longer message only the first line is claimed ahead: more lines than a
 * core may have under way keep it from other work (4 KiB: 2 to 10 %). */
enum { MOST_CLAIMED = 1 << 11 };

/* The messages between this rank and another one of its node. */
typedef struct channel {
    int peer;
    rota_near *near;
    rota_ring ring[ROTA_N_DIRS];
    uint32_t messages[ROTA_N_DIRS]; /* of the schedule */
    uint32_t turn[ROTA_N_DIRS];     /* of them, complete in this run */
    size_t room;                    /* bytes of data in an entry to the peer */
    size_t volume;                  /* bytes of a run to the peer, at most */
    bool awaited[ROTA_N_DIRS];      /* messages open; until marks are set */
    bool unwoken[ROTA_N_DIRS];      /* written to the ring, or taken from it */
} channel;

struct rota_parcel {
    channel *with;
    uint32_t order;   /* among the messages of the pair and direction */
    const char *head; /* sent first, head_bytes of it, and then body; or NULL */
    char *body;       /* received: where its pieces are put */
    size_t head_bytes;
    size_t bytes, moved; /* in all, so far */
    uint64_t entry;      /* sent: not 0: complete when this one is taken */
    bool foreign;        /* received: not of the expected length */
    char *own;           /* staging of elements, where counts vary */
    size_t own_room;
};

typedef struct posted {
    rota_dir dir;
    uint32_t m;
} posted;

/* Of all plans of the process. */
static _Atomic size_t rings_bytes;

struct rota_shm {
    int n;
    channel *channel;                 /* [n] */
    rota_parcel *parcel[ROTA_N_DIRS]; /* [n messages] with: NULL by MPI */
    char *memory;                     /* of all rings, in the arena */
    size_t bytes, most_room;          /* of that, and for each ring */
    bool long_ones; /* there may be more than an entry holds */
    posted *open;   /* [most messages of a phase] posted and not complete */
    uint32_t n_open;
    bool unwoken;
    struct rota_shm *next; /* of those whose readers have not finished */
};

/* ---- making ------------------------------------------------------------------ */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes of a message in a ring. */
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

static channel *find_channel(const struct rota_shm *shm, int peer)
{
    for (int i = 0; i < shm->n; i++)
        if (shm->channel[i].peer == peer)
            return &shm->channel[i];
    return NULL;
}

static void enlist(const rota_exec *x, rota_dir dir, uint32_t m, size_t piece)
{
    struct rota_shm *const shm = x->shm;
    channel *const c = find_channel(shm, x->s->msgs[dir].msg[m].peer);
    rota_parcel *const p = &shm->parcel[dir][m];
    const size_t bytes = most_bytes(x, dir, m);
    const size_t room = smaller(bytes, piece);

    if (!c)
        return;
    p->with = c;
    p->order = c->messages[dir]++;
    shm->long_ones = shm->long_ones || bytes > piece;
    if (dir == ROTA_RECV)
        return;
    c->room = room > c->room ? room : c->room;
    c->volume += smaller(bytes, MOST_ROOM);
}

/* Bytes that the rings of a plan may take. */
static size_t room_for_all(void)
{
    const size_t used = atomic_load(&rings_bytes);
    const size_t left = used < PROCESS_ROOM ? (PROCESS_ROOM - used) / 4 : 0;

    return smaller(left, PLAN_ROOM);
}

/* And each of n. */
static size_t room_for_each(size_t n)
{
    const size_t each = room_for_all() / (n + 1);

    if (each < LEAST_ROOM)
        return LEAST_ROOM;
    return smaller(each, MOST_ROOM);
}

/* Those of a native phase go by MPI, and those found by consensus. Returns the
 * most messages of a phase. */
static uint32_t enlist_all(const rota_exec *x)
{
    const size_t piece = x->shm->most_room / PIECES > LEAST_PIECE
                             ? x->shm->most_room / PIECES
                             : LEAST_PIECE;
    uint32_t most = 0;

    for (uint32_t i = 0; i < x->s->n_phases; i++) {
        const rota_phase *const phase = &x->s->phase[i];
        uint32_t n = 0;
        if (phase->native || (phase->sparse && x->collect))
            continue;
        for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
            n += phase[1].msg[dir] - phase->msg[dir];
            for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++)
                enlist(x, (rota_dir)dir, m, piece);
        }
        most = n > most ? n : most;
    }
    return most;
}

static uint64_t entries_of(const rota_exec *x, const channel *c)
{
    const size_t peers = (size_t)x->shm->n, most_room = x->shm->most_room;
    const size_t quick_room =
        smaller(most_room, QUICK_ROOM / (peers * (peers + 1)));
    const uint64_t pieces = c->room ? (c->volume + c->room - 1) / c->room : 0;
    const uint64_t messages = c->messages[ROTA_SEND];
    const uint64_t run = pieces > messages ? pieces : messages;
    const uint64_t wanted = smaller(2 * run, MOST_ENTRIES);
    uint64_t n = LEAST_ENTRIES;

    while ((n < wanted && 2 * n * c->room <= most_room) ||
           (n < FEW_ENTRIES && 2 * n * c->room <= quick_room))
        n *= 2;
    return n;
}

static size_t ring_bytes(const rota_exec *x, const channel *c)
{
    const size_t line = 2 * ROTA_CACHE_LINE; /* which the ring's head fills */
    const size_t bytes =
        rota_ring_bytes(rota_ring_stride(c->room), entries_of(x, c));

    return c->messages[ROTA_SEND] ? (bytes + line - 1) / line * line : 0;
}

static size_t all_rings(const rota_exec *x)
{
    size_t bytes = 0;

    for (int i = 0; i < x->shm->n; i++)
        bytes += ring_bytes(x, &x->shm->channel[i]);
    return bytes;
}

static void make_rings(const rota_exec *x)
{
    const rota_near *const me = &x->node->near[x->node->me];
    char *at = x->shm->memory;

    for (int i = 0; i < x->shm->n; i++) {
        channel *const c = &x->shm->channel[i];
        me->board[x->node->of[c->peer]] = 0; /* there is none */
        if (c->messages[ROTA_SEND] == 0)
            continue;
        rota_ring_make(&c->ring[ROTA_SEND], at, rota_ring_stride(c->room),
                       entries_of(x, c));
        me->board[x->node->of[c->peer]] = rota_arena_offset(at);
        at += ring_bytes(x, c);
    }
}

static int make_channels(const rota_exec *x)
{
    struct rota_shm *const shm = x->shm;
    const size_t n = (size_t)x->node->n;

    shm->channel = calloc(n, sizeof *shm->channel);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        shm->parcel[dir] =
            calloc((size_t)x->s->msgs[dir].n + 1, sizeof *shm->parcel[dir]);
    if (!shm->channel || !shm->parcel[ROTA_RECV] || !shm->parcel[ROTA_SEND])
        return rota_fail_mem("messages within the node");
    for (int q = 0; q < x->s->P; q++)
        if (x->node->of[q] >= 0 && q != x->s->me)
            shm->channel[shm->n++] =
                (channel){.peer = q, .near = &x->node->near[x->node->of[q]]};
    return MPI_SUCCESS;
}

/* ---- memory that others may still read ------------------------------------------ */

static struct rota_shm *lingering;
static pthread_mutex_t linger_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_read(struct rota_shm *shm)
{
    for (int i = 0; i < shm->n; i++) {
        rota_ring *const r = &shm->channel[i].ring[ROTA_SEND];
        if (r->head && !rota_ring_taken(r, r->next))
            return false;
    }
    return true;
}

static void destroy(struct rota_shm *shm)
{
    if (rota_arena_put(shm->memory))
        atomic_fetch_sub(&rings_bytes, shm->bytes);
    free(shm->channel);
    free(shm);
}

static void linger(struct rota_shm *shm)
{
    pthread_mutex_lock(&linger_lock);
    shm->next = lingering;
    lingering = shm;
    pthread_mutex_unlock(&linger_lock);
}

static void reap(void)
{
    pthread_mutex_lock(&linger_lock);
    for (struct rota_shm **link = &lingering; *link;) {
        struct rota_shm *const shm = *link;
        if (!is_read(shm)) {
            link = &shm->next;
            continue;
        }
        *link = shm->next;
        destroy(shm);
    }
    pthread_mutex_unlock(&linger_lock);
}

void rota_shm_unbind(rota_exec *x)
{
    struct rota_shm *const shm = x->shm;

    if (!shm)
        return;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        for (uint32_t m = 0; shm->parcel[dir] && m < x->s->msgs[dir].n; m++)
            free(shm->parcel[dir][m].own);
        free(shm->parcel[dir]);
    }
    free(shm->open);
    x->shm = NULL;
    if (!shm->memory || is_read(shm))
        destroy(shm);
    else
        linger(shm);
}

int rota_shm_reserve(rota_exec *x, bool *refused)
{
    reap();
    *refused = false;
    x->shm = calloc(1, sizeof *x->shm);
    if (!x->shm)
        return rota_fail_mem("messages within the node");
    ROTA_TRY(make_channels(x));
    x->shm->most_room = room_for_each((size_t)x->shm->n);
    const uint32_t most = enlist_all(x);
    x->shm->open = malloc((most + 1) * sizeof *x->shm->open);
    if (!x->shm->open)
        return rota_fail_mem("messages within the node");
    x->shm->bytes = all_rings(x);
    x->shm->memory = rota_arena_take(x->shm->bytes);
    *refused = x->shm->bytes && !x->shm->memory;
    if (x->shm->memory)
        atomic_fetch_add(&rings_bytes, x->shm->bytes);
    if (!*refused)
        make_rings(x);
    return MPI_SUCCESS;
}

/* A peer that has no ring sends nothing, whatever this rank expects: counts that
 * were not checked may differ. */
void rota_shm_attach(rota_exec *x)
{
    for (int i = 0; i < x->shm->n; i++) {
        channel *const c = &x->shm->channel[i];
        const uint64_t at = c->near->board[x->node->me];
        if (at)
            rota_ring_open(&c->ring[ROTA_RECV], (char *)c->near->head + at);
    }
}

size_t rota_shm_bytes(const rota_exec *x)
{
    return x->shm->bytes;
}

bool rota_shm_wants_arena(const rota_exec *x)
{
    return x->shm && x->shm->long_ones;
}

rota_parcel *rota_shm_parcel(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->shm && x->shm->parcel[dir][m].with ? &x->shm->parcel[dir][m]
                                                 : NULL;
}

/* ---- waking ------------------------------------------------------------------ */

/* Something was put into a ring, or taken from one. */
static void changed(const rota_exec *x, channel *c, rota_dir dir)
{
    c->unwoken[dir] = x->shm->unwoken = true;
}

/* Seats of a gong that is to be struck. */
typedef struct strike {
    rota_gong *gong;
    uint32_t seats;
} strike;

static void carry_out(strike *s)
{
    if (s->seats)
        rota_gong_strike(s->gong, s->seats);
    s->seats = 0;
}

/* Wake the rank at position i, at once or with others. One that since it was
 * counted down has begun to wait for other ranks than those of the node sleeps
 * until its limit. */
static void wake(const rota_node *node, int i, strike *s)
{
    rota_bell *const bell = node->near[i].bell;

    if (rota_bell_gong(bell) == 0) {
        rota_bell_wake(bell);
        return;
    }
    if (s->gong != rota_node_gong(node, i))
        carry_out(s);
    s->gong = rota_node_gong(node, i);
    s->seats |= (uint32_t)1 << rota_node_seat(i);
}

/* Does the owner wait for something that ranks of the node may do? */
static bool is_for(rota_bell *bell, const rota_node *node)
{
    const uint64_t gong = rota_bell_gong(bell);

    return rota_bell_is_armed(bell) && (gong == 0 || gong == node->gong_name);
}

/* Count on the bell of the other rank what was written to it. Returns whether it
 * is to be woken. A ring from which all has been taken may be gone. */
static bool count(const rota_node *node, channel *c)
{
    rota_bell *const bell = c->near->bell;
    const bool any = c->unwoken[ROTA_SEND] || c->unwoken[ROTA_RECV];
    bool last = false;

    if (any && is_for(bell, node)) {
        if (c->unwoken[ROTA_SEND] && rota_ring_answer(&c->ring[ROTA_SEND]))
            last = rota_bell_count(bell);
        if (c->unwoken[ROTA_RECV] && rota_bell_heeds_taking(bell))
            last = rota_bell_count(bell) || last;
    }
    c->unwoken[ROTA_SEND] = c->unwoken[ROTA_RECV] = false;
    return last;
}

void rota_shm_flush(rota_exec *x)
{
    struct rota_shm *const shm = x->shm;
    strike s = {0};

    if (!shm || !shm->unwoken)
        return;
    rota_bell_fence();
    for (int i = 0; i < shm->n; i++) {
        channel *const c = &shm->channel[i];
        if (count(x->node, c))
            wake(x->node, x->node->of[c->peer], &s);
    }
    carry_out(&s);
    shm->unwoken = false;
}

/* ---- sending ----------------------------------------------------------------- */

/* Are the message's blocks elements of a datatype, or apart from each other? */
static bool is_gathered(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->s->msgs[dir];

    return x->wire[dir][m].packed ||
           !rota_type_is_bytes(rota_block_type(x, l->item[l->msg[m].first]));
}

/* Memory to gather a message in. */
static int stage(const rota_exec *x, rota_dir dir, uint32_t m, char **memory)
{
    const rota_wire *const w = &x->wire[dir][m];
    rota_parcel *const p = w->parcel;

    if (w->packed) {
        *memory = x->area + w->stage;
        return MPI_SUCCESS;
    }
    ROTA_TRY(
        rota_grow(&p->own, &p->own_room, p->bytes, "a message of elements"));
    *memory = p->own;
    return MPI_SUCCESS;
}

/* Does the message fit the next entry, which is free? */
static rota_entry *whole_entry(rota_parcel *p)
{
    rota_ring *const r = &p->with->ring[ROTA_SEND];

    return p->with->turn[ROTA_SEND] == p->order && p->bytes <= rota_ring_room(r)
               ? rota_ring_begin(r)
               : NULL;
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
static void claim(const rota_ring *r, size_t bytes)
{
    const char *const next = (const char *)rota_ring_entry(r, r->next);
    const size_t n = bytes <= MOST_CLAIMED ? bytes : 0;

    if (r->next - r->seen >= r->entries)
        return;
    for (size_t at = 0; at < ROTA_ENTRY_HEAD + n; at += ROTA_CACHE_LINE)
        claim_line(next + at);
}

static void put(const rota_exec *x, rota_parcel *p, rota_entry_kind kind)
{
    rota_ring *const r = &p->with->ring[ROTA_SEND];

    rota_ring_put(r, kind, p->bytes);
    claim(r, kind == ROTA_ENTRY_DATA ? p->bytes : 0);
    changed(x, p->with, ROTA_SEND);
}

/* Find where the message lies, or make it so; if it fits an entry it is packed
 * right there. */
static int prepare_send(rota_exec *x, uint32_t m)
{
    const rota_msgs *const l = &x->s->msgs[ROTA_SEND];
    rota_parcel *const p = x->wire[ROTA_SEND][m].parcel;

    p->head = NULL;
    p->head_bytes = p->moved = 0;
    p->entry = 0;
    if (x->wire[ROTA_SEND][m].late)
        return rota_late_gather(x, m, &p->head, &p->head_bytes, &p->body,
                                &p->bytes);
    p->bytes = rota_message_bytes(x, ROTA_SEND, m);
    if (p->bytes == 0) /* its block may be above the bound */
        return MPI_SUCCESS;
    if (!is_gathered(x, ROTA_SEND, m)) {
        p->body = rota_block_at(x, l->item[l->msg[m].first]);
        return MPI_SUCCESS;
    }
    rota_entry *const e = whole_entry(p);
    if (e) {
        ROTA_TRY(rota_message_pack(x, m, e->data));
        put(x, p, ROTA_ENTRY_DATA);
        p->moved = p->bytes;
        return MPI_SUCCESS;
    }
    ROTA_TRY(stage(x, ROTA_SEND, m, &p->body));
    return rota_message_pack(x, m, p->body);
}

/* Copy n bytes of head and body, from the one at moved on. */
static void fill(const rota_parcel *p, char *to, size_t n)
{
    size_t at = p->moved;

    if (at < p->head_bytes) {
        const size_t left = p->head_bytes - at;
        const size_t k = smaller(n, left);
        memcpy(to, p->head + at, k);
        to += k;
        at += k;
        n -= k;
    }
    if (n > 0)
        rota_copy_fast(to, p->body + (at - p->head_bytes), n);
}

/* May the receiver read the message where it lies? */
static bool is_readable(const rota_exec *x, const rota_parcel *p,
                        rota_entry_kind *kind)
{
    const size_t body = p->bytes - p->head_bytes;

    *kind = ROTA_ENTRY_IPC;
    if (x->ipc)
        return true;
    if (sizeof(uint64_t) + p->head_bytes >
        rota_ring_room(&p->with->ring[ROTA_SEND]))
        return false;
    *kind = ROTA_ENTRY_ARENA;
    if (rota_arena_holds(p->body, body))
        return body >= x->arena_from;
    *kind = ROTA_ENTRY_CMA;
    return body >= x->cma_from;
}

/* On the host: and what goes before the message. */
static void write_place(const rota_parcel *p, rota_entry *e,
                        rota_entry_kind kind)
{
    const uint64_t place = kind == ROTA_ENTRY_ARENA
                               ? rota_arena_offset(p->body)
                               : (uint64_t)(uintptr_t)p->body;

    memcpy(e->data, &place, sizeof place);
    if (p->head_bytes > 0)
        memcpy(e->data + sizeof place, p->head, p->head_bytes);
}

static void write_ipc_place(const rota_exec *x, const rota_parcel *p,
                            rota_entry *e)
{
    const rota_ipc_place place = rota_ipc_tell(x, p->with->peer, p->body);

    memcpy(e->data, &place, sizeof place);
}

/* Tell where the message lies. */
static void put_place(const rota_exec *x, rota_parcel *p, rota_entry *e,
                      rota_entry_kind kind)
{
    if (kind == ROTA_ENTRY_IPC)
        write_ipc_place(x, p, e);
    else
        write_place(p, e, kind);
    put(x, p, kind);
    p->moved = p->bytes;
    p->entry = p->with->ring[ROTA_SEND].next;
}

/* Write entries as long as there is room. */
static void push(const rota_exec *x, rota_parcel *p)
{
    rota_ring *const r = &p->with->ring[ROTA_SEND];
    rota_entry_kind kind;

    while (p->moved < p->bytes) {
        rota_entry *const e = rota_ring_begin(r);
        if (!e)
            return;
        if (p->moved == 0 && is_readable(x, p, &kind)) {
            put_place(x, p, e, kind);
            return;
        }
        const size_t left = p->bytes - p->moved, room = rota_ring_room(r);
        const size_t n = smaller(left, room);
        fill(p, e->data, n);
        put(x, p, ROTA_ENTRY_DATA);
        p->moved += n;
    }
}

/* ---- receiving --------------------------------------------------------------- */

/* The message lies in one piece at from. */
static int land(rota_exec *x, uint32_t m, char *from)
{
    const rota_msgs *const l = &x->s->msgs[ROTA_RECV];
    rota_parcel *const p = x->wire[ROTA_RECV][m].parcel;

    if (x->wire[ROTA_RECV][m].late) {
        rota_copy_fast(p->body, from, p->bytes);
        return rota_late_unpack(x, m);
    }
    if (is_gathered(x, ROTA_RECV, m))
        return rota_message_unpack(x, m, from);
    rota_copy_fast(rota_block_at(x, l->item[l->msg[m].first]), from, p->bytes);
    return MPI_SUCCESS;
}

/* All pieces have been put together in body. */
static int finish(rota_exec *x, uint32_t m)
{
    if (x->wire[ROTA_RECV][m].late)
        return rota_late_unpack(x, m);
    return is_gathered(x, ROTA_RECV, m)
               ? rota_message_unpack(x, m, x->wire[ROTA_RECV][m].parcel->body)
               : MPI_SUCCESS;
}

/* The first entry is here: where do the pieces go? */
static int prepare_recv(rota_exec *x, uint32_t m, const rota_entry *e)
{
    const rota_msgs *const l = &x->s->msgs[ROTA_RECV];
    rota_parcel *const p = x->wire[ROTA_RECV][m].parcel;

    if (x->wire[ROTA_RECV][m].late) {
        const bool whole = rota_entry_kind_of(e) == ROTA_ENTRY_DATA;
        p->bytes = e->bytes;
        return rota_late_room(x, m, whole ? p->bytes : rota_late_header(x, m),
                              &p->body);
    }
    p->foreign = e->bytes != p->bytes;
    if (p->foreign) {
        rota_exec_note(x, ROTA_MISMATCH, p->with->peer, e->bytes, p->bytes);
        p->bytes = e->bytes;
        return MPI_SUCCESS;
    }
    if (is_gathered(x, ROTA_RECV, m))
        return stage(x, ROTA_RECV, m, &p->body);
    p->body = rota_block_at(x, l->item[l->msg[m].first]);
    return MPI_SUCCESS;
}

static int read_directly(const rota_parcel *p, uint64_t at, char *to, size_t n)
{
    while (n > 0) {
        struct iovec here = {to, n}, there = {(void *)(uintptr_t)at, n};
        const ssize_t got =
            process_vm_readv((pid_t)p->with->near->pid, &here, 1, &there, 1, 0);
        if (got <= 0)
            return rota_fail(MPI_ERR_OTHER, "memory of rank %d: %s",
                             p->with->peer,
                             got < 0 ? strerror(errno) : "nothing is there");
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return MPI_SUCCESS;
}

/* Where the kernel would copy slowly (move.h), by way of memory that is half a
 * page away from both ends. */
static int read_private(const rota_parcel *p, uint64_t at, char *to, size_t n)
{
    enum { ROOM = 8 * ROTA_COPY_PAGE };
    char memory[ROOM + ROTA_COPY_PAGE];
    char *const way =
        memory + (at + ROTA_COPY_PAGE / 2 - (uintptr_t)memory) % ROTA_COPY_PAGE;

    if (!rota_copy_is_slow(to, at))
        return read_directly(p, at, to, n);
    for (size_t done = 0; done < n; done += ROOM) {
        const size_t k = smaller(n - done, ROOM);
        ROTA_TRY(read_directly(p, at + done, way, k));
        memcpy(to + done, way, k);
    }
    return MPI_SUCCESS;
}

/* That the copy is queued is enough for the sender to know (ipc.h). */
static int fetch_ipc(rota_exec *x, const rota_parcel *p, const rota_entry *e)
{
    rota_ipc_place place;

    memcpy(&place, e->data, sizeof place);
    return rota_ipc_fetch(x, p->with->peer, &place, p->body, p->bytes);
}

/* The entry says where the message lies. */
static int fetch(rota_exec *x, uint32_t m, rota_entry *e, rota_entry_kind kind)
{
    rota_parcel *const p = x->wire[ROTA_RECV][m].parcel;
    const bool late = x->wire[ROTA_RECV][m].late != NULL;
    const size_t head = late ? rota_late_header(x, m) : 0;
    uint64_t place;

    if (kind == ROTA_ENTRY_IPC)
        return fetch_ipc(x, p, e);
    memcpy(&place, e->data, sizeof place);
    if (!late && kind == ROTA_ENTRY_ARENA)
        return land(x, m, (char *)p->with->near->head + place);
    char *to = p->body;
    memcpy(p->body, e->data + sizeof place, head);
    if (late)
        ROTA_TRY(rota_late_body(x, m, p->bytes - head, &to));
    if (kind == ROTA_ENTRY_CMA)
        ROTA_TRY(read_private(p, place, to, p->bytes - head));
    else
        rota_copy_fast(to, (char *)p->with->near->head + place,
                       p->bytes - head);
    return finish(x, m);
}

/* One entry's part of the message, n bytes. */
static int take_part(rota_exec *x, uint32_t m, rota_entry *e, size_t n)
{
    rota_parcel *const p = x->wire[ROTA_RECV][m].parcel;
    const rota_entry_kind kind = rota_entry_kind_of(e);

    if (p->foreign)
        return MPI_SUCCESS;
    if (kind != ROTA_ENTRY_DATA)
        return fetch(x, m, e, kind);
    if (n == p->bytes)
        return land(x, m, e->data);
    rota_copy_fast(p->body + p->moved, e->data, n);
    return p->moved + n == p->bytes ? finish(x, m) : MPI_SUCCESS;
}

static int take(rota_exec *x, uint32_t m, rota_entry *e)
{
    rota_parcel *const p = x->wire[ROTA_RECV][m].parcel;
    rota_ring *const r = &p->with->ring[ROTA_RECV];

    if (p->moved == 0)
        ROTA_TRY(prepare_recv(x, m, e));
    const size_t left = p->bytes - p->moved, room = rota_ring_room(r);
    const bool cut = rota_entry_kind_of(e) == ROTA_ENTRY_DATA && left > room;
    const size_t n = cut ? room : left;
    const int err = take_part(x, m, e, n);
    p->moved += n;
    rota_ring_take(r);
    changed(x, p->with, ROTA_RECV);
    return err;
}

static int pull(rota_exec *x, uint32_t m)
{
    rota_parcel *const p = x->wire[ROTA_RECV][m].parcel;

    while (p->moved < p->bytes) {
        const rota_ring *const r = &p->with->ring[ROTA_RECV];
        rota_entry *const e = r->head ? rota_ring_look(r) : NULL;
        if (!e)
            return MPI_SUCCESS;
        ROTA_TRY(take(x, m, e));
    }
    return MPI_SUCCESS;
}

/* ---- messages ---------------------------------------------------------------- */

void rota_shm_begin(rota_exec *x)
{
    x->shm->n_open = 0;
    for (int i = 0; i < x->shm->n; i++) {
        channel *const c = &x->shm->channel[i];
        c->turn[ROTA_RECV] = c->turn[ROTA_SEND] = 0;
    }
}

static int prepare(rota_exec *x, rota_dir dir, uint32_t m)
{
    rota_parcel *const p = x->wire[dir][m].parcel;

    if (dir == ROTA_SEND)
        return prepare_send(x, m);
    p->moved = 0;
    p->foreign = false;
    /* Where sizes come with the message, at least a header does. */
    p->bytes = x->wire[dir][m].late ? 1 : rota_message_bytes(x, dir, m);
    return MPI_SUCCESS;
}

int rota_shm_test(rota_exec *x, rota_dir dir, uint32_t m, bool *moved,
                  bool *done)
{
    rota_parcel *const p = x->wire[dir][m].parcel;
    const size_t before = p->moved;

    if (p->with->turn[dir] == p->order) {
        if (dir == ROTA_SEND)
            push(x, p);
        else
            ROTA_TRY(pull(x, m));
        p->with->turn[dir] += p->moved == p->bytes;
    }
    *done = p->with->turn[dir] > p->order &&
            (dir == ROTA_RECV || p->entry == 0 ||
             rota_ring_taken(&p->with->ring[ROTA_SEND], p->entry));
    *moved = *moved || *done || p->moved != before;
    return MPI_SUCCESS;
}

/* Are open messages of the phase advanced by rota_shm_serve? Else each is tested
 * by itself. */
static bool is_served(const rota_phase *phase)
{
    return phase->window == 0 && !phase->flow;
}

int rota_shm_post(rota_exec *x, rota_dir dir, uint32_t m)
{
    bool moved = false, done = false;

    ROTA_TRY(prepare(x, dir, m));
    if (dir == ROTA_SEND)
        ROTA_TRY(rota_shm_test(x, dir, m, &moved, &done));
    if (!done && is_served(&x->s->phase[x->phase]))
        x->shm->open[x->shm->n_open++] = (posted){dir, m};
    return MPI_SUCCESS;
}

int rota_shm_serve(rota_exec *x, bool *moved, bool *done)
{
    struct rota_shm *const shm = x->shm;
    uint32_t left = 0;
    int err = MPI_SUCCESS;

    for (uint32_t i = 0; i < shm->n_open; i++) {
        const posted o = shm->open[i];
        bool complete = false;
        if (err == MPI_SUCCESS)
            err = rota_shm_test(x, o.dir, o.m, moved, &complete);
        if (complete && x->staging && o.dir == ROTA_RECV)
            err = rota_staging_arrived(x, o.m);
        if (!complete)
            shm->open[left++] = o;
    }
    shm->n_open = left;
    *done = left == 0;
    return err;
}

/* ---- waiting ----------------------------------------------------------------- */

/* Note whom the messages posted in the phase wait for. Is one of them under way,
 * so that its next piece may be taken or written? */
static bool find_awaited(rota_exec *x)
{
    const struct rota_shm *const shm = x->shm;
    bool under_way = false;

    for (uint32_t i = 0; i < shm->n_open; i++) {
        const posted o = shm->open[i];
        const rota_parcel *const p = x->wire[o.dir][o.m].parcel;
        p->with->awaited[o.dir] = true;
        under_way = under_way || (p->moved > 0 && p->moved < p->bytes);
    }
    return under_way;
}

/* All messages that are still to come in the run. */
static void find_all_awaited(rota_exec *x)
{
    const rota_msgs *const l = &x->s->msgs[ROTA_RECV];

    for (uint32_t m = x->s->phase[x->phase].msg[ROTA_RECV]; m < l->n; m++) {
        const rota_wire *const w = &x->wire[ROTA_RECV][m];
        rota_parcel *const p = w->parcel;
        if (p && p->order >= p->with->turn[ROTA_RECV] &&
            (w->late || rota_message_bytes(x, ROTA_RECV, m) > 0))
            p->with->awaited[ROTA_RECV] = true;
    }
}

/* One mark a ring, however many messages are to come through it. */
static int count_marks(const struct rota_shm *shm, bool *takes)
{
    int n = 0;

    for (int i = 0; i < shm->n; i++) {
        const channel *const c = &shm->channel[i];
        n += c->awaited[ROTA_SEND] + c->awaited[ROTA_RECV];
        *takes = *takes || c->awaited[ROTA_SEND];
    }
    return n;
}

void rota_shm_mark(rota_exec *x)
{
    for (int i = 0; i < x->shm->n; i++) {
        channel *const c = &x->shm->channel[i];
        if (c->awaited[ROTA_RECV] && c->ring[ROTA_RECV].head)
            rota_ring_await(&c->ring[ROTA_RECV]);
        c->awaited[ROTA_SEND] = c->awaited[ROTA_RECV] = false;
    }
}

/* Where each message that comes may let another one go, the first is enough. */
int rota_shm_await(rota_exec *x, bool *takes)
{
    const bool served = is_served(&x->s->phase[x->phase]);
    bool all = false;

    if (served)
        all = !find_awaited(x);
    else
        find_all_awaited(x);
    *takes = *takes || !served;
    const int n = count_marks(x->shm, takes);
    return all && n > 0 ? n : 1;
}

void rota_shm_call(rota_exec *x)
{
    const bool all = x->s->n_phases > 1 || !is_served(&x->s->phase[x->phase]);

    find_awaited(x);
    for (int i = 0; i < x->shm->n; i++) {
        channel *const c = &x->shm->channel[i];
        rota_bell *const helper = &c->near->head->helper;
        if ((all || c->awaited[ROTA_SEND] || c->awaited[ROTA_RECV]) &&
            rota_bell_is_armed(helper) && rota_bell_count(helper))
            rota_bell_wake(helper);
        c->awaited[ROTA_SEND] = c->awaited[ROTA_RECV] = false;
    }
}
