/* validate.h - turns arguments into a problem. */
#ifndef ROTA_VALIDATE_H
#define ROTA_VALIDATE_H

#include "plan/args/types.h"
#include "plan/ranks/comm.h"

/* An array argument, in one of the forms that callers use. */
typedef struct rota_vector {
    enum { ROTA_INTS, ROTA_COUNTS, ROTA_AINTS, ROTA_SAME, ROTA_MULTIPLES } form;
    const void *array; /* of the form's element type; NULL for the last two */
    MPI_Count each;    /* ROTA_SAME: every entry; ROTA_MULTIPLES: entry 1 */
} rota_vector;

/* What a plan is asked for. A plan for varying counts is made with a kind, a
 * max_block and recvtype; the rest comes with each start. */
typedef struct rota_args {
    rota_kind kind;   /* if left out, ROTA_FIXED */
    size_t max_block; /* unless fixed */
    const void *sendbuf;
    rota_vector sendcounts, sdispls;
    MPI_Datatype sendtype;
    void *recvbuf;
    rota_vector recvcounts, rdispls;
    MPI_Datatype recvtype;
    bool own_types; /* a type per block, and displacements in bytes */
    const MPI_Datatype *sendtypes, *recvtypes; /* [blocks] */
    int n_dests;      /* of a sparse start, which has */
    const int *dests; /* [n_dests] the destinations of its blocks */
} rota_args;

/* Check arguments and turn them into a problem. Free it even after a failure.
 * check: look for overlapping receive blocks. Local. */
int rota_problem_make(const rota_args *args, const rota_comm *c,
                      const rota_neighbors *neighbors, bool check,
                      rota_problem *problem);
void rota_problem_free(rota_problem *problem);

/* The arguments of one side, counted in units. */
typedef struct rota_side_args {
    const char *name; /* "send" or "recv" */
    const void *base;
    int n; /* number of blocks */
    rota_vector counts, displs;
    const rota_unit *unit;
    const uint32_t *of; /* [n] index of each block's unit; NULL: unit[0] */
} rota_side_args;

/* Fill bytes and offset, [n]. Local. */
int rota_side_fill(const rota_side_args *args, size_t bytes[],
                   ptrdiff_t offset[]);

/* The same for int arrays of n entries, counted in one unit. Returns false if
 * something is amiss, or may be: then call rota_side_fill. */
static inline bool rota_fill_ints(const rota_unit *unit, const void *base,
                                  int n, const int counts[], const int displs[],
                                  size_t bytes[], ptrdiff_t offset[])
{
    const size_t element = unit->element;
    const ptrdiff_t displ = unit->displ, lb = unit->true_lb;
    int any = 0;

    if (!counts || !displs || !unit->small)
        return false;
    for (int i = 0; i < n; i++) {
        any |= counts[i];
        bytes[i] = (size_t)counts[i] * element;
        offset[i] = counts[i] ? displs[i] * displ + lb : 0;
    }
    return any >= 0 && (base || any == 0);
}

/* Fail for a pair of ranks whose counts differ. */
int rota_fail_mismatch(int src, int dst, size_t sent, size_t expected);

#endif /* ROTA_VALIDATE_H */
