/* node.c - introduces the ranks of a node to each other's memory. */
#define _GNU_SOURCE
#include "plan/ranks/node.h"
#include "exec/exec.h"
#include "exec/memory/pool.h"
#include "exec/move/blocks.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/gather.h"
#include "plan/ranks/topo_detect.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* What a rank tells the other ranks of its node. */
typedef struct address {
    rota_arena_address arena;
    rota_arena_address followed; /* the process whose yields the rank follows */
    rota_place endpoints, area;  /* area: for trials */
    uint64_t area_address;       /* address of area in its process */
    uint64_t word;               /* wake word's name, if it is the first */
} address;

/* What a rank finds out about another. */
typedef struct verdict {
    bool mapped;   /* its memory is mapped here */
    bool may_read; /* its private memory can be read */
} verdict;

/* ---- yields -------------------------------------------------------------- */

/* All ranks of a host should follow the same words (exec/yields.h), whatever
 * communicators they share, such as the rows and columns of a grid. So ranks
 * that come together take over the words that the first of them follows. */
static struct {
    pthread_mutex_t lock;
    rota_arena_address address;
    rota_peer *peer; /* NULL: this process's own */
    int n_nodes;     /* nodes that it is part of */
} followed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void drop_followed(void)
{
    if (followed.peer)
        rota_arena_drop(followed.peer);
    followed.peer = NULL;
}

/* If that process is gone, nothing changes. */
static void follow(const rota_arena_address *address)
{
    rota_peer *peer = rota_arena_self();

    pthread_mutex_lock(&followed.lock);
    followed.n_nodes++;
    if (address->cookie && rota_arena_own() &&
        (address->cookie == peer->cookie ||
         rota_arena_map(address, &peer) == MPI_SUCCESS)) {
        rota_wait_share(&peer->head->yields);
        drop_followed();
        followed.peer = peer;
        followed.address = *address;
    }
    rota_fail_clear();
    pthread_mutex_unlock(&followed.lock);
}

static void leave(void)
{
    pthread_mutex_lock(&followed.lock);
    if (--followed.n_nodes == 0) {
        rota_wait_share(NULL);
        drop_followed();
    }
    pthread_mutex_unlock(&followed.lock);
}

static rota_arena_address find_followed(const rota_arena_address *own)
{
    pthread_mutex_lock(&followed.lock);
    const rota_arena_address address = followed.peer ? followed.address : *own;
    pthread_mutex_unlock(&followed.lock);
    return address;
}

/* ---- finding each other -------------------------------------------------- */

/* Find the peer, if the two can share memory, and its endpoints. */
static int map_one(rota_near *near, const address *theirs)
{
    if (theirs->arena.cookie == 0)
        return rota_fail(MPI_ERR_NO_MEM, "a rank of the node has no memory to "
                                         "share");
    if (theirs->arena.cookie == rota_arena_self()->cookie)
        near->peer = rota_arena_self();
    else
        ROTA_TRY(rota_arena_map(&theirs->arena, &near->peer));
    if (rota_place_segment(theirs->endpoints) < near->peer->n_segments &&
        rota_place_segment(theirs->area) < near->peer->n_segments) {
        near->endpoints = (void *)rota_peer_at(near->peer, theirs->endpoints);
        near->mapped = near->peer;
        return MPI_SUCCESS;
    }
    rota_arena_drop(near->peer);
    near->peer = NULL;
    return rota_fail(MPI_ERR_NO_MEM, "memory of a rank of the node cannot be "
                                     "mapped");
}

/* Keeps the text of the first failure. */
static int map_all(rota_node *node, const address addresses[])
{
    char why[ROTA_ERR_TEXT] = "";
    int failed = MPI_SUCCESS;

    for (int i = 0; i < node->n; i++) {
        const int err = i == node->me && node->near[i].peer
                            ? MPI_SUCCESS
                            : map_one(&node->near[i], &addresses[i]);
        if (err != MPI_SUCCESS && failed == MPI_SUCCESS)
            snprintf(why, sizeof why, "%s", rota_fail_text());
        failed = failed == MPI_SUCCESS ? err : failed;
    }
    rota_fail_clear();
    return failed == MPI_SUCCESS ? MPI_SUCCESS : rota_fail(failed, "%s", why);
}

/* ---- cross-memory attach ------------------------------------------------- */

/* Two ranks do in turn what an exchange would do in each way. One copies into
 * its own memory, as into a piece of the pool, through its caches or past them,
 * and the other copies from there; and the other has the kernel copy what the
 * first has just written. They take two lengths, side by side, and several
 * rounds, so that data are in the caches where they would be in an exchange. */
