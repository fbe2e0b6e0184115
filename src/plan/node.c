/* node.c - ranks of a node find each other's memory. */
#define _GNU_SOURCE
#include "plan/plan.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* What ranks of a node tell each other. */
typedef struct card {
    rota_arena_card arena;
    rota_arena_card heeded; /* whose yields the rank heeds */
    uint64_t board, area;   /* offsets in arena; the latter for trials */
    uint64_t gong;          /* its name, if the rank is the node's first */
} card;

/* ---- yields -------------------------------------------------------------------- */

/* Ranks of a host are to heed the same words (exec/yields.h), whatever
 * communicators they share: in a grid, those of its rows and columns. Hence
 * ranks that come together take over what the first of them heeds. */
static struct {
    pthread_mutex_t lock;
    rota_arena_card card;
    rota_arena_head *head; /* NULL: those of nobody else */
    int n_nodes;           /* that it is in */
} heeded = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void drop_heeded(void)
{
    if (heeded.head && heeded.head != rota_arena_own())
        rota_arena_drop(heeded.head);
    heeded.head = NULL;
}

/* That process may be gone: then nothing changes. */
static void heed(const rota_arena_card *card)
{
    rota_arena_head *head = rota_arena_own();

    pthread_mutex_lock(&heeded.lock);
    heeded.n_nodes++;
    if (card->cookie == head->cookie ||
        rota_arena_map(card, &head) == MPI_SUCCESS) {
        rota_wait_share(&head->yields);
        drop_heeded();
        heeded.head = head;
        heeded.card = *card;
    }
    rota_fail_clear();
    pthread_mutex_unlock(&heeded.lock);
}

static void leave(void)
{
    pthread_mutex_lock(&heeded.lock);
    if (--heeded.n_nodes == 0) {
        rota_wait_share(NULL);
        drop_heeded();
    }
    pthread_mutex_unlock(&heeded.lock);
}

static rota_arena_card find_heeded(const rota_arena_card *own)
{
    pthread_mutex_lock(&heeded.lock);
    const rota_arena_card card = heeded.head ? heeded.card : *own;
    pthread_mutex_unlock(&heeded.lock);
    return card;
}

/* ---- finding each other -------------------------------------------------------- */

int rota_swap_cards(const rota_comm *c, const int rank[], int n, int status,
                    const void *mine, void *cards, size_t bytes)
{
    MPI_Request *const request = malloc(2 * (size_t)n * sizeof(MPI_Request));
    int err = status;

    if (err == MPI_SUCCESS && !request)
        err = rota_fail_mem("requests");
    /* A rank that cannot take part would leave the others waiting. */
    err = rota_agree(c, err, NULL);
    if (err != MPI_SUCCESS) {
        free(request);
        return err;
    }
    for (int i = 0; i < n; i++) {
        ROTA_TRY(MPI_Irecv((char *)cards + (size_t)i * bytes, (int)bytes,
                           MPI_BYTE, rank[i], ROTA_TAG_CARD, c->dup,
                           &request[2 * i]));
        ROTA_TRY(MPI_Isend(mine, (int)bytes, MPI_BYTE, rank[i], ROTA_TAG_CARD,
                           c->dup, &request[2 * i + 1]));
    }
    err = rota_wait_requests(2 * n, request);
    free(request);
    return err;
}

static int map_one(rota_node *node, int i, const card *theirs)
{
    rota_near *const near = &node->near[i];

    if (theirs->arena.cookie == 0)
        return rota_fail(MPI_ERR_NO_MEM, "a rank of the node has no memory to "
                                         "share");
    if (i == node->me)
        near->head = rota_arena_own();
    else
        ROTA_TRY(rota_arena_map(&theirs->arena, &near->head));
    near->bell = &near->head->bell;
    near->pid = theirs->arena.pid;
    near->board = (uint64_t *)(void *)((char *)near->head + theirs->board);
    return MPI_SUCCESS;
}

static int map_all(rota_node *node, const card cards[])
{
    for (int i = 0; i < node->n; i++)
        ROTA_TRY(map_one(node, i, &cards[i]));
    node->gong = node->near[0].head->gong;
    node->gong_name = cards[0].gong;
    return MPI_SUCCESS;
}

/* ---- cross-memory attach --------------------------------------------------------- */

