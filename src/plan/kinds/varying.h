/* varying.h - starts with counts and buffers of their own, and exchanges. */
#ifndef ROTA_VARYING_H
#define ROTA_VARYING_H

#include "plan/kinds/plan.h"

int rota_varying_start(rota_plan *plan, const rota_args *args);
int rota_exchange_begin(rota_plan *plan, const rota_args *args);

/* The exchange is complete: collect the blocks in rank order. Either pair of
 * arrays may be NULL. Fails if the buffer is too small or a count does not fit
 * its array, and may then be called again. */
typedef struct rota_found {
    void *buffer;
    int *counts, *displs; /* [n_recv] */
    MPI_Count *counts_c;  /* [n_recv] */
    MPI_Aint *displs_c;   /* [n_recv] */
} rota_found;

int rota_exchange_collect(rota_plan *plan, rota_found *found);

#endif /* ROTA_VARYING_H */
