/* engine.c - see engine.h.
 *
 * Events are what touches something that ranks share: posting a message, entering
 * a phase, finding a message complete where the next is posted then. A rank's own
 * time runs ahead of the clock in between.
 */
#include "sim/engine.h"

#include "sim/events.h"
#include "sim/script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum { ENTER, POST, AWAIT, SENT, CAME, ASKED, ANSWERED };

/* What goes in a message. */
typedef enum part { ALL, HEAD, BLOCKS, CELL } part;

typedef struct transfer {
    int from, to;
    uint32_t m, rm; /* the sender's number and the receiver's; CELL: step */
    part part;
    sim_size size;
    double arrived; /* eager: when it is there; 0: it waits for its receiver */
} transfer;

/* One that is posted by its sender only. */
typedef struct pending {
    transfer t;
    uint32_t next;
} pending;

enum { BUCKETS = 1 << 20 };

/* Receives of a flow that no send waits for, and those that one does. */
enum { REST, AWAITED, NONE_OF_THEM };

typedef struct flow {
    uint32_t *wants; /* [sends of the phase] still to come before each */
    uint32_t *queue; /* sends of the schedule and, their number added, groups of
                         copies: ready, in order */
    uint32_t at, end; /* of queue */
    bool posting;
    bool *in_turn;     /* [sends of the phase] no copy, but behind some */
    uint32_t copies;   /* the first send of the phase with copies */
    uint32_t entering; /* sends left of those that are posted as the phase is
                          entered: in list order */
    struct {
        uint32_t *came; /* in the order in which they came */
        uint32_t taken, n;
    } in[NONE_OF_THEM];
    int taking;    /* these, all that have come, before copies go on */
    double copied; /* bytes, and those posted in turn, since messages were
                      taken in */
} flow;

typedef struct rank {
    double t;      /* its own time */
    double taking; /* until when it takes messages through shared memory */
    double last;   /* when the last of its sends was complete */
    int32_t step;  /* that it has entered; -1: none */
    uint32_t next; /* send to be posted */
    uint32_t left; /* messages of the step that are not complete */
    uint32_t at;   /* receive that is waited for, or of a window the next */
    uint32_t n_pending;
    uint32_t expects; /* receives by MPI that are posted and have not come */
    bool posted, awaits, open; /* all is posted; an event is under way; the
                                  blocks of receive at may come */
    uint32_t room;
    double *came; /* [receives of the step] when; NAN: not yet */
    double *head; /* likewise of sizes */
    float *cost;  /* ns that unpacking each takes; < 0: no blocks follow */
    float *moved; /* bytes of it from other ranks of the node */
    flow flow;
} rank;

/* Which sends of a flow wait for which receives, of a representative, and groups
 * of copies with the messages that they are of. */
typedef struct waits {
    uint32_t *begin; /* [n receives + 1] of those in send */
    uint32_t *send;
    uint32_t *wants;    /* [n sends] */
    uint32_t *next;     /* [n sends] the next of the phase to the same rank,
                           which waits for this one to be posted, counted from
                           the phase's first; or ROTA_NO_MSG */
    rota_group *group;  /* copies of the schedule */
    uint32_t *of_phase; /* [n phases + 1] its first group */
    bool *awaited; /* [n receives] a send waits for it, or for a later one of
                           its phase from the same rank */
} waits;

typedef struct sim {
    const sim_case *c;
    const sim_machine *m;
    sim_traffic t;
    rota_choice choice;
    sim_script *script; /* [period] */
    waits *waits;       /* [period] */
    rank *rank;         /* [P] */
    sim_wires wires;
    sim_events events;
    uint32_t *bucket; /* [BUCKETS] of pending */
    pending *pool;
    uint32_t n_pool, pool_room, spare;
    int *node_here;      /* [n_nodes] ranks in its barrier */
    double *node_latest; /* [n_nodes] */
    double *carried; /* [P * P] of both ranks, when the last data were there;
                            NULL: no message asks */
    sim_result result;
} sim;

/* ---- looking up ---------------------------------------------------------- */

static const sim_script *script_of(const sim *x, int r)
{
    return &x->script[r % x->t.period];
}

static const sim_step *step_of(const sim *x, int r)
{
    return &script_of(x, r)->step[x->rank[r].step];
}

static const rota_phase *phase_of(const sim *x, int r)
{
    return &sim_rep_of(&x->t, r)->s.phase[step_of(x, r)->phase];
}

static int node_of(const sim *x, int r)
{
    return x->t.topo->node[r];
}

static sim_place place_of(const sim *x, int r)
{
    return sim_place_of(x->m, x->t.topo, r);
}

static double price(const sim *x, int term)
{
    return x->m->prices.ns[term];
}

static uint32_t cells_of(const sim *x, int r, uint32_t rm)
{
    return script_of(x, r)->cells[rm];
}

static bool sizes_first(const sim *x)
{
    return x->choice.metadata == ROTA_META_TWO_PHASE ||
           x->choice.metadata == ROTA_META_COMBINED;
}

static double copy_ns(sim *x, double bytes, double blocks)
{
    x->result.copied += bytes;
    return bytes * price(x, ROTA_TERM_COPIED_BYTE) +
           blocks * price(x, ROTA_TERM_COPIED_BLOCK);
}

/* ---- what goes in a message ---------------------------------------------- */

/* Send m of rank r, without its size. */
static transfer send_of(const sim *x, int r, uint32_t m)
{
    const sim_rep *const rep = sim_rep_of(&x->t, r);
    const int peer = rep->s.msgs[ROTA_SEND].msg[m].peer;

    return (transfer){.from = r,
                      .to = sim_peer(&x->t, r, peer),
                      .m = m,
                      .rm = rep->partner[ROTA_SEND][m]};
}

static double wire_bytes(const sim *x, const transfer *f)
{
    const uint32_t cells = f->part == CELL ? 0 : cells_of(x, f->to, f->rm);
    const double told = (double)cells * x->c->form.cell;
    const bool combined = x->choice.metadata == ROTA_META_COMBINED;

    switch (f->part) {
    case CELL:
        return sizeof(uint64_t);
    case HEAD:
        return combined ? x->c->form.cell : told;
    case BLOCKS:
        return f->size.bytes + (combined ? told : 0);
    default:
        return f->size.bytes + told;
    }
}

static uint32_t n_blocks(const sim *x, int r, uint32_t rm)
{
    const rota_msg *const m = &sim_rep_of(&x->t, r)->s.msgs[ROTA_RECV].msg[rm];

    return m[1].first - m[0].first;
}

/* Messages of more blocks are taken to have bytes, which is quicker to say. */
enum { MANY = 64 };

static bool has_bytes(const sim *x, const transfer *f)
{
    return f->size.n > 0 || n_blocks(x, f->to, f->rm) > MANY;
}

static bool brings_bytes(sim *x, int r, uint32_t rm)
{
    return n_blocks(x, r, rm) > MANY || sim_message(&x->t, r, rm).n > 0;
}

/* A message that has no bytes is not sent, unless it tells sizes. */
static bool is_left_out(sim *x, int r, uint32_t rm)
{
    const sim_script *const k = script_of(x, r);

    if (k->dropped[ROTA_RECV] && k->dropped[ROTA_RECV][rm])
        return true;
    return k->cells[rm] == 0 && !brings_bytes(x, r, rm);
}

static bool is_apart(const sim *x, int r, rota_dir dir, uint32_t m)
{
    const bool *const apart = sim_rep_of(&x->t, r)->apart[dir];

    return apart && apart[m];
}

static bool is_shared(const sim *x, const transfer *f)
{
    return x->c->shared && !x->c->form.by_mpi &&
           node_of(x, f->from) == node_of(x, f->to);
}

