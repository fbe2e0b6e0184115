/* error_code.h - turns statuses into MPI error codes. */
#ifndef ROTA_ERROR_CODE_H
#define ROTA_ERROR_CODE_H

#include <mpi.h>

/* Make an MPI error code for a status. Its text begins with function. */
int rota_error_code(const char *function, int status);

/* Call the error handler of comm with a code, and return the code.
 * MPI_COMM_NULL: the handler for errors without a communicator. */
int rota_error_report(MPI_Comm comm, int code);

#endif /* ROTA_ERROR_CODE_H */
