/* inside.h - functions of Rota for the drop-in only. */
#ifndef ROTA_MPI_INSIDE_H
#define ROTA_MPI_INSIDE_H

#include <rota.h>

#include <stdbool.h>

/* From now on texts of this thread's errors name this function, which the
 * program called, instead of Rota's. Borrowed; NULL: Rota's. */
void rota_error_name(const char *function);

/* Raise an error on comm, or on none for MPI_COMM_NULL, and return its code. */
int rota_error_raise(MPI_Comm comm, int errorclass, const char *text);

/* Is ROTA_RECORD set, and its file open? Record a call that goes to MPI: bytes
 * [P] that this rank sends to each. Local. */
bool rota_record_wanted(void);
void rota_record_call(MPI_Comm comm, const size_t bytes[]);

#endif /* ROTA_MPI_INSIDE_H */
