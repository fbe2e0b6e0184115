/* shim.h - the drop-in librota_mpi: MPI_Alltoall, MPI_Alltoallv and their kin
 * on Rota plans, for programs that are not changed. It takes the place of the
 * functions in list.h by MPI's profiling interface and uses Rota by its public
 * interface and inside.h.
 *
 * Rules
 *
 *   Passed on. A call goes to MPI only for reasons that all ranks share: the
 *   environment, the kind and size of the communicator, how many calls of the
 *   kind it has seen (collectives come in one order on all ranks), and what
 *   ranks have agreed on in a call that may block. Never for what one rank
 *   alone may know: its counts, datatypes, buffers, memory, times.
 *
 *   Mistakes. Arguments that MPI refuses by itself, without a word to other
 *   ranks, are left to it on the rank that has them (check.c).
 *
 *   Groups. What is known of calls, and plans for blocking ones, belong to the
 *   group of processes: all communicators of the same processes in the same
 *   order share it. So blocking calls must come in one order on all ranks of
 *   the group, whatever its communicator. They do where one thread at a time
 *   calls MPI, since any of them may wait for all ranks; under
 *   MPI_THREAD_MULTIPLE every communicator is a group of its own.
 *
 *   Neighbours. Processes with one topology after another have a group for each.
 *   Which of them a communicator is of no rank can tell alone, so they agree on
 *   it in its first blocking call, if there have been others.
 *
 *   Bytes. A varying plan has one datatype, and MPI_Alltoallv may have another
 *   on every rank. So plans move bytes; data that do not lie end to end are packed
 *   by the rank that has them. A plan for MPI_Alltoallw is fixed, and ranks agree
 *   at each call on whether they all have its arguments (same.c): among
 *   neighbours that would cost more than packing.
 *
 *   Progress. Rota plans move in Rota calls only, but MPI lets a program block
 *   anywhere while a request is active. So plans behind requests are of one
 *   phase and have a progress thread (rota_progress = thread): what they send
 *   within the node is moved by it when another rank waits for that, and all
 *   else are requests of MPI's, which moves them in whatever call the program
 *   blocks. So no other call needs to be wrapped. A blocking call waits in Rota
 *   and may use any algorithm.
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
 *   Blocking. A nonblocking exchange must not wait for other ranks, so its
 *   plans are made in a blocking collective on the communicator.
 *
 * Inside librota_mpi, Rota's own calls of MPI are bound to PMPI
 * (CMakeLists.txt), so that they do not come back here.
 */
#ifndef ROTA_MPI_SHIM_H
#define ROTA_MPI_SHIM_H

#include "plan/api/inside.h"

#include <rota.h>

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Ours. */
#define ROTA_REQUEST(mpi, pmpi, ours, parameters, arguments)                   \
    int ours parameters;
#define ROTA_WRAP(mpi, pmpi, ours, parameters, arguments) int ours parameters;
#include "mpi/list.h"

#define ROTA_MPI_TRY(call)                                                     \
    do {                                                                       \
        const int try_err = (call);                                            \
        if (try_err != MPI_SUCCESS)                                            \
            return try_err;                                                    \
    } while (0)

/* ---- exchanges and their arguments --------------------------------------- */

#define ROTA_CALL(call, ...) call,
typedef enum rota_mpi_call {
#include "mpi/list.h"
    ROTA_MPI_CALLS
} rota_mpi_call;

typedef enum rota_mpi_kind {
    ROTA_MPI_BLOCKING,
    ROTA_MPI_NONBLOCKING,
    ROTA_MPI_INIT,
    ROTA_MPI_KINDS
} rota_mpi_kind;

/* "MPI_Alltoall", "MPI_Ialltoall", "MPI_Alltoall_init", and so on. */
const char *rota_mpi_call_name(rota_mpi_call call, rota_mpi_kind kind);

/* ONE: one count and one type for all blocks, which lie end to end. V: a count
 * and a displacement a block. W: a type as well; displacements are in bytes. */
typedef enum rota_mpi_shape {
    ROTA_MPI_ONE,
    ROTA_MPI_V,
    ROTA_MPI_W
} rota_mpi_shape;