typedef struct trial {
    rota_near *near;
    uint64_t address; /* of its arena in that process */
    uint64_t at;      /* offset of what is to be read next */
    char *here;
} trial;

enum { SHORT = 1 << 12, LONG = 1 << 17, REPEAT = 4 };
enum { TRIAL_BYTES = 2 * REPEAT * (SHORT + LONG), PAGE = 1 << 12 };

/* One block by both ways; false if the kernel forbids the second. What is read
 * is read for the first time, as it is in an exchange; so through a ring, where
 * the sender's copy takes lines from the receiver's cache, it is twice the
 * receiver's copy. */
static bool try_once(trial *t, size_t bytes, int64_t *ring, int64_t *cma)
{
    struct iovec here = {t->here, bytes};
    struct iovec there = {(void *)(uintptr_t)(t->address + t->at + bytes),
                          bytes};
    const int64_t begin = rota_now_ns();

    memcpy(t->here, (char *)t->near->head + t->at, bytes);
    const int64_t middle = rota_now_ns();
    const ssize_t got =
        process_vm_readv((pid_t)t->near->pid, &here, 1, &there, 1, 0);
    const int64_t end = rota_now_ns();
    t->at += 2 * bytes;
    *ring = 2 * (middle - begin) < *ring ? 2 * (middle - begin) : *ring;
    *cma = end - middle < *cma ? end - middle : *cma;
    return got == (ssize_t)bytes;
}

/* Have the pages in this process's tables: a line of each is read. */
static void touch(const trial *t)
{
    const volatile char *const area = (char *)t->near->head + t->at;

    for (size_t i = 0; i < TRIAL_BYTES; i += PAGE)
        (void)area[i];
    memset(t->here, 0, LONG);
}

/* The bytes from which reading private memory of another process is faster than
 * two copies, by a straight line through two lengths. */
static size_t crossing(trial *t)
{
    int64_t ring[2] = {INT64_MAX, INT64_MAX}, cma[2] = {INT64_MAX, INT64_MAX};
    const size_t bytes[2] = {SHORT, LONG};

    touch(t);
    for (int i = 0; i < 2 * REPEAT; i++)
        if (!try_once(t, bytes[i % 2], &ring[i % 2], &cma[i % 2]))
            return SIZE_MAX;
    const double ring_slope = (double)(ring[1] - ring[0]) / (LONG - SHORT);
    const double cma_slope = (double)(cma[1] - cma[0]) / (LONG - SHORT);
    const double ahead = (double)(cma[0] - ring[0]);
    if (ahead <= 0)
        return SHORT;
    if (cma_slope >= ring_slope)
        return SIZE_MAX;
    const double from = SHORT + ahead / (ring_slope - cma_slope);
    return from < 1e12 ? (size_t)from : SIZE_MAX;
}

/* May this rank read the memory of that process? */
static bool may_read(const rota_near *near, const card *theirs)
{
    uint64_t cookie = 0;
    struct iovec here = {&cookie, sizeof cookie};
    struct iovec there = {(void *)(uintptr_t)theirs->arena.address,
                          sizeof cookie};

    errno = 0;
    return process_vm_readv((pid_t)near->pid, &here, 1, &there, 1, 0) ==
               (ssize_t)sizeof cookie &&
           cookie == theirs->arena.cookie;
}

/* Messages so long go by cross-memory attach wherever it is permitted: they
 * wait for room in their ring, and at 1 MiB it was 1.1 times as fast where
 * the cores of P = 2 share a cache and 2 times where they seem not to. */
enum { ALWAYS = 1 << 19 };

/* Is it permitted, and from how many bytes on is it worth it? */
static void examine_cma(rota_node *node, const card cards[], char *here)
{
    const int other = node->me > 0 ? 0 : 1;
    trial t = {.near = &node->near[other],
               .address = cards[other].arena.address,
               .at = cards[other].area,
               .here = here};

    node->cma_ok = true;
    for (int i = 0; i < node->n && node->cma_ok; i++)
        node->cma_ok = may_read(&node->near[i], &cards[i]);
    if (!node->cma_ok) /* or the process is not the one we know by this id */
        node->cma_error = errno ? errno : ESRCH;
    const size_t from = node->cma_ok ? crossing(&t) : SIZE_MAX;
    node->cma_from = node->cma_ok && from > ALWAYS ? ALWAYS : from;
}

