/* node.c - ranks of a node find each other's memory. */
#define _GNU_SOURCE
#include "plan/plan.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
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

/* Two ranks do in turn what an exchange of theirs would by either way: each
 * copies into memory of its own, as into a ring, the other one from there; and the
 * other one has the kernel copy what this one has just written. Two lengths, side
 * by side, several rounds, so that all is in the caches where it is in an
 * exchange. */
enum { SHORT, LONG, N_LENGTHS };
enum {
    AT_SHORT = 0,
    AT_LONG = 1 << 12,
    AREA = AT_LONG + (1 << 17),
    ROUNDS = 5
};

static const size_t trial_at[N_LENGTHS + 1] = {AT_SHORT, AT_LONG, AREA};

typedef struct trial_area {
    _Alignas(64) _Atomic int rounds; /* written */
    _Alignas(64) char ring[AREA];
    char block[AREA];
} trial_area;

typedef struct trial {
    int64_t pid;
    trial_area *theirs, *mine;
    uint64_t address;                        /* of theirs in that process */
    char *here;                              /* [AREA] */
    int64_t ring[N_LENGTHS], cma[N_LENGTHS]; /* ns, the least so far */
} trial;

static size_t trial_bytes(int length)
{
    return trial_at[length + 1] - trial_at[length];
}

/* The other rank may have failed, or wait for its core: then what is there is
 * read. in: what copying took. */
static void write_anew(const trial *t, int round, int64_t in[N_LENGTHS])
{
    enum { MOST_NS = 300000 };

    memset(t->mine->block, round, AREA);
    memset(t->here, round, AREA);
    for (int i = 0; i < N_LENGTHS; i++) {
        const int64_t begin = rota_now_ns();
        memcpy(t->mine->ring + trial_at[i], t->here + trial_at[i],
               trial_bytes(i));
        in[i] = rota_now_ns() - begin;
    }
    const int64_t begin = rota_now_ns();
    atomic_store_explicit(&t->mine->rounds, round, memory_order_release);
    while (atomic_load_explicit(&t->theirs->rounds, memory_order_acquire) <
               round &&
           rota_now_ns() - begin < MOST_NS)
        sched_yield();
}

/* One block by both ways; false if the kernel forbids the second. */
static bool read_both(trial *t, int length, int64_t in)
{
    const size_t at = trial_at[length], bytes = trial_bytes(length);
    struct iovec here = {t->here + at, bytes};
    struct iovec there = {
        (void *)(uintptr_t)(t->address + offsetof(trial_area, block) + at),
        bytes};
    const int64_t begin = rota_now_ns();

    memcpy(t->here + at, t->theirs->ring + at, bytes);
    const int64_t middle = rota_now_ns();
    const ssize_t got = process_vm_readv((pid_t)t->pid, &here, 1, &there, 1, 0);
    const int64_t end = rota_now_ns();
    if (in + middle - begin < t->ring[length])
        t->ring[length] = in + middle - begin;
    if (end - middle < t->cma[length])
        t->cma[length] = end - middle;
    return got == (ssize_t)bytes;
}

static bool run_trial(trial *t)
{
    for (int i = 0; i < N_LENGTHS; i++)
        t->ring[i] = t->cma[i] = INT64_MAX;
    for (int round = 1; round <= ROUNDS; round++) {
        int64_t in[N_LENGTHS];
        write_anew(t, round, in);
        for (int i = 0; i < N_LENGTHS; i++)
            if (!read_both(t, i, in[i]))
                return false;
    }
    return true;
}

/* The bytes from which reading private memory of another process is faster than
 * two copies, by a straight line through two lengths. */
static size_t crossing(trial *t)
{
    const double n[N_LENGTHS] = {(double)trial_bytes(SHORT),
                                 (double)trial_bytes(LONG)};

    if (!run_trial(t))
        return SIZE_MAX;
    const double ahead = (double)(t->cma[SHORT] - t->ring[SHORT]);
    const double gain = (double)(t->ring[LONG] - t->ring[SHORT] - t->cma[LONG] +
                                 t->cma[SHORT]) /
                        (n[LONG] - n[SHORT]);
    if (ahead <= 0)
        return trial_bytes(SHORT);
    const double from = gain > 0 ? n[SHORT] + ahead / gain : 1e12;
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

static trial_area *area_of(const rota_node *node, const card cards[], int i)
{
    return (trial_area *)(void *)((char *)node->near[i].head + cards[i].area);
}

/* Is it permitted, and from how many bytes on is it worth it? */
static void examine_cma(rota_node *node, const card cards[], char *here)
{
    const int next = node->me ^ 1, other = next < node->n ? next : 0;
    trial t = {
        .pid = node->near[other].pid,
        .theirs = area_of(node, cards, other),
        .mine = area_of(node, cards, node->me),
        .address = cards[other].arena.address + cards[other].area,
        .here = here,
    };

    node->cma_ok = true;
    for (int i = 0; i < node->n && node->cma_ok; i++)
        node->cma_ok = may_read(&node->near[i], &cards[i]);
    if (!node->cma_ok) /* or the process is not the one we know by this id */
        node->cma_error = errno ? errno : ESRCH;
    node->cma_from = node->cma_ok ? crossing(&t) : SIZE_MAX;
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
    *area = rota_arena_alloc(sizeof(trial_area));
    node->near[node->me].board = board;
    if (!board || !*area) {
        mine->arena = (rota_arena_card){0};
        return rota_fail(MPI_ERR_NO_MEM, "no room in shared memory");
    }
    mine->heeded = find_heeded(&mine->arena);
    mine->gong = mine->arena.cookie + atomic_fetch_add(&nodes_joined, 1);
    mine->board = rota_arena_offset(board);
    mine->area = rota_arena_offset(*area);
    return MPI_SUCCESS;
}

/* Alone on its node a rank has nobody to share with, nor an opinion on
 * cross-memory attach. area receives memory that others try to read until all
 * have settled. */
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
    char *const here = malloc(AREA), *area = NULL;
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
