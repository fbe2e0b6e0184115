/* sparse_state.h - what sparse.c and sparse_bundles.c share. */
#ifndef ROTA_SPARSE_STATE_H
#define ROTA_SPARSE_STATE_H

#include "exec/transport/sparse.h"

/* Bytes of a rank's area for the blocks of one start. */
enum { AREA = 1 << 15 };

/* Room for a message by MPI, at least. */
enum { SHORT = 256 };

/* What a block is announced by, in the memory of its sender or of an agent; its
 * bytes follow, unless MPI carries them. In a bundle, too. */
enum { BY_MPI = -1 };
typedef struct mail {
    uint64_t next; /* as in a mailbox */
    uint64_t bytes;
    int32_t source;
    int32_t dest; /* rank, or BY_MPI */
} mail;

/* The newest mail to a rank in odd and even starts: 1 + position of its sender
 * in the node << 32 | place in the memory of that one; 0: there is none. */
typedef struct mailbox {
    _Alignas(ROTA_CACHE_LINE) _Atomic uint64_t newest[2];
} mailbox;

typedef struct counter {
    _Atomic uint64_t n;
    char others[ROTA_CACHE_LINE - sizeof(uint64_t)];
} counter;

/* Of a group, from start to start. */
enum {
    HANDED,   /* by bundles: ranks that have handed over all they have to */
    ENTERED,  /* ranks counted in */
    THROUGH,  /* starts that all groups have entered */
    SPLIT,    /* by bundles: ranks that have passed on all they have received */
    FINISHED, /* ranks that have collected a start's blocks */
    N_COUNTERS
};

/* Kinds of messages by MPI that are found by probing. */
typedef enum kind { BLOCK, BUNDLE, N_MAIL_KINDS } kind;

/* A message that MPI brings. */
typedef struct incoming {
    rota_sparse_block block; /* its data are owned */
    kind kind;
    size_t room;
    MPI_Request request;
} incoming;

/* One that is matched. */
typedef struct matched {
    MPI_Message message; /* while there is no room for it */
    MPI_Status status;
} matched;

struct rota_sparse {
    rota_groups groups;
    const rota_node *node;     /* whose memory ranks share, or NULL */
    counter alone[N_COUNTERS]; /* of a group of one rank */

    /* The group's memory. */
    counter *count;              /* [N_COUNTERS] */
    uint64_t before[N_COUNTERS]; /* they were when the plan was made */
    char **memory;               /* [node n] of its ranks, NULL for others */
    void *taken[ROTA_N_USES];    /* of this rank, in the arena */
    size_t taken_bytes;
    rota_peer *leader; /* its process */
    int leader_at;     /* its position in the node */

    /* The run. */
    uint64_t starts; /* so far, with this one */
    size_t area_used, n_notes;
    rota_sparse_block *send, *found;
    size_t n_sends, send_room, n_found, found_room; /* rooms in bytes */
    MPI_Request *request; /* [n_requests] of sends by MPI */
    size_t n_requests, request_room, first_request;
    incoming *in; /* [n_in], others are kept for later runs */
    size_t n_in, in_room, in_made, first_in;
    bool probes; /* messages of MPI may come */
    matched matched[N_MAIL_KINDS];
    size_t longest; /* message received so far, bytes */
    uint64_t mail;  /* taken so far, as in a mailbox */
    size_t n_mail;
    uint64_t entrusted; /* mail for other groups, likewise */
    size_t n_entrusted;
    char *bundles; /* that this rank sends */
    size_t bundles_room;
    char *sorted; /* what was entrusted, in order */
    size_t sorted_room;
    bool counted_in;
    bool bundled; /* all that was entrusted has been posted, or nothing is */
    bool split;   /* this rank is counted as having passed on all */
    bool known;   /* what was found */
    int round;    /* of the leaders' barrier */
    MPI_Request token[2];
    char token_byte[2];

    struct rota_sparse *next; /* of those whose blocks others still read */
};

/* Do blocks for other groups go by bundles, if they are short? */
static inline bool bundles(const struct rota_sparse *c)
{
    return c->groups.nodes != NULL;
}

static inline int parity(const struct rota_sparse *c)
{
    return (int)(c->starts & 1);
}

/* Tags: of the two kinds of messages, and of the leaders' barrier. */
static inline int sparse_tag(const rota_exec *x, int which)
{
    return x->tag + 3 * parity(x->sparse) + which;
}

/* A mailbox, areas for two starts, and room for a note to each of the group. */
static inline size_t area_bytes(const struct rota_sparse *c)
{
    return AREA + (size_t)c->groups.size * sizeof(mail);
}

/* Where the one of this start is in the memory of a member. */
static inline size_t area_at(const struct rota_sparse *c)
{
    return sizeof(mailbox) + (size_t)parity(c) * area_bytes(c);
}

static inline mail *mail_at(const struct rota_sparse *c, uint64_t at)
{
    return (mail *)(void *)(c->memory[(at >> 32) - 1] + (uint32_t)at);
}

/* Bytes that mail takes up with its block behind it. */
static inline size_t mail_step(const mail *m)
{
    return sizeof(mail) + (size_t)(m->bytes + 7) / 8 * 8;
}

/* Has a counter come as far as it does in this start, by so much in each? */
static inline bool has_come(const struct rota_sparse *c, int which, int each)
{
    return atomic_load_explicit(&c->count[which].n, memory_order_acquire) -
               c->before[which] >=
           c->starts * (uint64_t)each;
}

/* ---- sparse_state.c ------------------------------------------------------ */

/* The mail at this place of this rank's memory is for the member at position i. */
void rota_sparse_link(const rota_exec *x, int i, mail *m, size_t place);

/* Room for so many messages in all. */
int rota_sparse_more_requests(struct rota_sparse *c, size_t n);

/* Put mail and its block into this rank's area, for the member at position i.
 * Returns false if there is no room. */
bool rota_sparse_put(rota_exec *x, const mail *m, const void *data, int i);

/* Post a message that completes when it is matched; there is room for it. */
int rota_sparse_post(rota_exec *x, kind kind, void *data, size_t bytes,
                     int rank);

/* ---- sparse_bundles.c ---------------------------------------------------- */

/* Have a member send the block in a bundle. Returns false if that cannot be. */
bool rota_bundles_entrust(rota_exec *x, const rota_sparse_block *b);

/* All members have handed over what they have: post this rank's bundles. Sets
 * x->sparse->bundled, unless memory is short. */
int rota_bundles_post(rota_exec *x);

/* A bundle is here: pass on what is for other members. Fails before anything is
 * done, for want of memory, or as MPI does. */
int rota_bundles_split(rota_exec *x, const incoming *in);

/* Blocks in a bundle that are for this rank: how many, and where. block may be
 * NULL. */
size_t rota_bundles_own(const rota_exec *x, const incoming *in,
                        rota_sparse_block block[]);

#endif /* ROTA_SPARSE_STATE_H */