/* Through shared memory. */
static rota_link link_of(const sim *x, const transfer *f)
{
    const rota_topo *const t = x->t.topo;

    return t->domain[f->from] == t->domain[f->to] ? ROTA_LINK_DOMAIN
                                                  : ROTA_LINK_NODE;
}

/* Only a flag goes to the receiver. */
static bool is_handed(const sim *x, const transfer *f)
{
    return is_shared(x, f) &&
           sim_rep_of(&x->t, f->from)->s.msgs[ROTA_SEND].msg[f->m].handed;
}

/* Ranks have put in their blocks and sizes (exec/payload/parcels.h). */
static bool is_parcels(const sim *x, const transfer *f)
{
    const rota_sched *const s = &sim_rep_of(&x->t, f->from)->s;

    return x->choice.params.parcels && !s->msgs[ROTA_SEND].msg[f->m].handed &&
           rota_msg_lends(s, ROTA_SEND, f->m);
}

static sim_work alone(double ns)
{
    return (sim_work){.ns = ns};
}

/* A rank does something from now on. */
static double do_work(sim *x, int r, double now, sim_work work)
{
    return sim_wires_work(&x->wires, place_of(x, r), now, work);
}

/* The end that does not lend its temporary blocks copies. */
static sim_work hand(sim *x, const transfer *f, rota_dir dir)
{
    const bool sent = dir == ROTA_SEND;
    const rota_sched *const s = &sim_rep_of(&x->t, sent ? f->from : f->to)->s;
    const double byte = price(x, rota_term(ROTA_LINK_NODE, ROTA_PER_BYTE)) / 2;

    if (rota_msg_lends(s, dir, sent ? f->m : f->rm))
        return alone(0);
    const double ns = copy_ns(x, f->size.bytes, f->size.n);
    const double farther = byte - price(x, ROTA_TERM_COPIED_BYTE);
    const bool is_farther = link_of(x, f) == ROTA_LINK_NODE && farther > 0;

    return (sim_work){.ns = ns + (is_farther ? f->size.bytes * farther : 0),
                      .bytes = f->size.bytes};
}

/* What leaders read of their members, or write to them. Of so many copies one is
 * from rank to rank: the others transpose. */
static sim_work reach(sim *x, sim_size size, int times)
{
    return (sim_work){
        .ns = copy_ns(x, size.bytes * times, (double)size.n * times),
        .bytes = times > 0 ? size.bytes : 0};
}

/* As authors do it, blocks are packed for every message, and come to their place
 * between nodes. */
static sim_work pack(sim *x, const transfer *f)
{
    const uint32_t n = n_blocks(x, f->to, f->rm);
    const bool told = cells_of(x, f->to, f->rm) > 0;
    const bool single = n == 1 && x->choice.metadata != ROTA_META_COMBINED &&
                        x->choice.metadata != ROTA_META_FUSED;
    bool packs = is_apart(x, f->from, ROTA_SEND, f->m);

    if (is_handed(x, f))
        return hand(x, f, ROTA_SEND);
    if (is_parcels(x, f))
        return alone(0);
    if (x->c->form.pulled)
        return reach(x, f->size, x->c->form.overlapped);
    if (x->choice.metadata != ROTA_META_ONCE)
        packs = told ? !single : n > 1;
    return alone(packs ? copy_ns(x, f->size.bytes, f->size.n) : 0);
}

/* What one rank copies within its own memory once a message has come. */
static double unpack_ns(sim *x, const transfer *f)
{
    const bool near = node_of(x, f->from) == node_of(x, f->to);
    const sim_size *const s = &f->size;

    if (is_parcels(x, f))
        return copy_ns(x, 0, s->n);
    if (x->choice.metadata == ROTA_META_ONCE)
        return is_apart(x, f->to, ROTA_RECV, f->rm) ? copy_ns(x, s->bytes, s->n)
                                                    : 0;
    if (x->c->form.heads_apart)
        return near || !x->c->form.within_told ? copy_ns(x, s->bytes, s->n) : 0;
    if (n_blocks(x, f->to, f->rm) == 1 && cells_of(x, f->to, f->rm) == 0)
        return 0;
    return x->c->kind == ROTA_EXCHANGE ? 0 : copy_ns(x, s->lands, s->n_land);
}

static sim_work unpack(sim *x, const transfer *f)
{
    if (is_handed(x, f))
        return hand(x, f, ROTA_RECV);
    if (x->c->form.pulled) /* transposed, and written to members */
        return reach(x, f->size, 2 * x->c->form.overlapped);
    return alone(unpack_ns(x, f));
}

/* Of either end: as authors do it, each size is looked up and noted. */
static double cells_ns(const sim *x, const transfer *f)
{
    return cells_of(x, f->to, f->rm) * price(x, ROTA_TERM_COPIED_BLOCK);
}

/* What a message through shared memory takes of either end: both copy. A flag waits
 * for no copy of others. */
static sim_work share(const sim *x, const transfer *f, rota_dir dir)
{
    const double bytes = is_handed(x, f) ? 0 : wire_bytes(x, f);
    const bool is_long = bytes > ROTA_LONG;
    const rota_per_link message =
        is_long ? ROTA_PER_LONG_MESSAGE : ROTA_PER_MESSAGE;
    const rota_per_link byte = is_long ? ROTA_PER_LONG_BYTE : ROTA_PER_BYTE;

    return (sim_work){.ns = price(x, rota_term(link_of(x, f), message)) +
                            bytes * price(x, rota_term(link_of(x, f), byte)),
                      .bytes = bytes,
                      .message = dir == ROTA_SEND && !is_handed(x, f)};
}

/* Above 0 and at most 1, the same for the same number. */
static double drawn(uint64_t state)
{
    state *= UINT64_C(0x9E3779B97F4A7C15);
    state ^= state >> 32;
    state *= UINT64_C(0xD6E8FEB86659FD93);
    return (double)((state >> 11) + 1) * 0x1p-53;
}

/* What else a processor does while a rank posts a message by MPI. */
static double noise(const sim *x, const transfer *f)
{
    if (x->m->noise <= 0)
        return 0;
    const uint64_t message = ((uint64_t)f->m << 2) + (uint64_t)f->part;
    const double u = drawn(x->c->seed + ((uint64_t)f->from << 40) + message);

    return -x->m->noise * log(u);
}

/* What the sender does; within the node MPI copies when the message goes. */
static sim_work posting(const sim *x, const transfer *f)
{
    if (is_shared(x, f))
        return share(x, f, ROTA_SEND);
    const bool far = node_of(x, f->from) != node_of(x, f->to);
    const bool past = far && wire_bytes(x, f) > x->m->net.short_bytes;
    return alone(price(x, ROTA_TERM_POSTED) +
                 (past ? x->m->net.past_short : 0) + noise(x, f));
}

/* When rank f->from, which does so from now on, has packed and posted f. */
static double pack_and_post(sim *x, const transfer *f, double now)
{
    sim_work work = pack(x, f);
    const sim_work post = posting(x, f);

    work.ns += post.ns;
    work.bytes += post.bytes;
    work.message |= post.message;
    return do_work(x, f->from, now, work);
}

/* Through shared memory: the receiver takes one message after the other, while
 * their senders write them. */
static double take_shared(sim *x, const transfer *f, double now)
{
    double *const busy = &x->rank[f->to].taking;
    const sim_work work = share(x, f, ROTA_RECV);

    *busy = do_work(x, f->to, rota_larger(*busy, now - work.ns), work);
    return *busy + price(x, rota_term(link_of(x, f), ROTA_PER_PHASE));
}

/* ---- messages that wait for their receiver ------------------------------- */

static uint32_t bucket_of(int to, uint32_t rm, part part)
{
    uint64_t key = ((uint64_t)to << 34) ^ ((uint64_t)rm << 2) ^ (uint64_t)part;

    key *= UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(key >> 44) % BUCKETS;
}

