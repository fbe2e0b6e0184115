/* shim.h - the drop-in librota_mpi: MPI_Alltoallv and its kin on Rota plans,
 * for programs that are not changed. It takes the place of the functions in
 * list.h by MPI's profiling interface and uses Rota by its public interface and
 * inside.h.
 *
 * Rules
 *
 *   Passed on. A call goes to MPI only for reasons that all ranks share: the
 *   environment, the kind and size of the communicator, how many calls of the
 *   kind it has seen (collectives come in one order on all ranks), and what
 *   ranks have agreed on in a call that may block. Never for what one rank
 *   alone may know: counts, datatypes, buffers, memory.
 *
 *   Mistakes. Arguments that MPI refuses by itself, without a word to other
 *   ranks, are left to it on the rank that has them (check.c).
 *
 *   Bytes. A varying plan has one datatype, and MPI_Alltoallv may have another
 *   on every rank. So plans for it move bytes; data that do not lie end to end
 *   are packed by the rank that has them.
 *
 *   Progress. Rota plans move in Rota calls only, but MPI lets a program block
 *   anywhere while a request is active. So plans behind requests are of one
 *   phase and have a progress thread (rota_progress = thread): what they send
 *   within the node is moved by it when another rank waits for that, and all
 *   else are requests of MPI's, which moves them in whatever call the program
 *   blocks. So no other call needs to be wrapped. A blocking MPI_Alltoallv waits
 *   in Rota and may use any algorithm.
 *
 *   Requests. The handle that the program holds is a stand-in: a receive of
 *   MPI's whose message is too long for it. A table maps it to the plan, and
 *   MPI never sees it: in arrays it is replaced by MPI_REQUEST_NULL for the
 *   time of the call. Who completes it without passing here (a profiling
 *   library in between) gets an error rather than data that never came.
 *
 *   Communicators. An attribute tells when one is freed, whatever function
 *   frees it.
 *
 *   Blocking. MPI_Ialltoallv must not wait for other ranks, so its plans are
 *   made in a blocking collective on the communicator.
 *
 * Inside librota_mpi, Rota's own calls of MPI are bound to PMPI
 * (CMakeLists.txt), so that they do not come back here.
 */
#ifndef ROTA_MPI_SHIM_H
#define ROTA_MPI_SHIM_H

#include "mpi/inside.h"

#include <rota.h>

#include <stdatomic.h>
#include <stdbool.h>

/* Handlers. */
#define ROTA_WRAP(name, parameters, arguments, gate)                           \
    int rota_mpi_##name parameters;
#define ROTA_MEET(name, parameters, arguments)
#include "mpi/list.h"

#define ROTA_MPI_TRY(call)                                                     \
    do {                                                                       \
        const int try_err = (call);                                            \
        if (try_err != MPI_SUCCESS)                                            \
            return try_err;                                                    \
    } while (0)

/* ---- settings.c ---------------------------------------------------------- */

typedef enum rota_mpi_function {
    ROTA_MPI_INIT,
    ROTA_MPI_BLOCKING,
    ROTA_MPI_NONBLOCKING,
    ROTA_MPI_FUNCTIONS
} rota_mpi_function;

typedef struct rota_mpi_settings {
    bool on[ROTA_MPI_FUNCTIONS];
    long after;    /* calls on a communicator that go to MPI before the first
                      that goes to Rota */
    int in_flight; /* MPI_Ialltoallv at a time on a communicator */
    bool stats, stats_of_all;
} rota_mpi_settings;

/* From the environment; a value that is none ends the program. */
const rota_mpi_settings *rota_mpi_settings_get(void);

/* ---- f08.c --------------------------------------------------------------- */

/* Is this thread in a call of the module mpi_f08, whose other functions do not
 * come by here? */
bool rota_mpi_in_f08(void);

/* ---- request.c ----------------------------------------------------------- */

/* DONE: complete, and the program does not know yet. */
typedef enum rota_mpi_state {
    ROTA_MPI_INACTIVE,
    ROTA_MPI_ACTIVE,
    ROTA_MPI_DONE
} rota_mpi_state;

typedef struct rota_mpi_request rota_mpi_request;
typedef struct rota_mpi_run rota_mpi_run;

struct rota_mpi_request {
    MPI_Request handle; /* the stand-in */
    rota_plan *plan;
    rota_mpi_run *run; /* of MPI_Ialltoallv; NULL: persistent */
    rota_mpi_state state;
    int err;      /* of the run that is done */
    size_t bytes; /* that a start sends, for statistics */
    int index;    /* in the array that a call works on */
    bool hidden;  /* in that array */
    rota_mpi_request *next;
};

extern atomic_int rota_mpi_n_requests;

static inline bool rota_mpi_any_request(void)
{
    return atomic_load_explicit(&rota_mpi_n_requests, memory_order_relaxed) > 0;
}

