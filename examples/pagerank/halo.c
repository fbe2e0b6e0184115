/* halo.c - see halo.h. */
#include "halo.h"

#include "must.h"

#include <stdlib.h>
#include <string.h>

static void nothing(halo *h)
{
    (void)h;
}

static void blocking_start(halo *h)
{
    const halo_layout *a = &h->at;

    MUST(MPI_Alltoallv(a->send, a->sendcounts, a->sdispls, MPI_DOUBLE, a->recv,
                       a->recvcounts, a->rdispls, MPI_DOUBLE, h->comm));
}

static int ranks_of(const halo *h)
{
    int P;

    MUST(MPI_Comm_size(h->comm, &P));
    return P;
}

/* As if nobody knew what comes. */
static void counts_open(halo *h)
{
    h->counts = must_realloc(NULL, (size_t)ranks_of(h), sizeof h->counts[0]);
}

static void counts_start(halo *h)
{
    const halo_layout *a = &h->at;

    MUST(MPI_Alltoall(a->sendcounts, 1, MPI_INT, h->counts, 1, MPI_INT,
                      h->comm));
    MUST(MPI_Alltoallv(a->send, a->sendcounts, a->sdispls, MPI_DOUBLE, a->recv,
                       h->counts, a->rdispls, MPI_DOUBLE, h->comm));
}

static void counts_close(halo *h)
{
    free(h->counts);
}

static void nonblocking_start(halo *h)
{
    const halo_layout *a = &h->at;

    MUST(MPI_Ialltoallv(a->send, a->sendcounts, a->sdispls, MPI_DOUBLE, a->recv,
                        a->recvcounts, a->rdispls, MPI_DOUBLE, h->comm,
                        &h->request));
}

static void request_test(halo *h)
{
    int done;

    MUST(MPI_Test(&h->request, &done, MPI_STATUS_IGNORE));
}

static void request_wait(halo *h)
{
    MUST(MPI_Wait(&h->request, MPI_STATUS_IGNORE));
}

#if MPI_VERSION >= 4
static void persistent_open(halo *h)
{
    const halo_layout *a = &h->at;

    MUST(MPI_Alltoallv_init(a->send, a->sendcounts, a->sdispls, MPI_DOUBLE,
                            a->recv, a->recvcounts, a->rdispls, MPI_DOUBLE,
                            h->comm, MPI_INFO_NULL, &h->request));
}

static void persistent_start(halo *h)
{
    MUST(MPI_Start(&h->request));
}

static void persistent_close(halo *h)
{
    MUST(MPI_Request_free(&h->request));
}
#endif

static void rota_open(halo *h)
{
    const halo_layout *a = &h->at;

    MUST(rota_alltoallv_init(a->send, a->sendcounts, a->sdispls, MPI_DOUBLE,
                             a->recv, a->recvcounts, a->rdispls, MPI_DOUBLE,
                             h->comm, MPI_INFO_NULL, &h->plan));
}

static void plan_start(halo *h)
{
    MUST(rota_start(h->plan));
}

static void plan_test(halo *h)
{
    int done;

    MUST(rota_test(h->plan, &done));
}

static void plan_wait(halo *h)
{
    MUST(rota_wait(h->plan));
}

static void rota_close(halo *h)
{
    MUST(rota_plan_free(&h->plan));
}

/* Numbers that come, whose blocks lie end to end in the order of ranks. */
static size_t received(const halo_layout *a, int P)
{
    return (size_t)a->rdispls[P - 1] + (size_t)a->recvcounts[P - 1];
}

/* Bytes of the largest block of all. */
static size_t find_bound(const halo *h)
{
    const int P = ranks_of(h);
    int most = 0;

    for (int q = 0; q < P; q++)
        most = h->at.sendcounts[q] > most ? h->at.sendcounts[q] : most;
    MUST(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, h->comm));
    return (size_t)most * sizeof(double);
}

static void varying_open(halo *h)
{
    MUST(rota_alltoallv_varying_init(find_bound(h), MPI_DOUBLE, h->comm,
                                     MPI_INFO_NULL, &h->plan));
}