enum { ROTA_MPI_RANKS = false, ROTA_MPI_NEIGHBORS = true };

/* The blocks that a rank sends, or receives. How many there are and whom they
 * are for is known with the communicator (rota_mpi_comm_get); before, n is 0. */
typedef struct rota_mpi_blocks {
    void *buffer;       /* of what MPI takes as const nothing is written */
    const void *counts; /* ONE: of one element */
    const void *displs; /* ONE: NULL */
    MPI_Datatype type;  /* but for W */
    const MPI_Datatype *types; /* of W; else NULL */
    int n;
    const int *peers; /* [n] neighbours, or MPI_PROC_NULL; NULL: all ranks */
    const int *slots; /* [n] numbers that Rota has for them; NULL: the same */
} rota_mpi_blocks;

/* Counts are of int or, if large, of MPI_Count; displacements of int or, if far,
 * of MPI_Aint. */
typedef struct rota_mpi_args {
    rota_mpi_call call;
    rota_mpi_shape shape;
    bool large, far;
    bool neighbors; /* blocks are for those of the process topology */
    rota_mpi_blocks send, recv;
    MPI_Comm comm;
} rota_mpi_args;

/* A fixed plan for these arguments, by the function of rota.h of that name. */
int rota_mpi_make_plan(const rota_mpi_args *args, MPI_Info info,
                       rota_plan **plan);

/* n * size, or a size beyond all memory, which Rota refuses. */
MPI_Count rota_mpi_scaled(MPI_Count n, MPI_Count size);

static inline MPI_Datatype rota_mpi_type_at(const rota_mpi_blocks *b, int i)
{
    return b->types ? b->types[i] : b->type;
}

/* Element i of counts. */
static inline MPI_Count rota_mpi_count_at(const rota_mpi_args *a,
                                          const void *counts, int i)
{
    const int at = a->shape == ROTA_MPI_ONE ? 0 : i;

    return a->large ? ((const MPI_Count *)counts)[at]
                    : ((const int *)counts)[at];
}

/* ---- exchange.c: what the wrappers of list.h do -------------------------- */

typedef struct rota_mpi_usage rota_mpi_usage;
typedef struct rota_mpi_tally rota_mpi_tally;

/* What became of a blocking call. */
typedef struct rota_mpi_turn {
    int err;
    rota_mpi_usage *timed; /* if MPI's time is wanted */
    size_t bytes;
    double begin;
} rota_mpi_turn;

/* True: done, with turn->err. False: MPI is to do it, and passed is to be told. */
bool rota_mpi_blocking(rota_mpi_args *args, rota_mpi_turn *turn);
void rota_mpi_passed(const rota_mpi_turn *turn);

/* MPI has failed in a call that was passed on at once: does it count? */
void rota_mpi_failed(rota_mpi_args *args, rota_mpi_tally *tally);

/* True: done, with *err. False: MPI is to do it. */
bool rota_mpi_nonblocking(rota_mpi_args *args, MPI_Request *request, int *err);
bool rota_mpi_persistent(rota_mpi_args *args, MPI_Info info,
                         MPI_Request *request, int *err);

/* Does MPI refuse this as a place for statuses? For Open MPI, NULL says that none
 * are wanted. */
static inline bool rota_mpi_refuses(const MPI_Status *statuses)
{
    const MPI_Status *const ignore = MPI_STATUS_IGNORE;

    return !statuses && ignore;
}

/* ---- settings.c ---------------------------------------------------------- */

typedef struct rota_mpi_settings {
    bool on[ROTA_MPI_CALLS][ROTA_MPI_KINDS];
    long after;    /* calls that go to MPI before the first that goes to Rota;
                      ROTA_MPI_BY_COST: as many as it takes to pay */
    int in_flight; /* nonblocking exchanges at a time on a communicator */
    bool stats, stats_of_all;
    bool counted; /* for statistics or ROTA_RECORD */
} rota_mpi_settings;

enum { ROTA_MPI_BY_COST = -1 };

/* From the environment; a value that is none ends the program. */
const rota_mpi_settings *rota_mpi_settings_read(void);

