/* exec.h - run a schedule.
 *
 * An executor binds a schedule to memory, datatypes and requests once, which
 * gives a program, and then runs the program again and again. It is the only
 * code that moves blocks. Nothing here blocks but rota_exec_wait,
 * rota_exec_await and rota_wait_until.
 *
 * A program is a list of steps, mostly one for each phase. What a step does is
 * decided when it is bound: its kind is a pair of functions, and its messages
 * stand in batches that have one transport and one kind of operation each.
 */
#ifndef ROTA_EXEC_H
#define ROTA_EXEC_H

#include "base/problem.h"
#include "exec/hooks.h"
#include "exec/status.h"
#include "exec/waiting.h"
#include "schedule/schedule.h"

struct rota_node;

typedef struct rota_exec rota_exec;
typedef struct rota_step rota_step;
typedef struct rota_batch rota_batch;

/* What one message takes. */
typedef enum rota_op_kind {
    ROTA_OP_PLAIN,    /* lies end to end; its size is known when it is bound.
                         By MPI: or MPI finds it by a datatype */
    ROTA_OP_VARYING,  /* one block of plain bytes, known when a run starts */
    ROTA_OP_GATHERED, /* is packed and unpacked on the way */
    ROTA_OP_TYPED,  /* elements of datatypes whose layouts are known: is packed
                         and unpacked in parts, or copied as it lies */
    ROTA_OP_VARLEN, /* tells the sizes of its blocks (varlen.h) */
    ROTA_OP_HANDOVER, /* is told of, and taken from where it lies (hooks.h) */
} rota_op_kind;

/* What carries messages. */
typedef struct rota_transport {
    bool
        needs_mpi; /* its messages are MPI's, which takes datatypes as they are;
                       the progress thread must not call it */
    rota_dir first; /* of a step's messages: this direction is posted first */

    /* Does message m go this way? Asked before anything is bound. */
    bool (*carries)(const rota_exec *x, rota_dir dir, uint32_t m);

    /* Is it handed over, and needs no room? NULL: none is. */
    bool (*hands)(const rota_exec *x, rota_dir dir, uint32_t m);

    /* Make what is known of its messages before a run, whose kinds are chosen. */
    int (*bind)(rota_exec *x);

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
    bool packed;       /* goes through the packing area */
    bool typed;        /* it is one of elements whose layouts are known */
    bool gathered;     /* its blocks are described by type */
    bool persistent;   /* request[] holds a persistent request for it */
    size_t stage;      /* if packed: offset of its place in the area */
    MPI_Datatype type; /* from MPI_BOTTOM, if gathered */
    struct rota_varlen *varlen; /* if it tells sizes; else NULL */
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

    /* Make step->own, of which the step has been filled, and free it; NULL: there
     * is none. */
    int (*bind)(rota_exec *x, rota_step *step);
    void (*unbind)(rota_exec *x, rota_step *step);

    int (*enter)(rota_exec *x, rota_step *step); /* post, as far as it goes */
    int (*poll)(rota_exec *x, rota_step *step, bool *done);
    /* Mark the ranks that it waits for, having been entered; may be NULL. */
    void (*whom)(const rota_exec *x, const rota_step *step, bool awaited[]);
} rota_step_kind;

struct rota_step {
    const rota_step_kind *kind;
    void *own;               /* the kind's, or NULL */
    const rota_phase *phase; /* NULL: it belongs to none */
    rota_batch *batch;       /* [n_batches] */
    uint32_t n_batches;
    rota_move *move;       /* [n_copies] if all copies are of plain bytes */
    const rota_copy *copy; /* [n_copies] */
    uint32_t n_copies;
    bool
        can_wait; /* the last one, and nobody gains if it is polled before it is
                      waited for */
};

/* What a schedule becomes when it is bound. */
typedef struct rota_program {
    int (*prepare)(
        rota_exec *x); /* before a run; NULL: nothing is to be done */
    bool by_mpi;       /* some step needs MPI */
    rota_step *step;   /* [n_steps] */
    uint32_t n_steps;
    rota_batch *batch;                 /* [all] */
    uint32_t *message;                 /* [all messages] by batch */
    uint32_t *open;                    /* [all messages] likewise */
    rota_copy *copy;                   /* [all copies] that are made */
    rota_move *move;                   /* [all copies] likewise */
    rota_op *op[ROTA_N_DIRS];          /* [n messages] */
    MPI_Request *request[ROTA_N_DIRS]; /* [n messages] */
    char *area;                        /* packing area */
    size_t area_bytes;
    size_t copy_stage; /* where in it copies between datatypes pass */
    size_t copy_step;  /* bytes of it that they use at a time */
} rota_program;

