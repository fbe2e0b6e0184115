/* exec.h - the executor, which runs a schedule.
 *
 * The executor binds a schedule to memory, datatypes and requests once. The
 * result is a program, which it runs again and again. It is the only code that
 * moves blocks. Only rota_exec_run, rota_exec_wait, rota_exec_await,
 * rota_wait_until and rota_wait_requests block.
 *
 * A program is a list of steps, mostly one for each phase. A step's kind,
 * chosen when it is bound, is a table of functions. Its messages are in
 * batches; those of a batch have the same path and the same payload.
 */
#ifndef ROTA_EXEC_H
#define ROTA_EXEC_H

#include "exec/gate.h"
#include "exec/move/blocks.h"
#include "exec/move/polling.h"
#include "exec/move/status.h"

struct rota_contest;
struct rota_node;

typedef struct rota_exec rota_exec;
typedef struct rota_step rota_step;
typedef struct rota_batch rota_batch;

/* ---- what a message holds ------------------------------------------------ */

/* The data of a message in a run. */
typedef struct rota_data {
    char *body;   /* where it lies or goes, end to end, behind its header; NULL:
                     it is put and taken by ranges */
    size_t bytes; /* in all */
    size_t head_bytes; /* send: of the header; if bytes is 0, the length that
                          the receiver is to learn */
} rota_data;

/* How a message comes: in one part, in several, or with its header apart from
 * the rest. */
typedef enum rota_coming {
    ROTA_COMES_WHOLE,
    ROTA_COMES_IN_PARTS,
    ROTA_COMES_APART,
} rota_coming;

/* The arguments of an MPI call for one message. */
typedef struct rota_mpi_buffer {
    void *data;
    size_t count; /* elements of type */
    MPI_Datatype type;
} rota_mpi_buffer;

/* A message that is to be bound. */
typedef struct rota_makeup {
    rota_dir dir;
    uint32_t m;
    const struct rota_path *via;
    const rota_block *item; /* [n] its blocks */
    uint32_t n;
    size_t bytes;
    bool handed; /* its path hands it over */
    bool shares; /* its memory is used by the other direction of the phase */
    bool apart;  /* its blocks cannot be sent as one: they do not lie end to
                    end, or it shares */
} rota_makeup;

/* What a message holds: a table of functions, by which a path moves bytes
 * without knowing what they are. Functions may be NULL: there is nothing to do.
 * Where a function fails for want of memory, nothing was done, and it can be
 * called again. */
typedef struct rota_payload {
    bool flat;  /* the data of a send lie at body when it has begun */
    bool bound; /* begin needs to be called only when x is bound or rebased */
    bool tells; /* the receiver learns the length when the message comes */
    bool lands; /* it goes right to a place that collected.h finds then */
    bool by_parts; /* a receive has no place: all of it goes through take */
    size_t stage;  /* bytes of x->blocks.stage that put needs */

    /* Is this what the message holds? Does it have a place in the packing
     * area? */
    bool (*takes)(const rota_exec *x, const rota_makeup *k);
    bool (*stages)(const rota_makeup *k);

    int (*bind)(rota_exec *x, rota_dir dir, uint32_t m);
    void (*unbind)(rota_exec *x, rota_dir dir, uint32_t m);

    /* Take memory that send m will need, before its step; or message m, before a run,
     * in plans that carry values. */
    int (*room)(rota_exec *x, uint32_t m);
    int (*stock)(rota_exec *x, rota_dir dir, uint32_t m);

    /* A run begins: set d, for a send as it is, for a receive as this rank
     * expects it. */
    int (*begin)(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d);

    /* Send m cannot leave as a whole now: have all of it at d->body. */
    int (*hold)(rota_exec *x, uint32_t m, rota_data *d);

    /* Write bytes begin to end of send m. If the payload has a hold, and send m
     * is not held, all of it is written at once. streams: write past the
     * caches. If the payload has no hold, this cannot fail. */
    int (*put)(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
               size_t end, bool streams, char *to);

    /* The first part of receive m is here, d->bytes is its length: make room for
     * it. */
    int (*expect)(rota_exec *x, uint32_t m, rota_data *d, rota_coming how);

    /* Take bytes begin to end of receive m, the next ones. */
    int (*take)(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
                size_t end, const char *from);

    /* If it comes apart: bytes of its header; when that has been taken, what it
     * says of the bytes that follow; and where those go. */
    size_t (*header)(const rota_exec *x, uint32_t m);
    size_t (*following)(const rota_exec *x, uint32_t m);
    int (*rest)(rota_exec *x, uint32_t m, const rota_data *d, char **to);

    /* All of receive m has been taken. */
    int (*finish)(rota_exec *x, uint32_t m, rota_data *d);

    /* For a message of MPI that tells no length. NULL: MPI gathers the blocks
     * by a datatype. */
    rota_mpi_buffer (*as_mpi)(const rota_exec *x, rota_dir dir, uint32_t m);

    /* For a message of MPI that tells: all of send m, end to end. */
    int (*pack)(rota_exec *x, uint32_t m, char **data, size_t *bytes);

    /* Bytes that tell sizes in send m. */
    size_t (*told)(const rota_exec *x, uint32_t m);
} rota_payload;

