#include "common/sparse.h"

#include "common/util.h"

#include <stdlib.h>
#include <string.h>

/* The ranks that something goes to. */
typedef struct partners {
    int n;
    int *dests, *counts, *displs; /* [P] */
    /* By hand. */
    MPI_Request *request; /* [P] */
    MPI_Status *status;   /* [P] */
    unsigned char *came;  /* in order of arrival */
    int *source;          /* [P] likewise */
    bool odd;             /* run */
} partners;

static void list_partners(partners *l, const exchange *x)
{
    l->n = 0;
    for (int q = 0; q < x->P; q++) {
        if (x->sendcounts[q] == 0)
            continue;
        l->dests[l->n] = q;
        l->counts[l->n] = x->sendcounts[q];
        l->displs[l->n++] = x->sdispls[q];
    }
}

static partners *make_partners(const exchange *x)
{
    const size_t P = (size_t)x->P;
    partners *const l = bench_calloc(1, sizeof *l);

    l->dests = bench_calloc(P, sizeof *l->dests);
    l->counts = bench_calloc(P, sizeof *l->counts);
    l->displs = bench_calloc(P, sizeof *l->displs);
    l->source = bench_calloc(P, sizeof *l->source);
    l->request = bench_calloc(P, sizeof(MPI_Request));
    l->status = bench_calloc(P, sizeof *l->status);
    l->came = bench_calloc(exchange_packed_room(x) + 1, 1);
    return l;
}

static void free_partners(runner *r)
{
    partners *const l = r->partners;

    if (l == NULL)
        return;
    free(l->dests);
    free(l->counts);
    free(l->displs);
    free(l->source);
    free((void *)l->request);
    free(l->status);
    free(l->came);
    free(l);
    r->partners = NULL;
}

int sparse_init(runner *r, const exchange *x)
{
    const int err =
        rota_exchange_init_sparse(MPI_BYTE, x->comm, r->info, &r->plan);

    r->partners = make_partners(x);
    return err != MPI_SUCCESS
               ? err
               : rota_exchange_set_buffer(r->plan, exchange_packed(x->recvbuf),
                                          exchange_packed_room(x));
}

static void find_nothing(const exchange *x)
{
    memset(x->found_counts, 0, (size_t)x->P * sizeof *x->found_counts);
}

/* Where blocks lie that are packed in order of rank. */
static void find_displs(const exchange *x)
{
    x->found_displs[0] = 0;
    for (int q = 1; q < x->P; q++)
        x->found_displs[q] = x->found_displs[q - 1] + x->found_counts[q - 1];
}

int sparse_run(runner *r, const exchange *x)
{
    partners *const l = r->partners;
    const int *sources, *counts;
    void *recvbuf; /* known */
    int n;

    list_partners(l, x);
    int err = rota_exchange_start_sparse(r->plan, x->sendbuf, l->n, l->dests,
                                         l->counts, l->displs);
    if (err == MPI_SUCCESS)
        err = rota_exchange_wait_sparse(r->plan, &recvbuf, &n, &sources,
                                        &counts, NULL);
    if (err != MPI_SUCCESS)
        return err;
    find_nothing(x);
    for (int i = 0; i < n; i++)
        x->found_counts[sources[i]] = counts[i];
    find_displs(x);
    return MPI_SUCCESS;
}

int sparse_free(runner *r)
{
    free_partners(r);
    return rota_plan_free(&r->plan);
}

int nbx_init(runner *r, const exchange *x)
{
    r->partners = make_partners(x);
    return MPI_SUCCESS;
}

int nbx_free(runner *r)
{
    free_partners(r);
    return MPI_SUCCESS;
}

/* Receive a message if one has come; returns an error code. */
static int receive_one(partners *l, const exchange *x, int tag, int *n, int *at)
{
    MPI_Status status;
    int flag, bytes;
    int err = MPI_Iprobe(MPI_ANY_SOURCE, tag, x->comm, &flag, &status);

    if (err != MPI_SUCCESS || !flag)
        return err;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    x->found_counts[status.MPI_SOURCE] = bytes;
    l->source[(*n)++] = status.MPI_SOURCE;
    err = MPI_Recv(l->came + *at, bytes, MPI_BYTE, status.MPI_SOURCE, tag,
                   x->comm, MPI_STATUS_IGNORE);
    *at += bytes;
    return err;
}

static void put_in_order(const partners *l, const exchange *x, int n)
{
    const unsigned char *from = l->came;

    find_displs(x);
    for (int i = 0; i < n; i++) {
        const int q = l->source[i];
        memcpy(exchange_packed(x->recvbuf) + x->found_displs[q], from,
               (size_t)x->found_counts[q]);
        from += x->found_counts[q];
    }
}

/* Until the barrier is through, which is entered when all that was sent has been
 * matched. */
int nbx_run(runner *r, const exchange *x)
{
    partners *const l = r->partners;
    const int tag = 100 + (l->odd = !l->odd);
    MPI_Request barrier = MPI_REQUEST_NULL;
    bool entered = false;
    int done = 0, n = 0, at = 0, err = MPI_SUCCESS;

    list_partners(l, x);
    find_nothing(x);
    for (int i = 0; i < l->n && err == MPI_SUCCESS; i++)
        err = MPI_Issend(x->sendbuf + l->displs[i], l->counts[i], MPI_BYTE,
                         l->dests[i], tag, x->comm, &l->request[i]);
    while (err == MPI_SUCCESS && !done) {
        int sent = 0;
        err = receive_one(l, x, tag, &n, &at);
        if (err == MPI_SUCCESS && entered) {
            err = MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        } else if (err == MPI_SUCCESS) {
            err = MPI_Testall(l->n, l->request, &sent, l->status);
            if (err == MPI_SUCCESS && sent) {
                err = MPI_Ibarrier(x->comm, &barrier);
                entered = true;
            }
        }
    }
    put_in_order(l, x, n);
    return err;
}
