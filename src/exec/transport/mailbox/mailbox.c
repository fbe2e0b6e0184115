/* mailbox.c - see mailbox.h.
 *
 * Odd and even starts use mailboxes, areas and tags in turn, because a fast rank
 * may be one start ahead of a slow one that has not collected its blocks. It
 * cannot be two ahead: no rank completes a start that the slow one has not
 * entered, and the slow one enters no start before it has collected the one
 * before.
 *
 * Order of memory. A sender writes a block and links it (release), then counts
 * itself in (release). A rank that sees the full count (acquire) sees all links
 * and, by taking the list (acquire), the blocks.
 */
#include "exec/transport/mailbox/state.h"
#include "exec/transport/p2p_calls.h"

#include "exec/memory/waking.h"
#include "exec/move/blocks.h"
#include "exec/move/lock.h"
#include "exec/payload/carried.h"
#include "exec/step/steps.h"

#include <stdlib.h>
#include <string.h>

/* ---- making -------------------------------------------------------------- */

static void release(rota_exec *x);

int rota_sparse_make(rota_exec *x, const rota_groups *groups,
                     const rota_node *node)
{
    release(x);
    struct rota_sparse *const c = calloc(1, sizeof *c);

    if (!c) {
        free(groups->to);
        free(groups->rank);
        return rota_fail_mem("a sparse exchange");
    }
    c->groups = *groups;
    c->node = node;
    c->count = c->alone;
    c->token[0] = c->token[1] = MPI_REQUEST_NULL;
    for (int k = 0; k < N_MAIL_KINDS; k++)
        c->matched[k].message = MPI_MESSAGE_NULL;
    x->path[ROTA_BY_mailbox] = c;
    return MPI_SUCCESS;
}

static bool is_leader(const rota_exec *x)
{
    return rota_sparse_of(x)->groups.leader == x->blocks.s->me;
}

static int reserve(rota_exec *x, const rota_reach *reach, rota_refusal *refusal)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    rota_place at[ROTA_N_USES] = {0};

    (void)reach;
    if (!c || (c->groups.size == 1 && !bundles(c)))
        return MPI_SUCCESS;
    const rota_node *const node = c->node;
    rota_endpoint *const endpoints = node->near[node->me].endpoints;
    c->memory = calloc((size_t)node->n, sizeof *c->memory);
    if (!c->memory)
        return rota_fail_mem("a sparse exchange");
    c->taken_bytes = sizeof(mailbox) + 2 * area_bytes(c);
    c->taken[ROTA_ENTRIES] =
        rota_arena_take(ROTA_ENTRIES, c->taken_bytes, &at[ROTA_ENTRIES]);
    if (is_leader(x))
        c->taken[ROTA_COUNTERS] = rota_arena_take(
            ROTA_COUNTERS, N_COUNTERS * sizeof(counter), &at[ROTA_COUNTERS]);
    if (!c->taken[ROTA_ENTRIES] || (is_leader(x) && !c->taken[ROTA_COUNTERS])) {
        *refusal = ROTA_REFUSED_PLAN;
        return MPI_SUCCESS;
    }
    x->shared = node;
    memset(c->taken[ROTA_ENTRIES], 0, sizeof(mailbox));
    for (int i = 0; i < node->n; i++) {
        endpoints[i].lines = at[ROTA_ENTRIES];
        endpoints[i].taken = at[ROTA_COUNTERS];
    }
    return MPI_SUCCESS;
}

static bool is_member(const rota_exec *x, int rank)
{
    const rota_groups *const g = &rota_sparse_of(x)->groups;

    return (g->size > 1 || g->nodes) && g->of[rank] == g->of[x->blocks.s->me] &&
           rota_sparse_of(x)->node->of[rank] >= 0;
}

static bool open_member(rota_exec *x, int rank)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    const int i = c->node->of[rank];
    const rota_near *const near = &c->node->near[i];
    rota_peer *const peer = near->peer;
    const rota_endpoint *const b = &near->endpoints[c->node->me];

    if (!rota_arena_update(peer))
        return false;
    c->memory[i] = rota_peer_at(peer, b->lines);
    if (rank != c->groups.leader)
        return true;
    c->leader = peer;
    c->leader_at = i;
    c->count = (counter *)(void *)rota_peer_at(peer, b->taken);
    for (int k = 0; k < N_COUNTERS; k++)
        c->before[k] = atomic_load(&c->count[k].n);
    return true;
}