/* The payloads by their names in payloads.h. */
enum {
#define ROTA_PAYLOAD(name, source) ROTA_HOLDS_##name,
#include "exec/payloads.h"
    ROTA_N_PAYLOADS
};
extern const rota_payload *const rota_payloads[ROTA_N_PAYLOADS];

/* ---- how messages travel ------------------------------------------------- */

/* Which ranks share memory, and what they do with it beside queues. */
typedef struct rota_reach {
    const struct rota_node *node;
    /* Bytes from which a message in the sender's arena is copied from there;
     * and from which it is where that saves more than a copy: packing, if the
     * layout is told, or all copies, if the block is lent. */
    size_t arena_threshold, saving_threshold;
    /* Bytes from which a message in the sender's private memory is copied from
     * there by the kernel; SIZE_MAX: none is. */
    size_t attach_threshold;
    /* Whether runs find out if these two are faster than the pool, and how its
     * pieces are written: contest.h */
    bool contests_arena, contests_kernel, contests_stores;
    /* hands: messages may be handed over, by a flag if their blocks are fixed,
     * or by parcels. lends: scratch is in this process's arena for this. Once
     * others know its address, the path frees it when they have read it, and
     * clears the base. */
    bool hands, lends;
} rota_reach;

/* What it means that there is no shared memory left. */
typedef enum rota_refusal {
    ROTA_REFUSED_NOTHING,
    ROTA_REFUSED_MINE, /* MPI carries what this rank receives */
    ROTA_REFUSED_PLAN, /* no rank can use it for this plan */
} rota_refusal;

/* What a path has for a plan, for descriptions. */
typedef struct rota_path_facts {
    size_t bytes;     /* of shared memory */
    size_t read_from; /* bytes from which messages are read where they lie; 0:
                         none are */
} rota_path_facts;

/* A path by which messages travel: a table of functions. It has a life, and
 * carries messages, or just one of these. Functions may be NULL: there is
 * nothing to do. */
