/* attaching.c - see attaching.h. */
#include "plan/ranks/attaching.h"
#include "exec/memory/attach.h"
#include "exec/memory/pool.h"
#include "exec/move/clock.h"
#include "exec/move/copy.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/gather.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that a rank sends to others of its node in all, which are tried in turn until
 * the kernel is faster: with fewer, what passes through the pool stays in caches. */
enum { BYTES = 1 << 20, PIECES = 2, ROUNDS = 3 };
static const size_t totals[] = {BYTES / 2, BYTES};
enum { N_TOTALS = sizeof totals / sizeof totals[0] };

/* The shortest message for which it pays, however many there are. */
enum { SHORTEST = 1 << 15 };

/* What a rank counts for its partner, in its arena. */
typedef struct counts {
    _Alignas(64) _Atomic uint64_t ready; /* trials that it has begun */
    _Alignas(64) _Atomic uint64_t put;   /* pieces written */
    _Alignas(64) _Atomic uint64_t taken; /* pieces, or messages, read */
    _Alignas(64) char pieces[PIECES * ROTA_PIECE + ROTA_COPY_PAGE];
} counts;

/* Its memory that is not shared. What is received lies 16 bytes further in its page
 * than what is sent, as arrays from malloc do: where that is slow (attach.c), it is
 * to count. */
typedef struct outside {
    uint64_t cookie; /* of the process's arena */
    char sent[BYTES], apart[16], received[BYTES];
} outside;

/* What a rank tells the others of its node. */
typedef struct address {
    rota_place counts;    /* 0: no trial */
    rota_foreign outside; /* 0: nobody can read there */
    uint64_t cookie;
    int64_t pid;
    uint64_t verdict;
} address;

/* What this process has found out in its first trial: from how many bytes in all on
 * the kernel is faster; UINT64_MAX: from none; 0: not tried, or disturbed. */
static _Atomic uint64_t verdict;

/* ---- may they ------------------------------------------------------------ */

/* May this process read the private memory of all that share memory with it? Each
 * process is asked once. */
static bool may_attach(const rota_node *node, const address addresses[])
{
    bool all = true;

    for (int i = 0; i < node->n; i++) {
        rota_peer *const peer = node->near[i].peer;
        uint64_t cookie = 0;
        if (!peer)
            continue;
        if (peer->attaching == ROTA_ATTACH_UNKNOWN)
            peer->attaching =
                addresses[i].outside != 0 &&
                        rota_attach_read(addresses[i].pid, addresses[i].outside,
                                         (char *)&cookie, sizeof cookie) &&
                        cookie == addresses[i].cookie
                    ? ROTA_ATTACH_ALLOWED
                    : ROTA_ATTACH_REFUSED;
        all = all && peer->attaching == ROTA_ATTACH_ALLOWED;
    }
    return all;
}

/* ---- is it faster -------------------------------------------------------- */

typedef struct trial {
    counts *mine, *theirs;
    outside *here;
    const rota_peer *peer;
    rota_foreign there; /* the peer's outside */
    bool streams;
    size_t bytes;               /* to be sent */
    uint64_t begun, put, taken; /* as in counts */
    int64_t until;              /* when it ends in any case */
} trial;

static bool is_late(const trial *t)
{
    return rota_now_ns() > t->until;
}

/* Wait until the partner's count is at least n, or it is late. */
static void wait_for(const trial *t, _Atomic uint64_t *count, uint64_t n)
{
    while (atomic_load_explicit(count, memory_order_acquire) < n && !is_late(t))
        sched_yield();
}

static void count(_Atomic uint64_t *to, uint64_t n)
{
    atomic_store_explicit(to, n, memory_order_release);
}

/* Pieces begin in the middle of a page, as those of the pool do. */
static char *piece_of(counts *c, uint64_t number)
{
    char *const middle =
        c->pieces + ROTA_COPY_PAGE / 2 +
        (ROTA_COPY_PAGE - (uintptr_t)c->pieces % ROTA_COPY_PAGE) %
            ROTA_COPY_PAGE;

    return middle + number % PIECES * ROTA_PIECE;
}

