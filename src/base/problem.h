/* problem.h - what is to be moved, in bytes.
 *
 * Nothing behind a problem sees an MPI argument list.
 */
#ifndef ROTA_PROBLEM_H
#define ROTA_PROBLEM_H

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
} rota_type;

static const rota_type rota_type_bytes = {MPI_BYTE, 1, 1};

static inline bool rota_type_is_bytes(const rota_type *t)
{
    return t->mpi == MPI_BYTE;
}

/* One side of the exchange, as this rank sees it. */
typedef struct rota_side {
    char *base;        /* the user's buffer; borrowed */
    rota_type type;    /* owned: a duplicate where it is not plain bytes */
    ptrdiff_t *offset; /* [P] bytes from base to each block */
    size_t *bytes;     /* [P] bytes of data in each block */
    bool null_ok;      /* the type has addresses in it: base may be MPI_BOTTOM,
                          which may be NULL */
} rota_side;

typedef struct rota_problem {
    int P, me;
    bool in_place;  /* what is sent is taken from the receive buffer */
    rota_side send; /* block d goes to rank d; unused if in_place */
    rota_side recv; /* block s comes from rank s */
} rota_problem;

/* [P] bytes of what is sent to each rank. */
static inline const size_t *rota_problem_sent(const rota_problem *p)
{
    return p->in_place ? p->recv.bytes : p->send.bytes;
}

#endif /* ROTA_PROBLEM_H */