typedef struct rota_path {
    bool needs_mpi; /* its messages are MPI's, which handles datatypes itself;
                       the progress thread must not call it */
    bool tells;     /* a receiver learns how long a message is */
    rota_dir first; /* the direction of messages that a step posts first */

    /* ---- its life. Called of a plan that has something by this path, but for
     * reserve and sweep. */

    /* Take memory that other ranks are to reach, and say where it is. x has all
     * that rota_exec_bind needs. Sets *refusal if there is none. Local, before
     * all ranks agree on how messages travel. */
    int (*reserve)(rota_exec *x, const rota_reach *reach,
                   rota_refusal *refusal);

    /* Open the memory of the others, who all have reserved theirs. Returns false
     * if memory of some rank could not be mapped: then all ranks must know, and
     * begin again without that pair. */
    bool (*attach)(rota_exec *x);

    /* After all have attached, before messages are bound. */
    int (*meet)(rota_exec *x);

    void (*describe)(const rota_exec *x, rota_path_facts *facts);
    void (*release)(rota_exec *x); /* free all that was made for x */
    void (*sweep)(void); /* free memory of freed plans that others have read */

    /* ---- its messages; carries NULL: none. */

    /* Does this path carry message m? Asked before anything is bound. */
    bool (*carries)(const rota_exec *x, rota_dir dir, uint32_t m);

    /* Does it hand over message m, which then needs no room? */
    bool (*hands)(const rota_exec *x, rota_dir dir, uint32_t m);

    /* The layout of message m's data where its sender has them, if the receiver
     * copies them from there; else NULL. */
    const rota_type *(*source)(const rota_exec *x, uint32_t m);

    /* Prepare its messages, once their kinds are chosen. */
    int (*bind)(rota_exec *x);

    /* Choose how the messages of a batch are posted and advanced: b->begin and
     * b->advance. Returns whether they may be left alone until they are waited
     * for. */
    bool (*resolve)(const rota_exec *x, rota_batch *b);

    /* Post and test one message, in steps that do so one by one. done: the
     * message is complete and, if received, in its place. */
    int (*post)(rota_exec *x, rota_dir dir, uint32_t m);
    int (*test)(rota_exec *x, rota_dir dir, uint32_t m, bool *done);

    /* If each message is a request of MPI: the request, once message m is posted,
     * unless its payload tells; and what to do when MPI says that it is
     * complete. */
    MPI_Request *(*request)(const rota_exec *x, rota_dir dir, uint32_t m);
    int (*complete)(rota_exec *x, rota_dir dir, uint32_t m);

    /* The memory of the regions marked in moved[] has changed. */
    int (*rebase)(rota_exec *x, const bool moved[]);

    /* Does this rank lend memory in a run? Then its program has two more steps:
     * reclaim, before it receives into shared blocks, and finish, the last. */
    bool (*lends)(const rota_exec *x);
    const struct rota_step_kind *reclaim, *finish;

    /* ---- waiting. */

    /* Find out which ranks the run waits for, and return how many of their
     * processes must ring before a poll is worth while. Then, with the doorbell
     * armed, set the interest flags. */
    int (*count)(rota_exec *x);
    void (*mark)(rota_exec *x);

    /* Call the progress threads of the ranks whose messages are awaited. If
     * these may be waiting for others, call those of all ranks of the node. */
    void (*call)(rota_exec *x);

    /* Wake the ranks for which something was written or taken. Called if the
     * path's bit of x->rings says that there are any. */
    void (*flush)(rota_exec *x);
} rota_path;

/* The paths by their names in paths.h, and the table of them. */
enum {
#define ROTA_PATH(name, source) ROTA_BY_##name,
#include "exec/paths.h"
    ROTA_N_PATHS
};
extern const rota_path *const rota_paths[ROTA_N_PATHS];

/* A bound message. */
typedef struct rota_op {
    const rota_path *via;
    const rota_payload *payload;
    size_t stage; /* its offset in the packing area; or ROTA_NO_STAGE */
    void *own;    /* what its payload has made for it */
    char *memory; /* [room] bytes that the payload keeps from run to run */
    size_t room;
} rota_op;

#define ROTA_NO_STAGE SIZE_MAX

/* Messages of a step with the same direction, path and payload. */
struct rota_batch {
    _Alignas(64) const rota_path *via;
    const rota_payload *payload;
    rota_dir dir;
    uint32_t n;
    const uint32_t *message;                   /* [n] in list order */
    int (*begin)(rota_exec *x, rota_batch *b); /* NULL: open all at once */
    int (*advance)(rota_exec *x, rota_batch *b);

    /* State of a run. */
    uint32_t *open;  /* [n] messages that are posted and not complete */
    uint32_t n_open; /* number of open messages */
};

/* How a step makes its copies: of plain bytes at places that are known when x is
 * bound; of plain bytes from send to receive blocks, whose places a start tells;
 * or of whatever they are. */
typedef enum rota_copying {
    ROTA_COPIES_BOUND,
    ROTA_COPIES_PLAIN,
    ROTA_COPIES_ANY,
} rota_copying;

/* A copy whose places are known. */
typedef struct rota_move {
    char *to;
    const char *from;
    size_t bytes;
} rota_move;

/* The functions of a kind of step. */
typedef struct rota_step_kind {
    bool one_by_one; /* tests each message, as one may release another */

    /* Make and free step->own; the rest of the step is filled in. NULL: there
     * is nothing to make. */
    int (*bind)(rota_exec *x, rota_step *step);
    void (*unbind)(rota_exec *x, rota_step *step);

    int (*enter)(rota_exec *x, rota_step *step); /* post what it can */
    int (*poll)(rota_exec *x, rota_step *step, bool *done);
    /* Mark the ranks that an entered step waits for; may be NULL. */
    void (*whom)(const rota_exec *x, const rota_step *step, bool awaited[]);
    /* An entered step waits, on this core: might it go on sooner if other ranks had
     * the core? NULL: it might. */
    bool (*wants_core)(const rota_exec *x, const rota_step *step, int core);
} rota_step_kind;