extern _Atomic(const rota_mpi_settings *) rota_mpi_settings_known;

static inline const rota_mpi_settings *rota_mpi_settings_get(void)
{
    const rota_mpi_settings *const known =
        atomic_load_explicit(&rota_mpi_settings_known, memory_order_acquire);

    return known ? known : rota_mpi_settings_read();
}

/* Is this MPI's, with nobody to count it? False before settings are known. */
static inline bool rota_mpi_is_off(rota_mpi_call call, rota_mpi_kind kind)
{
    const rota_mpi_settings *const s =
        atomic_load_explicit(&rota_mpi_settings_known, memory_order_acquire);

    return s && !s->on[call][kind] && !s->counted;
}

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
    rota_mpi_run *run; /* of a nonblocking exchange; NULL: persistent */
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

/* Does MPI refuse these arguments, on an intra-communicator, before it
 * communicates? Then the call is MPI's, which says why: the same error from the
 * first call to the last, and no call that other ranks count. Local. */
bool rota_mpi_refused(const rota_mpi_args *args);
void rota_mpi_check_end(void);

/* ---- run.c: a plan of bytes behind a call -------------------------------- */

/* A predefined type, or MPI_DATATYPE_NULL, with what is known of it. */
typedef struct rota_mpi_type {
    MPI_Datatype type;
    MPI_Count size;
    MPI_Aint extent;
    bool plain; /* elements are bytes end to end */
} rota_mpi_type;

/* One side of an exchange, in n blocks of bytes. */
typedef struct rota_mpi_side {
    int n;
    MPI_Count *bytes;   /* [n] as Rota is told, as is offset */
    MPI_Aint *offset;   /* [n] */
    MPI_Count *count;   /* [n] elements, if packed */
    MPI_Aint *place;    /* [n] bytes from the program's buffer, if packed */
    char *user;         /* the program's buffer */
    char *stage;        /* what is packed */
    size_t room;        /* bytes of stage */
    size_t total;       /* bytes of all blocks */
    bool given;         /* arrays are not NULL */
    bool packed;        /* by way of stage */
    MPI_Datatype *type; /* [n] if packed; MPI_DATATYPE_NULL of empty blocks */
    rota_mpi_type known;
} rota_mpi_side;

/* The plan is a varying one or, if uniform, one of rota_alltoall_init: then all
 * blocks of a side count as one. */
struct rota_mpi_run {
    bool uniform;
    int P; /* if uniform */
    rota_plan *plan;
    struct rota_mpi_same *same; /* in its place, or NULL */
    rota_mpi_side send, recv;
    const void *plan_send, *plan_recv; /* that a uniform plan has */
    rota_mpi_request *request; /* of a nonblocking exchange; else NULL */
    bool orphan;               /* its communicator is freed */
};

/* For exchanges of so many blocks as these args have; without a plan. NULL
 * without memory. Local. */
rota_mpi_run *rota_mpi_run_make(const rota_mpi_args *args, bool uniform,
                                bool with_request);
void rota_mpi_run_destroy(rota_mpi_run *run); /* may be NULL */

/* A fixed plan for receive blocks that Rota has in another order. Collective. */
int rota_mpi_make_reordered(const rota_mpi_args *args, MPI_Info info,
                            rota_plan **plan);

int rota_mpi_run_start(rota_mpi_run *run, const rota_mpi_args *args);
int rota_mpi_run_finish(rota_mpi_run *run, int err); /* the plan is complete */

/* ---- same.c: fixed plans behind MPI_Alltoallw ---------------------------- */

typedef struct rota_mpi_same rota_mpi_same;

rota_mpi_same *rota_mpi_same_make(int P);     /* NULL without memory */
void rota_mpi_same_destroy(rota_mpi_same *s); /* may be NULL */
void rota_mpi_same_end(void);

/* False, on all ranks: MPI is to do it. ours is the group's communicator.
 * Collective. */
bool rota_mpi_same_exchange(rota_mpi_same *s, const rota_mpi_args *args,
                            MPI_Comm ours, int *err);

