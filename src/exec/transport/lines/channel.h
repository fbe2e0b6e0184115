/* channel.h - what the files of the path within a node share: the messages
 * of a plan and the queues that carry them.
 *
 * channels.c makes them, send.c and recv.c move messages, lend.c has the steps of
 * a lender, lines.c is the path.
 */
#ifndef ROTA_CHANNEL_H
#define ROTA_CHANNEL_H

#include "exec/memory/line.h"
#include "exec/memory/pool.h"
#include "exec/move/contest.h"
#include "exec/transport/lines/lines.h"
#include "exec/transport/lines/loan.h"

/* Most bytes of an entry. */
enum { ROTA_LONG_ENTRY = 1 << 13 };

/* The messages between this rank and a peer on its node. */
typedef struct rota_channel {
    /* What a start touches: the first two cache lines. In: this rank's queue;
     * out: the peer's. */
    _Alignas(ROTA_CACHE_LINE) rota_line line[ROTA_N_DIRS];
    uint32_t messages[ROTA_N_DIRS]; /* number of messages in the schedule */
    bool paired;  /* at most one message each way: each proves that the last one
                     was taken */
    bool touched; /* written or taken from since the last flush */
    uint16_t claimed;           /* bytes of the next entry to claim ahead */
    uint32_t turn[ROTA_N_DIRS]; /* messages complete in this run, if several */
    bool owed;      /* paired: taken from, and the peer does not know it yet */
    uint16_t quick; /* most bytes that are best sent in an entry */
    rota_doorbell *bell; /* the peer's doorbell */

    /* This rank's shared blocks have messages handed over. */
    bool lends[ROTA_N_DIRS];
    bool flagged; /* its interest flag was set; the peer may have cleared it */
    bool awaited; /* rota_lines_await will set the interest flag */
    rota_interest *interest;             /* its interest in this process */
    rota_piece piece[ROTA_LINE_ENTRIES]; /* piece of each entry */
    const rota_endpoint *there;          /* what the peer tells this rank */
    rota_peer *peer;
    int position, rank;       /* the peer's position in the node; its rank */
    size_t room[ROTA_N_DIRS]; /* bytes of the longest message */
} rota_channel;

_Static_assert(offsetof(rota_channel, bell) + sizeof(void *) <=
                   2 * ROTA_CACHE_LINE,
               "hot fields are together");

struct rota_line_op;

/* How a message is offered to its receiver: begin, when it is posted, then
 * advance until *done. Entries say how to take it. */
typedef struct rota_way {
    int (*begin)(rota_exec *x, uint32_t m, struct rota_line_op *op, bool *done);
    int (*advance)(rota_exec *x, uint32_t m, struct rota_line_op *op,
                   bool *done);
} rota_way;

/* The state of a message. What a start touches is in its first 48 bytes. */
typedef struct rota_line_op {
    rota_channel *with; /* NULL: MPI carries it */
    rota_data data;
    size_t moved;      /* bytes so far in this run (0 between runs) */
    uint32_t order;    /* its turn among those of the pair and direction */
    uint16_t attempts; /* failed attempts to get a piece */
    bool in_entry;  /* send, plain: fits an entry, and reading it in place would
                      be no better */
    bool foreign;   /* receive: its length is not the expected one */
    bool done;      /* send, one by one: complete before it was tested */
    bool starved;   /* send: memory to hold it was missing */
    bool told;      /* send: the receiver knows the layout of its block */
    bool votes;     /* send: its pieces tell the way that was faster */
    uint64_t entry; /* send: if not 0, complete when this entry is taken */
    const rota_way *way; /* send */
    rota_block block;    /* the first */
    rota_loan *loan;     /* NULL: not handed over */
    rota_type *source;   /* receive: the layout the sender told, or NULL */
} rota_line_op;

_Static_assert(offsetof(rota_line_op, done) <= 48, "hot fields are together");

struct rota_lines {
    rota_reach reach;
    rota_channel *channel; /* [n] one for each rank with messages */
    int n;
    rota_line_op *op[ROTA_N_DIRS]; /* [n messages] */
    rota_channel **touched;        /* [n_touched] touched channels */
    int n_touched;
    rota_contest contest; /* if reach has any */
    rota_contest stores;  /* likewise */
    bool hurry;           /* about to sleep: do not wait for pieces */
    size_t piece;         /* bytes of the longest piece to use */
    void *told; /* layouts of blocks for others, in the arena; or NULL */
    void *memory[ROTA_N_USES];             /* of all queues, in the arena */
    size_t bytes[ROTA_N_USES], long_bytes; /* bytes of that */
    char *tables;               /* tables for others, if scratch is lent */
    _Atomic uint64_t *finished; /* if so: runs finished */
    void *lent;                 /* scratch to free, once the plan is freed */
    struct rota_lines *next;    /* next in the list of deferred frees */
};

/* What lines have for x; NULL: nothing. */
static inline struct rota_lines *rota_lines_of(const rota_exec *x)
{
    return x->path[ROTA_BY_lines];
}

static inline rota_block rota_lines_block(const rota_exec *x, rota_dir dir,
                                          uint32_t m)
{
    return x->blocks.s->msgs[dir].item[x->blocks.s->msgs[dir].msg[m].first];
}

