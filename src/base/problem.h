/* problem.h - what is to be moved, in bytes.
 *
 * Nothing behind a problem sees an MPI argument list.
 */
#ifndef ROTA_PROBLEM_H
#define ROTA_PROBLEM_H

#include "base/layout.h"
#include "base/neighbors.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the bytes of a buffer lie in memory. A contiguous datatype is turned
 * into plain bytes: then mpi is MPI_BYTE, size and extent are 1. */
typedef struct rota_type {
    MPI_Datatype mpi;
    size_t size;      /* bytes of data in one element */
    ptrdiff_t extent; /* bytes from one element to the next */
    ptrdiff_t lb, ub; /* from its origin to the first byte of data, and behind
                         the last */
    const rota_layout
        *layout; /* of one element; NULL: plain bytes, or not known:
                                  MPI packs it */
} rota_type;

static const rota_type rota_type_bytes = {MPI_BYTE, 1, 1, 0, 1, NULL};

static inline bool rota_type_is_bytes(const rota_type *t)
{
    return t->mpi == MPI_BYTE;
}

/* The types of blocks: one for all, or those that there are and which of them
 * each block has. All plain bytes are one. */
typedef struct rota_types {
    const rota_type *type; /* [n] */
    const uint32_t *of;    /* [blocks] which is a block's; NULL: all have the
                              first */
    size_t n;
} rota_types;

static const rota_types rota_types_bytes = {&rota_type_bytes, NULL, 1};

static inline const rota_type *rota_types_at(const rota_types *t, size_t block)
{
    return &t->type[t->of ? t->of[block] : 0];
}

static inline bool rota_types_are_bytes(const rota_types *t)
{
    return !t->of && rota_type_is_bytes(t->type);
}

/* One side of the exchange, as this rank sees it. */
typedef struct rota_side {
    char *base;        /* the user's buffer; borrowed */
    rota_types types;  /* owned: duplicates where they are not plain bytes */
    int n;             /* blocks: P, or of neighbours */
    ptrdiff_t *offset; /* [n] bytes from base to each block */
    size_t *bytes;     /* [n] bytes of data in each block */
    bool null_ok;      /* addresses are in types or offsets: base may be
                          MPI_BOTTOM, which may be NULL */
} rota_side;

typedef struct rota_problem {
    int P, me;
    const rota_neighbors *neighbors; /* NULL: an all-to-all; borrowed */
    const rota_crossing *crossing;   /* of neighbours, if somebody is to know
                                        that; borrowed */
    bool in_place;  /* what is sent is taken from the receive buffer */
    bool own_types; /* of each block, on all ranks: MPI's own call for it is
                       MPI_Alltoallw */
    rota_side send; /* block d goes to rank d, or as neighbors has it; unused if
                       in_place */
    rota_side recv; /* block s comes from rank s, likewise */
} rota_problem;

/* What is sent has types of its own, unless all have one. */
static inline const rota_types *rota_problem_sent_types(const rota_problem *p)
{
    return p->send.types.n > 0 ? &p->send.types : &p->recv.types;
}

/* [send.n] bytes of what is sent. */
static inline const size_t *rota_problem_sent(const rota_problem *p)
{
    return p->in_place ? p->recv.bytes : p->send.bytes;
}

#endif /* ROTA_PROBLEM_H */
