/* neighbors.c - see neighbors.h. */
#include "base/neighbors.h"
#include "base/err.h"

#include <stdlib.h>

int rota_neighbors_alloc(rota_neighbors *n, int n_send, int n_recv)
{
    const size_t S = (size_t)n_send + 1, R = (size_t)n_recv + 1;

    *n = (rota_neighbors){.n_send = n_send, .n_recv = n_recv};
    n->to = malloc(S * sizeof *n->to);
    n->from = malloc(R * sizeof *n->from);
    n->sent = malloc(S * sizeof *n->sent);
    n->received = malloc(R * sizeof *n->received);
    return n->to && n->from && n->sent && n->received
               ? MPI_SUCCESS
               : rota_fail_mem("neighbours");
}

void rota_neighbors_free(rota_neighbors *n)
{
    free(n->to);
    free(n->from);
    free(n->sent);
    free(n->received);
    free(n->own);
    *n = (rota_neighbors){0};
}

static int compare(const void *a, const void *b)
{
    const rota_edge *const x = a, *const y = b;

    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1;
    return (x->nth > y->nth) - (x->nth < y->nth);
}

/* On entry nth is an edge's index, so that sorting keeps the order of each
 * pair. */
static void sort(rota_edge edge[], int n)
{
    qsort(edge, (size_t)n, sizeof *edge, compare);
    for (int i = 0, nth = 0; i < n; i++) {
        nth = i > 0 && edge[i].peer == edge[i - 1].peer ? nth + 1 : 0;
        edge[i].nth = nth;
    }
}

/* Match the nth block that the rank sends to itself with the nth it
 * receives. */
static int find_own(rota_neighbors *n, int me)
{
    n->own = malloc(((size_t)n->n_sent + 1) * sizeof *n->own);
    if (!n->own)
        return rota_fail_mem("neighbours");
    n->n_own = 0;
    for (int i = 0; i < n->n_sent; i++) {
        const rota_edge *const e = &n->sent[i];
        const int recv =
            e->peer == me
                ? rota_edge_find(n->received, n->n_received, me, e->nth)
                : -1;
        if (recv >= 0)
            n->own[n->n_own++] = (rota_own){e->block, recv};
    }
    return MPI_SUCCESS;
}

int rota_neighbors_close(rota_neighbors *n, int me)
{
    n->n_sent = n->n_received = 0;
    for (int i = 0; i < n->n_send; i++)
        if (n->to[i] != ROTA_NOBODY)
            n->sent[n->n_sent++] = (rota_edge){n->to[i], i, i};
    for (int i = 0; i < n->n_recv; i++) {
        const int block = rota_neighbors_turn(n, i);
        if (n->from[block] != ROTA_NOBODY)
            n->received[n->n_received++] =
                (rota_edge){n->from[block], i, block};
    }
    sort(n->sent, n->n_sent);
    sort(n->received, n->n_received);
    return find_own(n, me);
}

int rota_edge_find(const rota_edge edge[], int n, int peer, int nth)
{
    const rota_edge key = {.peer = peer, .nth = nth};
    const rota_edge *const found =
        n > 0 ? bsearch(&key, edge, (size_t)n, sizeof *edge, compare) : NULL;

    return found ? found->block : -1;
}

void rota_neighbors_drop(int n, const int peer[], size_t bytes[])
{
    for (int i = 0; i < n; i++)
        if (peer[i] == ROTA_NOBODY)
            bytes[i] = 0;
}