static void varying_start(halo *h)
{
    const halo_layout *a = &h->at;

    MUST(rota_alltoallv_start(h->plan, a->send, a->sendcounts, a->sdispls,
                              a->recv, a->recvcounts, a->rdispls));
}

static void exchange_open(halo *h)
{
    const halo_layout *a = &h->at;

    counts_open(h);
    MUST(rota_exchange_init(find_bound(h), MPI_DOUBLE, h->comm, MPI_INFO_NULL,
                            &h->plan));
    MUST(rota_exchange_set_buffer(h->plan, a->recv,
                                  received(a, ranks_of(h)) * sizeof(double)));
}

static void exchange_start(halo *h)
{
    const halo_layout *a = &h->at;

    MUST(rota_exchange_start(h->plan, a->send, a->sendcounts, a->sdispls));
}

static void exchange_wait(halo *h)
{
    void *recv;

    MUST(rota_exchange_wait(h->plan, &recv, h->counts, NULL));
}

static void exchange_close(halo *h)
{
    rota_close(h);
    counts_close(h);
}

static const halo_form forms[HALO_FORMS] = {
    {"mpi", "MPI_Alltoallv, no overlap", nothing, blocking_start, nothing,
     nothing, nothing},
    {"counts", "MPI_Alltoall of counts, MPI_Alltoallv", counts_open,
     counts_start, nothing, nothing, counts_close},
    {"nonblocking", "MPI_Ialltoallv, MPI_Test", nothing, nonblocking_start,
     request_test, request_wait, nothing},
#if MPI_VERSION >= 4
    {"persistent", "MPI_Alltoallv_init, MPI_Start, MPI_Test", persistent_open,
     persistent_start, request_test, request_wait, persistent_close},
#endif
    {"rota", "rota_alltoallv_init, rota_start, rota_test", rota_open,
     plan_start, plan_test, plan_wait, rota_close},
    {"varying", "rota_alltoallv_start, rota_test", varying_open, varying_start,
     plan_test, plan_wait, rota_close},
    {"exchange", "rota_exchange_start, rota_test", exchange_open,
     exchange_start, plan_test, exchange_wait, exchange_close},
};

int halo_choose(const char *which, const halo_form *form[HALO_FORMS])
{
    int n = 0;

    for (int i = 0; i < HALO_FORMS; i++)
        if (strcmp(which, "all") == 0 || strcmp(which, forms[i].name) == 0)
            form[n++] = &forms[i];
    return n;
}

void halo_open(halo *h, const halo_form *form, const halo_layout *at,
               MPI_Comm comm)
{
    double began;

    *h = (halo){
        .form = form, .at = *at, .comm = comm, .request = MPI_REQUEST_NULL};
    MUST(MPI_Barrier(comm));
    began = MPI_Wtime();
    form->open(h);
    h->setup_s = MPI_Wtime() - began;
}

static void timed(halo *h, void (*call)(halo *h))
{
    const double began = MPI_Wtime();

    call(h);
    h->seconds += MPI_Wtime() - began;
}

void halo_start(halo *h)
{
    h->starts++;
    timed(h, h->form->start);
}

void halo_test(halo *h)
{
    timed(h, h->form->test);
}

void halo_wait(halo *h)
{
    timed(h, h->form->wait);
}

double halo_copy(const halo_layout *at, int P)
{
    enum { COPIES = 1000 };
    const size_t n = received(at, P);
    double *const from = must_realloc(NULL, n + 1, sizeof from[0]);
    double seconds;

    memcpy(from, at->recv, n * sizeof from[0]);
    seconds = MPI_Wtime();
    for (int k = 0; k < COPIES; k++) {
        memcpy(at->recv, from, n * sizeof from[0]);
        from[0]++; /* so that no copy can be left out */
    }
    seconds = MPI_Wtime() - seconds;
    free(from);
    return seconds / COPIES;
}

void halo_close(halo *h)
{
    h->form->close(h);
}
