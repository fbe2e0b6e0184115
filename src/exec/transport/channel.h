/* channel.h - what the files of the transport between ranks of a node share: the
 * messages of a plan and the queues that carry them. channels.c makes them,
 * lines_send.c and lines_recv.c move what is in them, lines.c is the transport.
 */
#ifndef ROTA_CHANNEL_H
#define ROTA_CHANNEL_H

#include "exec/transport/line.h"
#include "exec/transport/lines.h"
#include "exec/transport/loan.h"
#include "exec/transport/pool.h"

/* Bytes of the longest entry. */
enum { ROTA_LONG_ENTRY = 1 << 13 };

/* The messages between this rank and another one of its node. */
typedef struct rota_channel {
    rota_line line[ROTA_N_DIRS];    /* in: this rank's; out: the peer's */
    uint32_t turn[ROTA_N_DIRS];     /* messages complete in this run */
    uint32_t messages[ROTA_N_DIRS]; /* of the schedule */
    bool paired; /* one message each way a run: each proves the other taken */
    bool lends
        [ROTA_N_DIRS]; /* messages are handed over by this rank's temporary blocks */
    bool touched;      /* something was written or taken since the last flush */
    bool
        flagged; /* its interest flag was set, and may have been cleared by it */
    bool typed;  /* elements are sent, by way of pieces */
    bool
        awaited; /* between rota_lines_count and rota_lines_await: will be set */
    rota_doorbell *bell;                 /* of the peer's process */
    rota_interest *interest;             /* of the peer in this process */
    rota_piece piece[ROTA_LINE_ENTRIES]; /* by entry */
    const rota_near *near;               /* the communicator's */
    rota_peer *peer;
    int position, rank;       /* of the peer in the node, in all */
    size_t room[ROTA_N_DIRS]; /* bytes of the longest message */
} rota_channel;

/* A message. */
typedef struct rota_line_op {
    rota_channel *with;  /* NULL: it goes by MPI */
    char *body;          /* of what is sent or received */
    size_t bytes, moved; /* in all, so far: 0 when a run is over */
    uint32_t order;      /* among the messages of the pair and direction */
    uint16_t attempts;   /* to find a piece */
    bool
        in_entry; /* sent, plain: it fits its entry and is not better copied from
                      where it lies */
    bool foreign;     /* received: not of the expected length */
    bool done;        /* sent one by one: complete before it was asked for */
    bool unpacked;    /* sent: there was no memory to gather it in */
    const char *head; /* sent first, head_bytes of it, and then body */
    size_t head_bytes;
    char *rest;     /* received: where a message goes that could not be read */
    uint64_t entry; /* sent: not 0: complete when this one is taken */
    char *own;      /* staging of elements, where counts vary */
    size_t own_room;
    rota_loan *hand;   /* NULL: it is not handed over */
    bool told;         /* sent: the receiver knows the layout of its block */
    rota_type *source; /* received: what was told of it, or NULL */
} rota_line_op;

struct rota_lines {
    rota_reach reach;
    rota_channel *channel; /* [n] of the ranks that it has messages with */
    int n;
    rota_line_op *op[ROTA_N_DIRS]; /* [n messages] */
    rota_channel **touched;        /* [n] */
    int n_touched;
    bool hurry;   /* this process is about to sleep: none waits for a piece */
    size_t piece; /* bytes of the longest */
    void *told;   /* in the arena: layouts of blocks to others, or NULL */
    void *memory[ROTA_N_USES];             /* of all queues, in the arena */
    size_t bytes[ROTA_N_USES], long_bytes; /* of that */
    char *tables;               /* for others, if scratch is lent to them */
    _Atomic uint64_t *finished; /* likewise: runs */
    void *lent;                 /* scratch, when the plan is freed */
    struct rota_lines *next;    /* of those whose readers have not finished */
};

static inline rota_block rota_lines_block(const rota_exec *x, rota_dir dir,
                                          uint32_t m)
{
    return x->s->msgs[dir].item[x->s->msgs[dir].msg[m].first];
}

static inline const rota_type *rota_lines_type(const rota_exec *x, rota_dir dir,
                                               uint32_t m)
{
    return rota_block_type(x, rota_lines_block(x, dir, m));
}

/* Something was written or taken: whoever waits for it is woken by the next
 * rota_lines_flush. */
static inline void rota_channel_touch(rota_exec *x, rota_channel *c)
{
    if (c->touched)
        return;
    c->touched = x->rings = true;
    x->lines->touched[x->lines->n_touched++] = c;
}

/* The next message of the direction may go, or the next run begin. */
static inline void rota_channel_end_turn(rota_channel *c, rota_dir dir)
{
    if (++c->turn[dir] == c->messages[dir])
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

/* Those that are open: all of them, until one is complete. */
static inline const uint32_t *rota_batch_open(const rota_batch *b)
{
    return b->n_open == b->n ? b->message : b->open;
}

/* ---- channels.c --------------------------------------------------------------- */

/* Do the queues carry message m, and is it handed over? As rota_transport. */
bool rota_lines_carry(const rota_exec *x, rota_dir dir, uint32_t m);
bool rota_lines_hand(const rota_exec *x, rota_dir dir, uint32_t m);

/* Keep what the others have told of their blocks. */
int rota_lines_hear(rota_exec *x);

/* Are the message's blocks elements of a datatype, or apart from each other? Where
 * counts vary, buffers do, too. */
bool rota_lines_is_gathered(const rota_exec *x, rota_dir dir, uint32_t m);

/* Memory to gather a message in. */
int rota_lines_stage(const rota_exec *x, rota_dir dir, uint32_t m,
                     char **memory);

/* The one block of the message, where it lies in this run. */
void rota_lines_resolve(rota_exec *x, rota_dir dir, uint32_t m);

/* What is lent to others, which read it later than this rank frees the plan, is
 * left; all that was sent to it has been taken. */
void rota_lines_release(rota_exec *x);

/* ---- lines_send.c ------------------------------------------------------------- */

/* Post one send of any kind, and go on with it. */
int rota_lines_begin_send(rota_exec *x, uint32_t m, bool *done);
int rota_lines_advance_send(rota_exec *x, uint32_t m, bool *done);

/* As rota_batch: of any kind, and of plain bytes. */
int rota_lines_begin_sends(rota_exec *x, rota_batch *b);
int rota_lines_begin_plain_sends(rota_exec *x, rota_batch *b);

/* ---- lines_recv.c ------------------------------------------------------------- */

/* Likewise of what is received. */
int rota_lines_begin_recv(rota_exec *x, uint32_t m);
int rota_lines_advance_recv(rota_exec *x, uint32_t m, bool *done);
int rota_lines_begin_recvs(rota_exec *x, rota_batch *b);

/* Receives of plain bytes: only those are looked at further for which something
 * has come. */
int rota_lines_advance_plain_recvs(rota_exec *x, rota_batch *b);

#endif /* ROTA_CHANNEL_H */