/* Its number in the pool. */
static uint32_t keep(sim *x, const transfer *f, uint32_t next)
{
    uint32_t i = x->spare;

    if (i != NONE) {
        x->spare = x->pool[i].next;
    } else {
        if (x->n_pool == x->pool_room) {
            x->pool_room = x->pool_room ? 2 * x->pool_room : 1024;
            x->pool =
                inside_must(realloc(x->pool, x->pool_room * sizeof *x->pool));
        }
        i = x->n_pool++;
    }
    x->pool[i] = (pending){*f, next};
    return i;
}

static void drop(sim *x, uint32_t i)
{
    x->pool[i].next = x->spare;
    x->spare = i;
}

static void suspend(sim *x, const transfer *f)
{
    uint32_t *const head = &x->bucket[bucket_of(f->to, f->rm, f->part)];

    *head = keep(x, f, *head);
    x->rank[f->to].n_pending++;
}

/* The one there is, if any, which then is not there any more. */
static bool resume(sim *x, int to, uint32_t rm, part part, transfer *f)
{
    uint32_t *at = &x->bucket[bucket_of(to, rm, part)];

    if (x->rank[to].n_pending == 0)
        return false;
    for (; *at != NONE; at = &x->pool[*at].next) {
        pending *const p = &x->pool[*at];
        if (p->t.to != to || p->t.rm != rm || p->t.part != part)
            continue;
        const uint32_t i = *at;
        *f = p->t;
        *at = p->next;
        drop(x, i);
        x->rank[to].n_pending--;
        return true;
    }
    return false;
}

static bool is_awaited(const sim *x, const transfer *f)
{
    const rank *const k = &x->rank[f->to];
    const sim_script *const s = script_of(x, f->to);

    if (f->part == CELL)
        return k->step == (int32_t)f->rm;
    const uint32_t last = s->step_of[f->rm];
    const bool early = f->part == HEAD && s->step[last].kind == SIM_BLOCKS;
    if (k->step != (int32_t)(last - early))
        return false;
    if (s->step[last].kind == SIM_WINDOW)
        return f->rm < k->at;
    return f->part != BLOCKS || s->step[last].kind != SIM_WHOLE ||
           (k->open && k->at == f->rm);
}

/* ---- delivering ---------------------------------------------------------- */

static void try_finish(sim *x, int r);
static void post_next(sim *x, int r);

static void leave(sim *x, int r)
{
    rank *const k = &x->rank[r];

    k->posted = false; /* once only */
    k->t = rota_larger(k->t, k->last);
    sim_events_add(&x->events, k->t, r, ENTER, 0);
}

static void note_sent(sim *x, int r, double when)
{
    rank *const k = &x->rank[r];

    if (step_of(x, r)->kind == SIM_WINDOW) {
        sim_events_add(&x->events, when, r, SENT, 0);
        return;
    }
    k->last = rota_larger(k->last, when);
    k->left--;
    try_finish(x, r);
}

/* MPI compares a message with one after another of those that it may be, half of them
 * on average. */
static double compare_ns(const sim *x, uint32_t n)
{
    return x->m->match * (1 + n) / 2;
}

/* A message that comes is found among those that its receiver expects. */
static double find_ns(sim *x, int r, bool shared)
{
    uint32_t *const n = &x->rank[r].expects;
    const double ns = shared ? 0 : compare_ns(x, *n);

    *n -= *n > 0 && !shared;
    return ns;
}

static void note_came(sim *x, const transfer *f, double when)
{
    rank *const k = &x->rank[f->to];
    const sim_step_kind kind = step_of(x, f->to)->kind;

    if (kind == SIM_WINDOW || kind == SIM_FLOW) {
        sim_events_add(&x->events, when, f->to, CAME, f->rm);
        return;
    }
    const double found = find_ns(x, f->to, is_shared(x, f));
    if (f->part == CELL) {
        k->last = rota_larger(k->last, when + found);
    } else {
        const uint32_t i = f->rm - phase_of(x, f->to)->msg[ROTA_RECV];
        if (f->part == HEAD && kind == SIM_WHOLE) {
            k->head[i] = when + found;
            k->cost[i] = has_bytes(x, f) ? 0 : -1;
        } else {
            const sim_work work =
                f->part == HEAD ? alone(cells_ns(x, f)) : unpack(x, f);
            k->came[i] = when;
            k->cost[i] = (float)(work.ns + found);
            k->moved[i] = (float)work.bytes;
        }
    }
    k->left--;
    try_finish(x, f->to);
}

static void tell(const sim *x, int r, rota_dir dir, int peer, double now)
{
    if (x->c->watch)
        x->c->watch->posted(x->c->watch->of, r, dir, peer, now);
}

static bool comes_shared(const sim *x, int r, uint32_t rm)
{
    const int peer = sim_rep_of(&x->t, r)->s.msgs[ROTA_RECV].msg[rm].peer;

    return x->c->shared && !x->c->form.by_mpi &&
           node_of(x, sim_peer(&x->t, r, peer)) == node_of(x, r);
}

/* Receive rm is posted. */
static void note_receive(sim *x, int r, uint32_t rm, double now)
{
    const int peer = sim_rep_of(&x->t, r)->s.msgs[ROTA_RECV].msg[rm].peer;

    x->rank[r].expects += !comes_shared(x, r, rm);
    tell(x, r, ROTA_RECV, sim_peer(&x->t, r, peer), now);
}

/* When a message is there that goes now. */
static double travel(sim *x, const transfer *f, double now)
{
    const double bytes = wire_bytes(x, f);
    const double when = is_shared(x, f)
                            ? take_shared(x, f, now)
                            : sim_wires_send(&x->wires, place_of(x, f->from),
                                             place_of(x, f->to), now, bytes);

    if (x->carried)
        x->carried[(size_t)f->from * (size_t)x->t.P + (size_t)f->to] = when;
    x->result.messages += !is_handed(x, f);
    x->result.bytes += is_handed(x, f) ? 0 : bytes;
    if (x->c->watch)
        x->c->watch->passed(x->c->watch->of, f->from, f->to, when);
    return when;
}

static void carry(sim *x, const transfer *f, double now)
{
    const double when = travel(x, f, now);

    note_sent(x, f->from, when);
    note_came(x, f, when);
}

/* ---- messages that do not wait for their receiver ------------------------ */

static bool is_eager(const sim *x, const transfer *f)
{
    return x->m->eager > 0 && !is_shared(x, f) &&
           wire_bytes(x, f) <= x->m->eager;
}

/* Its receive is posted now. If it has been there before, MPI has kept it. */
static void take_eager(sim *x, const transfer *f, double now)
{
    rank *const k = &x->rank[f->to];

    if (now <= f->arrived) {
        note_came(x, f, f->arrived);
        return;
    }
    const double ns = compare_ns(x, k->n_pending) +
                      wire_bytes(x, f) * price(x, ROTA_TERM_COPIED_BYTE);
    k->t = do_work(x, f->to, rota_larger(k->t, now), alone(ns));
    note_came(x, f, k->t);
}

static void start_eager(sim *x, transfer f, double now)
{
    f.arrived = travel(x, &f, now);
    note_sent(x, f.from, now);
    if (is_awaited(x, &f))
        take_eager(x, &f, now);
    else
        suspend(x, &f);
}

/* ---- messages that ask first --------------------------------------------- */

/* When a question or an answer that goes now is there: it takes no port's time, but
 * comes after the data that went before it from the one rank to the other, as in a
 * stream. */
static double ask(const sim *x, int from, int to, double now)
{
    return rota_larger(now,
                       x->carried[(size_t)from * (size_t)x->t.P + (size_t)to]) +
           price(x, rota_term(ROTA_LINK_NET, ROTA_PER_PHASE));
}