/* ---- a communicator's node --------------------------------------------------------- */

void rota_node_free(rota_node *node)
{
    if (!node)
        return;
    if (node->joined)
        leave();
    for (int i = 0; node->near && i < node->n; i++) {
        if (i == node->me)
            rota_arena_free(node->near[i].board);
        else if (node->near[i].head)
            rota_arena_drop(node->near[i].head);
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

/* By this process, ever. */
static _Atomic uint64_t nodes_joined;

static int make_board(rota_node *node, card *mine, char **area)
{
    const size_t bytes = (size_t)node->n * sizeof(uint64_t);

    ROTA_TRY(rota_arena_open(&mine->arena));
    rota_topo_bind_memory(rota_arena_own(), mine->arena.bytes);
    uint64_t *const board = rota_arena_alloc(bytes);
    *area = rota_arena_alloc(TRIAL_BYTES);
    node->near[node->me].board = board;
    if (!board || !*area) {
        mine->arena = (rota_arena_card){0};
        return rota_fail(MPI_ERR_NO_MEM, "no room in shared memory");
    }
    memset(*area, 1, TRIAL_BYTES);
    mine->heeded = find_heeded(&mine->arena);
    mine->gong = mine->arena.cookie + atomic_fetch_add(&nodes_joined, 1);
    mine->board = rota_arena_offset(board);
    mine->area = rota_arena_offset(*area);
    return MPI_SUCCESS;
}

/* Alone on its node a rank has nobody to share with, nor an opinion on
 * cross-memory attach. area receives memory that
 * others try to read until all have settled. */
static int join_node(rota_comm *c, rota_node *node, card cards[], char *here,
                     char **area)
{
    const int *const ranks = c->topo.ranks + c->topo.first[c->topo.node[c->me]];
    card mine = {0};
    const int err = make_board(node, &mine, area);

    cards[node->me] = mine;
    ROTA_TRY(rota_swap_cards(c, ranks, node->n, MPI_SUCCESS, &mine, cards,
                             sizeof mine));
    ROTA_TRY(err);
    ROTA_TRY(map_all(node, cards));
    node->cma_ok = true;
    if (node->n > 1)
        examine_cma(node, cards, here);
    return MPI_SUCCESS;
}

static bool has_neighbours(const rota_topo *t)
{
    return t->n_nodes < t->P;
}

/* All ranks use shared memory or none does; and they cross over to other ways
 * of copying at the same sizes. A sender must not have its memory read by one
 * that may not: what is forbidden to one rank is not done by any. */
static int settle(rota_comm *c, rota_node *node, int status)
{
    rota_vote vote = {.clash = status != MPI_SUCCESS,
                      .smallest =
                          node->cma_ok ? UINT64_MAX : (uint64_t)node->cma_error,
                      .largest = node->cma_from};

    if (status != MPI_SUCCESS && rota_fail_text())
        snprintf(c->node_why, sizeof c->node_why, "%s", rota_fail_text());
    rota_fail_clear();
    ROTA_TRY(rota_agree(c, MPI_SUCCESS, &vote));
    if (vote.clash) {
        if (!c->node_why[0])
            snprintf(c->node_why, sizeof c->node_why, "not all ranks have it");
        rota_node_free(node);
        return MPI_SUCCESS;
    }
    node->cma_ok = vote.smallest == UINT64_MAX;
    node->cma_error = node->cma_ok ? 0 : (int)vote.smallest;
    node->cma_from = (size_t)vote.largest;
    c->node = node;
    return MPI_SUCCESS;
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
    card *const cards = calloc(node ? (size_t)node->n : 1, sizeof *cards);
    char *const here = malloc(LONG), *area = NULL;
    int err = node && cards && here ? MPI_SUCCESS : rota_fail_mem("a node");
    int agreed = rota_agree(c, err, NULL);
    if (agreed == MPI_SUCCESS)
        agreed = settle(c, node, join_node(c, node, cards, here, &area));
    else
        rota_node_free(node);
    if (c->node) {
        heed(&cards[0].heeded);
        c->node->joined = true;
    }
    rota_arena_free(area);
    free(cards);
    free(here);
    return agreed;
}
