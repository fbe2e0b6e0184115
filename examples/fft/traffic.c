/* traffic.c - see traffic.h. */
#include "traffic.h"

#include "must.h"

#include <limits.h>
#include <stdlib.h>

/* ---- MPI_Alltoallv: all of it happens at the start ----------------------- */

static void mpi_open(traffic *t)
{
    (void)t; /* nothing is kept from one exchange to the next */
}

static void mpi_start(traffic *t, int pair)
{
    MUST(MPI_Alltoallv(t->send[pair], t->out.counts, t->out.displs,
                       MPI_C_DOUBLE_COMPLEX, t->recv[pair], t->in.counts,
                       t->in.displs, MPI_C_DOUBLE_COMPLEX, t->comm));
}

static void mpi_nothing(traffic *t)
{
    (void)t;
}

/* ---- MPI_Alltoallv in memory of the host, the buffers being a device's --- */

static void kept_open(traffic *t)
{
    t->host[0] = t->device->alloc_host(t->out.total * sizeof(double complex));
    t->host[1] = t->device->alloc_host(t->in.total * sizeof(double complex));
}

static void kept_close(traffic *t)
{
    t->device->free_host(t->host[0]);
    t->device->free_host(t->host[1]);
}

static void put_copy(traffic *t, void *to, const void *from, size_t numbers)
{
    const device_rows all = {
        .to = to,
        .from = from,
        .width = numbers * sizeof(double complex),
        .n = 1,
    };

    t->device->copy(t->stream, &all);
}

static void kept_start(traffic *t, int pair)
{
    put_copy(t, t->host[0], t->send[pair], t->out.total);
    t->device->stream_wait(t->stream);
    MUST(MPI_Alltoallv(t->host[0], t->out.counts, t->out.displs,
                       MPI_C_DOUBLE_COMPLEX, t->host[1], t->in.counts,
                       t->in.displs, MPI_C_DOUBLE_COMPLEX, t->comm));
    put_copy(t, t->recv[pair], t->host[1], t->in.total);
}

static void naive_start(traffic *t, int pair)
{
    kept_open(t);
    kept_start(t, pair);
    t->device->stream_wait(t->stream);
    kept_close(t);
}

/* ---- MPI_Alltoallv_init: a request for each pair of buffers -------------- */

#if MPI_VERSION >= 4
static void persistent_open(traffic *t)
{
    for (int i = 0; i < t->n_pairs; i++)
        MUST(MPI_Alltoallv_init(t->send[i], t->out.counts, t->out.displs,
                                MPI_C_DOUBLE_COMPLEX, t->recv[i], t->in.counts,
                                t->in.displs, MPI_C_DOUBLE_COMPLEX, t->comm,
                                MPI_INFO_NULL, &t->request[i]));
}
#else
static void persistent_open(traffic *t)
{
    (void)t;
    die("this MPI library is older than MPI 4 and has no MPI_Alltoallv_init");
}
#endif

static void persistent_start(traffic *t, int pair)
{
    MUST(MPI_Start(&t->request[pair]));
}

static void persistent_test(traffic *t)
{
    int done;

    MUST(MPI_Test(&t->request[t->pair], &done, MPI_STATUS_IGNORE));
}

static void persistent_wait(traffic *t)
{
    MUST(MPI_Wait(&t->request[t->pair], MPI_STATUS_IGNORE));
}

static void persistent_close(traffic *t)
{
    for (int i = 0; i < t->n_pairs; i++)
        MUST(MPI_Request_free(&t->request[i]));
}

/* ---- Rota: one plan, given other buffers as needed ----------------------- */

static void rota_open(traffic *t)
{
    t->plan_send = t->send[0];
    t->plan_recv = t->recv[0];
    MUST(rota_alltoallv_init(t->send[0], t->out.counts, t->out.displs,
                             MPI_C_DOUBLE_COMPLEX, t->recv[0], t->in.counts,
                             t->in.displs, MPI_C_DOUBLE_COMPLEX, t->comm,
                             MPI_INFO_NULL, &t->plan));
    if (t->device != NULL)
        MUST(rota_plan_set_stream(t->plan, t->stream));
}

static void rota_way_start(traffic *t, int pair)
{
    if (t->send[pair] != t->plan_send || t->recv[pair] != t->plan_recv)
        MUST(rota_plan_set_buffers(t->plan, t->send[pair], t->recv[pair]));
    t->plan_send = t->send[pair];
    t->plan_recv = t->recv[pair];
    MUST(rota_start(t->plan));
}