/* Bytes that valid arguments send, and of one block where there is one count. */
size_t rota_mpi_args_bytes(const rota_mpi_args *args);

/* A call that goes to MPI, for ROTA_RECORD. */
void rota_mpi_record(rota_mpi_args *args);

MPI_Count rota_mpi_block_bytes(const rota_mpi_args *args);

/* ---- worth.c: when a plan pays ------------------------------------------- */

typedef enum rota_mpi_verdict {
    ROTA_MPI_OPEN,  /* MPI, so far */
    ROTA_MPI_TRIAL, /* Rota, on trial */
    ROTA_MPI_TAKEN, /* Rota */
    ROTA_MPI_LEFT   /* MPI, for good */
} rota_mpi_verdict;

enum { ROTA_MPI_BINS = 12, ROTA_MPI_SAMPLES = 8 };

/* Calls of about one size by MPI [0] and by Rota [1]: how many were timed, and
 * the seconds of the last ones. */
typedef struct rota_mpi_bin {
    unsigned n[2];
    float seconds[2][ROTA_MPI_SAMPLES];
} rota_mpi_bin;

/* How many calls there were, and which come next. */
struct rota_mpi_tally {
    long calls; /* up to now */
    long plain; /* calls below this number go to MPI, untimed */
};

/* Blocking calls of one kind by one group: the same on all its ranks, but for
 * times. */
struct rota_mpi_usage {
    rota_mpi_tally tally;
    rota_mpi_call call;
    MPI_Count bytes; /* of a block, for ONE; else 0 */
    bool in_place;   /* likewise */
    rota_mpi_verdict verdict;
    long next;                        /* at this many, ranks decide */
    long trial;                       /* at this many, it began */
    int trials;                       /* that MPI has won */
    rota_mpi_run *run;                /* or NULL */
    rota_mpi_bin *bin[ROTA_MPI_BINS]; /* by the bytes that this rank sends, or
                                         NULL */
};

typedef struct rota_mpi_group rota_mpi_group;

/* Calls of one kind; NULL without memory. */
rota_mpi_usage *rota_mpi_usage_make(rota_mpi_call call);
void rota_mpi_usage_destroy(rota_mpi_usage *u); /* may be NULL */

/* Count a call. Does it go by Rota? Collective at times. */
bool rota_mpi_usage_takes(rota_mpi_usage *u, rota_mpi_group *group,
                          const rota_mpi_args *args);

/* Is this call's time wanted? And the time. */
bool rota_mpi_usage_is_timed(const rota_mpi_usage *u);
void rota_mpi_usage_time(rota_mpi_usage *u, bool rota, size_t bytes,
                         double seconds);

/* ---- topology.c: whom neighbourhood calls are among ---------------------- */

/* As one rank sees it. */
typedef struct rota_mpi_topology {
    bool grid; /* of MPI_Cart_create */
    int n_to, n_from;
    int *to, *from; /* [n_to], [n_from] ranks, or MPI_PROC_NULL */

    /* [n_from] Rota's numbers of receive blocks, or NULL: the same. In
     * MPI_Neighbor_alltoall [1] and in the others [0]. */
    int *slot[2];
} rota_mpi_topology;

/* NULL: there is none. Local. */
rota_mpi_topology *rota_mpi_topology_get(MPI_Comm comm);
rota_mpi_topology *rota_mpi_topology_copy(const rota_mpi_topology *t);
void rota_mpi_topology_free(rota_mpi_topology *t); /* may be NULL */
bool rota_mpi_topology_same(const rota_mpi_topology *a,
                            const rota_mpi_topology *b);

/* ---- group.c: processes that call together ------------------------------- */

/* For all communicators of the same processes and, in calls among neighbours,
 * with the same process topology. */
struct rota_mpi_group;

/* After MPI_Init, collective over MPI_COMM_WORLD. */
void rota_mpi_group_begin(void);
void rota_mpi_group_end(void);

/* The group that a communicator shares with others; NULL: it shares none. The
 * communicator keeps it as an attribute, and so do its duplicates. Local. */
rota_mpi_group *rota_mpi_group_of(MPI_Comm comm);
int rota_mpi_group_size(const rota_mpi_group *group); /* ranks */

