/* node.c - introduces the ranks of a node to each other's memory. */
#include "plan/ranks/node.h"
#include "exec/exec.h"
#include "exec/memory/pool.h"
#include "exec/run/waiting.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/gather.h"
#include "plan/ranks/topo_detect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rank tells the other ranks of its node. */
typedef struct address {
    rota_arena_address arena;
    rota_arena_address followed; /* the process whose yields the rank follows */
    rota_place endpoints;
    uint64_t word; /* wake word's name, if it is the first */
} address;

/* ---- yields -------------------------------------------------------------- */

/* All ranks of a host should follow the same words (exec/memory/yields.h), whatever
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
    if (rota_place_segment(theirs->endpoints) < near->peer->n_segments) {
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
static int make_endpoints(rota_node *node, address *mine)
{
    const size_t bytes = (size_t)node->n * sizeof(rota_endpoint);
    rota_near *const near = &node->near[node->me];
    int err = rota_arena_open(&mine->arena);

    if (err == MPI_SUCCESS) {
        rota_arena_bind(rota_topo_bind_memory);
        rota_pool_allow(node->n);
        near->endpoints = rota_arena_alloc(bytes);
        if (near->endpoints) {
            near->peer = rota_arena_self();
            mine->followed = find_followed(&mine->arena);
            mine->word =
                mine->arena.cookie + atomic_fetch_add(&nodes_joined, 1);
            rota_arena_find(near->endpoints, 1, &mine->endpoints);
            return MPI_SUCCESS;
        }
        err = rota_fail(MPI_ERR_NO_MEM, "no room in shared memory");
    }
    mine->arena = (rota_arena_address){0};
    if (!near->endpoints)
        near->endpoints = calloc((size_t)node->n, sizeof *near->endpoints);
    return near->endpoints ? err : rota_fail_mem("a node");
}

/* Make this rank's endpoints, and tell the others of the node where they are. To lack
 * memory to share is no failure: then *status, of this rank so far, becomes the
 * reason. Collective; may fail on one rank alone. */
static int swap_addresses(rota_comm *c, rota_node *node, int *status,
                          address addresses[])
{
    const int mine = c->topo.node[c->me];
    address self = {0};
    int err = *status;

    if (err == MPI_SUCCESS) {
        *status = make_endpoints(node, &self);
        err = node->near[node->me].endpoints ? MPI_SUCCESS : *status;
    }
    return rota_gather_addresses(c, c->topo.ranks + c->topo.first[mine],
                                 rota_topo_node_size(&c->topo, mine), err,
                                 &self, addresses, sizeof self);
}

/* Find out about the other ranks: whose memory is mapped here. status: why this rank
 * has no memory to share. */
static int look_around(rota_node *node, const address addresses[], int status,
                       bool mapped[])
{
    rota_near *const near = node->near;
    const int err = status == MPI_SUCCESS ? map_all(node, addresses) : status;

    for (int i = 0; i < node->n; i++) {
        mapped[i] = near[i].peer != NULL;
        if (near[i].peer)
            near[node->me].endpoints[i].slot = near[i].peer->slot;
    }
    return err;
}

/* Two ranks share memory if each has mapped the other's: both compare the same two
 * entries, so both share or neither does. mine: NULL without memory. Collective; the
 * ranks agree on every failure. */
static int compare_mapped(const rota_comm *c, rota_node *node,
                          const bool mine[])
{
    const int *const ranks = c->topo.ranks + c->topo.first[c->topo.node[c->me]];
    const size_t n = (size_t)node->n;
    bool *const all = calloc(n * n, sizeof *all);
    int err = mine && all ? MPI_SUCCESS : rota_fail_mem("a node");

    err = rota_gather_addresses(c, ranks, node->n, err, mine, all,
                                n * sizeof *all);
    err = rota_agree(c, err, NULL);
    for (int i = 0; err == MPI_SUCCESS && i < node->n; i++) {
        if (i == node->me || all[(size_t)i * n + (size_t)node->me])
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

/* Agree on which pairs share memory. That some could not be mapped is known only to
 * some ranks; the vote tells all, so all compare or none does, and all keep the
 * node or none does. err: of this rank so far; then the rest may be missing. status:
 * whether it has mapped all. Collective; the ranks agree on every failure. */
static int agree_on_pairs(rota_comm *c, rota_node *node, int err, int status,
                          const bool mapped[])
{
    rota_vote vote = {0};

    if (err == MPI_SUCCESS) {
        vote.used = (status != MPI_SUCCESS ? SOME_APART : 0) |
                    (shares(node) ? SOME_TOGETHER : 0);
        keep_why(c);
    }
    err = rota_agree(c, err, &vote);
    if (err == MPI_SUCCESS && vote.used & SOME_APART)
        err = compare_mapped(c, node, mapped);
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

/* All ranks or none set node_tried, since hints decide about it, which are the same
 * on all. Nor do they differ about c->node afterwards. */
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
    bool *const mapped = calloc(n, sizeof *mapped);
    int status =
        node && addresses && mapped ? MPI_SUCCESS : rota_fail_mem("a node");
    int err = swap_addresses(c, node, &status, addresses);
    if (err == MPI_SUCCESS)
        status = look_around(node, addresses, status, mapped);
    err = agree_on_pairs(c, node, err, status, mapped);
    if (c->node)
        join(c->node, addresses);
    free(addresses);
    free(mapped);
    return err;
}

int rota_comm_part_node(rota_comm *c)
{
    rota_node *const node = c->node;
    bool *const mapped = calloc((size_t)node->n, sizeof *mapped);

    for (int i = 0; mapped && i < node->n; i++) {
        const rota_near *const near = &node->near[i];
        mapped[i] = near->peer && !near->peer->stuck;
    }
    const int err = compare_mapped(c, node, mapped);
    for (int i = 0; err == MPI_SUCCESS && i < node->n; i++)
        if (i != node->me && !mapped[i])
            forget_peer(&node->near[i]);
    node->apart = true;
    node->word = NULL;
    node->word_name = 0; /* a rank that still sleeps on it does so no more */
    free(mapped);
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