static void rota_way_test(traffic *t)
{
    int done;

    MUST(rota_test(t->plan, &done));
}

static void rota_way_wait(traffic *t)
{
    MUST(rota_wait(t->plan));
}

static void rota_close(traffic *t)
{
    MUST(rota_plan_free(&t->plan));
}

/* ---- Rota: each block by itself ------------------------------------------ */

static void parts_open(traffic *t)
{
    rota_open(t);
    MUST(rota_plan_set_partitioned(t->plan));
}

static void parts_ready(traffic *t, int dest)
{
    MUST(rota_pready(t->plan, dest));
}

static int parts_arrived(traffic *t)
{
    int source;

    MUST(rota_wait_arrival(t->plan, &source));
    return source != MPI_UNDEFINED ? source : -1;
}

/* ---- Blocks that lie in arrays: nothing is packed ------------------------ */

static void mpi_types_start(traffic *t, int pair)
{
    MUST(MPI_Alltoallw(t->send[pair], t->out.counts, t->out.displs,
                       t->out.types, t->recv[pair], t->in.counts, t->in.displs,
                       t->in.types, t->comm));
}

static void rota_types_open(traffic *t)
{
    t->plan_send = t->send[0];
    t->plan_recv = t->recv[0];
    MUST(rota_alltoallw_init(t->send[0], t->out.counts, t->out.displs,
                             t->out.types, t->recv[0], t->in.counts,
                             t->in.displs, t->in.types, t->comm, MPI_INFO_NULL,
                             &t->plan));
}

static const traffic_way mpi_way = {.name = "mpi",
                                    .calls = "MPI_Alltoallv",
                                    .baseline = 1,
                                    .available = 1,
                                    .open = mpi_open,
                                    .start = mpi_start,
                                    .test = mpi_nothing,
                                    .wait = mpi_nothing,
                                    .close = mpi_nothing};
static const traffic_way persistent_way = {.name = "persistent",
                                           .calls = "MPI_Alltoallv_init",
                                           .available = MPI_VERSION >= 4,
                                           .overlaps = 1,
                                           .open = persistent_open,
                                           .start = persistent_start,
                                           .test = persistent_test,
                                           .wait = persistent_wait,
                                           .close = persistent_close};
static const traffic_way rota_way = {.name = "rota",
                                     .calls = "rota_alltoallv_init",
                                     .available = 1,
                                     .overlaps = 1,
                                     .open = rota_open,
                                     .start = rota_way_start,
                                     .test = rota_way_test,
                                     .wait = rota_way_wait,
                                     .close = rota_close};
static const traffic_way rota_mem_way = {
    .name = "rota_mem",
    .calls = "rota_alltoallv_init, rota_mem_alloc",
    .available = 1,
    .overlaps = 1,
    .memory = MEMORY_NODE,
    .open = rota_open,
    .start = rota_way_start,
    .test = rota_way_test,
    .wait = rota_way_wait,
    .close = rota_close};
static const traffic_way rota_parts_way = {
    .name = "rota_parts",
    .calls = "rota_alltoallv_init, rota_pready, rota_wait_arrival",
    .available = 1,
    .overlaps = 1,
    .open = parts_open,
    .start = rota_way_start,
    .test = rota_way_test,
    .wait = rota_way_wait,
    .close = rota_close,
    .ready = parts_ready,
    .arrived = parts_arrived};
static const traffic_way mpi_types_way = {.name = "mpi_types",
                                          .calls = "MPI_Alltoallw",
                                          .typed = 1,
                                          .available = 1,
                                          .open = mpi_open,
                                          .start = mpi_types_start,
                                          .test = mpi_nothing,
                                          .wait = mpi_nothing,
                                          .close = mpi_nothing};
static const traffic_way rota_types_way = {.name = "rota_types",
                                           .calls = "rota_alltoallw_init",
                                           .typed = 1,
                                           .available = 1,
                                           .overlaps = 1,
                                           .open = rota_types_open,
                                           .start = rota_way_start,
                                           .test = rota_way_test,
                                           .wait = rota_way_wait,
                                           .close = rota_close};
static const traffic_way rota_types_mem_way = {
    .name = "rota_types_mem",
    .calls = "rota_alltoallw_init, rota_mem_alloc",
    .typed = 1,
    .available = 1,
    .overlaps = 1,
    .memory = MEMORY_NODE,
    .open = rota_types_open,
    .start = rota_way_start,
    .test = rota_way_test,
    .wait = rota_way_wait,
    .close = rota_close};
