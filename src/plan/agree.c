/* agree.c - the only place that reduces an error, hash, size or price over
 * ranks.
 *
 * What a rank knows of n ranks from itself on, and of n + 1, gives with the
 * same from another rank what it knows of 2n and 2n + 1, or of 2n + 1 and
 * 2n + 2: the bits of P, from the highest, say which. So each is counted
 * once, and after ceil(log2 P) rounds, of one message each, all know all, at
 * any P. Waiting gives the processor up, which MPI's own reductions do not.
 */
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct ballot {
    uint64_t failure;        /* 0, or error class << 32 | P - rank */
    uint64_t hash, not_hash; /* maximum of both: equal iff all hashes are */
    uint64_t clash, used, no_ipc;
    uint64_t not_smallest, largest, busiest;
    uint64_t total, filled; /* sums */
} ballot;

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The sum, or as much as there is room for. */
static uint64_t sum(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static void merge_ballots(void *known, const void *more)
{
    ballot *const into = known;
    const ballot *const from = more;

    into->failure = larger(into->failure, from->failure);
    into->hash = larger(into->hash, from->hash);
    into->not_hash = larger(into->not_hash, from->not_hash);
    into->clash |= from->clash;
    into->used |= from->used;
    into->no_ipc |= from->no_ipc;
    into->not_smallest = larger(into->not_smallest, from->not_smallest);
    into->largest = larger(into->largest, from->largest);
    into->busiest = larger(into->busiest, from->busiest);
    into->total = sum(into->total, from->total);
    into->filled = sum(into->filled, from->filled);
}

/* In picoseconds: whole numbers, whose sum is the same in any order. */
typedef struct price {
    uint64_t ps[ROTA_STEPS][ROTA_N_PARTS]; /* as of rota_cost */
} price;

typedef struct price_list {
    price item[ROTA_MAX_PRICES];
} price_list;

static void merge_prices(void *known, const void *more)
{
    price_list *const into = known;
    const price_list *const from = more;

    for (int i = 0; i < ROTA_MAX_PRICES; i++)
        for (int step = 0; step < ROTA_STEPS; step++)
            for (int part = 0; part < ROTA_N_PARTS; part++) {
                uint64_t *const a = &into->item[i].ps[step][part];
                const uint64_t b = from->item[i].ps[step][part];
                *a = rota_part_is_own(part) ? larger(*a, b) : sum(*a, b);
            }
}

enum { LARGEST = sizeof(price_list) };

/* What is known of n ranks, and of one more. */
typedef struct window {
    _Alignas(uint64_t) char some[LARGEST], more[LARGEST];
} window;

/* As one message each: what is known, then what is known of one more. */
static int swap_windows(const rota_comm *c, int distance, size_t bytes,
                        const window *mine, window *theirs)
{
    const int to = (c->me + c->P - distance % c->P) % c->P;
    const int from = (c->me + distance) % c->P;
    const int n = (int)bytes;
    char sent[2 * LARGEST], heard[2 * LARGEST];
    MPI_Request request[2];

    memcpy(sent, mine->some, bytes);
    memcpy(sent + bytes, mine->more, bytes);
    ROTA_TRY(MPI_Irecv(heard, 2 * n, MPI_BYTE, from, ROTA_TAG_AGREE, c->dup,
                       &request[0]));
    ROTA_TRY(MPI_Isend(sent, 2 * n, MPI_BYTE, to, ROTA_TAG_AGREE, c->dup,
                       &request[1]));
    ROTA_TRY(rota_wait_requests(2, request));
    memcpy(theirs->some, heard, bytes);
    memcpy(theirs->more, heard + bytes, bytes);
    return MPI_SUCCESS;
}

/* Merge what all ranks bring, bytes each. Nothing merged with zeros is as
 * before. */
static int reduce(const rota_comm *c, void *mine, size_t bytes,
                  void (*merge)(void *known, const void *more))
{
    const bool power = (c->P & (c->P - 1)) == 0;
    window known = {{0}, {0}};
    int bit = 1, n = 1;

    memcpy(known.more, mine, bytes);
    while (bit <= c->P / 2)
        bit *= 2;
    if (power) { /* never more than n needed */
        bit /= 2;
        memcpy(known.some, mine, bytes);
    } else {
        n = 0;
    }
    for (; bit > 0; bit /= 2) {
        const int one = (c->P & bit) != 0;
        window heard;
        ROTA_TRY(swap_windows(c, n + one, bytes, &known, &heard));
        if (one)
            memcpy(known.some, known.more, bytes);
        else
            memcpy(known.more, known.some, bytes);
        merge(known.some, heard.some);
        merge(known.more, heard.more);
        n = 2 * n + one;
    }
    memcpy(mine, known.some, bytes);
    return MPI_SUCCESS;
}

/* Along a binomial tree. */
int rota_spread(const rota_comm *c, int root, void *data, size_t bytes)
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
        ROTA_TRY(rota_wait_requests(1, &request));
    }
    for (bit /= 2; bit > 0; bit /= 2) {
        if (place + bit >= c->P)
            continue;
        ROTA_TRY(MPI_Isend(data, (int)bytes, MPI_BYTE, (c->me + bit) % c->P,
                           ROTA_TAG_AGREE, c->dup, &request));
        ROTA_TRY(rota_wait_requests(1, &request));
    }
    return MPI_SUCCESS;
}