static bool attach(rota_exec *x)
{
    bool all = true;

    for (int q = 0; q < x->blocks.s->P && all; q++)
        if (is_member(x, q))
            all = open_member(x, q);
    return all;
}

/* Find where the values are at the end: each in its rank's table, or all in the
 * leader's. */
static void find_values(const rota_exec *x)
{
    const struct rota_sparse *const c = rota_sparse_of(x);
    rota_carried *const v = x->carried;

    for (int q = 0; q < x->blocks.s->P; q++) {
        const int owner = c->groups.n == 1 ? q : c->groups.leader;
        if (owner == x->blocks.s->me)
            continue;
        v->at[0][q] = v->near[c->node->of[owner]] + rota_carried_place(v, q);
        v->at[1][q] = v->at[0][q] + (v->table[1] - v->table[0]);
    }
}

static int bind(rota_exec *x)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    if (!c || !x->carried)
        return MPI_SUCCESS;
    find_values(x);
    if (c->groups.n == 1 || !is_leader(x))
        return MPI_SUCCESS;
    const size_t bytes = (size_t)x->blocks.s->P * x->carried->step;
    c->values[0] = malloc(2 * bytes);
    c->values[1] = c->values[0] ? c->values[0] + bytes : NULL;
    return c->values[0] ? MPI_SUCCESS
                        : rota_fail_mem("the values of a sparse exchange");
}

static void describe(const rota_exec *x, rota_path_facts *facts)
{
    facts->bytes += rota_sparse_of(x)->taken_bytes;
}

/* ---- memory that others may still read ----------------------------------- */

static struct rota_sparse *deferred; /* under the lock of active executors */

static bool is_read(const struct rota_sparse *c)
{
    return has_come(c, FINISHED, c->groups.size);
}

static void put_memory(struct rota_sparse *c)
{
    for (int use = 0; use < ROTA_N_USES; use++)
        rota_arena_put((rota_use)use, c->taken[use]);
    free(c);
}

static void sweep(void)
{
    rota_lock();
    for (struct rota_sparse **link = &deferred; *link;) {
        struct rota_sparse *const c = *link;
        if (!is_read(c)) {
            link = &c->next;
            continue;
        }
        *link = c->next;
        rota_arena_drop(c->leader);
        put_memory(c);
    }
    rota_unlock();
}

/* Other members may still read this rank's blocks, or the leader's counters,
 * when this rank frees the plan. */
static void leave_memory(struct rota_sparse *c)
{
    if (!c->leader || is_read(c)) {
        put_memory(c);
        return;
    }
    rota_arena_hold(c->leader);
    rota_lock();
    c->next = deferred;
    deferred = c;
    rota_unlock();
}

static void release(rota_exec *x)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    if (!c)
        return;
    x->path[ROTA_BY_mailbox] = NULL;
    for (size_t i = 0; i < c->in_made; i++)
        free(c->in[i].block.data);
    free(c->in);
    free(c->out);
    free(c->send);
    free(c->found);
    free(c->bundles);
    free(c->sorted);
    free(c->memory);
    free(c->groups.to);
    free(c->groups.rank);
    free(c->values[0]);
    leave_memory(c);
}

/* ---- waking -------------------------------------------------------------- */

/* Ring for the member at position `only` of the node; -1: for all. */
static void ring(const rota_exec *x, int only)
{
    const struct rota_sparse *const c = rota_sparse_of(x);
    rota_waking w = {.node = c->node};

    rota_doorbell_fence();
    for (int i = 0; c->memory && i < c->node->n; i++) {
        const rota_near *const near = &c->node->near[i];
        if (c->memory[i] && i != c->node->me && (only < 0 || i == only))
            rota_waking_ring(
                &w, i, &near->peer->head->bell,
                &near->peer->head->interest[near->peer->slot_there]);
    }
    rota_waking_carry_out(&w);
}