/* Send all to each other by way of pieces. */
static void by_pieces(trial *t)
{
    const uint64_t all = t->put + t->bytes / ROTA_PIECE;
    uint64_t at = 0, to = 0;

    while ((t->put < all || t->taken < all) && !is_late(t)) {
        if (t->put < all &&
            t->put - atomic_load_explicit(&t->theirs->taken,
                                          memory_order_acquire) <
                PIECES) {
            rota_copy_bulk(piece_of(t->mine, t->put), t->here->sent + at,
                           ROTA_PIECE, t->streams);
            at += ROTA_PIECE;
            count(&t->mine->put, ++t->put);
        }
        if (t->taken < all &&
            t->taken <
                atomic_load_explicit(&t->theirs->put, memory_order_acquire)) {
            rota_copy_fast(t->here->received + to,
                           piece_of(t->theirs, t->taken), ROTA_PIECE);
            to += ROTA_PIECE;
            count(&t->mine->taken, ++t->taken);
        }
    }
    wait_for(t, &t->theirs->taken, all);
}

/* Let each other's kernel copy all; it counts as one piece. If it refuses, it is as
 * if it were late. */
static void by_kernel(trial *t)
{
    if (!rota_attach_read(t->peer->pid, t->there + offsetof(outside, sent),
                          t->here->received, t->bytes))
        t->until = 0;
    t->put++;
    count(&t->mine->put, t->put);
    count(&t->mine->taken, ++t->taken);
    wait_for(t, &t->theirs->taken, t->taken);
}

/* Send, then read what was received and write what is sent next, as programs do:
 * memory that the kernel has read for another core is slower to write. Returns
 * nanoseconds. */
static int64_t time_one(trial *t, void (*send)(trial *t), int round)
{
    const volatile char *const received = t->here->received;

    count(&t->mine->ready, ++t->begun);
    wait_for(t, &t->theirs->ready, t->begun);
    const int64_t begin = rota_now_ns();
    send(t);
    for (size_t i = 0; i < t->bytes; i += ROTA_CACHE_LINE)
        (void)received[i];
    memset(t->here->sent, round, t->bytes);
    return rota_now_ns() - begin;
}

/* Is the kernel faster? The first round touches new memory. Processes move from core
 * to core: so what is not clearly faster does not count. */
static bool kernel_wins(trial *t)
{
    int64_t pool = INT64_MAX, kernel = INT64_MAX;

    for (int round = 0; round < ROUNDS; round++) {
        const int64_t a = time_one(t, by_pieces, round);
        const int64_t b = time_one(t, by_kernel, round);
        pool = round > 0 && a < pool ? a : pool;
        kernel = round > 0 && b < kernel ? b : kernel;
    }
    return !is_late(t) && kernel < pool / 20 * 19;
}

/* Both of a pair try all, whatever either finds. */
static uint64_t run(trial *t)
{
    enum { MOST_NS = 20000000 };
    uint64_t from = UINT64_MAX;

    t->until = rota_now_ns() + MOST_NS;
    for (int i = 0; i < N_TOTALS; i++) {
        t->bytes = totals[i];
        if (!kernel_wins(t))
            from = UINT64_MAX;
        else if (from == UINT64_MAX)
            from = totals[i];
    }
    return is_late(t) ? 0 : from;
}

/* All pairs of ranks of the node at once, as they would send. Where one of a pair
 * knows, both take over what it knows. */
static void try_it(const rota_node *node, const address addresses[],
                   counts *mine, outside *here)
{
    const int other = node->me ^ 1;

    if (addresses[node->me].verdict != 0 || other >= node->n)
        return;
    if (addresses[other].verdict != 0) {
        verdict = addresses[other].verdict;
        return;
    }
    if (!node->near[other].peer || !addresses[other].counts || !mine)
        return;
    trial t = {.mine = mine,
               .theirs = (void *)rota_peer_at(node->near[other].peer,
                                              addresses[other].counts),
               .here = here,
               .peer = node->near[other].peer,
               .there = addresses[other].outside,
               .streams = node->streams};
    verdict = run(&t);
}

/* ---- a communicator ------------------------------------------------------ */

enum { NEVER = 1 << 20 }; /* the highest that the hint may be */

/* Not where ranks of this communicator share cores, on which all of them agree:
 * nobody would try there, and to ask takes as long as a third of the first plan. */
static bool pays_to_try(const rota_comm *c, size_t largest)
{
    const int n = rota_topo_largest_node(&c->topo);

    return rota_comm_load(c) <= 1 && largest >= SHORTEST &&
           largest >= totals[0] / (size_t)n;
}

/* Memory for others to read, and for a trial. Ranks that share cores are hardly ever
 * side by side, so that none is made there. */
