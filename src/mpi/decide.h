/* decide.h - whether a blocking call goes by Rota: ranks agree on what
 * worth.h needs, and make the plan.
 *
 * Ranks ask each other by a nonblocking MPI_Allreduce that begins before a call by
 * MPI and is complete soon after it: in that call ranks wait for each other anyway.
 * To wait for an MPI_Allreduce alone takes several times as long (docs/dropin.md).
 */
#ifndef ROTA_MPI_DECIDE_H
#define ROTA_MPI_DECIDE_H

#include "mpi/group.h"

/* Numbers that they agree on before they make a plan. */
enum {
    ROTA_MPI_NOT_PLAIN = ROTA_MPI_TERMS,
    ROTA_MPI_BYTES_SENT,
    ROTA_MPI_ASKED
};

/* What ranks ask each other beside a call. */
typedef struct rota_mpi_question {
    rota_mpi_usage *usage; /* NULL: nothing */
    rota_mpi_group *group;
    const rota_mpi_args *args;
    rota_mpi_moment moment;
    int err;
    MPI_Request request;
    int n; /* numbers in all */
    double mine[ROTA_MPI_ASKED], all[ROTA_MPI_RESULTS];
} rota_mpi_question;

/* Count a call. Does it go by Rota? Collective at times. If not, and q->usage is set,
 * q and args stay where they are until decided is called, after the call. */
bool rota_mpi_decide(rota_mpi_usage *u, rota_mpi_group *group,
                     const rota_mpi_args *args, rota_mpi_question *q);
void rota_mpi_decided(rota_mpi_question *q);

/* Instead of decided, if the communicator is no more: forget the question. */
void rota_mpi_abandon(rota_mpi_question *q);

#endif /* ROTA_MPI_DECIDE_H */