static void mark(rota_exec *x)
{
    const rota_node *const node = rota_sparse_of(x)->node;

    for (int i = 0; rota_sparse_of(x)->memory && i < node->n; i++)
        if (rota_sparse_of(x)->memory[i] && i != node->me)
            atomic_store_explicit(
                &node->near[node->me]
                     .peer->head->interest[node->near[i].peer->slot],
                1, memory_order_release);
}

/* ---- sending ------------------------------------------------------------- */

/* Tell a member that a block for it comes by MPI. */
static void announce(rota_exec *x, int i)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    const size_t place = area_at(c) + AREA + c->n_notes++ * sizeof(mail);
    mail *const m = (mail *)(void *)(c->memory[c->node->me] + place);

    *m = (mail){.source = x->blocks.s->me, .dest = BY_MPI};
    rota_sparse_link(x, i, m, place);
    ring(x, i);
}

static bool send_by_memory(rota_exec *x, const rota_sparse_block *b)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    const mail m = {
        .bytes = b->bytes, .source = x->blocks.s->me, .dest = b->rank};

    if (!is_member(x, b->rank))
        return bundles(c) && rota_bundles_entrust(x, b);
    if (rota_sparse_put(x, &m, b->data, c->node->of[b->rank]))
        return true;
    if (c->groups.n == 1)
        announce(x, c->node->of[b->rank]);
    return false;
}

static int send(rota_exec *x, const rota_sparse_block *b)
{
    if (b->rank == x->blocks.s->me /* stays where it is */ ||
        send_by_memory(x, b))
        return MPI_SUCCESS;
    return rota_sparse_post(x, BLOCK, b->data, b->bytes, b->rank);
}

int rota_sparse_blocks(rota_exec *x, size_t n, rota_sparse_block **send)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    ROTA_TRY(rota_grow(&c->send, &c->send_room, n * sizeof *c->send,
                       "the blocks of a sparse exchange"));
    ROTA_TRY(rota_sparse_make_room(c, n));
    c->n_sends = n;
    *send = c->send;
    return MPI_SUCCESS;
}

/* Add to a counter that grows by `each` per start. The rank that makes it full wakes
 * the others. If there are several groups, only the leader waits for all to enter, so
 * only the leader is woken. */
static void count(rota_exec *x, int which, int each)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    atomic_fetch_add_explicit(&c->count[which].n, 1, memory_order_acq_rel);
    x->moved = true;
    if (has_come(c, which, each))
        ring(x, which == ENTERED && c->groups.n > 1 ? c->leader_at : -1);
}

static int enter(rota_exec *x, rota_step *step)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    (void)step;
    /* Within one group, MPI carries only blocks that are too long for the
     * area. */
    x->program.by_mpi = c->groups.n > 1;
    c->starts++;
    c->area_used = c->n_notes = 0;
    c->n_out = c->first_out = c->n_in = c->first_in = 0;
    c->mail = c->entrusted = 0;
    c->n_mail = c->n_entrusted = 0;
    c->counted_in = c->known = c->split = false;
    c->bundled = !bundles(c);
    c->probes = c->groups.n > 1;
    c->round = -1;
    for (size_t i = 0; i < c->n_sends; i++)
        ROTA_TRY(send(x, &c->send[i]));
    if (bundles(c))
        count(x, DEPOSITED, c->groups.size);
    return MPI_SUCCESS;
}

/* ---- receiving ----------------------------------------------------------- */

/* Mail is a block for this rank, a block that this rank is to send on, or the
 * news that a message comes by MPI. */
static void accept_mail(rota_exec *x, uint64_t at, mail *m)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    if (m->dest == BY_MPI) {
        x->program.by_mpi = true;
        c->probes = true;
    } else if (m->dest == x->blocks.s->me) {
        m->next = c->mail;
        c->mail = at;
        c->n_mail++;
    } else {
        m->next = c->entrusted;
        c->entrusted = at;
        c->n_entrusted++;
    }
}

