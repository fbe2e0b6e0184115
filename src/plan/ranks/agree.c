/* agree.c - the only place that reduces an error, hash, size or price over
 * ranks.
 *
 * Let k(n) be what a rank knows of the n ranks from itself on. From k(n) and
 * k(n+1), its own and another rank's, it gets k(2n) and k(2n+1), or k(2n+1) and
 * k(2n+2); the bits of P, from the highest, say which. So every rank is counted
 * once, and all know all after ceil(log2 P) rounds of one message each, at any
 * P. A rank that waits gives up the processor, unlike in MPI's own reductions.
 */
#include "plan/ranks/agree.h"
#include "exec/exec.h"
#include "rota.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct ballot {
    uint64_t failure;        /* 0, or error class << 32 | P - rank */
    uint64_t hash, not_hash; /* complements iff all hashes are equal */
    rota_vote vote;          /* holds the complement of smallest */
} ballot;

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The sum, or UINT64_MAX if it is larger. */
static uint64_t sum(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static void merge_votes(rota_vote *into, const rota_vote *from)
{
    into->clash |= from->clash;
    into->no_ipc |= from->no_ipc;
    into->on_device |= from->on_device;
    into->used |= from->used;
    into->smallest = larger(into->smallest, from->smallest);
    into->largest = larger(into->largest, from->largest);
    into->busiest = larger(into->busiest, from->busiest);
    into->total = sum(into->total, from->total);
    into->filled = sum(into->filled, from->filled);
    into->blocks = sum(into->blocks, from->blocks);
    into->unmatched += from->unmatched; /* modulo 2^64 */
}

static void merge_ballots(void *known, const void *more, size_t bytes)
{
    ballot *const into = known;
    const ballot *const from = more;

    (void)bytes; /* one only */
    into->failure = larger(into->failure, from->failure);
    into->hash = larger(into->hash, from->hash);
    into->not_hash = larger(into->not_hash, from->not_hash);
    merge_votes(&into->vote, &from->vote);
}

/* Costs, in the order of rota_cost. */
static void merge_costs(void *known, const void *more, size_t bytes)
{
    uint64_t *const into = known;
    const uint64_t *const from = more;

    for (size_t i = 0; i < bytes / sizeof *into; i++)
        into[i] = rota_part_is_own((rota_part)(i % ROTA_N_PARTS))
                      ? larger(into[i], from[i])
                      : sum(into[i], from[i]);
}

static void merge_times(void *known, const void *more, size_t bytes)
{
    uint64_t *const into = known;
    const uint64_t *const from = more;

    for (size_t i = 0; i < bytes / sizeof *into; i++)
        into[i] = larger(into[i], from[i]);
}

enum {
    MOST_TIMES = ROTA_MAX_PRICES * sizeof(rota_cost) / sizeof(double),
    LARGEST = MOST_TIMES * sizeof(uint64_t)
};

static int swap(const rota_comm *c, int distance, const char mine[],
                char theirs[], size_t bytes)
{
    const int to = (c->me + c->P - distance % c->P) % c->P;
    const int from = (c->me + distance) % c->P;
    MPI_Request request[2];

    ROTA_TRY(MPI_Irecv(theirs, (int)bytes, MPI_BYTE, from, ROTA_TAG_AGREE,
                       c->dup, &request[0]));
    ROTA_TRY(MPI_Isend(mine, (int)bytes, MPI_BYTE, to, ROTA_TAG_AGREE, c->dup,
                       &request[1]));
    const rota_meeting m = rota_comm_meeting(c, "agree", from);
    return rota_wait_requests(&m, 1, 2, request);
}

/* All ranks call this with the same bytes and merge: nothing in it depends on what
 * a rank brings, so every message that one waits for is sent. Only MPI can fail,
 * after which nothing is agreed on any more.
 *
 * Merge `bytes` bytes of every rank, a multiple of 8; merging zeros must change
 * nothing. known: of n ranks, followed by that of n + 1, which is not needed if
 * the number of ranks is a power of 2. */
static int reduce(const rota_comm *c, void *mine, size_t bytes,
                  void (*merge)(void *known, const void *more, size_t bytes))
{
    const bool power = (c->P & (c->P - 1)) == 0;
    _Alignas(uint64_t) char known[2 * LARGEST], heard[2 * LARGEST];
    char *const more = known + bytes;
    int bit = 1, n = power;

    memset(known, 0, bytes);
    memcpy(power ? known : more, mine, bytes);
    while (bit <= c->P / 2)
        bit *= 2;
    for (bit /= power ? 2 : 1; bit > 0; bit /= 2) {
        const int one = (c->P & bit) != 0 && !power;
        ROTA_TRY(swap(c, n + one, known, heard, power ? bytes : 2 * bytes));
        if (one)
            memcpy(known, more, bytes);
        else if (!power)
            memcpy(more, known, bytes);
        merge(known, heard, bytes);
        if (!power)
            merge(more, heard + bytes, bytes);
        n = 2 * n + one;
    }
    memcpy(mine, known, bytes);
    return MPI_SUCCESS;
}

/* Broadcast bytes from root, at most INT_MAX, along a binomial tree. Fails only
 * if MPI does. */
static int spread(const rota_comm *c, int root, void *data, size_t bytes)
{
    const int place = (c->me - root + c->P) % c->P;
    int bit = 1;
    MPI_Request request;

    while (bit < c->P && !(place & bit))
        bit *= 2;
    if (place > 0) {
        const int from = (c->me - bit + c->P) % c->P;
        ROTA_TRY(MPI_Irecv(data, (int)bytes, MPI_BYTE, from, ROTA_TAG_AGREE,
                           c->dup, &request));
        const rota_meeting m = rota_comm_meeting(c, "hear of one", from);
        ROTA_TRY(rota_wait_requests(&m, 1, 1, &request));
    }
    for (bit /= 2; bit > 0; bit /= 2) {
        if (place + bit >= c->P)
            continue;
        const int to = (c->me + bit) % c->P;
        const rota_meeting m = rota_comm_meeting(c, "hear of one", to);
        ROTA_TRY(MPI_Isend(data, (int)bytes, MPI_BYTE, to, ROTA_TAG_AGREE,
                           c->dup, &request));
        ROTA_TRY(rota_wait_requests(&m, 0, 1, &request));
    }
    return MPI_SUCCESS;
}

/* Copy the text of a status, Rota's or MPI's, with the rank where it failed. */
static void copy_text(int status, int rank, char text[ROTA_ERR_TEXT])
{
    char mpi_text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (!rota_fail_text()) {
        MPI_Error_string(status, mpi_text, &length);
        rota_fail(status, "%s", mpi_text);
    }
    rota_fail_at(rank);
    strcpy(text, rota_fail_text());
}

/* Fail on all ranks with the same class and text. `failure` was reduced, so all
 * come here, and all take the same rank for the root. */
static int fail_together(const rota_comm *c, int status, uint64_t failure)
{
    const int errorclass = (int)(failure >> 32);
    const int rank = c->P - (int)(failure & UINT32_MAX);
    char text[ROTA_ERR_TEXT] = "";

    if (rank == c->me)
        copy_text(status, rank, text);
    ROTA_TRY(spread(c, rank, text, sizeof text));
    text[ROTA_ERR_TEXT - 1] = '\0';
    return rota_fail(errorclass, "%s", text);
}

/* Fail on all ranks with the first rank that differs from rank 0. That the hashes
 * differ was reduced, so all come here; who differs fails in the agreement. */
static int tell_difference(const rota_comm *c, const rota_alike *alike)
{
    uint64_t first[ROTA_MOST_ALIKE];
    int i = 0, status = MPI_SUCCESS;

    memcpy(first, alike->value, sizeof first);
    ROTA_TRY(spread(c, 0, first, sizeof first));
    while (i < alike->n && alike->value[i] == first[i])
        i++;
    if (i < alike->n)
        status = rota_fail(MPI_ERR_ARG,
                           "ranks disagree: its %s is not that of rank 0",
                           alike->what[i]);
    ROTA_TRY(rota_agree(c, status, NULL));
    return rota_fail(MPI_ERR_ARG, "ranks disagree");
}

int rota_agree(const rota_comm *c, int status, rota_vote *vote)
{
    ballot mine = {0};
    ballot *const b = &mine;
    int errorclass = MPI_SUCCESS;

    if (status != MPI_SUCCESS) {
        rota_error_class(status, &errorclass);
        b->failure =
            (uint64_t)errorclass << 32 | (uint64_t)(uint32_t)(c->P - c->me);
    }
    if (vote) {
        b->hash = vote->alike ? rota_alike_hash(vote->alike) : 0;
        b->not_hash = ~b->hash;
        b->vote = *vote;
        b->vote.alike = NULL;
        b->vote.smallest = ~vote->smallest;
    }
    ROTA_TRY(reduce(c, &mine, sizeof mine, merge_ballots));
    if (b->failure)
        return fail_together(c, status, b->failure);
    if (!vote)
        return MPI_SUCCESS;
    if (b->hash != ~b->not_hash)
        return tell_difference(c, vote->alike);
    const rota_alike *const alike = vote->alike;
    *vote = b->vote;
    vote->alike = alike;
    vote->smallest = ~b->vote.smallest;
    return MPI_SUCCESS;
}

/* Merge nanoseconds. In picoseconds, since the sum of whole numbers does not
 * depend on their order. */
static int agree_ns(const rota_comm *c, size_t n, double ns[],
                    void (*merge)(void *known, const void *more, size_t bytes))
{
    uint64_t ps[MOST_TIMES];

    for (size_t i = 0; i < n; i++)
        ps[i] = ns[i] < 1e15 ? (uint64_t)(1e3 * ns[i]) : UINT64_MAX;
    ROTA_TRY(reduce(c, ps, n * sizeof *ps, merge));
    for (size_t i = 0; i < n; i++)
        ns[i] = ps[i] < UINT64_MAX ? (double)ps[i] / 1e3 : HUGE_VAL;
    return MPI_SUCCESS;
}

static int agree_costs(const void *arg, int n, rota_cost cost[])
{
    double *const ns = (double *)(void *)cost; /* it has nothing else */

    return agree_ns(arg, (size_t)n * sizeof *cost / sizeof *ns, ns,
                    merge_costs);
}

static int agree_times(const void *arg, int n, double ns[])
{
    return agree_ns(arg, (size_t)n, ns, merge_times);
}

static int agree_status(const void *arg, int status)
{
    return rota_agree(arg, status, NULL);
}

static int spread_from_first(const void *arg, void *data, size_t bytes)
{
    return spread(arg, 0, data, bytes);
}

rota_ranks rota_comm_ranks(const rota_comm *c)
{
    return (rota_ranks){.arg = c,
                        .P = c->P,
                        .me = c->me,
                        .agree = agree_status,
                        .spread = spread_from_first,
                        .agree_times = agree_times,
                        .agree_costs = agree_costs};
}