/* A new request, inactive and without a plan; NULL without memory. */
rota_mpi_request *rota_mpi_request_make(void);
void rota_mpi_request_destroy(rota_mpi_request *r); /* the plan apart */
rota_mpi_request *rota_mpi_request_find(MPI_Request handle); /* NULL: MPI's */

/* Advance. Afterwards r is not active, or may still be. */
void rota_mpi_request_wait(rota_mpi_request *r);
void rota_mpi_request_poll(rota_mpi_request *r);

/* Free what stand-ins are made of. */
void rota_mpi_request_end(void);

/* Tell the program that r, which is not active, is complete. */
int rota_mpi_request_conclude(rota_mpi_request *r, MPI_Request *handle,
                              MPI_Status *status);

/* ---- check.c ------------------------------------------------------------- */

typedef struct rota_mpi_args rota_mpi_args;

/* Does MPI refuse these arguments of MPI_Alltoallv or MPI_Ialltoallv, before it
 * communicates? Then the call is MPI's, which says why: the same error from the
 * first call to the last, and no call that other ranks count. Local. */
bool rota_mpi_refused(const rota_mpi_args *args, MPI_Comm comm);
void rota_mpi_check_end(void);

/* ---- run.c: a varying plan behind MPI_Alltoallv or MPI_Ialltoallv -------- */

/* Counts are of int and displacements too or, if large, of MPI_Count and
 * MPI_Aint. */
struct rota_mpi_args {
    const void *sendbuf, *sendcounts, *sdispls;
    MPI_Datatype sendtype;
    void *recvbuf;
    const void *recvcounts, *rdispls;
    MPI_Datatype recvtype;
    bool large;
};

/* Bytes that valid arguments send. */
size_t rota_mpi_args_bytes(const rota_mpi_args *args, MPI_Comm comm);

/* One side of an exchange, in bytes. */
typedef struct rota_mpi_side {
    MPI_Count *bytes; /* [P] as Rota is told, as is offset */
    MPI_Aint *offset; /* [P] */
    MPI_Count *count; /* [P] elements, if packed */
    MPI_Aint *place;  /* [P] bytes from the program's buffer, if packed */
    char *user;       /* the program's buffer */
    char *stage;      /* what is packed */
    size_t room;      /* bytes of stage */
    size_t total;     /* bytes of all blocks */
    bool given;       /* arrays are not NULL */
    bool packed;      /* by way of stage */
    MPI_Datatype type;
    MPI_Datatype known; /* a predefined type: size and extent were asked for */
    MPI_Count size;
    MPI_Aint extent;
    bool plain; /* elements are bytes end to end */
} rota_mpi_side;

struct rota_mpi_run {
    int P;
    rota_plan *plan;
    rota_mpi_side send, recv;
    rota_mpi_request *request; /* of MPI_Ialltoallv; else NULL */
    bool orphan;               /* its communicator is freed */
};

/* Local; without a plan. NULL without memory. */
rota_mpi_run *rota_mpi_run_make(int P, bool with_request);
void rota_mpi_run_destroy(rota_mpi_run *run); /* may be NULL */

int rota_mpi_run_start(rota_mpi_run *run, const rota_mpi_args *args);
int rota_mpi_run_finish(rota_mpi_run *run, int err); /* the plan is complete */

/* ---- comm.c: what is known of a communicator ----------------------------- */

/* May this call of MPI_Alltoallv_init go to Rota? Collective. */
bool rota_mpi_comm_takes_init(MPI_Comm comm);

/* What this call of MPI_Alltoallv or MPI_Ialltoallv is to use; NULL: MPI. The
 * first is collective. */
rota_mpi_run *rota_mpi_comm_blocking(MPI_Comm comm);
rota_mpi_run *rota_mpi_comm_nonblocking(MPI_Comm comm);

/* Make plans that MPI_Ialltoallv has asked for. Collective. */
extern atomic_int rota_mpi_n_wishes;
void rota_mpi_comm_meet(MPI_Comm comm);

/* Forget all communicators. */
void rota_mpi_comm_end(void);

/* Hints for plans that are done without Rota: one phase, nothing held back. */
int rota_mpi_hint_at_once(MPI_Info user, MPI_Info *info);

/* ---- stats.c ------------------------------------------------------------- */

void rota_mpi_count_call(rota_mpi_function function, bool by_rota);
void rota_mpi_count_plan(const rota_plan *plan);
void rota_mpi_count_start(size_t bytes);

/* Time in exchanges: begin gives what end is to be told. */
double rota_mpi_time_begin(void);
void rota_mpi_time_end(double begin);

void rota_mpi_stats_print(void);
void rota_mpi_stats_print_session(void); /* where there is no MPI_Init */

#endif /* ROTA_MPI_SHIM_H */