enum { SHORT, LONG, N_LENGTHS };
enum { CACHED, STREAMED, N_STORES };
enum {
    AT_SHORT = 0,
    AT_LONG = 1 << 12,
    AREA = AT_LONG + (1 << 17),
    ROUNDS = 5
};

static const size_t trial_at[N_LENGTHS + 1] = {AT_SHORT, AT_LONG, AREA};

typedef struct trial_area {
    _Alignas(64) _Atomic int rounds; /* rounds written */
    _Alignas(64) char piece[N_STORES][AREA];
    char block[AREA];
} trial_area;

typedef struct trial {
    int64_t pid;
    trial_area *theirs, *mine;
    uint64_t area_address; /* address of theirs in its process */
    char *here;            /* [AREA] */
    /* least times so far, in nanoseconds */
    int64_t pool[N_STORES][N_LENGTHS], cma[N_LENGTHS];
} trial;

static void (*const store[N_STORES])(void *to, const void *from,
                                     size_t bytes) = {rota_copy_fast,
                                                      rota_copy_stream};

static size_t trial_bytes(int length)
{
    return trial_at[length + 1] - trial_at[length];
}

/* Write anew for a round. The other rank may have failed, or wait for its core:
 * then read what is there. in: how long copying took. */
static void write_anew(const trial *t, int round,
                       int64_t in[N_STORES][N_LENGTHS])
{
    enum { MOST_NS = 300000 };

    memset(t->mine->block, round, AREA);
    memset(t->here, round, AREA);
    for (int how = 0; how < N_STORES; how++)
        for (int i = 0; i < N_LENGTHS; i++) {
            const int64_t begin = rota_now_ns();
            store[how](t->mine->piece[how] + trial_at[i], t->here + trial_at[i],
                       trial_bytes(i));
            in[how][i] = rota_now_ns() - begin;
        }
    const int64_t begin = rota_now_ns();
    atomic_store_explicit(&t->mine->rounds, round, memory_order_release);
    while (atomic_load_explicit(&t->theirs->rounds, memory_order_acquire) <
               round &&
           rota_now_ns() - begin < MOST_NS)
        sched_yield();
}

static void keep_least(int64_t *least, int64_t ns)
{
    if (ns < *least)
        *least = ns;
}

/* Read a block in all ways; false if the kernel forbids the last. */
static bool read_all(trial *t, int length, int64_t in[N_STORES][N_LENGTHS])
{
    const size_t at = trial_at[length], bytes = trial_bytes(length);
    struct iovec here = {t->here + at, bytes};
    struct iovec there = {
        (void *)(uintptr_t)(t->area_address + offsetof(trial_area, block) + at),
        bytes};

    for (int how = 0; how < N_STORES; how++) {
        const int64_t begin = rota_now_ns();
        memcpy(t->here + at, t->theirs->piece[how] + at, bytes);
        keep_least(&t->pool[how][length],
                   in[how][length] + rota_now_ns() - begin);
    }
    const int64_t begin = rota_now_ns();
    const ssize_t got = process_vm_readv((pid_t)t->pid, &here, 1, &there, 1, 0);
    keep_least(&t->cma[length], rota_now_ns() - begin);
    return got == (ssize_t)bytes;
}

static bool run_trial(trial *t)
{
    for (int i = 0; i < N_LENGTHS; i++)
        t->pool[CACHED][i] = t->pool[STREAMED][i] = t->cma[i] = INT64_MAX;
    for (int round = 1; round <= ROUNDS; round++) {
        int64_t in[N_STORES][N_LENGTHS];
        write_anew(t, round, in);
        for (int i = 0; i < N_LENGTHS; i++)
            if (!read_all(t, i, in))
                return false;
    }
    return true;
}

/* Is a piece of the pool better written past the caches? That saves moving each
 * of its lines from the reader's cache to the writer's. It takes a third of the
 * time where the two cores are far apart, and up to 1.5 times as much where
 * they are near. Processes move from core to core, so a large gain counts more
 * than a small loss. */
static bool is_streamed(const trial *t)
{
    return t->pool[STREAMED][LONG] < t->pool[CACHED][LONG] / 5 * 8;
}

/* The length from which reading another process's private memory is faster than
 * two copies, by a straight line through two lengths. */