static void make_memory(const rota_comm *c, bool times, address *mine,
                        counts **counts, outside **here)
{
    *here = calloc(1, sizeof **here); /* memcheck follows what is copied */
    if (!*here)
        return;
    (*here)->cookie = rota_arena_self()->cookie;
    *mine = (address){.outside = (uintptr_t)*here,
                      .cookie = (*here)->cookie,
                      .pid = rota_arena_self()->pid,
                      .verdict = verdict};
    if (times && verdict == 0 && !c->crowded)
        *counts = rota_arena_alloc(sizeof **counts);
    if (*counts)
        rota_arena_find(*counts, 1, &mine->counts);
}

/* Bits of rota_vote.used. */
enum { REFUSED = 1, UNMAPPED = 2 };

/* Map what was made for a trial, before anyone begins it: all try or none does. */
static bool map(const rota_node *node, const address addresses[])
{
    bool all = true;

    for (int i = 0; i < node->n; i++) {
        rota_peer *const peer = node->near[i].peer;
        if (!peer || addresses[i].counts == 0)
            continue;
        rota_arena_update(peer);
        all = all && rota_place_segment(addresses[i].counts) < peer->n_segments;
    }
    return all;
}

/* Ask, try if all may, and take the highest that a process has found: what pays must
 * pay for all. status: of this rank so far. Collective; the ranks agree on every
 * failure. */
static int ask_and_try(rota_comm *c, int status, const address addresses[],
                       counts *counts, outside *here)
{
    rota_node *const node = c->node;
    rota_vote vote = {0};

    if (status == MPI_SUCCESS)
        vote.used = (may_attach(node, addresses) ? 0 : REFUSED) |
                    (map(node, addresses) ? 0 : UNMAPPED);
    ROTA_TRY(rota_agree(c, status, &vote));
    node->attaches = !(vote.used & REFUSED);
    if (vote.used == 0)
        try_it(node, addresses, counts, here);
    vote.largest = verdict;
    ROTA_TRY(rota_agree(c, MPI_SUCCESS, &vote));
    c->attach_total = vote.largest > 0 ? vote.largest : UINT64_MAX;
    return MPI_SUCCESS;
}

/* Memory that others read is freed after the last agreement. */
static int find_out(rota_comm *c, bool times)
{
    const int place = c->topo.node[c->me], n = c->node->n;
    address *const addresses = calloc((size_t)n, sizeof *addresses);
    address mine = {0};
    counts *counts = NULL;
    outside *here = NULL;

    make_memory(c, times, &mine, &counts, &here);
    int err = rota_gather_addresses(c, c->topo.ranks + c->topo.first[place], n,
                                    addresses ? MPI_SUCCESS
                                              : rota_fail_mem("addresses"),
                                    &mine, addresses, sizeof mine);
    err = ask_and_try(c, err, addresses, counts, here);
    rota_arena_free(counts);
    free(here);
    free(addresses);
    return err;
}

int rota_comm_try_attaching(rota_comm *c, size_t largest, int wish)
{
    const bool times = wish == 0;

    if (!c->node || wish == NEVER || (times && !pays_to_try(c, largest)) ||
        c->attaching_tried || (c->attaching_asked && !times))
        return MPI_SUCCESS;
    c->attaching_asked = true;
    c->attaching_tried = times;
    c->attach_total = UINT64_MAX;
    return find_out(c, times);
}

size_t rota_comm_attach_from(const rota_comm *c, int wish, size_t sent,
                             const char **why)
{
    const char *unused = NULL;
    const char **const to = why ? why : &unused;
    const uint64_t total = c->attach_total;

    *to = wish == NEVER                        ? "not used: a hint forbids it"
          : wish <= 0 && rota_comm_load(c) > 1 ? "not used: ranks share cores"
          : !c->attaching_asked                ? "not used: blocks are short"
          : !c->node->attaches                 ? "not used: it is not allowed"
          : wish > 0                           ? NULL
          : !c->attaching_tried                ? "not used: blocks are short"
          : c->crowded                         ? "not used: ranks share cores"
          : total == UINT64_MAX ? "not used: no trial found it to be faster"
          : sent < total        ? "not used: too little is sent in all"
                                : NULL;
    if (*to)
        return SIZE_MAX;
    *to = "used";
    if (wish > 0)
        return (size_t)wish;
    if (sent < SIZE_MAX || c->node->n < 2)
        return SHORTEST;
    const uint64_t share = total / (uint64_t)(c->node->n - 1);
    return share > SHORTEST ? (size_t)share : SHORTEST;
}
