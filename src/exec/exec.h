/* exec.h - run a schedule.
 *
 * An executor binds a schedule to memory, datatypes and requests once, which
 * gives a program, and then runs the program again and again. It is the only
 * code that moves blocks. Nothing here blocks but rota_exec_wait and
 * rota_wait_until.
 *
 * A program is a list of steps, mostly one for each phase. What a step does is
 * decided when it is bound: its kind is a pair of functions, and its messages
 * stand in batches that have one transport and one kind of operation each.
 */
#ifndef ROTA_EXEC_H
#define ROTA_EXEC_H

#include "base/problem.h"
#include "exec/transport/node.h"
#include "exec/waiting.h"
#include "schedule/schedule.h"

typedef struct rota_exec rota_exec;
typedef struct rota_step rota_step;
typedef struct rota_batch rota_batch;

/* What one message takes. */
typedef enum rota_op_kind {
    ROTA_OP_PLAIN,    /* lies end to end; its size is known when it is bound.
                         By MPI: or MPI finds it by a datatype */
    ROTA_OP_VARYING,  /* one block of plain bytes, known when a run starts */
    ROTA_OP_GATHERED, /* is packed and unpacked on the way */
    ROTA_OP_LATE,     /* tells the sizes of its blocks (late.h) */
    ROTA_OP_DEVICE,   /* goes from device to device (ipc.h) */
} rota_op_kind;

/* What carries messages. */
typedef struct rota_transport {
    bool needs_mpi; /* the progress thread must not call it */

    /* Choose how the messages of a batch are posted and advanced: b->begin and
     * b->advance. Returns whether nobody gains by advancing them before they are
     * waited for. */
    bool (*resolve)(const rota_exec *x, rota_batch *b);

    /* One message, in steps that post them one by one; done is set when it is
     * complete and, if received, in its place. */
    int (*post)(rota_exec *x, rota_dir dir, uint32_t m);
    int (*test)(rota_exec *x, rota_dir dir, uint32_t m, bool *done);

    /* Messages in these regions lie elsewhere from now on. */
    int (*rebase)(rota_exec *x, const bool moved[]);
    void (*release)(rota_exec *x); /* all that was made for x */
} rota_transport;

/* A message as bound. */
typedef struct rota_op {
    const rota_transport *via;
    rota_op_kind kind;
    bool packed;            /* goes through the packing area */
    bool gathered;          /* its blocks are described by type */
    bool persistent;        /* request[] holds a persistent request for it */
    size_t stage;           /* if packed: offset of its place in the area */
    MPI_Datatype type;      /* from MPI_BOTTOM, if gathered */
    struct rota_late *late; /* if it tells sizes; else NULL */
} rota_op;

/* Messages of a step that have one direction, transport and kind. */
struct rota_batch {
    const rota_transport *via;
    rota_op_kind kind;
    rota_dir dir;
    uint32_t n;
    const uint32_t *message;                   /* [n] in list order */
    int (*begin)(rota_exec *x, rota_batch *b); /* NULL: all are open at once */
    int (*advance)(rota_exec *x, rota_batch *b);

    /* The run. */
    uint32_t *open;    /* [n] messages that are posted and not complete */
    uint32_t n_open;   /* of them */
    uint32_t n_posted; /* if they are posted one by one */
};

/* A copy within the rank, of plain bytes. */
typedef struct rota_move {
    char *to;
    const char *from;
    size_t bytes;
} rota_move;

/* What a step does. */
typedef struct rota_step_kind {
    bool
        one_by_one; /* a message may let another one go: posts and tests each */
    int (*enter)(rota_exec *x, rota_step *step); /* post, as far as it goes */
    int (*poll)(rota_exec *x, rota_step *step, bool *done);
} rota_step_kind;

struct rota_step {
    const rota_step_kind *kind;
    const rota_step_kind *inner; /* of a staged step: what is staged */
    bool entered;                /* of a staged step: inner is */
    const rota_phase *phase;     /* NULL: it belongs to none */
    rota_batch *batch;           /* [n_batches] */
    uint32_t n_batches;
    rota_move *move;       /* [n_copies] if all copies are of plain bytes */
    const rota_copy *copy; /* [n_copies] */
    uint32_t n_copies;
    bool
        can_wait; /* the last one, and nobody gains if it is polled before it is
                      waited for */
};