static void take_mail(rota_exec *x)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    if (!c->memory)
        return;
    mailbox *const box = (mailbox *)(void *)c->memory[c->node->me];
    _Atomic uint64_t *const newest = &box->newest[parity(c)];
    if (atomic_load_explicit(newest, memory_order_relaxed) == 0)
        return;
    uint64_t at = atomic_exchange_explicit(newest, 0, memory_order_acquire);
    x->moved = true;
    while (at != 0) {
        mail *const m = mail_at(c, at);
        const uint64_t next = m->next;
        accept_mail(x, at, m);
        at = next;
    }
}

/* Messages come in any order, so make room for the longest so far, unless that
 * is very long. */
static size_t room_for(struct rota_sparse *c, size_t bytes)
{
    enum { MOST = 1 << 16 };

    if (bytes > c->longest && bytes <= MOST)
        c->longest = bytes;
    const size_t usual = c->longest > SHORT ? c->longest : SHORT;
    return bytes > usual ? bytes : usual;
}

/* Receive the message that was matched. */
static int receive(rota_exec *x, kind kind)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    matched *const from = &c->matched[kind];
    MPI_Count bytes;

    ROTA_TRY(rota_p2p_bytes(&from->status, &bytes));
    ROTA_TRY(rota_grow(&c->in, &c->in_room, (c->n_in + 1) * sizeof *c->in,
                       "the messages of a sparse exchange"));
    for (; c->in_made <= c->n_in; c->in_made++)
        c->in[c->in_made] = (incoming){.request = MPI_REQUEST_NULL};
    incoming *const in = &c->in[c->n_in];
    ROTA_TRY(rota_grow(&in->block.data, &in->room, room_for(c, (size_t)bytes),
                       "what a sparse exchange receives"));
    in->kind = kind;
    in->block.rank = from->status.MPI_SOURCE;
    in->block.bytes = (size_t)bytes;
    c->n_in++;
    x->moved = true;
    return rota_p2p_matched(in->block.data, (size_t)bytes, &from->message,
                            &in->request);
}

/* Match and receive all messages of a kind that have arrived. */
static int probe(rota_exec *x, kind kind)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    matched *const to = &c->matched[kind];

    while (c->probes) {
        int flag = 1;
        if (to->message == MPI_MESSAGE_NULL)
            ROTA_TRY(rota_polling_improbe(MPI_ANY_SOURCE,
                                          sparse_tag(x, (int)kind), x->comm,
                                          &flag, &to->message, &to->status));
        if (!flag)
            return MPI_SUCCESS;
        int err = receive(x, kind);
        if (rota_status_postpone(&x->status, &err) || err != MPI_SUCCESS)
            return err;
    }
    return MPI_SUCCESS;
}

/* Was there no memory for a message that was matched? */
static bool is_starved(const struct rota_sparse *c)
{
    return c->matched[BLOCK].message != MPI_MESSAGE_NULL ||
           c->matched[BUNDLE].message != MPI_MESSAGE_NULL;
}

static int test_in_turn(rota_exec *x, MPI_Request *request, bool *done)
{
    int flag = 0;

    ROTA_TRY(rota_polling_test(request, &flag, MPI_STATUS_IGNORE));
    x->moved = x->moved || flag;
    *done = flag;
    return MPI_SUCCESS;
}

static int test_recvs(rota_exec *x, bool *done)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    for (*done = true; *done && c->first_in < c->n_in;) {
        const incoming *const in = &c->in[c->first_in];
        ROTA_TRY(test_in_turn(x, &c->in[c->first_in].request, done));
        if (*done && in->kind == BUNDLE) {
            int err = rota_bundles_split(x, in);
            *done = !rota_status_postpone(&x->status, &err);
            ROTA_TRY(err);
        }
        c->first_in += *done;
    }
    return MPI_SUCCESS;
}

static int test_sends(rota_exec *x, bool *done)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    for (*done = true; *done && c->first_out < c->n_out;) {
        ROTA_TRY(test_in_turn(x, &c->out[c->first_out].request, done));
        c->first_out += *done;
    }
    return MPI_SUCCESS;
}

/* ---- consensus ----------------------------------------------------------- */

static bool is_through(const struct rota_sparse *c)
{
    return c->groups.n == 1 ? has_come(c, ENTERED, c->groups.size)
                            : has_come(c, THROUGH, 1);
}

/* Copy the values of group `last` and of the ones before it, as many as a leader
 * knows of in the current round, between this rank's table and a message. Returns
 * their bytes. */
