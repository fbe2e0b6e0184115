#include "common/exchange.h"

#include "common/hash.h"
#include "common/util.h"

#include <limits.h>
#include <rota.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks begin at multiples of UNIT, as arrays of 8-byte elements do, with at
 * least UNIT guard bytes between them, unless they are packed, and LEAD, a
 * cache line, at both ends. */
#define UNIT ((size_t)8)
#define LEAD ((size_t)64)
#define GUARD 0xA5

/* ---- layout -------------------------------------------------------------- */

/* From the end of a block to the beginning of the next. */
static size_t gap_after(size_t end)
{
    return 2 * UNIT - 1 - (end + 2 * UNIT - 1) % UNIT;
}

/* Returns the extent; displs and bytes are set. */
static size_t lay_out(const int *counts, int P, bool packed, int *displs,
                      size_t *bytes)
{
    size_t end = LEAD;

    *bytes = 0;
    for (int i = 0; i < P; i++) {
        if (end > INT_MAX)
            bench_die("the blocks of a rank exceed 2 GiB: use smaller --sizes");
        displs[i] = (int)end;
        *bytes += (size_t)counts[i];
        end += (size_t)counts[i];
        if (!packed)
            end += gap_after(end);
    }
    return end + LEAD;
}

static int count_of(const exchange *x, int src, int dst, uint64_t step)
{
    const size_t bytes =
        dist_bytes(x->dist, x->max_bytes, x->P, x->seed, src, dst, step);

    if (bytes > INT_MAX)
        bench_die("a block of %zu bytes exceeds 2 GiB", bytes);
    return (int)bytes;
}

static void lay_out_step(exchange *x, uint64_t step)
{
    const uint64_t draw = x->kind != KIND_FIXED ? step : 0;
    const bool packed = x->kind == KIND_EXCHANGE;

    for (int i = 0; i < x->P; i++) {
        x->sendcounts[i] = count_of(x, x->me, i, draw);
        x->recvcounts[i] = count_of(x, i, x->me, draw);
    }
    x->send_extent =
        lay_out(x->sendcounts, x->P, false, x->sdispls, &x->send_bytes);
    x->recv_extent =
        lay_out(x->recvcounts, x->P, packed, x->rdispls, &x->recv_bytes);
}

void exchange_set_step(exchange *x, uint64_t step)
{
    if (x->kind != KIND_FIXED)
        lay_out_step(x, step);
}

static unsigned char *allocate(const exchange *x, size_t bytes)
{
    void *memory = NULL;

    bench_must(x->mem->alloc(bytes, x->comm, &memory), "buffers");
    return memory;
}

/* Touched here, so that no page fault falls into a timed exchange. */
static unsigned char *make_image(const exchange *x, unsigned char *buffer,
                                 size_t bytes)
{
    void *image = buffer;

    if (x->mem->copy != NULL)
        bench_must(x->mem->alloc_host(bytes, &image), "buffers");
    memset(image, GUARD, bytes);
    if (image != buffer)
        bench_must(x->mem->copy(buffer, image, bytes), "buffers");
    return image;
}

int exchange_to_host(const exchange *x)
{
    return x->send_image == x->sendbuf
               ? MPI_SUCCESS
               : x->mem->copy(x->send_image, x->sendbuf, x->send_extent);
}

int exchange_from_host(const exchange *x)
{
    return x->recv_image == x->recvbuf
               ? MPI_SUCCESS
               : x->mem->copy(x->recvbuf, x->recv_image, x->recv_extent);
}

static int *allocate_ints(const exchange *x)
{
    return bench_calloc((size_t)x->P, sizeof(int));
}