static bool asks(const sim *x, const transfer *f)
{
    return x->m->asking > 0 && node_of(x, f->from) != node_of(x, f->to) &&
           wire_bytes(x, f) > x->m->asking;
}

/* Both ends have posted it. */
static void deliver(sim *x, const transfer *f, double now)
{
    if (f->arrived > 0) {
        take_eager(x, f, now);
        return;
    }
    if (!asks(x, f)) {
        carry(x, f, now);
        return;
    }
    const uint32_t i = keep(x, f, NONE);
    sim_events_add(&x->events, ask(x, f->from, f->to, now), f->to, ASKED, i);
}

static void answer(sim *x, uint32_t i, double now)
{
    const transfer *const f = &x->pool[i].t;

    sim_events_add(&x->events, ask(x, f->to, f->from, now), f->from, ANSWERED,
                   i);
}

static void carry_answered(sim *x, uint32_t i, double now)
{
    const transfer f = x->pool[i].t;

    drop(x, i);
    carry(x, &f, now);
}

static void start(sim *x, const transfer *f, double now)
{
    tell(x, f->from, ROTA_SEND, f->to, now);
    if (is_eager(x, f))
        start_eager(x, *f, now);
    else if (is_awaited(x, f))
        deliver(x, f, now);
    else
        suspend(x, f);
}

/* ---- phases without a window --------------------------------------------- */

/* Where several messages follow each other between the same two ranks. */
static void make_room(rank *k, uint32_t n)
{
    if (n > k->room) {
        k->came = inside_must(realloc(k->came, n * sizeof *k->came));
        k->head = inside_must(realloc(k->head, n * sizeof *k->head));
        k->cost = inside_must(realloc(k->cost, n * sizeof *k->cost));
        k->moved = inside_must(realloc(k->moved, n * sizeof *k->moved));
        k->room = n;
    }
}

/* Sizes first, as the executor has it: blocks can come when their sizes have been
 * seen, one receive after the other. */
static bool is_in_turn(const sim *x, int r)
{
    return step_of(x, r)->kind == SIM_WHOLE && sizes_first(x);
}

static void release(sim *x, int r, uint32_t rm, part part, double now)
{
    transfer f;

    if (resume(x, r, rm, part, &f))
        deliver(x, &f, now);
}

/* What receive rm is of, in this step, or CELL for nothing. */
static part part_of(sim *x, int r, uint32_t rm)
{
    const bool told = cells_of(x, r, rm) > 0;

    switch (step_of(x, r)->kind) {
    case SIM_HEADS:
        return told ? HEAD : CELL;
    case SIM_BLOCKS:
        return brings_bytes(x, r, rm) ? BLOCKS : CELL;
    default:
        if (is_left_out(x, r, rm))
            return CELL;
        return told && sizes_first(x) ? HEAD : ALL;
    }
}

static void enter_whole(sim *x, int r, double now)
{
    rank *const k = &x->rank[r];
    const rota_phase *const p = phase_of(x, r);
    const uint32_t first = p->msg[ROTA_RECV], end = p[1].msg[ROTA_RECV];
    const bool pending = k->n_pending > 0;

    make_room(k, end - first);
    uint32_t by_mpi = 0;
    k->left = 0;
    k->posted = k->awaits = k->open = false;
    k->at = first;
    k->next = p->msg[ROTA_SEND];
    for (uint32_t m = first; m < end; m++) {
        const bool comes = part_of(x, r, m) != CELL;
        by_mpi += comes && !comes_shared(x, r, m);
        k->came[m - first] = comes ? NAN : 0;
        k->head[m - first] = NAN;
        k->cost[m - first] = k->moved[m - first] = 0;
        k->left += comes;
        if (comes)
            note_receive(x, r, m, now);
    }
    k->t = do_work(x, r, now, alone(by_mpi * x->m->net.posted_receive));
    for (uint32_t m = first; pending && m < end; m++)
        if (isnan(k->came[m - first]))
            release(x, r, m, part_of(x, r, m), now);
    post_next(x, r);
}

/* Sends of the step, up to the first that is sent; NONE: none is left. */
static uint32_t next_send(sim *x, int r, transfer *f)
{
    const sim_script *const k = script_of(x, r);
    const sim_step_kind kind = step_of(x, r)->kind;
    const uint32_t end = phase_of(x, r)[1].msg[ROTA_SEND];

    for (uint32_t m = x->rank[r].next; m < end; m++) {
        if (k->dropped[ROTA_SEND] && k->dropped[ROTA_SEND][m])
            continue;
        *f = send_of(x, r, m);
        const bool told = cells_of(x, f->to, f->rm) > 0;
        if (kind == SIM_HEADS) {
            f->part = HEAD;
            if (told)
                return m;
            continue;
        }
        f->size = sim_message(&x->t, f->to, f->rm);
        f->part = told && sizes_first(x) ? HEAD : ALL;
        if (kind == SIM_BLOCKS)
            f->part = BLOCKS;
        if (has_bytes(x, f) || (told && kind != SIM_BLOCKS))
            return m;
    }
    return NONE;
}

/* Of copies from first on before end. */
static sim_size copies_size(sim *x, int r, uint32_t first, uint32_t end)
{
    const sim_rep *const rep = sim_rep_of(&x->t, r);
    const int shift = r - r % x->t.period;
    sim_size all = {0};

    for (uint32_t c = first; c < end; c++) {
        const sim_label l = sim_shifted(&x->t, rep->copied[c], shift);
        const size_t size = sim_block(&x->t, l.from, l.to);
        all.bytes += (double)size;
        all.n += size > 0;
    }
    return all;
}

static double phase_copies_ns(sim *x, int r)
{
    const rota_phase *const p = phase_of(x, r);
    const sim_size all = copies_size(x, r, p->copy, p[1].copy);

    return copy_ns(x, all.bytes, all.n);
}

static void post_next(sim *x, int r)
{
    rank *const k = &x->rank[r];
    transfer f;

    k->next = next_send(x, r, &f);
    if (k->next != NONE) {
        k->left++;
        if (step_of(x, r)->kind == SIM_HEADS)
            k->t = do_work(x, r, k->t + cells_ns(x, &f), posting(x, &f));
        else
            k->t = pack_and_post(x, &f, k->t);
        sim_events_add(&x->events, k->t, r, POST, f.part);
        return;
    }
    if (step_of(x, r)->kind != SIM_HEADS)
        k->t = do_work(x, r, k->t, alone(phase_copies_ns(x, r)));
    k->posted = true;
    try_finish(x, r);
}

/* The send is posted now: its sizes, or its blocks. */
static void post(sim *x, int r, part part, double now)
{
    rank *const k = &x->rank[r];
    transfer f;

    k->next = next_send(x, r, &f);
    f.part = part;
    if (part == HEAD && is_in_turn(x, r) && has_bytes(x, &f)) {
        transfer blocks = f;
        blocks.part = BLOCKS;
        k->left++;
        k->t = do_work(x, r, k->t,
                       is_shared(x, &f) ? alone(price(x, ROTA_TERM_POSTED))
                                        : posting(x, &blocks));
        sim_events_add(&x->events, k->t, r, POST, BLOCKS);
        start(x, &f, now);
        return;
    }
    k->next++;
    /* The next one is counted before this one may be the last to be complete. */
    post_next(x, r);
    start(x, &f, now);
}

/* Receive i of the step, once it has come. */
static void unpack_came(sim *x, int r, uint32_t i)
{
    rank *const k = &x->rank[r];
    const sim_work work = {.ns = (double)k->cost[i],
                           .bytes = (double)k->moved[i]};

    k->t = do_work(x, r, rota_larger(k->t, k->came[i]), work);
}