static size_t crossing(const trial *t)
{
    const double n[N_LENGTHS] = {(double)trial_bytes(SHORT),
                                 (double)trial_bytes(LONG)};
    const int64_t short_pool = t->pool[CACHED][SHORT];
    const int64_t long_pool = t->pool[is_streamed(t) ? STREAMED : CACHED][LONG];
    const double ahead = (double)(t->cma[SHORT] - short_pool);
    const double gain =
        (double)(long_pool - short_pool - t->cma[LONG] + t->cma[SHORT]) /
        (n[LONG] - n[SHORT]);

    if (ahead <= 0)
        return trial_bytes(SHORT);
    const double from = gain > 0 ? n[SHORT] + ahead / gain : 1e12;
    return from < 1e12 ? (size_t)from : SIZE_MAX;
}

/* May this rank read that process's private memory? If not, errno says why, or
 * the process with this id is another one. */
static bool may_read(const address *theirs)
{
    uint64_t cookie = 0;
    struct iovec here = {&cookie, sizeof cookie};
    struct iovec there = {(void *)(uintptr_t)theirs->arena.address,
                          sizeof cookie};

    errno = 0;
    return process_vm_readv((pid_t)theirs->arena.pid, &here, 1, &there, 1, 0) ==
               (ssize_t)sizeof cookie &&
           cookie == theirs->arena.cookie;
}

static trial_area *area_of(const rota_node *node, const address addresses[],
                           int i)
{
    return (void *)rota_peer_at(node->near[i].peer, addresses[i].area);
}

/* Find out from which length it pays, and how to write pieces. A rank without a
 * partner has no opinion. Each process does this once: it takes 5 ms, and
 * programs make hundreds of communicators. */
static void try_ways(rota_node *node, const address addresses[], char *here)
{
    static atomic_size_t from;
    static atomic_bool streams, known;
    const int next = node->me ^ 1, other = next < node->n ? next : 0;

    if (other == node->me || !node->near[other].peer ||
        !node->near[node->me].peer)
        return;
    trial t = {
        .pid = node->near[other].peer->pid,
        .theirs = area_of(node, addresses, other),
        .mine = area_of(node, addresses, node->me),
        .area_address = addresses[other].area_address,
        .here = here,
    };
    if (!known) {
        const bool ran = run_trial(&t);
        from = ran ? crossing(&t) : SIZE_MAX;
        streams = is_streamed(&t);
        known = ran;
    }
    node->cma_threshold = from;
    node->streams = streams;
}

static void examine_cma(rota_node *node, const address addresses[], char *here,
                        verdict verdicts[])
{
    node->cma_ok = true;
    for (int i = 0; i < node->n; i++) {
        if (i == node->me || !node->near[i].peer)
            continue;
        verdicts[i].may_read = may_read(&addresses[i]);
        if (!verdicts[i].may_read && node->cma_ok)
            node->cma_error = errno ? errno : ESRCH;
        node->cma_ok = node->cma_ok && verdicts[i].may_read;
    }
    if (node->cma_ok)
        try_ways(node, addresses, here);
}

/* ---- a communicator's node ----------------------------------------------- */

/* Plans made earlier may still use its memory. */
static void forget_peer(rota_near *near)
{
    near->peer = NULL;
    near->endpoints = NULL;
}

void rota_node_free(rota_node *node)
{
    if (!node)
        return;
    if (node->joined)
        leave();
    for (int i = 0; node->near && i < node->n; i++) {
        rota_near *const near = &node->near[i];
        if (i == node->me && !rota_arena_free(near->endpoints))
            free(near->endpoints);
        if (near->mapped)
            rota_arena_drop(near->mapped);
    }
    free(node->near);
    free(node->of);
    free(node);
}

static rota_node *new_node(const rota_comm *c)
{
    const rota_topo *const t = &c->topo;
    const int mine = t->node[c->me];
    rota_node *const node = calloc(1, sizeof *node);

    if (!node)
        return NULL;
    node->n = t->first[mine + 1] - t->first[mine];
    node->me = t->local[c->me];
    node->of = malloc((size_t)c->P * sizeof *node->of);
    node->near = calloc((size_t)node->n, sizeof *node->near);
    for (int q = 0; node->of && q < c->P; q++)
        node->of[q] = t->node[q] == mine ? t->local[q] : -1;
    if (node->of && node->near)
        return node;
    rota_node_free(node);
    return NULL;
}

/* Nodes that this process has ever joined. */
static _Atomic uint64_t nodes_joined;

/* Make this rank's endpoints. If it has no memory to share, nobody sees
 * them. */