/* The group of an intra-communicator of P ranks, for as long as that lives.
 * Local. */
rota_mpi_group *rota_mpi_group_get(MPI_Comm comm, int P);

/* The group of those processes with the topology of the communicator, likewise.
 * Collective if they have had another before. */
rota_mpi_group *rota_mpi_group_with(rota_mpi_group *group, MPI_Comm comm,
                                    const rota_mpi_topology *topology);
void rota_mpi_group_leave(rota_mpi_group *group);

/* What is known of these calls. Local. */
rota_mpi_usage *rota_mpi_group_usage(rota_mpi_group *group,
                                     const rota_mpi_args *args);

/* What counts calls among all ranks with sizes for each; NULL before the first.
 * Local. */
rota_mpi_tally *rota_mpi_group_tally(const rota_mpi_group *group,
                                     rota_mpi_call call);

/* Where the usage for calls of one size is that came last; NULL before the first.
 * Local. */
rota_mpi_usage *const *rota_mpi_group_last_size(const rota_mpi_group *group);

/* Is there room here for plans of this group? Local. */
bool rota_mpi_group_has_room(const rota_mpi_group *group);

/* Has it plans, or had? */
bool rota_mpi_group_has_plans(const rota_mpi_group *group);

/* The communicator of its plans. */
MPI_Comm rota_mpi_group_comm(const rota_mpi_group *group);

/* Make the plan for these calls, on a communicator of the group's own.
 * Collective; fails on all ranks or none. */
int rota_mpi_group_make(rota_mpi_group *group, rota_mpi_usage *u,
                        const rota_mpi_args *args);

/* ---- comm.c: what is known of a communicator ----------------------------- */

typedef struct rota_mpi_comm rota_mpi_comm;

/* The communicator of a call, whose numbers of blocks are set; NULL: the call is
 * MPI's or, if not known, there is none. Local. */
rota_mpi_comm *rota_mpi_comm_get(rota_mpi_args *args, bool *known);

/* The same of a blocking call, which needs no more than a group. */
bool rota_mpi_comm_takes(rota_mpi_args *args, bool *known);

/* The group of a blocking call that may be taken. Makes plans that nonblocking
 * calls have asked for. Collective. */
rota_mpi_group *rota_mpi_comm_blocking(const rota_mpi_args *args);

/* What a nonblocking call is to use; NULL: MPI. */
rota_mpi_run *rota_mpi_comm_nonblocking(rota_mpi_comm *c,
                                        const rota_mpi_args *args);

/* May a persistent plan be made on this communicator? Sets numbers of blocks.
 * Collective. */
bool rota_mpi_comm_takes_init(rota_mpi_args *args);

/* Make plans that nonblocking calls have asked for. Collective. */
extern atomic_int rota_mpi_n_wishes;
void rota_mpi_comm_meet(MPI_Comm comm);

static inline void rota_mpi_meet(MPI_Comm comm)
{
    if (atomic_load_explicit(&rota_mpi_n_wishes, memory_order_relaxed))
        rota_mpi_comm_meet(comm);
}

/* Communicators freed so far: handles that were known may mean others since. */
extern atomic_uint rota_mpi_n_freed;

/* MPI_Allreduce and MPI_Barrier, and a duplicate of a communicator that only the
 * drop-in uses, without keeping the processor from ranks that are late.
 * Collective. */
int rota_mpi_reduce(const void *in, void *out, int n, MPI_Datatype type,
                    MPI_Op op, MPI_Comm comm);
int rota_mpi_barrier(MPI_Comm comm);
int rota_mpi_duplicate(MPI_Comm ours, MPI_Comm *comm);

/* Is it true on all ranks? Collective. */
bool rota_mpi_all(MPI_Comm comm, bool mine);

/* Forget all communicators. */
void rota_mpi_comm_end(void);

/* Hints for plans that are done without Rota: one phase, nothing held back. */
int rota_mpi_hint_at_once(MPI_Info user, bool neighbors, MPI_Info *info);

