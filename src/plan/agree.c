/* agree.c - the only place that reduces an error, hash or choice over ranks.
 *
 * A dissemination pattern: in round k rank p sends what it knows to p + 2^k
 * and hears from p - 2^k, so that after ceil(log2 P) rounds all know all. The
 * operators are idempotent (maximum, or), so any P will do. Waiting gives the
 * processor up, which MPI's own reductions do not.
 */
#include "plan/plan.h"

#include <stdio.h>

typedef struct ballot {
    uint64_t failure;        /* 0, or error class << 32 | P - rank */
    uint64_t hash, not_hash; /* maximum of both: equal iff all hashes are */
    uint64_t clash, used;
    uint64_t not_smallest, largest;
} ballot;

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void merge(ballot *into, const ballot *from)
{
    into->failure = larger(into->failure, from->failure);
    into->hash = larger(into->hash, from->hash);
    into->not_hash = larger(into->not_hash, from->not_hash);
    into->clash |= from->clash;
    into->used |= from->used;
    into->not_smallest = larger(into->not_smallest, from->not_smallest);
    into->largest = larger(into->largest, from->largest);
}

static int reduce(const rota_comm *c, ballot *mine)
{
    for (int distance = 1; distance < c->P; distance *= 2) {
        const int to = (c->me + distance) % c->P;
        const int from = (c->me + c->P - distance) % c->P;
        MPI_Request request[2];
        const ballot sent = *mine;
        ballot heard;
        ROTA_TRY(MPI_Irecv(&heard, (int)sizeof heard, MPI_BYTE, from,
                           ROTA_TAG_AGREE, c->dup, &request[0]));
        ROTA_TRY(MPI_Isend(&sent, (int)sizeof sent, MPI_BYTE, to,
                           ROTA_TAG_AGREE, c->dup, &request[1]));
        ROTA_TRY(rota_wait_requests(2, request));
        merge(mine, &heard);
    }
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
    ballot b = {0};
    int errorclass = MPI_SUCCESS;

    if (status != MPI_SUCCESS) {
        rota_error_class(status, &errorclass);
        b.failure =
            (uint64_t)errorclass << 32 | (uint64_t)(uint32_t)(c->P - c->me);
    }
    if (vote) {
        b.hash = vote->hash;
        b.not_hash = ~vote->hash;
        b.clash = vote->clash;
        b.used = vote->used;
        b.not_smallest = ~vote->smallest;
        b.largest = vote->largest;
    }
    ROTA_TRY(reduce(c, &b));
    if (b.failure)
        return fail_together(c, status, b.failure);
    if (!vote)
        return MPI_SUCCESS;
    if (b.hash != ~b.not_hash)
        return rota_fail(MPI_ERR_ARG,
                         "ranks disagree on the kind of plan, its hints, "
                         "MPI_IN_PLACE or max_block");
    vote->clash = b.clash != 0;
    vote->used = b.used;
    vote->smallest = ~b.not_smallest;
    vote->largest = b.largest;
    return MPI_SUCCESS;
}