/* Receives in list order as far as they have come. */
static void finish_in_order(sim *x, int r)
{
    const rota_phase *const p = phase_of(x, r);
    const uint32_t n = p[1].msg[ROTA_RECV] - p->msg[ROTA_RECV];

    for (uint32_t i = 0; i < n; i++)
        unpack_came(x, r, i);
    leave(x, r);
}

static void go_on_in_turn(sim *x, int r)
{
    rank *const k = &x->rank[r];
    const rota_phase *const p = phase_of(x, r);
    const uint32_t first = p->msg[ROTA_RECV];

    while (k->at < p[1].msg[ROTA_RECV] && !k->awaits) {
        const uint32_t i = k->at - first;
        const bool told = cells_of(x, r, k->at) > 0;
        if (told && !k->open) {
            if (isnan(k->head[i]))
                return;
            k->awaits = true;
            sim_events_add(&x->events, rota_larger(k->t, k->head[i]), r, AWAIT,
                           0);
            return;
        }
        if (isnan(k->came[i]))
            return;
        unpack_came(x, r, i);
        k->open = false;
        k->at++;
    }
    if (!k->awaits && k->left == 0)
        leave(x, r);
}

/* The sizes of receive at have been seen. */
static void await_blocks(sim *x, int r, double now)
{
    rank *const k = &x->rank[r];
    const uint32_t i = k->at - phase_of(x, r)->msg[ROTA_RECV];

    k->awaits = false;
    k->t = now;
    k->open = true;
    k->left++;
    if (k->cost[i] < 0) {
        k->came[i] = now;
        k->cost[i] = 0;
        k->left--;
        try_finish(x, r);
        return;
    }
    release(x, r, k->at, BLOCKS, now);
}

static void finish_flow(sim *x, int r)
{
    rank *const k = &x->rank[r];

    if (k->posted && k->left == 0)
        leave(x, r);
}

static void try_finish(sim *x, int r)
{
    rank *const k = &x->rank[r];
    const sim_step_kind kind = step_of(x, r)->kind;

    if (!k->posted)
        return;
    if (kind == SIM_FLOW)
        finish_flow(x, r);
    else if (kind == SIM_REDUCE) {
        if (k->left == 0)
            leave(x, r);
    } else if (is_in_turn(x, r))
        go_on_in_turn(x, r);
    else if (k->left == 0)
        finish_in_order(x, r);
}

/* ---- phases with a window ------------------------------------------------ */

/* Post the receives that fit in, those without bytes passed over. */
static void open_window(sim *x, int r, uint32_t n, double now)
{
    rank *const k = &x->rank[r];
    const rota_phase *const p = phase_of(x, r);

    while (k->at < p[1].msg[ROTA_RECV] && n > 0) {
        const uint32_t m = k->at++;
        if (is_left_out(x, r, m))
            continue;
        n--;
        k->left++;
        note_receive(x, r, m, now);
        release(x, r, m, ALL, now);
    }
}

static void post_in_window(sim *x, int r, double now)
{
    rank *const k = &x->rank[r];
    transfer f;

    k->next = next_send(x, r, &f);
    if (k->next == NONE)
        return;
    k->left++;
    k->t = pack_and_post(x, &f, rota_larger(k->t, now));
    sim_events_add(&x->events, k->t, r, POST, k->next++);
}

static void finish_window(sim *x, int r)
{
    rank *const k = &x->rank[r];

    if (k->left == 0 && k->next == NONE &&
        k->at == phase_of(x, r)[1].msg[ROTA_RECV])
        leave(x, r);
}

static void enter_window(sim *x, int r, double now)
{
    rank *const k = &x->rank[r];
    const rota_phase *const p = phase_of(x, r);

    k->left = 0;
    k->at = p->msg[ROTA_RECV];
    k->next = p->msg[ROTA_SEND];
    open_window(x, r, (uint32_t)p->window, now);
    for (int i = 0; i < p->window && k->next != NONE; i++)
        post_in_window(x, r, now);
    k->t = do_work(x, r, k->t, alone(phase_copies_ns(x, r)));
    finish_window(x, r);
}

/* Message m has been sent, or has come. */
static void go_on_in_window(sim *x, int r, bool sent, uint32_t m, double now)
{
    rank *const k = &x->rank[r];

    k->left--;
    k->t = rota_larger(k->t, now);
    if (!sent)
        k->t = do_work(x, r, k->t, alone(find_ns(x, r, comes_shared(x, r, m))));
    if (sent && k->next != NONE)
        post_in_window(x, r, now);
    else if (!sent)
        open_window(x, r, 1, now);
    finish_window(x, r);
}

/* ---- phases through which data flow -------------------------------------- */

static uint32_t n_sends(const sim *x, int r)
{
    return sim_rep_of(&x->t, r)->s.msgs[ROTA_SEND].n;
}

/* What is copied or handed over by copying can wait for what has come meanwhile. */
static bool is_given(const sim *x, int r, uint32_t m)
{
    if (m >= n_sends(x, r))
        return true;
    const transfer f = send_of(x, r, m);

    return is_handed(x, &f) &&
           !rota_msg_lends(&sim_rep_of(&x->t, r)->s, ROTA_SEND, m);
}

/* A send that needs no copy by this rank, and stands behind none in the list. */
static bool is_at_once(const sim *x, int r, uint32_t job)
{
    const uint32_t first = phase_of(x, r)->msg[ROTA_SEND];

    return !is_given(x, r, job) && !x->rank[r].flow.in_turn[job - first];
}

static void put_first(flow *q, uint32_t i)
{
    const uint32_t m = q->queue[i];

    memmove(q->queue + q->at + 1, q->queue + q->at,
            (i - q->at) * sizeof *q->queue);
    q->queue[q->at] = m;
}

/* Put the first that is posted without a copy at the head of the queue. */
static bool has_ready(sim *x, int r)
{
    flow *const q = &x->rank[r].flow;

    for (uint32_t i = q->at; i < q->end; i++)
        if (is_at_once(x, r, q->queue[i])) {
            put_first(q, i);
            return true;
        }
    return false;
}

static void post_first(sim *x, int r)
{
    rank *const k = &x->rank[r];
    flow *const q = &k->flow;
    const uint32_t m = q->queue[q->at];
    transfer f;

    q->posting = true;
    if (m >= n_sends(x, r)) {
        const rota_group *const g =
            &x->waits[r % x->t.period].group[m - n_sends(x, r)];
        const sim_size size = copies_size(x, r, g->first, g->end);
        q->copied += size.bytes;
        k->t = do_work(x, r, k->t, alone(copy_ns(x, size.bytes, size.n)));
    } else {
        f = send_of(x, r, m);
        f.size = sim_message(&x->t, f.to, f.rm);
        if (!is_at_once(x, r, m))
            q->copied += f.size.bytes;
        k->t = pack_and_post(x, &f, k->t);
    }
    sim_events_add(&x->events, k->t, r, POST, m);
}

/* The groups of a message, or of none, can be copied. */
static void add_groups(sim *x, int r, rota_dir dir, uint32_t m)
{
    const waits *const w = &x->waits[r % x->t.period];
    const uint32_t *const of = &w->of_phase[step_of(x, r)->phase];
    flow *const q = &x->rank[r].flow;

    for (uint32_t g = of[0]; g < of[1]; g++)
        if (w->group[g].dir == dir && w->group[g].m == m)
            q->queue[q->end++] = n_sends(x, r) + g;
}

/* A send of the flow has one less to wait for. */
static void let_go(sim *x, int r, uint32_t m)
{
    flow *const q = &x->rank[r].flow;

    if (--q->wants[m - phase_of(x, r)->msg[ROTA_SEND]] == 0)
        q->queue[q->end++] = m;
}

/* The place in the list of what stands in the queue; of groups that no send waits
 * for, behind all sends. */