/* Blocks that came in messages with a header, and where an exchange collects
 * them. */
typedef struct rota_arrivals {
    char **place; /* [n_blocks] where it is; NULL: it has not come this way */
    char *out;    /* in order, end to end; grows */
    size_t room;
    bool early;    /* blocks may come there while the run lasts */
    bool used;     /* one has, in this run */
    size_t *begin; /* [n_recv+1] of the blocks up to known */
    int known;
} rota_arrivals;

/* Tags of no plan: 0 to 3 on a communicator, of which the last two carry
 * nothing, so that looking for messages there finds none. */
enum { ROTA_TAG_AGREE, ROTA_TAG_ADDRESS, ROTA_TAG_NOTHING };

struct rota_exec {
    /* Set by the owner before rota_exec_bind. */
    const rota_sched *s;
    const char *title, *algorithm; /* of the plan, for people; or NULL */
    MPI_Comm comm;                 /* the library's own; errors are returned */
    int tag; /* no other live plan on comm has it, nor the next three, which
                are for what goes before data and for consensus */
    MPI_Comm native; /* for a native phase, this plan's alone; else null */
    bool hands;      /* what the schedule says is handed over, if it is fixed */
    bool lends;      /* scratch lies in this process's arena, for that */
    void *lent;      /* the same, once others know of it: then it is freed with
                        lines, when all have been read */
    const struct rota_node
        *mates;     /* ranks of the node whose processes are known,
                                      whatever carries messages; or NULL */
    bool by_thread; /* the progress thread may move it on (progress.h): what
                        goes within the node needs nothing of MPI, or any
                        thread may call that */
    rota_types types[ROTA_N_REGIONS]; /* of blocks by slot; borrowed */
    bool own_types;                   /* as in rota_problem */
    char *base[ROTA_N_REGIONS];
    size_t *
        bytes; /* [n_blocks], the owner's; of scratch: known in the run if !fixed */
    ptrdiff_t *offset; /* [n_blocks] from the region's base, the owner's */
    bool fixed;        /* bytes and offset will not change any more */
    bool by_datatype;  /* fixed: let MPI gather blocks instead of packing */
    rota_metadata metadata;
    size_t max_block; /* unless ROTA_META_ONCE: SIZE_MAX for no bound */
    rota_block *landing[ROTA_N_DIRS]; /* [n_items] not 0: of a block whose size
                                         its receiver knows, by the receive
                                         block of that number; the owner's
                                         (rota_sizes_landing). NULL: none */
    bool counts_unknown; /* sizes of receive blocks are not known before a run:
                         blocks stay in arrivals, for the owner to collect */
    bool stage_in;       /* in place: send blocks are first copied from the
                          receive buffer; base[ROTA_SRC] is the plan's own */

    /* Made when it is bound; the last five only where they are needed. */
    rota_program program;
    rota_arrivals *arrivals;    /* unless ROTA_META_ONCE */
    struct rota_lines *lines;   /* messages within the node: made by
                                 rota_lines_reserve before rota_exec_bind */
    struct rota_sparse *sparse; /* of a step by consensus: made by
                                   rota_sparse_make before rota_exec_bind */
    rota_hooks *hooks; /* blocks on a device: made by rota_staging_make, of a
                          fixed plan before rota_exec_bind */
    rota_handover *handover;  /* all messages go from device to device: made by
                                rota_ipc_make before rota_lines_reserve */
    struct rota_trace *trace; /* NULL: what it does is not written down */

    /* The run. */
    uint32_t at; /* step */
    bool entered;
    bool active;
    bool waits_for_others; /* as counted: than those who ring its doorbell */
    bool moved;            /* a message has got on since this was cleared */
    bool rings;            /* somebody may have to be woken: rota_lines_flush */
    rota_status status;
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

/* Begin a run; x is inactive. Does not block. */
int rota_exec_start(rota_exec *x);

/* Advance all active executors; done tells whether this one is inactive now,
 * and then the result is that of its run. Where it is MPI_ERR_NO_MEM and x is
 * active still, the run goes on with the next call if there is memory then. */
int rota_exec_test(rota_exec *x, bool *done);
int rota_exec_await(rota_exec *x, bool *done);

/* The same until it is inactive, whatever memory there is. */
int rota_exec_wait(rota_exec *x);

/* Advance all active executors until done(arg) is true, giving the processor
 * up in between. done returns MPI_SUCCESS or a status that ends the wait. */
int rota_wait_until(int (*done)(void *arg, bool *flag), void *arg);

/* Wait for ordinary requests while active executors advance. */
int rota_wait_requests(int n, MPI_Request request[]);

#endif /* ROTA_EXEC_H */
