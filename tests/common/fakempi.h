/* fakempi.h - the MPI functions that an executor uses, for many simulated
 * ranks in one process.
 *
 * A program that links fakempi.c gets its MPI_Isend, MPI_Test, ... in place of
 * the MPI library's. The rank that a call belongs to is told by the
 * communicator's handle: fakempi_comm(group, rank). Nothing here blocks, so
 * one thread can drive all ranks.
 *
 * What MPI leaves open is drawn at random from the seed: whether a send is buffered,
 * when data are read and written between post and completion, which of the matched
 * messages is transferred first, when a rank notices or sees a message that it probes
 * for, and which ranks stand still for a while. What MPI demands is checked: that
 * messages match in posting order with equal sizes (but see fakempi_let_fall_short),
 * that a send buffer keeps its contents until the send is complete, that nobody
 * writes to the buffer of a posted receive. Such a buffer is filled with junk when it
 * is posted, as an early reader deserves.
 */
#ifndef FAKEMPI_H
#define FAKEMPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Forget everything and begin with P ranks. */
void fakempi_reset(int P, uint64_t seed);

/* Rank's handle of communicator number group (0..15). */
MPI_Comm fakempi_comm(int group, int rank);

/* A datatype of pieces times piece_bytes of data, piece starts stride apart;
 * the next element begins extent bytes after this one. */
MPI_Datatype fakempi_vector(int pieces, int piece_bytes, ptrdiff_t stride,
                            ptrdiff_t extent);

/* The first breach of MPI's rules since the reset, or NULL. */
const char *fakempi_fault(void);

/* Messages posted and not yet received, and requests that exist. */
size_t fakempi_pending(void);
size_t fakempi_requests(void);

/* Datatypes that have not been freed, those of fakempi_vector among them. */
size_t fakempi_types(void);

/* Messages of this communicator and tag may be shorter than the room that they
 * are received into. */
void fakempi_let_fall_short(int group, int tag);

/* What was called with a tag (collectives count under no tag). */
typedef struct fakempi_counts {
    size_t inits;  /* MPI_Send_init, MPI_Recv_init */
    size_t posts;  /* MPI_Isend, MPI_Irecv */
    size_t starts; /* MPI_Start */
    size_t sent;   /* messages */
    size_t bytes;  /* sent */
} fakempi_counts;

fakempi_counts fakempi_counts_of(int tag);

/* Have a function told each message that is posted, and each block of a
 * collective, under tag -1 - group. NULL: none. Lasts until the next call. */
typedef void fakempi_listener(int rank, bool sends, int peer, int tag,
                              size_t bytes);
void fakempi_listen(fakempi_listener *listener);

/* ---- for tests that steer ------------------------------------------------ */

/* From now on nothing is drawn: sends are not buffered, a matched message is
 * transferred by fakempi_transfer only, and completion is noticed at once. */
void fakempi_manual(void);

/* Transfer the oldest matched message from src to dst; false if none is. */
bool fakempi_transfer(int src, int dst);

/* Sends (receives) of a rank that are posted and not yet seen complete, now
 * and at most since the reset. */
int fakempi_in_flight(int rank, bool sends);
int fakempi_most_in_flight(int rank, bool sends);

/* Receives that are posted and have no message yet. */
size_t fakempi_waiting(void);

/* Let the n-th next call (0: the next one) that posts or tests return code;
 * it does nothing else. */
void fakempi_fail_after(int n, int code);

#endif /* FAKEMPI_H */
