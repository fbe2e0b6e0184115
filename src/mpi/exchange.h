/* exchange.h - blocking, nonblocking and persistent exchanges: whether and how they
 * go by Rota.
 *
 * A call goes to MPI only for reasons that all ranks share: the environment, the kind
 * and size of the communicator, how many calls of the kind it has seen (collectives
 * come in one order on all ranks), and what ranks have agreed on in a call that may
 * block. Never for what one rank alone may know: its counts, datatypes, buffers,
 * memory, times. Arguments that MPI refuses by itself, without a word to other ranks,
 * are left to it on the rank that has them (check.h).
 */
#ifndef ROTA_MPI_EXCHANGE_H
#define ROTA_MPI_EXCHANGE_H

#include "mpi/decide.h"

/* What became of a blocking call. */
typedef struct rota_mpi_turn {
    int err;
    rota_mpi_usage *timed; /* if MPI's time is wanted */
    size_t bytes;
    double begin;
    double passed_on; /* when, for statistics */
    unsigned n_freed; /* rota_mpi_n_freed then */
    rota_mpi_question question;
} rota_mpi_turn;

/* True: done, with turn->err. False: MPI is to do it, and then passed is called, with
 * args and turn where they are. */
bool rota_mpi_blocking(rota_mpi_args *args, rota_mpi_turn *turn);
void rota_mpi_passed(rota_mpi_turn *turn);

/* Look up what counts calls on a communicator, if it was not the last one used
 * (recent.h). Returns whether there is any. Local. */
bool rota_mpi_recall(MPI_Comm comm);

/* MPI has failed in a call that was passed on at once: does it count? */
void rota_mpi_failed(rota_mpi_args *args, rota_mpi_tally *tally);

/* MPI is to do a nonblocking call, which is to be counted: a plan needs all ranks at
 * once, for which such a call may not wait. */
void rota_mpi_nonblocking(rota_mpi_args *args);

/* True: done, with *err. False: MPI is to do it. */
bool rota_mpi_persistent(rota_mpi_args *args, MPI_Info info,
                         MPI_Request *request, int *err);

#endif /* ROTA_MPI_EXCHANGE_H */