static uint32_t place_in_list(const sim *x, int r, uint32_t job)
{
    if (job < n_sends(x, r))
        return job;
    const rota_group *const g =
        &x->waits[r % x->t.period].group[job - n_sends(x, r)];

    return g->dir == ROTA_SEND && g->m != ROTA_NO_MSG ? g->m : n_sends(x, r);
}

/* Put the last of the queue where it belongs among those that, like it, are posted
 * at once or in turn. */
static void put_in_order(const sim *x, int r)
{
    flow *const q = &x->rank[r].flow;
    const uint32_t last = q->end - 1, m = q->queue[last];
    uint32_t to = last;

    for (uint32_t i = last; i-- > q->at;) {
        if (is_at_once(x, r, q->queue[i]) != is_at_once(x, r, m))
            continue;
        if (place_in_list(x, r, q->queue[i]) <= m)
            break;
        to = i;
    }
    memmove(q->queue + to + 1, q->queue + to, (last - to) * sizeof *q->queue);
    q->queue[to] = m;
}

/* Send i of the phase is among those that are posted as the phase is entered. */
static void note_turn(const sim *x, int r, uint32_t i)
{
    flow *const q = &x->rank[r].flow;
    const uint32_t m = phase_of(x, r)->msg[ROTA_SEND] + i;

    q->in_turn[i] = !is_given(x, r, m) && i > q->copies;
    q->entering += is_at_once(x, r, m);
}

/* Send m is posted: the next to the same rank keeps its place in the list while
 * the phase is entered; later, if it takes no copy, it goes before all others. */
static void let_next_go(sim *x, int r, uint32_t m)
{
    flow *const q = &x->rank[r].flow;
    const uint32_t after = x->waits[r % x->t.period].next[m], n = q->end;
    const uint32_t next = phase_of(x, r)->msg[ROTA_SEND] + after;
    const bool enters = q->entering > 0;

    q->entering -= enters;
    if (after == ROTA_NO_MSG)
        return;
    let_go(x, r, next);
    if (q->end == n)
        return;
    if (enters) {
        note_turn(x, r, after);
        put_in_order(x, r);
    } else if (!is_given(x, r, next)) {
        put_first(q, n);
    }
}

static void take_in(sim *x, int r, uint32_t m)
{
    rank *const k = &x->rank[r];
    const waits *const w = &x->waits[r % x->t.period];
    const sim_rep *const rep = sim_rep_of(&x->t, r);
    transfer f = {.from =
                      sim_peer(&x->t, r, rep->s.msgs[ROTA_RECV].msg[m].peer),
                  .to = r,
                  .rm = m,
                  .m = rep->partner[ROTA_RECV][m]};

    f.size = sim_message(&x->t, r, m);
    sim_work work = unpack(x, &f);
    work.ns += find_ns(x, r, is_shared(x, &f));
    k->t = do_work(x, r, k->t, work);
    k->left--;
    add_groups(x, r, ROTA_RECV, m);
    for (uint32_t i = w->begin[m]; i < w->begin[m + 1]; i++)
        let_go(x, r, w->send[i]);
}

static bool has_come(const flow *q, int which)
{
    return q->in[which].taken < q->in[which].n;
}

static void take_first(sim *x, int r, int which)
{
    flow *const q = &x->rank[r].flow;

    q->taking = which;
    take_in(x, r, q->in[which].came[q->in[which].taken++]);
}

/* As the executor does it: what needs no copy by this rank, and stands behind none
 * as the phase is entered, is posted at once. Between copies of some bytes it takes
 * in all that sends wait for, after them the rest. */
static void go_on_in_flow(sim *x, int r)
{
    flow *const q = &x->rank[r].flow;

    while (!q->posting) {
        const bool copies = q->at < q->end && q->copied < ROTA_FLOW_COPIES;
        if (has_ready(x, r) || (copies && q->taking == NONE_OF_THEM)) {
            post_first(x, r);
        } else if (q->taking != REST && has_come(q, AWAITED)) {
            take_first(x, r, AWAITED);
        } else if ((q->taking == REST || q->at == q->end) &&
                   has_come(q, REST)) {
            take_first(x, r, REST);
        } else {
            q->taking = NONE_OF_THEM;
            q->copied = 0;
            if (q->at == q->end && !has_come(q, AWAITED))
                break;
        }
    }
    finish_flow(x, r);
}

static void finish_group(sim *x, int r, uint32_t g)
{
    const rota_group *const group = &x->waits[r % x->t.period].group[g];
    flow *const q = &x->rank[r].flow;

    q->posting = false;
    q->at++;
    x->rank[r].left--;
    if (group->dir == ROTA_SEND && group->m != ROTA_NO_MSG)
        let_go(x, r, group->m);
    go_on_in_flow(x, r);
}

static void post_in_flow(sim *x, int r, uint32_t m, double now)
{
    flow *const q = &x->rank[r].flow;

    if (m >= n_sends(x, r)) {
        finish_group(x, r, m - n_sends(x, r));
        return;
    }
    transfer f = send_of(x, r, m);
    f.size = sim_message(&x->t, f.to, f.rm);
    q->posting = false;
    q->at++;
    start(x, &f, now);
    let_next_go(x, r, m);
    go_on_in_flow(x, r);
}

static void enter_flow(sim *x, int r, double now)
{
    rank *const k = &x->rank[r];
    const rota_phase *const p = phase_of(x, r);
    const waits *const w = &x->waits[r % x->t.period];
    const uint32_t n = p[1].msg[ROTA_SEND] - p->msg[ROTA_SEND];
    const uint32_t *const of = &w->of_phase[step_of(x, r)->phase];
    const uint32_t groups = of[1] - of[0];
    const uint32_t receives = p[1].msg[ROTA_RECV] - p->msg[ROTA_RECV];
    flow *const q = &k->flow;

    *q = (flow){.wants = inside_must(malloc((n + 1ul) * sizeof *q->wants)),
                .queue =
                    inside_must(malloc((n + groups + 1ul) * sizeof *q->queue)),
                .in_turn = inside_must(calloc(n + 1ul, sizeof *q->in_turn)),
                .copies = NONE,
                .taking = NONE_OF_THEM};
    for (int i = 0; i < NONE_OF_THEM; i++)
        q->in[i].came =
            inside_must(malloc((receives + 1ul) * sizeof *q->in[i].came));
    k->posted = true;
    k->left = n + groups + receives;
    k->t = now;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t m = p->msg[ROTA_SEND] + i, jobs = q->end;
        add_groups(x, r, ROTA_SEND, m);
        if (q->copies == NONE && (q->end > jobs || is_given(x, r, m)))
            q->copies = i;
        q->wants[i] = w->wants[m];
        if (q->wants[i] > 0)
            continue;
        q->queue[q->end++] = m;
        note_turn(x, r, i);
    }
    add_groups(x, r, ROTA_SEND, ROTA_NO_MSG);
    for (uint32_t m = p->msg[ROTA_RECV]; m < p[1].msg[ROTA_RECV]; m++) {
        note_receive(x, r, m, now);
        release(x, r, m, ALL, now);
    }
    go_on_in_flow(x, r);
}

static void come_in_flow(sim *x, int r, uint32_t m, double now)
{
    rank *const k = &x->rank[r];
    const int which = x->waits[r % x->t.period].awaited[m] ? AWAITED : REST;

    k->t = rota_larger(k->t, now);
    k->flow.in[which].came[k->flow.in[which].n++] = m;
    go_on_in_flow(x, r);
}

