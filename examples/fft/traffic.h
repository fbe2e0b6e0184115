/* traffic.h - the same MPI_Alltoallv of complex numbers over and over, in one
 * of several ways.
 *
 * To add a way: write its functions in traffic.c and add a line to
 * traffic_ways. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "device.h"

#include <complex.h>
#include <mpi.h>
#include <rota.h>
#include <stddef.h>

/* Pairs of buffers that one traffic may alternate between: with two, a block
 * can be packed while another is under way. */
#define TRAFFIC_PAIRS 2

typedef struct traffic traffic;

/* What buffers are in: that of this process, of rota_mem_alloc, or a device's,
 * on which all happens in a stream. */
typedef enum { MEMORY_OWN, MEMORY_NODE, MEMORY_DEVICE } traffic_memory;

typedef struct {
    const char *name;
    const char *calls; /* what it consists of, for people */
    traffic_memory memory;
    int baseline;  /* what a program does that keeps nothing */
    int available; /* in this MPI library */
    int overlaps;  /* start returns before the data are there */
    int typed;     /* blocks lie where they are in arrays, as datatypes say */
    void (*open)(traffic *t);
    void (*start)(traffic *t, int pair);
    void (*test)(traffic *t);
    void (*wait)(traffic *t);
    void (*close)(traffic *t);
    /* Where each block leaves when it is written, after the start, and can be read
     * when it has arrived, before the wait; else NULL. */
    void (*ready)(traffic *t, int dest);
    int (*arrived)(traffic *t); /* waits for a block: its source; -1 if all have
                                   been named */
} traffic_way;

extern const traffic_way *const traffic_ways[]; /* NULL ends it */

/* What a run cost so far, on this rank: several traffics add to it. */
typedef struct {
    double plan_s;     /* in traffic_open */
    double exchange_s; /* in traffic_start, ..., traffic_wait */
    double pack_s;     /* in copies to and from the buffers */
    long starts;
} traffic_cost;

/* One buffer's counts and displacements, in complex numbers. Of a way that is
 * typed each block is one element of a datatype that has its place in the array,
 * or nothing. */
typedef struct {
    int *counts, *displs; /* [P] */
    MPI_Datatype *types;  /* [P] the caller's; NULL unless typed */
    size_t total;
} traffic_side;

struct traffic {
    const traffic_way *way;
    traffic_cost *cost;
    MPI_Comm comm; /* the caller's */
    const device *device;
    void *stream;
    traffic_side out, in;
    int n_pairs;
    double complex *send[TRAFFIC_PAIRS], *recv[TRAFFIC_PAIRS];
    int pair; /* under way, or -1 */
    rota_plan *plan;
    const void *plan_send; /* what the plan has */
    void *plan_recv;
    MPI_Request request[TRAFFIC_PAIRS];
    void *host[2]; /* what is sent and received, where MPI takes it */
};

/* A buffer of n numbers of this process or the node, for traffics of that way.
 * Collective. */
double complex *traffic_buffer(const traffic_way *way, size_t n, MPI_Comm comm);
void traffic_buffer_free(const traffic_way *way, double complex *buffer);

/* Set way, cost, comm, n_pairs, send and recv before, and for buffers of a device
 * that and the stream that they are written and read in; they hold at least
 * the sums of the counts and stay the caller's. Where the way is typed set types,
 * and send[0] and recv[0] to the arrays; these may change before each start. The
 * communicator must outlive the traffic. Collective. */
void traffic_open(traffic *t, const size_t sent[], const size_t received[]);

/* Exchange what is in send[pair]; one at a time. */
void traffic_start(traffic *t, int pair);

/* Advance what is under way, if something is. */
void traffic_test(traffic *t);

/* Until recv[pair] is complete and send[pair] may be written: on a device, for
 * what is put in the stream from now on. */
void traffic_wait(traffic *t);

/* Of a way that has them: the block for dest is in the buffer; wait for a block,
 * whose source is returned, or -1 if all have been. */
void traffic_ready(traffic *t, int dest);
int traffic_arrived(traffic *t);

void traffic_close(traffic *t);

#endif
