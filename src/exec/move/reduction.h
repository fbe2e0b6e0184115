/* reduction.h - values are combined by an operator: one of each rank, in the order
 * of ranks, from 0 on, so that every rank finds the same bytes; or the elements of
 * one block with those of another.
 */
#ifndef ROTA_REDUCTION_H
#define ROTA_REDUCTION_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* Most bytes of a value. */
enum { ROTA_MOST_REDUCED = 64 };

typedef struct rota_reduction rota_reduction;

struct rota_reduction {
    const void *value; /* the caller's, read at each start */
    void *result;      /* the caller's */
    int count;         /* elements; 0: there is no reduction */
    MPI_Datatype type; /* borrowed */
    MPI_Op op;         /* borrowed */
    size_t bytes;      /* of a value */
    /* Combine the values at[0] to at[P - 1], which are aligned as words. */
    int (*combine)(const rota_reduction *r, const char *const at[], int P);
};

/* Set r->bytes and r->combine from the rest. Fails for a type or an operator that
 * cannot be taken, or a value that is too long. Local. */
int rota_reduction_resolve(rota_reduction *r);

/* Does MPI combine, which not every thread may call? */
bool rota_reduction_needs_mpi(const rota_reduction *r);

/* A number for the operator: 0 for one of the user's, which ranks cannot
 * compare. */
int rota_reduction_op(const rota_reduction *r);

/* An operator on elements of a type, of which there may be any number. */
typedef struct rota_operator rota_operator;

struct rota_operator {
    MPI_Datatype type; /* borrowed */
    MPI_Op op;         /* borrowed */
    size_t size;       /* bytes of an element; they lie end to end */
    /* Set each element of n rows of width bytes, the first at into and the others
     * at this step, to the one at from, where they lie end to end, op itself. */
    int (*combine)(const rota_operator *o, const char *from, char *into,
                   size_t width, size_t n, ptrdiff_t step);
};

/* Set o->size and o->combine from the rest. Fails for a type or an operator that
 * cannot be taken. Local. */
int rota_operator_resolve(rota_operator *o);
bool rota_operator_needs_mpi(const rota_operator *o);

#endif /* ROTA_REDUCTION_H */