typedef struct rota_program {
    rota_step *step; /* [n_steps] */
    uint32_t n_steps;
    rota_batch *batch; /* [all] */
    uint32_t *message; /* [all messages] by batch */
    uint32_t *open;    /* [all messages] likewise */
    rota_copy *copy;   /* [all copies] that are made */
    rota_move *move;   /* [all copies] likewise */
} rota_program;

/* Tags of no plan: 0 to 3 on a communicator, of which the last two carry
 * nothing, so that looking for messages there finds none. */
enum { ROTA_TAG_AGREE, ROTA_TAG_CARD, ROTA_TAG_NOTHING };

/* What a run has to report though nothing failed. */
typedef enum rota_note {
    ROTA_NOTHING,
    ROTA_ABOVE_BOUND, /* a block was left out: peer, its size */
    ROTA_MISMATCH,    /* peer sent one size, another was expected */
} rota_note;

struct rota_exec {
    /* Set by the owner before rota_exec_bind. */
    const rota_sched *s;
    MPI_Comm comm; /* the library's own; errors are returned */
    int tag; /* no other live plan on comm has it, nor the next three, which
                are for what goes before data and for consensus */
    MPI_Comm native; /* for a native phase, this plan's alone; else null */
    const rota_node *node; /* whose memory carries messages; NULL: MPI does */
    size_t arena_from;     /* bytes from which a message in the sender's arena
                              is copied from there */
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
    size_t max_block; /* unless ROTA_META_ONCE: SIZE_MAX for no bound */
    bool collect;     /* sizes of receive blocks are not known before a run:
                         blocks stay in place[], for the owner to collect */
    bool stage_in;    /* in place: send blocks are first copied from the
                          receive buffer; base[ROTA_SRC] is the plan's own */

    /* Made when it is bound. */
    rota_program program;
    int (*prepare)(
        rota_exec *x);        /* before a run; NULL: nothing is to be done */
    rota_op *op[ROTA_N_DIRS]; /* [n messages] */
    MPI_Request *request[ROTA_N_DIRS]; /* [n messages] */
    char *area;                        /* packing area */
    size_t area_bytes;
    size_t copy_stage; /* where in it copies between datatypes pass */
    size_t copy_step;  /* bytes of it that they use at a time */
    char **place; /* [n_blocks] unless ROTA_META_ONCE: where a block is that
                     came in a message with a header; else NULL */
    struct rota_collected *collected; /* of an exchange; else NULL */
    struct rota_consensus *consensus; /* NULL without a sparse phase */
    struct rota_lines *lines;     /* messages within the node, or NULL: made by
                             rota_lines_reserve before rota_exec_bind */
    struct rota_staging *staging; /* blocks on a device, or NULL: made by
                             rota_staging_make, of a fixed plan before
                             rota_exec_bind */
    struct rota_ipc *ipc; /* all messages go from device to device, or NULL:
                             made by rota_ipc_make before rota_lines_reserve */
    struct rota_native *native_args; /* NULL without a native phase */
    struct rota_flow *flow;   /* NULL without a phase that data flow through */
    struct rota_lanes *lanes; /* NULL without a phase with a window */
    bool by_mpi;              /* some step needs MPI */

    /* The run. */
    uint32_t at; /* step */
    bool entered;
    bool active;
    bool moved;  /* a message has got on since this was cleared */
    bool rings;  /* somebody may have to be woken: rota_lines_flush */
    bool broken; /* MPI reported an error: requests may hang about */
    int err;     /* of the run, with its text */
    char err_text[ROTA_ERR_TEXT]; /* if it is one of rota_fail */
    rota_note note;               /* of the run, the first one, with: */
    int note_peer;
    size_t note_sent, note_expected;
    struct rota_exec *prev_active, *next_active;
};

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

/* Wait for ordinary requests while active executors advance. */
int rota_wait_requests(int n, MPI_Request request[]);

/* From now on the list of active executors is shared between threads: under
 * MPI_THREAD_MULTIPLE, or with the progress thread. Otherwise there is no lock
 * but a branch. */
void rota_exec_set_threaded(void);

#endif /* ROTA_EXEC_H */
