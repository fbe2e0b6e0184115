/* exec.h - run a schedule.
 *
 * An executor binds a schedule to memory, datatypes and MPI requests once and
 * then steps through it, again and again. It is the only code that moves
 * blocks. Nothing here blocks but rota_exec_wait and rota_wait_until.
 */
#ifndef ROTA_EXEC_H
#define ROTA_EXEC_H

#include "exec/node.h"
#include "problem.h"
#include "schedule.h"

typedef struct rota_parcel rota_parcel;

/* A message as bound to memory. */
typedef struct rota_wire {
    size_t stage;           /* if packed: offset of its place in the area */
    bool packed;            /* goes through the packing area */
    bool gathered;          /* its blocks are described by type */
    MPI_Datatype type;      /* from MPI_BOTTOM, if gathered */
    bool persistent;        /* request[] holds a persistent request for it */
    struct rota_late *late; /* if it tells sizes; else NULL */
    rota_parcel *parcel;    /* if it does not go by MPI; else NULL */
} rota_wire;

/* Tags of no plan: 0 to 3 on a communicator, of which the last two carry
 * nothing, so that looking for messages there finds none. */
enum { ROTA_TAG_AGREE, ROTA_TAG_CARD, ROTA_TAG_NOTHING };

/* What a run has to report though nothing failed. */
typedef enum rota_note {
    ROTA_NOTHING,
    ROTA_ABOVE_BOUND, /* a block was left out: peer, its size */
    ROTA_MISMATCH,    /* peer sent one size, another was expected */
} rota_note;

typedef struct rota_exec {
    /* Set by the owner before rota_exec_bind. */
    const rota_sched *s;
    MPI_Comm comm; /* the library's own; errors are returned */
    int tag; /* no other live plan on comm has it, nor the next three, which
                are for what goes before data and for consensus */
    MPI_Comm native; /* for a native phase, this plan's alone; else null */
    const rota_node *node; /* whose memory carries messages; NULL: MPI does */
    size_t arena_from;     /* bytes from which a message in the sender's arena
                              is copied from there, not through a ring */
    size_t cma_from; /* likewise from its private memory; SIZE_MAX: never */
    bool by_thread;  /* the progress thread may move it on (progress.h): what
                        goes within the node needs nothing of MPI */
    rota_type type[ROTA_N_REGIONS];
    char *base[ROTA_N_REGIONS];
    size_t *bytes;     /* [n_blocks], the owner's; scratch is late if !fixed */
    ptrdiff_t *offset; /* [n_blocks] from the region's base, the owner's */
    bool fixed;        /* bytes and offset will not change any more */
    bool by_datatype;  /* fixed: let MPI gather blocks instead of packing */
    rota_metadata metadata;
    size_t max_block;   /* unless ROTA_META_ONCE: SIZE_MAX for no bound */
    bool collect;       /* sizes of receive blocks are not known before a run:
                         blocks stay in place[], for the owner to collect */
    bool collect_early; /* into out, while the run lasts */
    bool stage_in;      /* in place: send blocks are first copied from the
                          receive buffer; base[ROTA_SRC] is the plan's own */

    /* Owned by the executor. */
    rota_wire *wire[ROTA_N_DIRS];      /* [n messages] */
    MPI_Request *request[ROTA_N_DIRS]; /* [n messages] */
    char *area;                        /* packing area */
    size_t area_bytes;
    size_t copy_stage; /* where in it copies between datatypes pass */
    size_t copy_step;  /* bytes of it that they use at a time */
    char **place; /* [n_blocks] unless ROTA_META_ONCE: where a block is that
                     came in a message with a header; else NULL */
    char *out;    /* blocks collected, in rank order, end to end; grows */
    size_t out_room;
    bool out_used;                    /* in this run */
    struct rota_consensus *consensus; /* NULL without a sparse phase */
    struct rota_shm *shm;         /* messages within the node, or NULL: made by
                             rota_shm_reserve before rota_exec_bind */
    struct rota_staging *staging; /* blocks on a device, or NULL: made by
                             rota_staging_make, of a fixed plan before
                             rota_exec_bind */
    struct rota_ipc *ipc; /* all messages go from device to device, or NULL:
                             made by rota_ipc_make before rota_shm_reserve */
    bool by_mpi;          /* some phase needs MPI */
    MPI_Request native_request;
    struct rota_native *native_args; /* NULL without a native phase */
    struct rota_flow *flow; /* NULL without a phase that data flow through */

    /* What a windowed phase has in flight: receives first, then sends. */
    MPI_Request *lane;  /* [2 * widest window] */
    uint32_t *lane_msg; /* [2 * widest window] its message */
    int *lane_done;     /* [2 * widest window] */
    MPI_Status *lane_status;
    int n_lanes, recv_lanes;

    /* The run. */
    uint32_t phase;
    uint32_t next[ROTA_N_DIRS]; /* unlimited: first not complete; windowed:
                                   first not posted */
    uint32_t posted;            /* unlimited: first send not posted */
    int in_flight;              /* windowed: lanes in use */
    bool entered;               /* the phase's first messages are posted */
    bool active;
    bool broken; /* MPI reported an error: requests may hang about */
    int err;     /* of the run, with its text */
    char err_text[ROTA_ERR_TEXT]; /* if it is one of rota_fail */
    rota_note note;               /* of the run, the first one, with: */
    int note_peer;
    size_t note_sent, note_expected;
    struct rota_exec *prev_active, *next_active;
} rota_exec;