static size_t copy_values(const rota_exec *x, int last, char *message, bool out)
{
    const struct rota_sparse *const c = rota_sparse_of(x);
    const rota_groups *const g = &c->groups;
    const rota_carried *const v = x->carried;
    char *at = message;

    for (int k = 0; k < 1 << c->round && k < g->n; k++) {
        const int group = (last - k + g->n) % g->n;
        for (int i = g->first[group]; i < g->first[group + 1]; i++) {
            char *const value =
                v->table[v->starts & 1] + rota_carried_place(v, g->rank[i]);
            memcpy(out ? at : value, out ? value : at, v->step);
            at += v->step;
        }
    }
    return (size_t)(at - message);
}

/* All of the group have entered: collect their values. */
static void gather_values(const rota_exec *x)
{
    const struct rota_sparse *const c = rota_sparse_of(x);
    const rota_carried *const v = x->carried;

    for (int q = 0; q < x->blocks.s->P; q++)
        if (q != x->blocks.s->me && is_member(x, q))
            memcpy(
                v->table[v->starts & 1] + rota_carried_place(v, q),
                rota_carried_turn(v, x->blocks.s->P, v->near[c->node->of[q]]) +
                    rota_carried_place(v, q),
                v->step);
}

/* The group whose leader's message this one gets in the current round. */
static int group_from(const struct rota_sparse *c)
{
    const int n = c->groups.n;

    return (c->groups.mine - (1 << c->round) % n + n) % n;
}

static int post_token(rota_exec *x, void *in, size_t in_bytes, void *out,
                      size_t out_bytes)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    const rota_groups *const g = &c->groups;
    const int tag = sparse_tag(x, N_MAIL_KINDS);
    const rota_mpi_buffer from = {in, in_bytes, MPI_BYTE},
                          to = {out, out_bytes, MPI_BYTE};

    ROTA_TRY(rota_p2p_post(&from, ROTA_RECV, g->from[c->round], tag, x->comm,
                           &c->token[0]));
    return rota_p2p_post(&to, ROTA_SEND, g->to[c->round], tag, x->comm,
                         &c->token[1]);
}

static int post_round(rota_exec *x)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    if (!x->carried)
        return post_token(x, &c->token_byte[0], 1, &c->token_byte[1], 1);
    if (c->round == 0)
        gather_values(x);
    const size_t out = copy_values(x, c->groups.mine, c->values[1], true);
    return post_token(x, c->values[0],
                      (size_t)x->blocks.s->P * x->carried->step, c->values[1],
                      out);
}

/* The leader goes through the rounds of the barrier, and then lets its group
 * through. */
static int go_round(rota_exec *x)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    while (c->round < c->groups.rounds) {
        bool done = true;
        for (int i = 0; i < 2 && done && c->round >= 0; i++)
            ROTA_TRY(test_in_turn(x, &c->token[i], &done));
        if (!done)
            return MPI_SUCCESS;
        if (x->carried && c->round >= 0)
            copy_values(x, group_from(c), c->values[0], false);
        if (++c->round < c->groups.rounds)
            ROTA_TRY(post_round(x));
    }
    if (!is_through(c))
        count(x, THROUGH, 1);
    return MPI_SUCCESS;
}

/* Post this rank's bundles once all members have deposited their blocks. */
static int post_bundles(rota_exec *x)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    if (c->bundled || !has_come(c, DEPOSITED, c->groups.size))
        return MPI_SUCCESS;
    take_mail(x);
    int err = rota_bundles_post(x);
    rota_status_postpone(&x->status, &err);
    return err;
}

/* Can no more mail come? done: this rank has received all messages, and passed
 * on what was for others. */