/* Groups of copies of every flow. */
static void find_groups(const rota_sched *s, waits *w)
{
    uint32_t *in[ROTA_N_DIRS];

    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        in[dir] = inside_must(calloc(s->n_blocks, sizeof *in[dir]));
    w->group = inside_must(malloc((s->n_copies + 1ul) * sizeof *w->group));
    w->of_phase = inside_must(calloc(s->n_phases + 1ul, sizeof *w->of_phase));
    for (uint32_t i = 0; i < s->n_phases; i++) {
        const rota_phase *const p = &s->phase[i];
        rota_group *const group = w->group + w->of_phase[i];
        w->of_phase[i + 1] = w->of_phase[i];
        if (!p->flow)
            continue;
        for (int dir = 0; dir < ROTA_N_DIRS; dir++)
            for (uint32_t m = p->msg[dir]; m < p[1].msg[dir]; m++)
                for (uint32_t k = s->msgs[dir].msg[m].first;
                     k < s->msgs[dir].msg[m + 1].first; k++)
                    in[dir][s->msgs[dir].item[k]] = m + 1;
        const uint32_t n =
            rota_flow_groups(s->copy + p->copy, p[1].copy - p->copy, in, group);
        for (uint32_t g = 0; g < n; g++) {
            group[g].first += p->copy;
            group[g].end += p->copy;
            if (group[g].dir == ROTA_SEND && group[g].m != ROTA_NO_MSG)
                w->wants[group[g].m]++;
        }
        w->of_phase[i + 1] += n;
    }
    free(in[0]);
    free(in[1]);
}

/* Sends of a phase to one rank are posted one after the other. */
static void chain_sends(const rota_sched *s, waits *w)
{
    uint32_t *const last = inside_must(malloc((size_t)s->P * sizeof *last));

    for (uint32_t p = 0; p < s->n_phases; p++) {
        const uint32_t m = s->phase[p].msg[ROTA_SEND];
        rota_msgs_chain(&s->msgs[ROTA_SEND].msg[m],
                        s->phase[p + 1].msg[ROTA_SEND] - m, s->P, last,
                        &w->next[m], &w->wants[m]);
    }
    free(last);
}

static void find_awaited(const rota_sched *s, waits *w)
{
    const rota_msgs *const in = &s->msgs[ROTA_RECV];
    bool *const from = inside_must(calloc((size_t)s->P, sizeof *from));

    w->awaited = inside_must(calloc(in->n + 1ul, sizeof *w->awaited));
    for (uint32_t i = 0; i < s->n_phases; i++) {
        const rota_phase *const p = &s->phase[i];
        const uint32_t first = p->msg[ROTA_RECV], end = p[1].msg[ROTA_RECV];
        for (uint32_t m = end; p->flow && m-- > first;) {
            from[in->msg[m].peer] |= w->begin[m + 1] > w->begin[m];
            w->awaited[m] = from[in->msg[m].peer];
        }
        memset(from, 0, (size_t)s->P * sizeof *from);
    }
    free(from);
}

/* Which receive of its phase brings each block that a send needs. */
static waits find_waits(const rota_sched *s)
{
    const rota_msgs *const in = &s->msgs[ROTA_RECV], *const out =
                                                         &s->msgs[ROTA_SEND];
    uint32_t *const brought =
        inside_must(calloc(s->n_blocks, sizeof *brought)); /* 1 + receive */
    uint32_t *const seen = inside_must(calloc(in->n + 1ul, sizeof *seen));
    waits w = {.begin = inside_must(calloc(in->n + 2ul, sizeof *w.begin)),
               .wants = inside_must(calloc(out->n + 1ul, sizeof *w.wants)),
               .next = inside_must(malloc((out->n + 1ul) * sizeof *w.next))};

    for (uint32_t m = 0; m < in->n; m++)
        for (uint32_t i = in->msg[m].first; i < in->msg[m + 1].first; i++)
            brought[in->item[i]] = m + 1;
    for (int pass = 0; pass < 2; pass++) {
        memset(seen, 0, in->n * sizeof *seen);
        for (uint32_t m = 0; m < out->n; m++)
            for (uint32_t i = out->msg[m].first; i < out->msg[m + 1].first;
                 i++) {
                const uint32_t from = brought[out->item[i]];
                if (from == 0 || seen[from - 1] == m + 1)
                    continue;
                seen[from - 1] = m + 1;
                if (pass == 0)
                    w.begin[from + 1]++;
                else
                    w.send[w.begin[from]++] = m;
                w.wants[m] += pass == 0;
            }
        for (uint32_t m = 0; pass == 0 && m < in->n; m++)
            w.begin[m + 2] += w.begin[m + 1];
        if (pass == 0)
            w.send = inside_must(
                malloc((w.begin[in->n + 1] + 1ul) * sizeof *w.send));
    }
    free(brought);
    free(seen);
    find_groups(s, &w);
    chain_sends(s, &w);
    find_awaited(s, &w);
    return w;
}

/* ---- what forms have beside phases --------------------------------------- */

/* A cell goes to the rank so far up, or to the one across where that pairs all. */
static void enter_reduce(sim *x, int r, double now)
{
    rank *const k = &x->rank[r];

    k->left = 2;
    k->posted = true;
    k->t = do_work(x, r, now, alone(x->m->net.posted_receive));
    release(x, r, (uint32_t)k->step, CELL, now);
    k->t = do_work(x, r, k->t, alone(price(x, ROTA_TERM_POSTED)));
    sim_events_add(&x->events, k->t, r, POST, 0);
}

static void post_cell(sim *x, int r, double now)
{
    const int P = x->t.P, distance = (int)step_of(x, r)->phase;
    const bool pairs = (P & (P - 1)) == 0;
    const transfer f = {.from = r,
                        .to = pairs ? r ^ distance : (r + distance) % P,
                        .rm = (uint32_t)x->rank[r].step,
                        .part = CELL};

    start(x, &f, now);
}

static void enter_node(sim *x, int r, double now)
{
    const rota_topo *const t = x->t.topo;
    const int n = node_of(x, r), Q = rota_topo_node_size(t, n);
    const bool shared = x->c->shared || x->c->form.pulled;
    const rota_link link = shared ? ROTA_LINK_DOMAIN : ROTA_LINK_P2P;
    double *const latest = &x->node_latest[n];

    *latest = rota_larger(*latest, now);
    if (++x->node_here[n] < Q)
        return;
    const double end =
        *latest + ceil(log2(Q)) * price(x, rota_term(link, ROTA_PER_PHASE));
    x->node_here[n] = 0;
    *latest = 0;
    for (int i = 0; i < Q; i++)
        sim_events_add(&x->events, end, t->ranks[t->first[n] + i], ENTER, 0);
}

/* Of all messages with other nodes; leader 0 sees to the own node as well. */
static sim_size of_leader(sim *x, int r, bool out)
{
    const rota_topo *const t = x->t.topo;
    const sim_rep *const rep = sim_rep_of(&x->t, r);
    const rota_msgs *const l = &rep->s.msgs[out ? ROTA_SEND : ROTA_RECV];
    const int n = node_of(x, r), Q = rota_topo_node_size(t, n);
    sim_size all = {0};

    for (uint32_t m = 0; m < l->n && !x->c->form.overlapped; m++) {
        if (t->node[l->msg[m].peer] == t->node[r % x->t.period])
            continue;
        const transfer f = send_of(x, r, m);
        const sim_size size =
            out ? sim_message(&x->t, f.to, f.rm) : sim_message(&x->t, r, m);
        all.bytes += size.bytes;
        all.n += size.n;
    }
    for (int i = 0; i < Q * Q && t->local[r] == 0; i++) {
        const size_t bytes = sim_block(&x->t, t->ranks[t->first[n] + i / Q],
                                       t->ranks[t->first[n] + i % Q]);
        all.bytes += (double)bytes;
        all.n += bytes > 0;
    }
    return all;
}

static void enter_copy(sim *x, int r, double now)
{
    const sim_step *const s = step_of(x, r);
    sim_work work;

    if (s->copied == SIM_RECEIVED) /* within the rank's own buffers */
        work = alone(copy_ns(x, sim_received(&x->t, r), 0));
    else
        work = reach(x, of_leader(x, r, s->copied == SIM_OUTBOUND),
                     s->times > 0 ? s->times : 1);
    sim_events_add(&x->events, do_work(x, r, now, work), r, ENTER, 0);
}

