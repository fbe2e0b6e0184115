/* request.h - requests of ours.
 *
 * The handle that the program holds is a stand-in: a generalized request, which a
 * table maps to the plan. MPI never sees it: in arrays it is replaced by
 * MPI_REQUEST_NULL for the time of the call (array.c). A library in between that
 * completes it through MPI gets an error, rather than data that never came.
 */
#ifndef ROTA_MPI_REQUEST_H
#define ROTA_MPI_REQUEST_H

#include "mpi/calls.h"

#include <rota.h>

#include <stdatomic.h>
#include <uthash.h>

/* DONE: complete, and the program does not know yet. */
typedef enum rota_mpi_state {
    ROTA_MPI_INACTIVE,
    ROTA_MPI_ACTIVE,
    ROTA_MPI_DONE
} rota_mpi_state;

typedef struct rota_mpi_request rota_mpi_request;

struct rota_mpi_request {
    MPI_Request handle; /* the stand-in */
    rota_plan *plan;
    rota_mpi_state state;
    int err;      /* of the run that is done */
    size_t bytes; /* that a start sends, for statistics */
    int index;    /* in the array that a call works on */
    bool hidden;  /* in that array */
    rota_mpi_request *next;
    UT_hash_handle hh;
};

extern atomic_int rota_mpi_n_requests;

static inline bool rota_mpi_any_request(void)
{
    return atomic_load_explicit(&rota_mpi_n_requests, memory_order_relaxed) > 0;
}

/* Does MPI refuse this as a place for statuses? For Open MPI, NULL says that none
 * are wanted. */
static inline bool rota_mpi_refuses(const MPI_Status *statuses)
{
    const MPI_Status *const ignore = MPI_STATUS_IGNORE;

    return !statuses && ignore;
}

/* A new request, inactive and without a plan; NULL if MPI gives no handle. */
rota_mpi_request *rota_mpi_request_make(void);
rota_mpi_request *rota_mpi_request_find(MPI_Request handle); /* NULL: MPI's */

void rota_mpi_request_destroy(rota_mpi_request *r); /* not its plan */

/* Advance. Afterwards r is not active, or may still be. */
void rota_mpi_request_wait(rota_mpi_request *r);
void rota_mpi_request_poll(rota_mpi_request *r);

/* Tell the program that r, which is not active, is complete. */
int rota_mpi_request_conclude(rota_mpi_request *r, MPI_Status *status);

#endif /* ROTA_MPI_REQUEST_H */