/* Hints for blocking calls: what overlaps and MPI takes is taken. */
int rota_mpi_hint_unchecked(MPI_Info *info);

/* A plan for blocks of bytes whose counts vary. Collective. */
int rota_mpi_make_varying(MPI_Comm comm, bool neighbors, MPI_Info info,
                          rota_plan **plan);

/* Say, once, why Rota does not take exchanges whose turn has come. */
void rota_mpi_explain(MPI_Comm comm, int code);

/* ---- calls that go to MPI at once -----------------------------------------
 *
 * Where MPI takes an exchange, a call is to cost a few dozen instructions more than
 * MPI's. So a thread keeps, of the communicator that it has used last, what counts
 * calls on it. MPI looks at their arguments itself: a call that it refuses does not
 * count (rota_mpi_failed). */

typedef struct rota_mpi_recent {
    MPI_Comm comm;
    unsigned n_freed;                      /* rota_mpi_n_freed then */
    rota_mpi_tally *tally[ROTA_MPI_CALLS]; /* or NULL: not known */
    rota_mpi_usage *const *size;           /* for ONE: where the last one is */
    MPI_Datatype type;                     /* likewise: predefined, or null */
    MPI_Count type_bytes;
    rota_mpi_tally passed; /* of calls that are always MPI's */
} rota_mpi_recent;

extern _Thread_local rota_mpi_recent rota_mpi_recently;

static inline bool rota_mpi_is_recent(MPI_Comm comm)
{
    return rota_mpi_recently.comm == comm &&
           rota_mpi_recently.n_freed ==
               atomic_load_explicit(&rota_mpi_n_freed, memory_order_relaxed) &&
           atomic_load_explicit(&rota_mpi_n_wishes, memory_order_relaxed) == 0;
}

/* Fill in what is known of calls on a communicator that was not the last. False
 * where that is nothing new. Local. */
bool rota_mpi_recall(MPI_Comm comm);

/* NULL if the next call is to be looked at. */
static inline rota_mpi_tally *rota_mpi_if_plain(rota_mpi_tally *t)
{
    return t && t->calls < t->plain ? t : NULL;
}

/* What counts a blocking call that goes to MPI at once; NULL: none is known. */
static inline rota_mpi_tally *rota_mpi_plain(rota_mpi_call call, MPI_Comm comm)
{
    return rota_mpi_is_recent(comm)
               ? rota_mpi_if_plain(rota_mpi_recently.tally[call])
               : NULL;
}

/* The same where each size has its own. Usages are in the order in which they came,
 * the same on all ranks: only the one in front is used here. */
static inline rota_mpi_tally *
rota_mpi_plain_one(rota_mpi_call call, const void *sendbuf, MPI_Count sendcount,
                   MPI_Datatype sendtype, MPI_Count recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm)
{
    const rota_mpi_recent *const r = &rota_mpi_recently;
    const bool in_place = sendbuf == MPI_IN_PLACE;
    const MPI_Count n = in_place ? recvcount : sendcount;

    if (!rota_mpi_is_recent(comm))
        return NULL;
    if (r->tally[call])
        return rota_mpi_if_plain(r->tally[call]);
    if (!r->size || (in_place ? recvtype : sendtype) != r->type || n < 0 ||
        n > INT_MAX)
        return NULL;
    rota_mpi_usage *const u = *r->size;
    return u->call == call && u->in_place == in_place &&
                   u->bytes == n * r->type_bytes
               ? rota_mpi_if_plain(&u->tally)
               : NULL;
}

/* ---- stats.c ------------------------------------------------------------- */

void rota_mpi_count_call(rota_mpi_call call, rota_mpi_kind kind, bool by_rota);
void rota_mpi_count_plan(const rota_plan *plan);
void rota_mpi_count_start(size_t bytes);

/* Seconds. */
double rota_mpi_clock(void);

/* Time in exchanges: begin gives what end is to be told. */
double rota_mpi_time_begin(void);
void rota_mpi_time_end(double begin);

void rota_mpi_stats_print(void);
void rota_mpi_stats_print_session(void); /* where there is no MPI_Init */

#endif /* ROTA_MPI_SHIM_H */
