/* sparse.h - plans of sparse exchanges: each start says to whom a rank sends,
 * each end who has sent to it. */
#ifndef ROTA_PLAN_SPARSE_H
#define ROTA_PLAN_SPARSE_H

#include "plan/kinds/plan.h"

/* What a start gets. */
typedef struct rota_sparse_args {
    const void *sendbuf;
    int n;
    const int *dests;           /* [n] */
    rota_vector counts, displs; /* [n] */
} rota_sparse_args;

/* What a wait returns, as int or, if large, as MPI_Count and MPI_Aint. The
 * arrays belong to the plan. */
typedef struct rota_sparse_result {
    bool large;
    void *buffer;
    int n;
    const int *sources; /* [n] ascending */
    const void *counts; /* [n] */
    const void *displs; /* [n] */
} rota_sparse_result;

/* Write the schedule, a step without messages, and make each rank a group.
 * Local. */
int rota_sparse_build(rota_plan *p);

/* Form groups of ranks that share memory; p->exec is set. Local. */
int rota_sparse_group(rota_plan *p);

int rota_sparse_start(rota_plan *p, const rota_sparse_args *args);

/* The run is complete: collect its blocks by rank. Fails if the buffer is too
 * small or a count does not fit, and may then be called again. */
int rota_sparse_collect(rota_plan *p, rota_sparse_result *result);

void rota_sparse_forget(rota_plan *p);

#endif /* ROTA_PLAN_SPARSE_H */
