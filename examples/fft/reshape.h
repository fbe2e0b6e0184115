/* reshape.h - a distributed array of up to three axes goes from one
 * distribution and order in memory to another: the transpose of a distributed
 * FFT.
 *
 * Each rank holds a box of the array, the part that lies in a range of every
 * axis. What goes from one rank to another is where the box that the first has
 * and the box that the second is to have meet; it is packed, exchanged, and
 * unpacked in the order that is asked for. Where the way is typed datatypes say
 * all that, and nothing is packed. Where blocks leave by themselves, each is packed
 * when the exchange has started and unpacked when it has arrived. */
#ifndef RESHAPE_H
#define RESHAPE_H

#include "traffic.h"

typedef struct {
    size_t lo[3], n[3]; /* first index and number of indices, by axis */
} box;

/* Indices in a block if n are dealt to P ranks: the first ranks have that
 * many, one may have fewer, and the last may have none. */
size_t block_size(size_t n, int P);

/* The part of a box that rank r has if an axis is dealt in blocks. */
box box_block(box whole, int axis, size_t block, int r);

size_t box_points(box b);

/* How far apart neighbours along each axis are in the memory of a box whose
 * axes are in that order, slowest first. */
void box_strides(box b, const int order[3], size_t stride[3]);

/* What to reshape, and how.
 *
 * The exchange can be done in batches, so that it overlaps with work on other
 * batches: each is of the same number of planes along the slowest axis of what
 * a rank has before. Batches for which that gives all ranks the same counts
 * share a plan. */
typedef struct {
    const traffic_way *way;
    traffic_cost *cost; /* is added to */
    MPI_Comm comm;
    const box *from, *to;           /* [P] what ranks have before, after */
    int from_order[3], to_order[3]; /* in memory, slowest axis first */
    int n_batches;
    int n_pairs; /* 2 if one batch is packed while another is under way */
    double complex *from_at, *to_at; /* typed: the arrays, to begin with */
} reshape_spec;

typedef struct {
    size_t first, n;   /* planes of this rank's */
    struct lot *lot;   /* plan, shared with others */
    size_t shift_from; /* numbers beyond the lot's first batch */
    size_t shift_to;
} reshape_batch;

typedef struct {
    int n_batches;
    reshape_batch *batch; /* [n_batches] */
    /* The rest is reshape.c's. */
    int P, me, n_lots, n_pairs;
    int order[3]; /* of packed blocks, that of the result */
    size_t from_stride[3], to_stride[3];
    const traffic_way *way;
    struct lot *lots;
    traffic *active;
    traffic_cost *cost;
    double complex *send[TRAFFIC_PAIRS], *recv[TRAFFIC_PAIRS];
    /* Of a way that does not pack before the start, or unpack after the wait. */
    const double complex *from; /* array of the batch to be started */
    double complex *to;         /* of the one that is under way */
    int batch_active, pair_active;
} reshape;

/* Collective over spec->comm, which must outlive the reshape. */
void reshape_open(reshape *r, const reshape_spec *spec);

/* The steps of one batch: pack it from the array, start its exchange, wait for it,
 * unpack it. to: where it will be unpacked. A typed way puts it there by itself,
 * straight from the array, which must not change until then; one of blocks that
 * leave by themselves packs in the start and unpacks in the wait. Between start and
 * wait of one batch, another can be packed to or unpacked from the other pair, and
 * reshape_test advances the exchange. */
void reshape_pack(reshape *r, int batch, int pair, const double complex *from);
void reshape_start(reshape *r, int batch, int pair, double complex *to);
void reshape_test(reshape *r);
void reshape_wait(reshape *r);
void reshape_unpack(reshape *r, int batch, int pair, double complex *to);

/* All steps of all batches, one after the other. */
void reshape_run(reshape *r, const double complex *from, double complex *to);

void reshape_close(reshape *r);

#endif