static int make_endpoints(rota_node *node, address *mine, char **area)
{
    const size_t bytes = (size_t)node->n * sizeof(rota_endpoint);
    rota_near *const near = &node->near[node->me];
    int err = rota_arena_open(&mine->arena);

    if (err == MPI_SUCCESS) {
        rota_arena_bind(rota_topo_bind_memory);
        rota_pool_allow(node->n);
        near->endpoints = rota_arena_alloc(bytes);
        *area = rota_arena_alloc(sizeof(trial_area));
        if (near->endpoints && *area) {
            near->peer = rota_arena_self();
            mine->followed = find_followed(&mine->arena);
            mine->word =
                mine->arena.cookie + atomic_fetch_add(&nodes_joined, 1);
            rota_arena_find(near->endpoints, 1, &mine->endpoints);
            rota_arena_find(*area, 1, &mine->area);
            mine->area_address = (uint64_t)(uintptr_t)*area;
            return MPI_SUCCESS;
        }
        err = rota_fail(MPI_ERR_NO_MEM, "no room in shared memory");
    }
    mine->arena = (rota_arena_address){0};
    if (!near->endpoints)
        near->endpoints = calloc((size_t)node->n, sizeof *near->endpoints);
    return near->endpoints ? err : rota_fail_mem("a node");
}

/* Find out about the other ranks. area: receives memory that others try to read
 * until all have settled. */
static int look_around(rota_comm *c, rota_node *node, address addresses[],
                       char *here, char **area, verdict verdicts[])
{
    const int *const ranks = c->topo.ranks + c->topo.first[c->topo.node[c->me]];
    rota_near *const near = node->near;
    address mine = {0};
    int err = make_endpoints(node, &mine, area);

    addresses[node->me] = mine;
    ROTA_TRY(rota_swap_addresses(c, ranks, node->n,
                                 near[node->me].endpoints ? MPI_SUCCESS : err,
                                 &mine, addresses, sizeof mine));
    if (err == MPI_SUCCESS)
        err = map_all(node, addresses);
    for (int i = 0; i < node->n; i++) {
        verdicts[i].mapped = near[i].peer != NULL;
        if (near[i].peer)
            near[node->me].endpoints[i].slot = near[i].peer->slot;
    }
    examine_cma(node, addresses, here, verdicts);
    return err;
}

/* Two ranks share memory if each has mapped the other's. */
static int compare_verdicts(const rota_comm *c, rota_node *node,
                            const verdict mine[])
{
    const int *const ranks = c->topo.ranks + c->topo.first[c->topo.node[c->me]];
    const size_t n = (size_t)node->n;
    verdict *const all = calloc(n * n, sizeof *all);
    const int err = rota_swap_addresses(
        c, ranks, node->n, all ? MPI_SUCCESS : rota_fail_mem("a node"), mine,
        all, n * sizeof *all);

    for (int i = 0; err == MPI_SUCCESS && i < node->n; i++) {
        const verdict *const theirs = &all[(size_t)i * n + (size_t)node->me];
        node->near[i].may_attach = node->near[i].may_attach && theirs->may_read;
        if (i == node->me || theirs->mapped)
            continue;
        if (node->near[i].peer)
            rota_fail(MPI_ERR_NO_MEM,
                      "a rank of the node cannot map this one's memory");
        forget_peer(&node->near[i]);
    }
    free(all);
    return err;
}

/* Bits of rota_vote.used. */
enum { SOME_APART = 1, SOME_TOGETHER = 2 };

static bool shares(const rota_node *node)
{
    for (int i = 0; i < node->n; i++)
        if (i != node->me && node->near[i].peer)
            return true;
    return false;
}

static void keep_why(rota_comm *c)
{
    if (rota_fail_text() && !c->node_why[0])
        snprintf(c->node_why, sizeof c->node_why, "%s", rota_fail_text());
    rota_fail_clear();
}

/* From this length on, a message is read from private memory whatever the trial
 * says. In pieces, it would change hands every two of them; each time,
 * processes that compete for cores must be switched; and its bytes leave the
 * caches anyway. P = 2, 32 MiB blocks: 33 to 50 ms against 24 to 60 on idle
 * cores, 40 against 500 to 1,000 beside other programs. */
enum { FAR = 64 * ROTA_PIECE };

/* Settle which pairs share memory, and the lengths from which all ranks use
 * other ways to copy. Collective. */