struct rota_step {
    _Alignas(64) const rota_step_kind *kind;
    void *own;               /* data of the kind, or NULL */
    const rota_phase *phase; /* NULL: none, the step is the program's own */
    rota_batch *batch;       /* [n_batches] */
    uint32_t n_batches;
    rota_move *move;       /* [n_copies] if they are bound */
    const rota_copy *copy; /* [n_copies] */
    uint32_t n_copies;
    uint8_t copying; /* rota_copying */
    bool can_wait;   /* the last step, not polled until it is waited for */
};

/* What binding makes of a schedule. */
typedef struct rota_program {
    rota_batch *batch;        /* [all batches of all steps] */
    uint32_t *message;        /* [all messages] batch by batch */
    uint32_t *open;           /* [all messages] batch by batch */
    rota_copy *copy;          /* [all copies] that are to be made */
    rota_move *move;          /* [all copies] the same, as bytes */
    rota_op *op[ROTA_N_DIRS]; /* [n messages] */
    char *area;               /* the packing area */
    size_t area_bytes;
    /* What sends call in a run that could have gone another way: from the next start
     * on c, which is one of x's, finds out which is faster. direct: the first way is
     * the direct one. */
    void (*contest)(rota_exec *x, struct rota_contest *c, bool direct);

    /* What every start touches, as what follows it in rota_exec. */
    rota_step *step; /* as an array, up to end */
    rota_step *end;
    /* Called before a run; NULL: nothing to prepare. */
    int (*prepare)(rota_exec *x);
    bool by_mpi;    /* some step calls MPI */
    bool contested; /* x->contest or x->stores is asked */
    bool rooms;     /* some send needs memory before its step */
} rota_program;

/* The runs of an executor and its place in the list of those that run: active.c. The
 * bools are apart, as GCC takes one instruction more to write both at once. */
typedef struct rota_run {
    bool by_mpi;           /* program.by_mpi, as counted in on_others */
    uint32_t number;       /* begun and ended so far: odd if one is active */
    bool waits_for_others; /* is counted there */
    rota_exec *prev, *next;
} rota_run;

/* These tags on a communicator belong to no plan. Nothing is sent with the last,
 * so a probe for it finds nothing. */
enum { ROTA_TAG_AGREE, ROTA_TAG_ADDRESS, ROTA_TAG_NOTHING };

/* Tags of a plan. */
enum { ROTA_TAGS = 6 };

struct rota_exec {
    /* The owner sets these before rota_exec_bind. */
    rota_blocks blocks;
    const char *title, *algorithm; /* names for error texts; or NULL */
    MPI_Comm comm;                 /* Rota's own, which returns errors */
    int tag; /* the first of ROTA_TAGS tags on comm that only this plan uses:
                for data, headers and consensus */
    MPI_Comm native; /* this plan's communicator for native phases; else null */
    /* Ranks of the node with known processes, whatever carries messages; or
     * NULL. */
    const struct rota_node *mates;

    bool fixed;    /* bytes and offset of blocks never change */
    bool stage_in; /* in place: copy the send blocks out of the receive buffer
                      first; base[ROTA_SRC] is the plan's memory */
    size_t max_block; /* bound for blocks that are not fixed; SIZE_MAX: none */
    /* No receive block's size is known before a run: the owner collects blocks
     * from where they have come. */
    bool counts_unknown;
    struct rota_sizing
        *sizing; /* payload/sized.h; NULL: messages tell nothing */
    struct rota_collection *collection; /* payload/collected.h; NULL: receive
                                           counts are known */
    struct rota_carried
        *carried; /* payload/carried.h; NULL: messages carry no values */
    struct rota_accumulation
        *accumulation; /* move/accumulate.h; NULL: blocks overwrite what is
                          there */
    struct rota_lending
        *lending; /* memory/lending.h; NULL: blocks are sent, not lent */
    struct rota_contest
        *contest; /* move/contest.h, of how long messages go; or NULL */
    struct rota_contest
        *stores; /* of how pieces of the pool are written; or NULL */

    /* Binding makes the program. The rest is made before, where it is needed; gates
     * of varying plans later. */
    /* The node whose memory carries messages, by whatever path; or NULL. */
    const struct rota_node *shared;
    void *path[ROTA_N_PATHS]; /* what each path has for x; NULL: nothing */
    rota_program program;
    rota_gate *gate;          /* what may hold up a run; or NULL */
    struct rota_trace *trace; /* NULL: x is not traced */
    bool by_thread; /* the progress thread may advance x (progress.h): messages
                       within the node need no MPI, or any thread may call it */

