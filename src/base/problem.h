/* problem.h - what is to be moved, in bytes.
 *
 * Code that works on a problem never sees an MPI argument list.
 */
#ifndef ROTA_PROBLEM_H
#define ROTA_PROBLEM_H

#include "base/layout.h"
#include "base/neighbors.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rota_packer;

/* How the data of a block lie in memory. A contiguous datatype becomes plain
 * bytes: mpi is MPI_BYTE, size and extent are 1. */
typedef struct rota_type {
    MPI_Datatype mpi;
    size_t size;      /* bytes of data in one element */
    ptrdiff_t extent; /* bytes from one element to the next */
    ptrdiff_t lb, ub; /* bytes from the origin to the first byte of data, and to
                         the end of the last */
    /* Of one element; NULL: plain bytes, or unknown: then MPI packs. */
    const rota_layout *layout;
    /* Functions of the program's (exec/move/packer.h) that alone know where the
     * data lie; or NULL. With them, mpi is MPI_DATATYPE_NULL. */
    const struct rota_packer *packer;
} rota_type;

static const rota_type rota_type_bytes = {MPI_BYTE, 1, 1, 0, 1, NULL, NULL};

static inline bool rota_type_is_bytes(const rota_type *t)
{
    return t->mpi == MPI_BYTE;
}

/* The types of all blocks, each listed once. All kinds of plain bytes are one
 * type. */
typedef struct rota_types {
    const rota_type *type; /* [n] */
    const uint32_t *of;    /* [blocks] index of each block's type; NULL:
                              type[0] */
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
    rota_types types;  /* owned; MPI_Type_dup of types that are not plain
                          bytes */
    int n;             /* number of blocks: P, or of neighbours */
    ptrdiff_t *offset; /* [n] bytes from base to each block */
    size_t *bytes;     /* [n] bytes of data in each block */
    size_t element;    /* bytes of data in an element of the caller's type; 0:
                          it has none, or blocks have types of their own */
    bool null_ok;      /* base may be MPI_BOTTOM, which may be NULL: addresses
                          are in types or offsets */
} rota_side;

typedef struct rota_problem {
    const rota_neighbors *neighbors; /* NULL: an all-to-all; borrowed */
    const rota_crossing *crossing;   /* edges between nodes, for algorithms that
                                        use them; NULL: none does; borrowed */
    bool in_place;  /* the data to send are taken from the receive buffer */
    bool own_types; /* all ranks gave a type per block, so MPI's own call is
                       MPI_Alltoallw */
    rota_side send; /* block d goes to rank d, or to neighbors->to[d]; unused if
                       in_place */
    rota_side recv; /* block s comes from rank s, or from neighbors->from[s] */
} rota_problem;

/* The types of the send blocks; without types of their own, the receive
 * types. */
static inline const rota_types *rota_problem_sent_types(const rota_problem *p)
{
    return p->send.types.n > 0 ? &p->send.types : &p->recv.types;
}

/* [send.n] bytes of each block that is sent. */
static inline const size_t *rota_problem_sent(const rota_problem *p)
{
    return p->in_place ? p->recv.bytes : p->send.bytes;
}

#endif /* ROTA_PROBLEM_H */
