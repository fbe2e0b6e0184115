/* inside.h - what Rota has for the drop-in beside its public interface. */
#ifndef ROTA_MPI_INSIDE_H
#define ROTA_MPI_INSIDE_H

#include <rota.h>

/* From now on texts of this thread's errors name this function, which the
 * program called, instead of Rota's. Borrowed; NULL: Rota's. */
void rota_error_name(const char *function);

/* Raise an error on comm, or on none for MPI_COMM_NULL, and return its code. */
int rota_error_raise(MPI_Comm comm, int errorclass, const char *text);

/* The plan's communicator was freed: another one of the same ranks, in the same
 * order, and of which Rota keeps nothing yet, takes its place. Local; all ranks
 * must do so. */
int rota_plan_move(rota_plan *plan, MPI_Comm user);

#endif /* ROTA_MPI_INSIDE_H */