static int settle(rota_comm *c, rota_node *node, int status,
                  const verdict verdicts[])
{
    rota_vote vote = {.used = (status != MPI_SUCCESS ? SOME_APART : 0) |
                              (shares(node) ? SOME_TOGETHER : 0),
                      .smallest =
                          node->cma_ok ? UINT64_MAX : (uint64_t)node->cma_error,
                      .largest = node->cma_threshold};

    keep_why(c);
    int err = rota_agree(c, MPI_SUCCESS, &vote);
    for (int i = 0; i < node->n; i++)
        node->near[i].may_attach = true;
    if (err == MPI_SUCCESS &&
        (vote.used & SOME_APART || vote.smallest != UINT64_MAX))
        err = compare_verdicts(c, node, verdicts);
    if (err != MPI_SUCCESS) {
        rota_node_free(node);
        return err;
    }
    keep_why(c);
    for (int i = 0; i < node->n; i++)
        if (node->near[i].peer)
            node->near[i].peer->slot_there =
                node->near[i].endpoints[node->me].slot;
    node->apart = vote.used & SOME_APART;
    node->cma_ok = vote.smallest == UINT64_MAX;
    node->cma_error = node->cma_ok ? 0 : (int)vote.smallest;
    node->cma_threshold = vote.largest > 0 ? (size_t)vote.largest : SIZE_MAX;
    if (node->cma_ok && node->cma_threshold > FAR)
        node->cma_threshold = FAR;
    if (!(vote.used & SOME_TOGETHER)) {
        if (!c->node_why[0])
            snprintf(c->node_why, sizeof c->node_why, "no two ranks share it");
        rota_node_free(node);
    } else {
        c->node = node;
    }
    return MPI_SUCCESS;
}

/* Join the node. If all ranks have mapped the first one's memory, they sleep on
 * its wake words. */
static void join(rota_node *node, const address addresses[])
{
    bool all = true;

    for (int i = 0; i < node->n; i++)
        all = all && node->near[i].peer;
    if (all) {
        node->word = node->near[0].peer->head->word;
        node->word_name = addresses[0].word;
    }
    follow(&addresses[0].followed);
    node->joined = true;
}

static bool has_neighbours(const rota_topo *t)
{
    return t->n_nodes < t->P;
}

int rota_comm_open_node(rota_comm *c)
{
    if (c->node_tried)
        return MPI_SUCCESS;
    c->node_tried = true;
    if (!has_neighbours(&c->topo)) {
        snprintf(c->node_why, sizeof c->node_why,
                 "every rank has a node of its own");
        return MPI_SUCCESS;
    }
    rota_node *const node = new_node(c);
    const size_t n = node ? (size_t)node->n : 1;
    address *const addresses = calloc(n, sizeof *addresses);
    verdict *const verdicts = calloc(n, sizeof *verdicts);
    char *const here = malloc(AREA), *area = NULL;
    int err = node && addresses && verdicts && here ? MPI_SUCCESS
                                                    : rota_fail_mem("a node");
    err = rota_agree(c, err, NULL);
    if (err == MPI_SUCCESS)
        err = settle(c, node,
                     look_around(c, node, addresses, here, &area, verdicts),
                     verdicts);
    else
        rota_node_free(node);
    if (c->node)
        join(c->node, addresses);
    rota_arena_free(area);
    free(addresses);
    free(verdicts);
    free(here);
    return err;
}

int rota_comm_part_node(rota_comm *c)
{
    rota_node *const node = c->node;
    verdict *const verdicts = calloc((size_t)node->n, sizeof *verdicts);

    for (int i = 0; verdicts && i < node->n; i++) {
        const rota_near *const near = &node->near[i];
        verdicts[i].mapped = near->peer && !near->peer->stuck;
        verdicts[i].may_read = near->peer != NULL;
    }
    int err =
        rota_agree(c, verdicts ? MPI_SUCCESS : rota_fail_mem("a node"), NULL);
    if (err == MPI_SUCCESS)
        err = compare_verdicts(c, node, verdicts);
    for (int i = 0; err == MPI_SUCCESS && i < node->n; i++)
        if (i != node->me && !verdicts[i].mapped)
            forget_peer(&node->near[i]);
    node->apart = true;
    node->word = NULL;
    node->word_name = 0; /* a rank that still sleeps on it does so no more */
    free(verdicts);
    return err;
}

bool rota_comm_update_node(const rota_comm *c)
{
    bool all = true;

    for (int i = 0; c->node && i < c->node->n; i++)
        if (c->node->near[i].peer)
            all = rota_arena_update(c->node->near[i].peer) && all;
    return all;
}