/* The text of a status, ours or MPI's. */
static void copy_text(int status, char text[ROTA_ERR_TEXT])
{
    char mpi_text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (!rota_fail_text())
        MPI_Error_string(status, mpi_text, &length);
    snprintf(text, ROTA_ERR_TEXT, "%.*s", ROTA_ERR_TEXT - 1,
             rota_fail_text() ? rota_fail_text() : mpi_text);
}

/* All ranks fail with the same class and text. */
static int fail_together(const rota_comm *c, int status, uint64_t failure)
{
    const int errorclass = (int)(failure >> 32);
    const int rank = c->P - (int)(failure & UINT32_MAX);
    char text[ROTA_ERR_TEXT] = "";

    if (rank == c->me)
        copy_text(status, text);
    ROTA_TRY(rota_spread(c, rank, text, sizeof text));
    text[ROTA_ERR_TEXT - 1] = '\0';
    return rota_fail(errorclass, "rank %d: %.*s", rank, ROTA_ERR_TEXT - 20,
                     text);
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
        b->hash = vote->hash;
        b->not_hash = ~vote->hash;
        b->clash = vote->clash;
        b->used = vote->used;
        b->no_ipc = vote->no_ipc;
        b->not_smallest = ~vote->smallest;
        b->largest = vote->largest;
        b->busiest = vote->busiest;
        b->total = vote->total;
        b->filled = vote->filled;
    }
    ROTA_TRY(reduce(c, &mine, sizeof mine, merge_ballots));
    if (b->failure)
        return fail_together(c, status, b->failure);
    if (!vote)
        return MPI_SUCCESS;
    if (b->hash != ~b->not_hash)
        return rota_fail(MPI_ERR_ARG,
                         "ranks disagree on the kind of plan, its hints, "
                         "MPI_IN_PLACE or max_block");
    vote->clash = b->clash != 0;
    vote->used = b->used;
    vote->no_ipc = b->no_ipc != 0;
    vote->smallest = ~b->not_smallest;
    vote->largest = b->largest;
    vote->busiest = b->busiest;
    vote->total = b->total;
    vote->filled = b->filled;
    return MPI_SUCCESS;
}

static uint64_t to_picoseconds(double ns)
{
    return ns < 1e15 ? (uint64_t)(1e3 * ns) : UINT64_MAX;
}

static double to_nanoseconds(uint64_t ps)
{
    return ps < UINT64_MAX ? (double)ps / 1e3 : HUGE_VAL;
}

int rota_agree_costs(const rota_comm *c, rota_cost cost[ROTA_MAX_PRICES])
{
    price_list mine;
    uint64_t *const ps = mine.item[0].ps[0];
    double *const ns = cost[0].ns[0];
    enum { N = ROTA_MAX_PRICES * ROTA_STEPS * ROTA_N_PARTS };

    for (int i = 0; i < N; i++)
        ps[i] = to_picoseconds(ns[i]);
    ROTA_TRY(reduce(c, &mine, sizeof mine, merge_prices));
    for (int i = 0; i < N; i++)
        ns[i] = to_nanoseconds(ps[i]);
    return MPI_SUCCESS;
}

int rota_agree_times(const rota_comm *c, double ns[ROTA_MAX_PRICES])
{
    rota_cost cost[ROTA_MAX_PRICES] = {{{{0}}}};

    for (int i = 0; i < ROTA_MAX_PRICES; i++)
        cost[i].ns[0][ROTA_PART_WAIT] = ns[i];
    ROTA_TRY(rota_agree_costs(c, cost));
    for (int i = 0; i < ROTA_MAX_PRICES; i++)
        ns[i] = cost[i].ns[0][ROTA_PART_WAIT];
    return MPI_SUCCESS;
}
