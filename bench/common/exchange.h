/* exchange.h - the buffers of one cell of the benchmark, their layout at each
 * step, and what must be in them.
 *
 * Every block is surrounded by guard bytes, in both buffers. Only where
 * receivers find out what comes (--kind exchange) the received blocks lie
 * packed, with guard bytes before the first and after the last. The payload of
 * a block is a function of (source, destination, step, index), so that a byte
 * that was left over, moved or doubled shows.
 */
#ifndef BENCH_EXCHANGE_H
#define BENCH_EXCHANGE_H

#include "common/dist.h"
#include "common/memory.h"
#include "common/spec.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is equal in all cells of a run. */
typedef struct exchange_form {
    bench_kind kind;
    bool bounded; /* plans are told the largest block */
    uint64_t seed;
    const bench_mem *mem;
} exchange_form;

typedef struct exchange {
    MPI_Comm comm; /* borrowed */
    int P, me;
    const dist *dist; /* borrowed */
    size_t max_bytes; /* S */
    size_t max_block; /* what plans are told: S or ROTA_UNBOUNDED */
    uint64_t seed;
    bench_kind kind; /* fixed: counts do not change with the step */

    int *sendcounts, *sdispls, *recvcounts, *rdispls; /* [P] bytes */
    /* Kind exchange: what a run found out, the displacements from block 0. */
    int *found_counts, *found_displs; /* [P] */
    size_t send_bytes, recv_bytes;    /* payload of this rank at this step */
    size_t send_extent, recv_extent;  /* payload, gaps and guards */

    const bench_mem *mem;
    unsigned char *sendbuf, *recvbuf;       /* owned */
    unsigned char *send_image, *recv_image; /* as the host sees them: the same,
                                               or of alloc_host, owned */
    size_t send_capacity, recv_capacity;    /* largest extents of all steps */
} exchange;

/* Make x with buffers for the steps 0 .. steps-1 and lay out step 0. Dies if
 * memory or the range of int does not suffice. Collective over comm. */
void exchange_create(exchange *x, MPI_Comm comm, const exchange_form *form,
                     const dist *d, size_t max_bytes, uint64_t steps);
void exchange_destroy(exchange *x);

/* Bring sendbuf to its image, and recvbuf what its image holds, where they are
 * not the same: what a program does whose MPI does not take its memory. */
int exchange_to_host(const exchange *x);
int exchange_from_host(const exchange *x);

/* Write the bytes between blocks into what is to go to recvbuf as its image. */
void exchange_guard(const exchange *x, unsigned char *image);

/* Lay out step: counts and displacements. Local; O(P). */
void exchange_set_step(exchange *x, uint64_t step);

/* Write what this rank sends in this step, under the stamp. */
void exchange_fill_send(exchange *x, uint64_t stamp);

/* Write into to (laid out as recvbuf) what must arrive under the stamp. */
void exchange_fill_expected(const exchange *x, uint64_t stamp,
                            unsigned char *to);

/* Where in recvbuf (or its image) the blocks of kind exchange go, and the bytes
 * there is room for. */
unsigned char *exchange_packed(unsigned char *recvbuf);
size_t exchange_packed_room(const exchange *x);

/* Make every byte of recvbuf wrong: blocks hold the complement of what is to
 * arrive under the stamp, all else holds guard bytes. Nothing is found. */
void exchange_poison_recv(exchange *x, uint64_t stamp);

/* Check recvbuf and sendbuf, for kind exchange also what was found. True if
 * all is right, else error [errlen] names the source (or destination) and what
 * is wrong, of bytes the offset of the first. */
bool exchange_verify(const exchange *x, uint64_t stamp, char *error,
                     size_t errlen);

#endif
