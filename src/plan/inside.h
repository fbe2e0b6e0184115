/* inside.h - functions of Rota for the drop-in. */
#ifndef ROTA_INSIDE_H
#define ROTA_INSIDE_H

#include "base/launched.h"

#include <rota.h>

#include <stdbool.h>
#include <stddef.h>

/* End the process, with a text, if the MPI that runs is of another kind than the one
 * that Rota was built for; MPI may not be initialized yet. library: what it names.
 * The first call of a process looks, which takes microseconds. */
void rota_flavour_check(const char *library);

/* From now on texts of this thread's errors name this function, which the
 * program called, instead of Rota's. Borrowed; NULL: Rota's. */
void rota_error_name(const char *function);

/* From now on errors are raised by this function, in place of
 * MPI_Comm_call_errhandler. */
void rota_error_raise_by(int (*function)(MPI_Comm comm, int code));

/* Raise an error on comm, or on none for MPI_COMM_NULL, and return its code. */
int rota_error_raise(MPI_Comm comm, int errorclass, const char *text);

/* Let plans use comm itself, not a duplicate. comm returns errors, nobody else uses
 * it, and it must live until all its plans are freed. Collective. */
int rota_comm_adopt(MPI_Comm comm);

/* Set the neighbours of an adopted comm, which has no process topology: n_to
 * ranks to send to and n_from to receive from, or MPI_PROC_NULL; of a grid in
 * the order of MPI. Local. */
int rota_comm_set_neighbors(MPI_Comm comm, bool grid, int n_to, const int to[],
                            int n_from, const int from[]);

/* Are elements of a type known to be just bytes, end to end? Local. */
int rota_type_is_plain(MPI_Datatype type, bool *plain);

/* Bytes of an element's data. Local. */
int rota_type_size(MPI_Datatype type, MPI_Count *size);

/* Wait for a request of MPI, while active plans advance and without keeping the
 * processor from other ranks. */
int rota_wait_request(MPI_Comm comm, MPI_Request *request);

/* Memory of the heap that rota_malloc takes it from; NULL: there is none now. */
void *rota_malloc_shared(size_t bytes);

/* Free memory of that heap; false: it is not from there. */
bool rota_malloc_release(void *memory);

/* Bytes of the heap that were in use at most. */
size_t rota_malloc_most(void);

/* Is ROTA_RECORD set, and its file open? Record a call that goes to MPI: bytes
 * [P] that this rank sends to each. Local. */
bool rota_record_wanted(void);
void rota_record_call(MPI_Comm comm, const size_t bytes[]);

/* May this plan, fixed or of varying counts, be run again as it was run last? Then
 * do that, from start to end, for this function of the program; it is not recorded.
 * Other buffers: as rota_plan_set_buffers, but for arguments that are trusted. Local,
 * all of them. */
bool rota_plan_repeats(const rota_plan *plan);
int rota_plan_repeat(rota_plan *plan, const char *function);
int rota_plan_move(rota_plan *plan, const void *sendbuf, void *recvbuf);

#endif /* ROTA_INSIDE_H */