static const traffic_way naive_way = {
    .name = "mpi",
    .calls = "allocate, copy, MPI_Alltoallv, copy, free",
    .memory = MEMORY_DEVICE,
    .baseline = 1,
    .available = 1,
    .open = mpi_open,
    .start = naive_start,
    .test = mpi_nothing,
    .wait = mpi_nothing,
    .close = mpi_nothing};
static const traffic_way kept_way = {.name = "mpi_kept",
                                     .calls = "copy, MPI_Alltoallv, copy",
                                     .memory = MEMORY_DEVICE,
                                     .available = 1,
                                     .open = kept_open,
                                     .start = kept_start,
                                     .test = mpi_nothing,
                                     .wait = mpi_nothing,
                                     .close = kept_close};
static const traffic_way rota_device_way = {
    .name = "rota",
    .calls = "rota_alltoallv_init, rota_plan_set_stream",
    .memory = MEMORY_DEVICE,
    .available = 1,
    .open = rota_open,
    .start = rota_way_start,
    .test = rota_way_test,
    .wait = rota_way_wait,
    .close = rota_close};

const traffic_way *const traffic_ways[] = {
    &mpi_way,        &persistent_way, &rota_way,        &rota_mem_way,
    &rota_parts_way, &mpi_types_way,  &rota_types_way,  &rota_types_mem_way,
    &naive_way,      &kept_way,       &rota_device_way, NULL};

/* ---- All ways ------------------------------------------------------------ */

static void side_make(traffic_side *side, const size_t counts[], int P)
{
    side->counts = must_realloc(NULL, (size_t)P, sizeof(int));
    side->displs = must_realloc(NULL, (size_t)P, sizeof(int));
    side->total = 0;
    for (int q = 0; q < P; q++) {
        if (counts[q] > INT_MAX - side->total)
            die("more than %d numbers to exchange at once; use more ranks",
                INT_MAX);
        side->counts[q] = side->types != NULL ? counts[q] > 0 : (int)counts[q];
        side->displs[q] = side->types != NULL ? 0 : (int)side->total;
        side->total += counts[q];
    }
}

static void side_free(traffic_side *side)
{
    free(side->counts);
    free(side->displs);
}

double complex *traffic_buffer(const traffic_way *way, size_t n, MPI_Comm comm)
{
    double complex *buffer;

    if (way->memory != MEMORY_NODE)
        return must_pages(n, sizeof *buffer);
    MUST(rota_mem_alloc(n * sizeof *buffer, comm, MPI_INFO_NULL, &buffer));
    return buffer;
}

void traffic_buffer_free(const traffic_way *way, double complex *buffer)
{
    if (way->memory == MEMORY_NODE)
        MUST(rota_mem_free(&buffer));
    else
        free(buffer);
}

void traffic_open(traffic *t, const size_t sent[], const size_t received[])
{
    double began;
    int P;

    MUST(MPI_Comm_size(t->comm, &P));
    side_make(&t->out, sent, P);
    side_make(&t->in, received, P);
    t->pair = -1;
    began = MPI_Wtime();
    t->way->open(t);
    t->cost->plan_s += MPI_Wtime() - began;
}

void traffic_start(traffic *t, int pair)
{
    const double began = MPI_Wtime();

    t->way->start(t, pair);
    t->pair = pair;
    t->cost->starts++;
    t->cost->exchange_s += MPI_Wtime() - began;
}

void traffic_test(traffic *t)
{
    double began;

    if (t->pair < 0)
        return;
    began = MPI_Wtime();
    t->way->test(t);
    t->cost->exchange_s += MPI_Wtime() - began;
}

void traffic_ready(traffic *t, int dest)
{
    const double began = MPI_Wtime();

    t->way->ready(t, dest);
    t->cost->exchange_s += MPI_Wtime() - began;
}

int traffic_arrived(traffic *t)
{
    const double began = MPI_Wtime();
    const int source = t->way->arrived(t);

    t->cost->exchange_s += MPI_Wtime() - began;
    return source;
}

void traffic_wait(traffic *t)
{
    const double began = MPI_Wtime();

    t->way->wait(t);
    t->pair = -1;
    t->cost->exchange_s += MPI_Wtime() - began;
}

void traffic_close(traffic *t)
{
    t->way->close(t);
    side_free(&t->out);
    side_free(&t->in);
}
