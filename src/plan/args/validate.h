/* validate.h - turns arguments into a problem. */
#ifndef ROTA_VALIDATE_H
#define ROTA_VALIDATE_H

#include "plan/args/types.h"
#include "plan/ranks/comm.h"

#include <limits.h>

/* What arrays of counts and displacements are: int; int and MPI_Aint; MPI_Count
 * and MPI_Aint; or there are none. */
typedef enum rota_form {
    ROTA_INTS,
    ROTA_MIXED,
    ROTA_COUNTS,
    ROTA_SAME
} rota_form;

/* The arguments of one side, in one of the forms that callers use. The API fills
 * in the first group, and where they are read, the second. */
typedef struct rota_side_args {
    rota_form form;
    const void *base;
    const void *counts, *displs; /* [n] */
    MPI_Count each;    /* ROTA_SAME: every count; blocks lie end to end */
    MPI_Datatype type; /* of all blocks; else */
    const MPI_Datatype *types; /* [n] of each, and displacements in bytes */

    const char *name; /* "send" or "recv" */
    int n;            /* number of blocks */
    const rota_unit *unit;
    const uint32_t *of; /* [n] index of each block's unit; NULL: unit[0] */
} rota_side_args;

/* What a plan is to run backwards. */
typedef struct rota_backwards {
    const rota_problem *forward;
    size_t unit;       /* bytes that forward's counts are in, if that changes */
    MPI_Datatype type; /* of elements that op combines */
    MPI_Op op;
} rota_backwards;

/* What a plan is asked for. A plan for varying counts is made with a max_block and
 * recv.type; an exchange of arrays with recv.types, [recv.n]. */
typedef struct rota_args {
    size_t max_block; /* unless fixed */
    bool own_types;   /* a type per block */
    rota_side_args send, recv;
    const rota_backwards *back; /* then the sides have but a base; else NULL */
} rota_args;

/* What a start brings, if its plan is not fixed. */
typedef struct rota_start_side {
    const void *base;            /* of arrays: that of their addresses */
    const void *counts, *displs; /* [n] */
} rota_start_side;

typedef struct rota_start_args {
    rota_form form; /* ROTA_INTS or ROTA_COUNTS */
    int n_dests;    /* of a sparse start */
    rota_start_side send;
    union {
        rota_start_side recv;
        const int *dests; /* [n_dests] of a sparse start: where its blocks go */
    };
} rota_start_args;

/* Check arguments and turn them into a problem. Free it even after a failure.
 * Local. */
int rota_problem_make(const rota_args *args, const rota_comm *c,
                      const rota_neighbors *neighbors, rota_problem *problem);
void rota_problem_free(rota_problem *problem);

/* Fail if a buffer is MPI_IN_PLACE and must not be. Local. */
int rota_args_check_in_place(const void *sendbuf, const void *recvbuf,
                             bool neighbors);

/* Fill bytes and offset, [n]. Local. */
int rota_side_fill(const rota_side_args *args, size_t bytes[],
                   ptrdiff_t offset[]);

/* The same for int arrays of n entries, counted in one unit. *largest: bytes of
 * the largest block. Returns false if something is amiss, or may be: then call
 * rota_side_fill. */
static inline bool rota_fill_ints(const rota_unit *unit,
                                  const rota_start_side *side, int n,
                                  size_t bytes[], ptrdiff_t offset[],
                                  size_t *largest)
{
    const int *const counts = side->counts, *const displs = side->displs;
    const size_t element = unit->element;
    const ptrdiff_t displ = unit->displ, lb = unit->true_lb;
    unsigned most = 0; /* a negative count is beyond INT_MAX */

    if (!counts || !displs || !unit->small)
        return false;
    for (int i = 0; i < n; i++) {
        const unsigned count = (unsigned)counts[i];
        most = count > most ? count : most;
        offset[i] = count ? displs[i] * displ + lb : 0;
        bytes[i] = count * element;
    }
    if (most > INT_MAX || (!side->base && most > 0))
        return false;
    *largest = most * element;
    return true;
}

/* Fail for a pair of ranks whose counts differ. */
int rota_fail_mismatch(int src, int dst, size_t sent, size_t expected);

#endif /* ROTA_VALIDATE_H */