/* ---- all together -------------------------------------------------------- */

static void enter(sim *x, int r, double now)
{
    rank *const k = &x->rank[r];

    k->step++;
    k->t = now;
    k->last = 0;
    k->posted = false;
    free(k->flow.wants);
    free(k->flow.queue);
    free(k->flow.in_turn);
    for (int i = 0; i < NONE_OF_THEM; i++)
        free(k->flow.in[i].came);
    k->flow = (flow){0};
    if (k->step == (int32_t)script_of(x, r)->n_steps) {
        x->result.us = rota_larger(x->result.us, now / 1e3);
        return;
    }
    switch (step_of(x, r)->kind) {
    case SIM_WINDOW:
        enter_window(x, r, now);
        break;
    case SIM_FLOW:
        enter_flow(x, r, now);
        break;
    case SIM_REDUCE:
        enter_reduce(x, r, now);
        break;
    case SIM_NODE:
        enter_node(x, r, now);
        break;
    case SIM_COPY:
        enter_copy(x, r, now);
        break;
    default:
        enter_whole(x, r, now);
    }
}

static void post_any(sim *x, const sim_event *e)
{
    transfer f;

    switch (step_of(x, e->rank)->kind) {
    case SIM_WINDOW:
        f = send_of(x, e->rank, e->m);
        f.size = sim_message(&x->t, f.to, f.rm);
        start(x, &f, e->at);
        break;
    case SIM_FLOW:
        post_in_flow(x, e->rank, e->m, e->at);
        break;
    case SIM_REDUCE:
        post_cell(x, e->rank, e->at);
        break;
    default:
        post(x, e->rank, (part)e->m, e->at);
    }
}

static void handle(sim *x, const sim_event *e)
{
    switch (e->what) {
    case ENTER:
        enter(x, e->rank, e->at);
        break;
    case POST:
        post_any(x, e);
        break;
    case AWAIT:
        await_blocks(x, e->rank, e->at);
        try_finish(x, e->rank);
        break;
    case SENT:
        go_on_in_window(x, e->rank, true, e->m, e->at);
        break;
    case ASKED:
        answer(x, e->m, e->at);
        break;
    case ANSWERED:
        carry_answered(x, e->m, e->at);
        break;
    default:
        if (step_of(x, e->rank)->kind == SIM_FLOW)
            come_in_flow(x, e->rank, e->m, e->at);
        else
            go_on_in_window(x, e->rank, false, e->m, e->at);
    }
}

static void open_sim(sim *x, const rota_topo *topo)
{
    const size_t P = (size_t)topo->P, N = (size_t)topo->n_nodes;

    x->t = (sim_traffic){.topo = topo,
                         .dist = x->c->dist,
                         .world = x->c->world,
                         .largest = x->c->largest,
                         .seed = x->c->seed,
                         .gaps = x->c->gaps};
    sim_traffic_init(&x->t, &x->c->hints, x->c->kind, &x->choice);
    const size_t n = (size_t)x->t.period;
    x->script = inside_must(calloc(n, sizeof *x->script));
    x->waits = inside_must(calloc(n, sizeof *x->waits));
    for (int r = 0; r < x->t.period; r++) {
        x->script[r] = sim_script_make(x->c, &x->t, &x->choice, r);
        if (rota_sched_flows(&x->t.rep[r].s))
            x->waits[r] = find_waits(&x->t.rep[r].s);
    }
    x->rank = inside_must(calloc(P, sizeof *x->rank));
    x->bucket = inside_must(malloc(BUCKETS * sizeof *x->bucket));
    memset(x->bucket, 0xff, BUCKETS * sizeof *x->bucket);
    x->spare = NONE;
    x->node_here = inside_must(calloc(N, sizeof *x->node_here));
    x->node_latest = inside_must(calloc(N, sizeof *x->node_latest));
    if (x->m->asking > 0)
        x->carried = inside_must(calloc(P * P, sizeof *x->carried));
    sim_wires_init(&x->wires, x->m, topo->n_nodes);
}

static void close_sim(sim *x)
{
    for (int r = 0; r < x->t.P; r++) {
        free(x->rank[r].came);
        free(x->rank[r].head);
        free(x->rank[r].cost);
        free(x->rank[r].moved);
    }
    for (int r = 0; r < x->t.period; r++) {
        sim_script_free(&x->script[r]);
        free(x->waits[r].begin);
        free(x->waits[r].send);
        free(x->waits[r].wants);
        free(x->waits[r].next);
        free(x->waits[r].group);
        free(x->waits[r].of_phase);
        free(x->waits[r].awaited);
    }
    free(x->script);
    free(x->waits);
    free(x->rank);
    free(x->bucket);
    free(x->pool);
    free(x->node_here);
    free(x->node_latest);
    free(x->carried);
    sim_wires_free(&x->wires);
    sim_events_free(&x->events);
    sim_traffic_free(&x->t);
}

static void check_all_through(const sim *x)
{
    for (int r = 0; r < x->t.P; r++)
        if (x->rank[r].step != (int32_t)script_of(x, r)->n_steps)
            inside_die("rank %d would wait for ever in step %d", r,
                       (int)x->rank[r].step);
}

/* By how much a rank begins late: drawn by its number. */
static double late(const sim *x, int r)
{
    return x->m->late * drawn((uint64_t)r + 1);
}

sim_result sim_run(const sim_case *c, const sim_machine *m)
{
    rota_topo topo = inside_topo(c->P, c->node);
    sim x = {.c = c, .m = m};

    rota_topo_spread(&topo, m->net.domains);
    open_sim(&x, &topo);
    for (int r = 0; r < c->P; r++) {
        x.rank[r].step = -1;
        sim_events_add(&x.events, price(&x, ROTA_TERM_START) + late(&x, r), r,
                       ENTER, 0);
    }
    while (x.events.n > 0) {
        const sim_event e = sim_events_take(&x.events);
        x.wires.clock = e.at;
        handle(&x, &e);
    }
    check_all_through(&x);
    x.result.choice = x.choice;
    close_sim(&x);
    rota_topo_free(&topo);
    return x.result;
}

/* ---- what ports and links alone take ------------------------------------- */

static double bytes_between(const sim_traffic *t, int a, int b)
{
    const rota_topo *const topo = t->topo;
    const int n = rota_topo_node_size(topo, a),
              k = rota_topo_node_size(topo, b);
    double bytes = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < k; j++)
            bytes += (double)sim_block(t, topo->ranks[topo->first[a] + i],
                                       topo->ranks[topo->first[b] + j]);
    return bytes;
}

sim_result sim_bound(const sim_case *c, const sim_machine *m)
{
    rota_topo topo = inside_topo(c->P, c->node);
    const sim_traffic t = {.topo = &topo,
                           .P = c->P,
                           .dist = c->dist,
                           .largest = c->largest,
                           .seed = c->seed};
    const int N = topo.n_nodes;
    sim_result r = {.us = 0};
    sim_wires wires;

    sim_wires_init(&wires, m, N);
    for (int up = 1; up < N; up++)
        for (int a = 0; a < N; a++) {
            const int b = (a + up) % N;
            const double bytes = bytes_between(&t, a, b);
            if (bytes <= 0)
                continue;
            const int port = up % m->net.ports;
            const sim_place from = {a, port, 0}, to = {b, port, 0};
            r.us = rota_larger(
                r.us, sim_wires_send(&wires, from, to, 0, bytes) / 1e3);
            r.messages++;
            r.bytes += bytes;
        }
    sim_wires_free(&wires);
    rota_topo_free(&topo);
    return r;
}