void exchange_create(exchange *x, MPI_Comm comm, const exchange_form *form,
                     const dist *d, size_t max_bytes, uint64_t steps)
{
    *x = (exchange){.comm = comm,
                    .dist = d,
                    .max_bytes = max_bytes,
                    .max_block = form->bounded ? max_bytes : ROTA_UNBOUNDED,
                    .seed = form->seed,
                    .kind = form->kind,
                    .mem = form->mem};
    bench_must(MPI_Comm_size(comm, &x->P), "MPI_Comm_size");
    bench_must(MPI_Comm_rank(comm, &x->me), "MPI_Comm_rank");
    x->sendcounts = allocate_ints(x);
    x->sdispls = allocate_ints(x);
    x->recvcounts = allocate_ints(x);
    x->rdispls = allocate_ints(x);
    x->found_counts = allocate_ints(x);
    x->found_displs = allocate_ints(x);
    for (uint64_t step = x->kind != KIND_FIXED ? steps : 1; step-- > 0;) {
        lay_out_step(x, step);
        if (x->send_extent > x->send_capacity)
            x->send_capacity = x->send_extent;
        if (x->recv_extent > x->recv_capacity)
            x->recv_capacity = x->recv_extent;
    }
    x->sendbuf = allocate(x, x->send_capacity);
    x->recvbuf = allocate(x, x->recv_capacity);
    x->send_image = make_image(x, x->sendbuf, x->send_capacity);
    x->recv_image = make_image(x, x->recvbuf, x->recv_capacity);
}

static void release(const exchange *x, unsigned char **buffer,
                    unsigned char *image)
{
    void *memory = *buffer, *host = image;

    if (image != *buffer)
        bench_must(x->mem->free_host(&host), "buffers");
    bench_must(x->mem->free(&memory), "buffers");
    *buffer = NULL;
}

/* Other ranks may have memory of a device open until their plans are gone. */
void exchange_destroy(exchange *x)
{
    bench_must(MPI_Barrier(x->comm), "MPI_Barrier");
    release(x, &x->sendbuf, x->send_image);
    release(x, &x->recvbuf, x->recv_image);
    free(x->sendcounts);
    free(x->sdispls);
    free(x->recvcounts);
    free(x->rdispls);
    free(x->found_counts);
    free(x->found_displs);
}

unsigned char *exchange_packed(unsigned char *recvbuf)
{
    return recvbuf + LEAD;
}

size_t exchange_packed_room(const exchange *x)
{
    return x->recv_capacity - 2 * LEAD;
}

/* ---- payload ------------------------------------------------------------- */

/* Another seed than for the sizes, or the first word of a block would be the
 * number its size was drawn from. */
static uint64_t payload_key(const exchange *x, int src, int dst, uint64_t stamp)
{
    return hash_pair(~x->seed, src, dst, stamp);
}

static void fill(unsigned char *to, size_t bytes, uint64_t key)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const uint64_t word = hash_draw(key, at / sizeof(uint64_t));
        const size_t left = bytes - at;

        memcpy(to + at, &word, left < sizeof word ? left : sizeof word);
    }
}

/* Offset of the first wrong byte, bytes if there is none. */
static size_t find_wrong(const unsigned char *block, size_t bytes, uint64_t key)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        const size_t left = bytes - at;
        const size_t n = left < sizeof(uint64_t) ? left : sizeof(uint64_t);
        unsigned char expected[sizeof(uint64_t)];

        fill(expected, sizeof expected,
             key + at / sizeof(uint64_t) * HASH_STEP);
        for (size_t i = 0; i < n; i++)
            if (block[at + i] != expected[i])
                return at + i;
    }
    return bytes;
}

static size_t find_not_guard(const unsigned char *gap, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (gap[i] != GUARD)
            return i;
    return bytes;
}

void exchange_fill_send(exchange *x, uint64_t stamp)
{
    memset(x->send_image, GUARD, x->send_extent);
    for (int i = 0; i < x->P; i++)
        fill(x->send_image + x->sdispls[i], (size_t)x->sendcounts[i],
             payload_key(x, x->me, i, stamp));
    if (x->send_image != x->sendbuf)
        bench_must(x->mem->copy(x->sendbuf, x->send_image, x->send_extent),
                   "buffers");
}

void exchange_fill_expected(const exchange *x, uint64_t stamp,
                            unsigned char *to)
{
    memset(to, GUARD, x->recv_extent);
    for (int i = 0; i < x->P; i++)
        fill(to + x->rdispls[i], (size_t)x->recvcounts[i],
             payload_key(x, i, x->me, stamp));
}

