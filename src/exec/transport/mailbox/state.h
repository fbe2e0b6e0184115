/* state.h - what mailbox.c, state.c and bundles.c share. */
#ifndef ROTA_MAILBOX_STATE_H
#define ROTA_MAILBOX_STATE_H

#include "exec/transport/mailbox/mailbox.h"

/* Bytes of a rank's area for the blocks of one start. */
enum { AREA = 1 << 15 };

/* Least room made for a message by MPI. */
enum { SHORT = 256 };

/* What announces a block, in the memory of its sender or an agent, or in a
 * bundle. The block follows, unless MPI carries it. */
enum { BY_MPI = -1 };
typedef struct mail {
    uint64_t next; /* the mail linked before this one, as in a mailbox */
    uint64_t bytes;
    int32_t source;
    int32_t dest; /* rank, or BY_MPI */
} mail;

/* The newest mail to a rank, for even and for odd starts: 1 + the sender's
 * position in the node << 32 | place in the sender's memory; 0: none. */
typedef struct mailbox {
    _Alignas(ROTA_CACHE_LINE) _Atomic uint64_t newest[2];
} mailbox;

typedef struct counter {
    _Atomic uint64_t n;
    char others[ROTA_CACHE_LINE - sizeof(uint64_t)];
} counter;

/* Counters of a group. They only grow, from start to start. */
enum {
    DEPOSITED, /* by bundles: ranks that have left all they have */
    ENTERED,   /* ranks counted in */
    THROUGH,   /* starts that all groups have entered */
    SPLIT,     /* by bundles: ranks that have passed on all they received */
    FINISHED,  /* ranks that have collected a start's blocks */
    N_COUNTERS
};

/* Kinds of messages by MPI that are found by probing. */
typedef enum kind { BLOCK, BUNDLE, N_MAIL_KINDS } kind;

/* A message that MPI takes to a rank. */
typedef struct outgoing {
    MPI_Request request;
    int to;
} outgoing;

/* A message that MPI brings. */
typedef struct incoming {
    rota_sparse_block block; /* its data are owned */
    kind kind;
    size_t room;
    MPI_Request request;
} incoming;

/* A message that is matched and not yet received. */
typedef struct matched {
    MPI_Message message; /* MPI_MESSAGE_NULL: none */
    MPI_Status status;
} matched;

struct rota_sparse {
    rota_groups groups;
    const rota_node *node;     /* ranks that share memory, or NULL */
    counter alone[N_COUNTERS]; /* used by a group of one rank */

    /* The group's memory. */
    counter *count;              /* [N_COUNTERS] */
    uint64_t before[N_COUNTERS]; /* their values when the plan was made */
    char **memory;               /* [node n] memory of each member, else NULL */
    void *taken[ROTA_N_USES];    /* this rank's memory, in the arena */
    size_t taken_bytes;
    rota_peer *leader; /* its process */
    int leader_at;     /* its position in the node */

    /* The run. */
    uint64_t starts; /* number of starts, with this one */
    size_t area_used, n_notes;
    rota_sparse_block *send, *found;
    size_t n_sends, send_room, n_found, found_room; /* rooms in bytes */
    outgoing *out;                                  /* [n_out] sent by MPI */
    size_t n_out, out_room, first_out;
    incoming *in; /* [n_in] received by MPI; in_made are kept for later runs */
    size_t n_in, in_room, in_made, first_in;
    bool probes; /* messages may come by MPI */
    matched matched[N_MAIL_KINDS];
    size_t longest; /* bytes of the longest message received so far */
    uint64_t mail;  /* list of the mail for this rank, as in a mailbox */
    size_t n_mail;
    uint64_t entrusted; /* list of the mail that it is to send on */
    size_t n_entrusted;
    char *bundles; /* what it sends on */
    size_t bundles_room;
    struct letter *sorted; /* the entrusted mail, by node (bundles.c) */
    size_t sorted_room;
    bool counted_in;
    bool bundled; /* nothing entrusted is left to be posted */
    bool split;   /* this rank is in the count SPLIT */
    bool known;   /* found is filled in */
    int round;    /* current round of the leaders' barrier */
    MPI_Request token[2];
    char token_byte[2];
    char *values[2]; /* values received and sent with tokens; or NULL */

    struct rota_sparse *next; /* in the list of freed ones that are read */
};

static inline struct rota_sparse *rota_sparse_of(const rota_exec *x)
{
    return x->path[ROTA_BY_mailbox];
}

/* Do short blocks for other groups go in bundles? */
static inline bool bundles(const struct rota_sparse *c)
{
    return c->groups.nodes != NULL;
}

static inline int parity(const struct rota_sparse *c)
{
    return (int)(c->starts & 1);
}

/* The tag of a kind of message, or of the leaders' barrier (N_MAIL_KINDS). */
static inline int sparse_tag(const rota_exec *x, int which)
{
    return x->tag + 3 * parity(rota_sparse_of(x)) + which;
}

/* Bytes of the area of one start, with room for a note to each member. */
static inline size_t area_bytes(const struct rota_sparse *c)
{
    return AREA + (size_t)c->groups.size * sizeof(mail);
}

/* Where the area of this start begins in a member's memory. */
static inline size_t area_at(const struct rota_sparse *c)
{
    return sizeof(mailbox) + (size_t)parity(c) * area_bytes(c);
}

static inline mail *mail_at(const struct rota_sparse *c, uint64_t at)
{
    return (mail *)(void *)(c->memory[(at >> 32) - 1] + (uint32_t)at);
}

/* Bytes of mail with its block. */
static inline size_t mail_step(const mail *m)
{
    return sizeof(mail) + (size_t)(m->bytes + 7) / 8 * 8;
}

/* Has a counter that grows by `each` per start reached its value for this
 * one? */
static inline bool has_come(const struct rota_sparse *c, int which, int each)
{
    return atomic_load_explicit(&c->count[which].n, memory_order_acquire) -
               c->before[which] >=
           c->starts * (uint64_t)each;
}

/* ---- state.c ------------------------------------------------------ */

/* Link the mail at a place of this rank's memory to the mailbox of the member
 * at position i. */
void rota_sparse_link(const rota_exec *x, int i, mail *m, size_t place);

/* Make room for n messages of the run in all. */
int rota_sparse_make_room(struct rota_sparse *c, size_t n);

/* Put mail and its block into this rank's area, for the member at position i.
 * Returns false if there is no room. */
bool rota_sparse_put(rota_exec *x, const mail *m, const void *data, int i);

/* Post a message that completes when it is matched. Its room has been made. */
int rota_sparse_post(rota_exec *x, kind kind, void *data, size_t bytes,
                     int rank);

/* ---- bundles.c ---------------------------------------------------- */

/* Give a block to the agent for its node. Returns false if the block is too
 * long, or there is no room. */
bool rota_bundles_entrust(rota_exec *x, const rota_sparse_block *b);

/* Post this rank's bundles, once all members have deposited their blocks. Sets
 * rota_sparse_of(x)->bundled, unless memory is short. */
int rota_bundles_post(rota_exec *x);

/* Pass on the blocks of a bundle that are for other members. If memory is
 * short, fails before passing on anything. */
int rota_bundles_split(rota_exec *x, const incoming *in);

/* List the blocks of a bundle that are for this rank. Returns their number. */
size_t rota_bundles_own(const rota_exec *x, const incoming *in,
                        rota_sparse_block block[]);

#endif /* ROTA_MAILBOX_STATE_H */