static bool is_complete(rota_exec *x, bool done)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    if (!is_through(c))
        return false;
    if (!bundles(c))
        return true;
    if (done && !c->split) {
        c->split = true;
        count(x, SPLIT, c->groups.size);
    }
    return has_come(c, SPLIT, c->groups.size);
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    bool sent, received;

    (void)step;
    ROTA_TRY(probe(x, BLOCK));
    if (bundles(c))
        ROTA_TRY(probe(x, BUNDLE));
    ROTA_TRY(post_bundles(x));
    ROTA_TRY(test_recvs(x, &received));
    ROTA_TRY(test_sends(x, &sent));
    if (sent && c->bundled && !c->counted_in) { /* this rank's blocks are out */
        c->counted_in = true;
        count(x, ENTERED, c->groups.size);
    }
    if (c->groups.n > 1 && c->counted_in && is_leader(x) &&
        has_come(c, ENTERED, c->groups.size))
        ROTA_TRY(go_round(x));
    /* All messages were matched before any rank could be through, so they are in
     * c->in. */
    received = received && !is_starved(c);
    const bool complete = is_complete(x, received && sent);
    take_mail(x); /* if complete, for the last time */
    *done = complete && received;
    return MPI_SUCCESS;
}

/* Mark ranks that have not matched what this rank sent them, and ranks whose
 * messages are arriving. Also mark all members while some have not entered, or
 * have mail to pass on. Once all have entered, mark the leader or, on the
 * leader, the one that it hears from. */
static void whom(const rota_exec *x, const rota_step *step, bool awaited[])
{
    const struct rota_sparse *const c = rota_sparse_of(x);
    const bool full = has_come(c, ENTERED, c->groups.size);
    const bool members = c->counted_in ? !full || is_through(c) : !c->bundled;

    (void)step;
    for (size_t i = c->first_out; i < c->n_out; i++)
        awaited[c->out[i].to] = true;
    for (size_t i = c->first_in; i < c->n_in; i++)
        awaited[c->in[i].block.rank] = true;
    for (int q = 0; q < x->blocks.s->P && members; q++)
        awaited[q] = awaited[q] || is_member(x, q);
    if (full && !is_leader(x))
        awaited[c->groups.leader] = true;
    else if (full && c->round >= 0 && c->round < c->groups.rounds)
        awaited[c->groups.from[c->round]] = true;
    awaited[x->blocks.s->me] = false;
}

const rota_step_kind rota_step_sparse = {
    .enter = enter, .poll = poll, .whom = whom};

/* ---- what has come ------------------------------------------------------- */

static int compare_ranks(const void *a, const void *b)
{
    const rota_sparse_block *const x = a, *const y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Collect the blocks from the group, from MPI, and from this rank itself. */
static int gather(rota_exec *x)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    size_t n = c->n_mail + 1;

    for (size_t i = 0; i < c->n_in; i++)
        n += c->in[i].kind == BUNDLE ? c->in[i].block.bytes / sizeof(mail) : 1;
    ROTA_TRY(rota_grow(&c->found, &c->found_room, n * sizeof *c->found,
                       "the blocks of a sparse exchange"));
    rota_sparse_block *to = c->found;
    for (uint64_t at = c->mail; at != 0; at = mail_at(c, at)->next) {
        mail *const m = mail_at(c, at);
        *to++ = (rota_sparse_block){m->source, m->bytes, (char *)(m + 1)};
    }
    for (size_t i = 0; i < c->n_in; i++) {
        if (c->in[i].kind == BUNDLE)
            to += rota_bundles_own(x, &c->in[i], to);
        else
            *to++ = c->in[i].block;
    }
    for (size_t i = 0; i < c->n_sends; i++)
        if (c->send[i].rank == x->blocks.s->me)
            *to++ = c->send[i];
    c->n_found = (size_t)(to - c->found);
    return MPI_SUCCESS;
}

int rota_sparse_found(rota_exec *x, const rota_sparse_block **found, size_t *n)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    if (!c->known) {
        ROTA_TRY(gather(x));
        qsort(c->found, c->n_found, sizeof *c->found, compare_ranks);
        c->known = true;
    }
    *found = c->found;
    *n = c->n_found;
    return MPI_SUCCESS;
}

void rota_sparse_finish(rota_exec *x)
{
    atomic_fetch_add_explicit(&rota_sparse_of(x)->count[FINISHED].n, 1,
                              memory_order_release);
}

const rota_path rota_path_mailbox = {
    .reserve = reserve,
    .attach = attach,
    .bind = bind,
    .describe = describe,
    .release = release,
    .sweep = sweep,
    .mark = mark,
};