static inline const rota_type *rota_lines_type(const rota_exec *x, rota_dir dir,
                                               uint32_t m)
{
    return rota_block_type(&x->blocks, rota_lines_block(x, dir, m));
}

/* Note that an entry was written or taken. The next rota_lines_flush wakes a
 * peer that waits for it. */
static inline void rota_channel_touch(rota_exec *x, rota_channel *c)
{
    if (c->touched)
        return;
    struct rota_lines *const lines = rota_lines_of(x);
    c->touched = true;
    x->rings |= 1u << ROTA_BY_lines;
    lines->touched[lines->n_touched++] = c;
}

/* Claim the next entry to the peer ahead for so many bytes in it. If these are more,
 * only the first line is claimed: a core can fetch only so many lines at a time,
 * and more delay its other work (4 KiB: 2 to 10 %). */
static inline void rota_channel_claim(rota_channel *c, size_t bytes)
{
    enum { MOST_CLAIMED = 1 << 11 };

    c->claimed =
        (uint16_t)(ROTA_ENTRY_HEAD + (bytes > MOST_CLAIMED ? 0 : bytes));
}

/* Nothing is sent to the peer in this run: if it may wait for a free entry, wake
 * it for what was taken. Else the message does. */
static inline void rota_channel_send_nothing(rota_exec *x, rota_channel *c)
{
    if (c->owed)
        rota_channel_touch(x, c);
    c->owed = false;
}

/* Let the next message of the direction go or, after the last, the next run
 * begin. */
static inline void rota_channel_end_turn(rota_channel *c, rota_dir dir)
{
    if (c->messages[dir] > 1 && ++c->turn[dir] == c->messages[dir])
        c->turn[dir] = 0;
}

static inline bool rota_line_op_is_turn(const rota_line_op *op, rota_dir dir)
{
    return op->with->turn[dir] == op->order;
}

/* Has the peer taken all that was written for it? */
static inline bool rota_channel_is_read(rota_channel *c)
{
    rota_line *const out = &c->line[ROTA_SEND];

    return !out->entries || rota_line_taken(out, out->next);
}

/* The open messages of a batch: all of them, until one is complete. */
static inline const uint32_t *rota_batch_open(const rota_batch *b)
{
    return b->n_open == b->n ? b->message : b->open;
}

/* ---- channels.c ---------------------------------------------------------- */

/* The life of a path: see rota_path. */
int rota_lines_reserve(rota_exec *x, const rota_reach *reach,
                       rota_refusal *refusal);
bool rota_lines_attach(rota_exec *x);
int rota_lines_meet(rota_exec *x); /* fails only for want of memory */
void rota_lines_describe(const rota_exec *x, rota_path_facts *facts);
const rota_type *rota_lines_source(const rota_exec *x, uint32_t m);
void rota_lines_sweep(void);

bool rota_lines_lend(const rota_exec *x);

/* Do the queues carry message m? Is it handed over? As in rota_path. */
bool rota_lines_carry(const rota_exec *x, rota_dir dir, uint32_t m);
bool rota_lines_hand(const rota_exec *x, rota_dir dir, uint32_t m);

/* Read the layouts that the others have told. */
int rota_lines_hear(rota_exec *x);

/* Free the queues. Memory that others may read after this rank has freed the
 * plan is freed later. Everything sent to this rank has been taken. */
void rota_lines_release(rota_exec *x);

/* ---- send.c -------------------------------------------------------- */

/* The way of a send. Post a send of any kind, and advance it. */
const rota_way *rota_lines_way(const rota_exec *x, const rota_line_op *op);
int rota_lines_begin_send(rota_exec *x, uint32_t m, bool *done);
int rota_lines_advance_send(rota_exec *x, uint32_t m, bool *done);

/* For rota_batch: sends of any kind, of plain bytes that stay the same, and of
 * one block of plain bytes each, to a rank each. */
int rota_lines_begin_sends(rota_exec *x, rota_batch *b);
int rota_lines_begin_plain_sends(rota_exec *x, rota_batch *b);
int rota_lines_begin_lone_sends(rota_exec *x, rota_batch *b);

/* ---- recv.c -------------------------------------------------------- */

/* The same for receives. */
int rota_lines_begin_recv(rota_exec *x, uint32_t m);
int rota_lines_advance_recv(rota_exec *x, uint32_t m, bool *done);
int rota_lines_begin_recvs(rota_exec *x, rota_batch *b);

/* Advance receives of plain bytes, whose places are known when x is bound, or when
 * a run starts: look further only at those with a full entry. */
int rota_lines_advance_plain_recvs(rota_exec *x, rota_batch *b);
int rota_lines_advance_lone_recvs(rota_exec *x, rota_batch *b);

/* Advance receives that find their places when they come. One that has come as a
 * whole stays in the queue until the place is known. */
int rota_lines_advance_landing(rota_exec *x, rota_batch *b);

/* ---- lend.c -------------------------------------------------------------- */

extern const rota_step_kind rota_lines_reclaim, rota_lines_finish_run;

#endif /* ROTA_CHANNEL_H */