void exchange_poison_recv(exchange *x, uint64_t stamp)
{
    exchange_fill_expected(x, stamp, x->recv_image);
    for (int i = 0; i < x->P; i++) {
        unsigned char *block = x->recv_image + x->rdispls[i];

        for (int j = 0; j < x->recvcounts[i]; j++)
            block[j] = (unsigned char)~block[j];
        x->found_counts[i] = x->found_displs[i] = -1;
    }
    bench_must(exchange_from_host(x), "buffers");
}

void exchange_guard(const exchange *x, unsigned char *image)
{
    size_t from = 0;

    for (int i = 0; i < x->P; i++) {
        memset(image + from, GUARD, (size_t)x->rdispls[i] - from);
        from = (size_t)x->rdispls[i] + (size_t)x->recvcounts[i];
    }
    memset(image + from, GUARD, x->recv_extent - from);
}

/* Have the images show what is in the buffers. */
static int look(const exchange *x)
{
    const int err =
        x->recv_image == x->recvbuf
            ? MPI_SUCCESS
            : x->mem->copy(x->recv_image, x->recvbuf, x->recv_extent);

    return err != MPI_SUCCESS ? err : exchange_to_host(x);
}

/* One side of the exchange, for checking. */
typedef struct side {
    const unsigned char *buffer;
    const int *counts, *displs;
    size_t extent;
    const char *block_text; /* takes the peer */
} side;

static bool check_block(const side *s, int peer, uint64_t key, char *error,
                        size_t errlen)
{
    const size_t bytes = (size_t)s->counts[peer];
    const size_t wrong = find_wrong(s->buffer + s->displs[peer], bytes, key);

    if (wrong == bytes)
        return true;
    snprintf(error, errlen, "wrong byte at offset %zu of the %zu bytes %s %d",
             wrong, bytes, s->block_text, peer);
    return false;
}

/* The bytes between the block of peer-1 and that of peer (0: before the first,
 * P: after the last). */
static bool check_gap(const exchange *x, const side *s, int peer, char *error,
                      size_t errlen)
{
    const size_t from =
        peer == 0 ? 0
                  : (size_t)s->displs[peer - 1] + (size_t)s->counts[peer - 1];
    const size_t to = peer == x->P ? s->extent : (size_t)s->displs[peer];
    const size_t wrong = find_not_guard(s->buffer + from, to - from);

    if (wrong == to - from)
        return true;
    if (peer == 0)
        snprintf(error, errlen, "byte overwritten %zu before the block %s 0",
                 to - wrong, s->block_text);
    else
        snprintf(error, errlen,
                 "byte overwritten %zu after the end of the %d bytes %s %d",
                 wrong, s->counts[peer - 1], s->block_text, peer - 1);
    return false;
}

static bool check_found(const exchange *x, char *error, size_t errlen)
{
    for (int i = 0; i < x->P; i++) {
        const int displ = x->rdispls[i] - x->rdispls[0];

        if (x->found_counts[i] == x->recvcounts[i] &&
            x->found_displs[i] == displ)
            continue;
        snprintf(error, errlen,
                 "found %d bytes at %d received from rank %d, but it sent %d, "
                 "to be at %d",
                 x->found_counts[i], x->found_displs[i], i, x->recvcounts[i],
                 displ);
        return false;
    }
    return true;
}

bool exchange_verify(const exchange *x, uint64_t stamp, char *error,
                     size_t errlen)
{
    const side recv = {x->recv_image, x->recvcounts, x->rdispls, x->recv_extent,
                       "received from rank"};
    const side send = {x->send_image, x->sendcounts, x->sdispls, x->send_extent,
                       "in the send buffer for rank"};

    bench_must(look(x), "buffers");
    if (x->kind == KIND_EXCHANGE && !check_found(x, error, errlen))
        return false;
    for (int i = 0; i < x->P; i++)
        if (!check_block(&recv, i, payload_key(x, i, x->me, stamp), error,
                         errlen) ||
            !check_block(&send, i, payload_key(x, x->me, i, stamp), error,
                         errlen))
            return false;
    for (int i = 0; i <= x->P; i++)
        if (!check_gap(x, &recv, i, error, errlen) ||
            !check_gap(x, &send, i, error, errlen))
            return false;
    return true;
}