    /* State of the run. */
    bool entered;    /* its current step was */
    bool moved;      /* a message has moved since this was cleared */
    unsigned rings;  /* bits of paths that may have to wake ranks: flush */
    rota_step *step; /* current one */
    rota_run run;
    rota_status status;
};

_Static_assert(offsetof(rota_exec, status.starved) -
                       offsetof(rota_exec, program.step) <
                   128,
               "hot fields are together");

static inline bool rota_exec_is_active(const rota_exec *x)
{
    return x->run.number % 2 == 1;
}

/* Does the path of message m hand it over? */
static inline bool rota_message_is_handed(const rota_exec *x, rota_dir dir,
                                          uint32_t m)
{
    const rota_path *const via = x->program.op[dir][m].via;

    return via->hands && via->hands(x, dir, m);
}

/* Are messages within the node fetched from memory that the host does not
 * touch? */
static inline const rota_fetching *rota_fetching_of(const rota_exec *x)
{
    return x->gate ? x->gate->fetching : NULL;
}

/* Make the program of x->blocks.s: requests, packing area, steps. On failure x is as
 * rota_exec_unbind leaves it. Local. */
int rota_exec_bind(rota_exec *x);
void rota_exec_unbind(rota_exec *x);

/* x is bound and has a gate since: put that around its steps. After an error x is
 * broken. */
int rota_exec_gate(rota_exec *x);

/* The life of paths, before binding. Reserve memory; attach, and return whether
 * that of all ranks could be mapped; or give it up again. */
int rota_exec_reserve(rota_exec *x, const rota_reach *reach,
                      rota_refusal *refusal);
bool rota_exec_attach(rota_exec *x);
void rota_exec_detach(rota_exec *x);

/* What all paths have for x. */
rota_path_facts rota_exec_facts(const rota_exec *x);

/* Find the bytes that messages would need in the packing area, without binding
 * and without a call of MPI. */
int rota_exec_packing(rota_exec *x, size_t *room);

/* Use other user buffers from the next start on. Messages bound to an address
 * that changes are from then on posted as ordinary ones; those that MPI gathers
 * are bound anew. x must be inactive. */
int rota_exec_rebase(rota_exec *x, char *src, char *dst);

/* From the next start on, stage in or not: x->stage_in. x is bound. */
void rota_exec_stage_in(rota_exec *x, bool stage_in);

/* Begin a run; x must be inactive. Does not block. */
int rota_exec_start(rota_exec *x);

/* Begin a run like the last one and wait for its end; the result is that of
 * rota_exec_await. Blocks whose sizes come with a start have those of the last
 * one. */
int rota_exec_run(rota_exec *x, bool *done);

/* Advance all active executors. done: x is inactive now, and the result is that
 * of its run. If the result is MPI_ERR_NO_MEM and done is false, the next call
 * tries again. */
int rota_exec_test(rota_exec *x, bool *done);
int rota_exec_await(rota_exec *x, bool *done);

/* Advance all active executors until x is inactive, trying again when memory
 * runs out. */
int rota_exec_wait(rota_exec *x);

/* Advance all active executors if the lock is free, and return whether it was:
 * this thread may be at it already. Only once there are threads (lock.h). */
bool rota_exec_advance_all(void);

/* The same with the lock held, called by MPI: tells is set where it must not make
 * progress then. */
void rota_exec_advance_within_mpi(rota_tells *tells);

/* Advance all active executors until done(arg) is true, and give up the
 * processor in between. done returns MPI_SUCCESS or a status that ends the
 * wait. */
int rota_wait_until(int (*done)(void *arg, bool *flag), void *arg);

/* What a collective function waits for, and as which rank of how many. */
typedef struct rota_meeting {
    const char *step; /* what ranks do, as "agree" */
    int P, me;
    int rank;                   /* whose message is waited for; -1: of any */
    struct rota_node *mates;    /* ranks of the node that must take part; or */
    struct rota_roster *roster; /* before these share memory; or NULL */
} rota_meeting;

/* Wait for n requests of MPI while active executors advance. The first n_recvs
 * are receives; after an error they are cancelled, so that MPI does not write
 * to memory that is freed. If one of m's ranks dies, the wait fails. */
int rota_wait_requests(const rota_meeting *m, int n_recvs, int n,
                       MPI_Request request[]);

#endif /* ROTA_EXEC_H */
