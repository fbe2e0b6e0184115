/* error_code.h - statuses as error codes of MPI. */
#ifndef ROTA_ERROR_CODE_H
#define ROTA_ERROR_CODE_H

#include <mpi.h>

/* An MPI error code for a status, with a text that begins with function. */
int rota_error_code(const char *function, int status);

/* Raise a code through the error handler of comm, or for MPI_COMM_NULL of the
 * communicator that nobody's errors go to, and return it. */
int rota_raise(MPI_Comm comm, int code);

#endif /* ROTA_ERROR_CODE_H */
