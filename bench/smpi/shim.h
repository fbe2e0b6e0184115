/* shim.h - what a run under SimGrid's SMPI needs; no other build sees it.
 *
 * Included before every source file, so that calls of MPI and of the C library
 * go to shim.c. There all ranks take turns in one thread, and simulated time
 * passes only where somebody says so. Therefore:
 *
 * - Time that SMPI leaves out is charged: a persistent send costs its sender as
 *   much as SMPI takes for MPI_Isend, and copied bytes take the processor.
 * - A test in vain that is repeated with nothing else tested in between can
 *   only be part of a wait, and waits. Polling would pass time in steps, and
 *   every poll is an event to simulate.
 * - The machine on which this runs is not the one that is simulated: nobody may
 *   look at its cores, by hwloc or without. Ranks that saw fewer than there are of
 *   them would sleep while they make a plan.
 * - Memory that ranks share is there only if scale.sh says so (SCALE_SHARED=yes);
 *   else plans find it missing. Flags in it take no time, but each look at the clock,
 *   of which a wait for one is made, takes that of a test in vain. Then a test waits
 *   for nothing, since what a rank waits for besides may come by memory.
 * - The host's name is that of the simulated host, by which ranks find their node.
 * - Plans probe for what never comes, to let MPI work: that takes as long as a test
 *   in vain, as MPICH does, and asks nobody.
 * - SMPI duplicates communicators only in a call that waits.
 * - SMPI has no matched probe: ordinary probes do, since no other thread can
 *   receive what was probed.
 * - What the time of an exchange goes to is written to parts.csv, the mean of
 *   all ranks. What rota-bench looks at the clock for divides it; waits of a
 *   plan look at the clock, too, and do not.
 * - SMPI has no error codes but its own: a class stands for all of it, with the
 *   text that was given last.
 */
#ifndef BENCH_SMPI_SHIM_H
#define BENCH_SMPI_SHIM_H

#include "../../src/exec/move/copy.h"

#include <mpi.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

void *shim_memcpy(void *to, const void *from, size_t bytes);
int shim_memfd_create(const char *name, unsigned flags);
int shim_clock_gettime(clockid_t clock, struct timespec *now);
int shim_clock_gettime_divides(clockid_t clock, struct timespec *now);
int shim_send_init(const void *data, int count, MPI_Datatype type, int to,
                   int tag, MPI_Comm comm, MPI_Request *request);
int shim_recv_init(void *data, int count, MPI_Datatype type, int from, int tag,
                   MPI_Comm comm, MPI_Request *request);
int shim_request_free(MPI_Request *request);
int shim_start(MPI_Request *request);
int shim_isend(const void *data, int count, MPI_Datatype type, int to, int tag,
               MPI_Comm comm, MPI_Request *request);
int shim_issend(const void *data, int count, MPI_Datatype type, int to, int tag,
                MPI_Comm comm, MPI_Request *request);
int shim_irecv(void *data, int count, MPI_Datatype type, int from, int tag,
               MPI_Comm comm, MPI_Request *request);
int shim_test(MPI_Request *request, int *flag, MPI_Status *status);
int shim_testall(int n, MPI_Request request[], int *flag, MPI_Status status[]);
int shim_testsome(int n, MPI_Request request[], int *n_done, int done[],
                  MPI_Status status[]);
int shim_iprobe(int from, int tag, MPI_Comm comm, int *flag,
                MPI_Status *status);
int shim_improbe(int from, int tag, MPI_Comm comm, int *flag,
                 MPI_Message *message, MPI_Status *status);
int shim_imrecv(void *data, int count, MPI_Datatype type, MPI_Message *message,
                MPI_Request *request);
int shim_get_elements_x(const MPI_Status *status, MPI_Datatype type,
                        MPI_Count *elements);
int shim_sched_getaffinity(pid_t process, size_t bytes, void *processors);
int shim_gethostname(char *name, size_t room);
int shim_comm_idup(MPI_Comm comm, MPI_Comm *dup, MPI_Request *request);
int shim_comm_call_errhandler(MPI_Comm comm, int code);
int shim_add_error_code(int errorclass, int *code);
int shim_add_error_string(int code, const char *text);
int shim_error_string(int code, char *text, int *length);
int shim_finalize(void);

#define memcpy(to, from, bytes) shim_memcpy(to, from, bytes)
/* Not word by word to and from registers, which would be charged four times. */
#define rota_copy_short(to, from, bytes) shim_memcpy(to, from, bytes)
#undef __SSE2__      /* copies past the caches are charged as others */
#undef getpid        /* SMPI's own */
#undef clock_gettime /* likewise */
#ifdef SHIM_DIVIDES_TIME
#define clock_gettime(clock, now) shim_clock_gettime_divides(clock, now)
#else
#define clock_gettime(clock, now) shim_clock_gettime(clock, now)
#endif
#define hwloc_topology_load shim_hwloc_topology_load
#define memfd_create shim_memfd_create
#define gethostname shim_gethostname
#define sched_getaffinity shim_sched_getaffinity

#define MPI_Send_init shim_send_init
#define MPI_Recv_init shim_recv_init
#define MPI_Request_free shim_request_free
#define MPI_Start shim_start
#define MPI_Isend shim_isend
#define MPI_Issend shim_issend
#define MPI_Irecv shim_irecv
#define MPI_Test shim_test
#define MPI_Testall shim_testall
#define MPI_Testsome shim_testsome
#define MPI_Iprobe shim_iprobe
#define MPI_Improbe shim_improbe
#define MPI_Imrecv shim_imrecv
#define MPI_Get_elements_x shim_get_elements_x
#define MPI_Comm_idup shim_comm_idup
#define MPI_Comm_call_errhandler shim_comm_call_errhandler
#define MPI_Add_error_code shim_add_error_code
#define MPI_Add_error_string shim_add_error_string
#define MPI_Error_string shim_error_string
#define MPI_Finalize shim_finalize

#endif