/* Make requests and the packing area for the schedule. On failure x is as
 * rota_exec_unbind leaves it. Local. */
int rota_exec_bind(rota_exec *x);
void rota_exec_unbind(rota_exec *x);

/* The bytes of the packing area that messages would need, without binding
 * anything; makes no call of MPI. */
int rota_exec_packing(rota_exec *x, size_t *room);

/* Use other user buffers from the next start on: messages bound to an address
 * that changes are from then on posted as ordinary ones, or bound anew if MPI
 * gathers their blocks. x is inactive. */
int rota_exec_rebase(rota_exec *x, char *src, char *dst);

/* Keep a run's first note; of those on the bound the one of the largest block.
 * The owner clears x->note before a start. */
void rota_exec_note(rota_exec *x, rota_note note, int peer, size_t sent,
                    size_t expected);

/* Begin a run; x is inactive. Does not block. */
int rota_exec_start(rota_exec *x);

/* Advance all active executors; done tells whether this one is inactive now,
 * and then the result is that of its run. */
int rota_exec_test(rota_exec *x, bool *done);
int rota_exec_wait(rota_exec *x);

/* Advance all active executors until done(arg) is true, giving the processor
 * up in between. done returns MPI_SUCCESS or a status that ends the wait. */
int rota_wait_until(int (*done)(void *arg, bool *flag), void *arg);

/* Nanoseconds of a clock that only goes forward. */
int64_t rota_now_ns(void);

/* Wait for ordinary requests while active executors advance. */
int rota_wait_requests(int n, MPI_Request request[]);

/* From now on waits give the processor up almost at once: there are more ranks
 * than cores. */
void rota_wait_set_crowded(void);

/* From now on waits heed these words, and no others; NULL: those of this process
 * alone. */
void rota_wait_share(rota_yields *yields);

/* From now on the list of active executors is shared between threads: under
 * MPI_THREAD_MULTIPLE, or with the progress thread. Otherwise there is no lock
 * but a branch. */
void rota_exec_set_threaded(void);

/* For the progress thread: advance what it may, without MPI, until nothing has
 * moved for a while or another thread does so. Returns whether anything of that
 * kind is active; *moved is set if it has got on. */
bool rota_exec_help(bool *moved);

#endif /* ROTA_EXEC_H */
