/* schedule.h - what one rank does in an exchange of blocks, as data.
 *
 * A schedule moves blocks. Each of the S blocks of the send buffer, of the R
 * blocks of the receive buffer and every temporary block in scratch memory has
 * a number, the same number naming the block's place and its size cell:
 *
 *     0 .. S-1      send block i            (region ROTA_SRC, slot i)
 *     S .. S+R-1    receive block i         (region ROTA_DST, slot i)
 *     S+R ..        a temporary block                  (region ROTA_TMP, slot t, or
 *                   ROTA_DST: where receive block i will lie)
 *
 * In an all-to-all of P ranks S = R = P and block i is to, or from, rank i. In
 * a neighbourhood they are as rota_neighbors lists them.
 *
 * Numbers are written once: a slot of scratch may hold many blocks one after
 * the other, each under a number of its own. Slots are the builder's; where
 * sizes are known rota_sched_place finds places that are closer together. So
 * sizes can be learnt by running the very same schedule on 8-byte cells, one
 * per number, instead of blocks. A padded block has the size of the largest
 * block of all ranks, whatever is in it; its size is never learnt.
 *
 * A message is a list of blocks; sender and receiver list them in the same
 * order. Where the blocks of a message do not lie end to end it is packed and
 * unpacked on the way, which is the executor's business.
 *
 * Temporary blocks may be shared: in memory that the ranks of a node reach. A
 * message between two of them whose blocks are shared at one end, and none at
 * the other, may be handed over: where the two do share memory, the rank at the
 * other end copies, right to where the temporary blocks lie when it sends, or
 * from there when it receives, and all that goes from one to the other is a
 * flag. Elsewhere it is a message like others. Nothing else ever lies where a
 * shared block does; one is not handed over twice.
 *
 * A schedule is a list of phases, run one after the other:
 *
 *     phase:  receives, sends, copies, a window
 *     window 0: post all receives, post all sends, make the copies, and wait
 *               for the messages in list order. A slot, or any bytes of
 *               scratch, may be left by one block and taken by another in the
 *               same phase: what leaves is packed before what arrives is
 *               unpacked.
 *     window w: as above, but with at most w receives and w sends in flight;
 *               when one completes, whichever it is, the next is posted. No
 *               slot may be both read and written in such a phase.
 *     native:   the messages, one block each, from and to every rank in order
 *               of rank, are one collective of the MPI library; no copies. All
 *               ranks have such a phase at the same place.
 *
 *     sparse:   where receivers do not know what comes, messages without bytes
 *               are not sent, and the ranks find out together when all others
 *               have arrived; otherwise as with window 0. One block a message,
 *               from and to every other rank.
 *
 *     flow:     all receives are posted, and each send as soon as the blocks in
 *               it that this very phase receives have arrived and all earlier
 *               sends of the phase to the same peer are posted. Messages with
 *               different peers complete in any order. That a send waits for a
 *               receive is said by the number of a block that both have, and
 *               so is that it waits for a copy, which gives it a block, or a
 *               copy for a receive, which gives that its block; no copy does
 *               both. No slot may be left by one block and taken by another.
 *
 * A batch that must complete before the next is started is a phase of its own.
 * Per ordered pair of ranks, the sequence of messages sent is the sequence
 * received: one tag does for a plan. Where messages tell sizes, those that are
 * direct may go without: see rota_sched_check_varlen.
 *
 * A builder writes a schedule through the emitters, which latch the first
 * error. After folding (empty blocks, messages and phases dropped) it is only
 * read.
 */
#ifndef ROTA_SCHEDULE_H
#define ROTA_SCHEDULE_H

#include "base/err.h"
#include "base/neighbors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum rota_region {
    ROTA_SRC,
    ROTA_DST,
    ROTA_TMP,
    ROTA_N_REGIONS
} rota_region;

/* How the receiver of a message comes to know the sizes of its blocks. */
typedef enum rota_metadata {
    ROTA_META_ONCE,      /* before the start */
    ROTA_META_FUSED,     /* from a header in front of the blocks */
    ROTA_META_TWO_PHASE, /* from a message of sizes before the blocks */
    ROTA_META_COMBINED,  /* from a header, after a message of its length */
    ROTA_N_METADATA
} rota_metadata;

typedef uint32_t rota_block; /* a block's number */

typedef enum rota_dir { ROTA_RECV, ROTA_SEND, ROTA_N_DIRS } rota_dir;

typedef struct rota_msg {
    int peer;
    uint32_t first; /* its blocks are item[first] up to the next one's first */
    bool handed;    /* over, if the two ranks share memory */
} rota_msg;

/* Blocks of a message of a list. */
static inline uint32_t rota_msg_blocks(const rota_msg *m)
{
    return m[1].first - m[0].first;
}

/* All messages of one direction, in the order in which they are posted. */
typedef struct rota_msgs {
    rota_msg *msg;    /* [n+1], the last one only closes the item list */
    rota_block *item; /* [n_items] */
    uint32_t n, n_items;
    uint32_t msg_room, item_room;
} rota_msgs;

typedef struct rota_copy {
    rota_block from, to;
} rota_copy;

/* A phase that is one collective of the MPI library. */
typedef enum rota_native_kind {
    ROTA_NOT_NATIVE,
    ROTA_NATIVE_ALLTOALLV,
    ROTA_NATIVE_ALLTOALL, /* padded blocks, end to end in order of rank */
} rota_native_kind;

typedef struct rota_phase {
    uint32_t msg[ROTA_N_DIRS]; /* first message; ends where the next begins */
    uint32_t copy;             /* first copy, likewise */
    int window;                /* 0: unlimited, completed in list order */
    rota_native_kind native;
    bool sparse; /* partners found by consensus where counts are unknown */
    bool flow;   /* sends wait for the blocks in them that it receives */
} rota_phase;

typedef struct rota_sched {
    int P, me;
    int n_send, n_recv;              /* S and R */
    const rota_neighbors *neighbors; /* NULL: all ranks, in order; borrowed */
    const rota_crossing *crossing; /* if the builder follows nodes; borrowed */
    const int *alike;  /* [n_send] the first send block that has the same memory
                         and may travel in its stead; NULL: none has; borrowed */
    int status;        /* first error of an emitter */
    uint32_t n_blocks; /* S + R + temporary blocks */
    uint32_t n_slots;  /* slots of scratch */
    uint32_t
        *slot; /* [n_blocks-S-R] slot of each temporary block, ROTA_TMP_... */
    rota_msgs msgs[ROTA_N_DIRS];
    rota_copy *copy;   /* [n_copies] */
    rota_phase *phase; /* [n_phases+1], the last one only closes */
    uint32_t n_copies, n_phases;
    uint32_t slot_room, copy_room, phase_room;
    rota_block *pad; /* [pad_room] for the builder's own use */
    size_t pad_room;
} rota_sched;

/* ---- writing ------------------------------------------------------------ */

/* For an all-to-all, or among neighbours (NULL: of all-to-all), which are kept
 * until s is freed. */
int rota_sched_init(rota_sched *s, int P, int me);
int rota_sched_init_among(rota_sched *s, int P, int me,
                          const rota_neighbors *neighbors);
void rota_sched_free(rota_sched *s);

/* Let the builder know of other nodes; crossing may be NULL. Blocks with the same
 * memory go together only where messages tell no sizes. */
void rota_sched_set_crossing(rota_sched *s, const rota_crossing *crossing,
                             rota_metadata metadata);

/* The last call of a builder, whose status it returns. */
int rota_sched_end(rota_sched *s);

/* Send block and receive block i. */
static inline rota_block rota_src(const rota_sched *s, int i)
{
    (void)s;
    return (rota_block)i;
}

static inline rota_block rota_dst(const rota_sched *s, int i)
{
    return (rota_block)(s->n_send + i);
}

/* The number of the first temporary block. */
static inline rota_block rota_first_tmp(const rota_sched *s)
{
    return (rota_block)(s->n_send + s->n_recv);
}

/* Whom send block i is for and receive block i comes from; ROTA_NOBODY: they
 * are never sent. */
static inline int rota_to(const rota_sched *s, int i)
{
    return s->neighbors ? s->neighbors->to[i] : i;
}

static inline int rota_from(const rota_sched *s, int i)
{
    return s->neighbors ? s->neighbors->from[i] : i;
}

/* Blocks that the rank sends itself: how many, and the k-th. */
static inline int rota_n_own(const rota_sched *s)
{
    return s->neighbors ? s->neighbors->n_own : 1;
}

static inline rota_own rota_own_block(const rota_sched *s, int k)
{
    return s->neighbors ? s->neighbors->own[k] : (rota_own){s->me, s->me};
}

/* Marks in rota_sched.slot. */
#define ROTA_TMP_PADDED (1u << 31)
#define ROTA_TMP_IN_DST (1u << 30)
#define ROTA_TMP_SHARED (1u << 29)
#define ROTA_TMP_MARKS (ROTA_TMP_PADDED | ROTA_TMP_IN_DST | ROTA_TMP_SHARED)

/* A new temporary block in a slot of scratch; the one that was there ends.
 * marks: 0 or some of ROTA_TMP_...; with ROTA_TMP_IN_DST slot is a receive
 * block. */
rota_block rota_tmp_marked(rota_sched *s, uint32_t slot, uint32_t marks);
static inline rota_block rota_tmp(rota_sched *s, uint32_t slot)
{
    return rota_tmp_marked(s, slot, 0);
}

/* Room for n block numbers until rota_sched_end; NULL latches the error. */
rota_block *rota_sched_scratchpad(rota_sched *s, size_t n);

void rota_phase_begin(rota_sched *s, int window);
/* A phase for messages that are one collective of the MPI library. */
void rota_native_begin(rota_sched *s, rota_native_kind kind);
void rota_sparse_begin(rota_sched *s);
/* A phase whose receives and sends may be of the same blocks. */
void rota_flow_begin(rota_sched *s);
void rota_emit_copy(rota_sched *s, rota_block from, rota_block to);

/* A message of the current phase, whose blocks follow by rota_emit_block. The
 * two directions have a message open each, so they may be written in turn. */
void rota_emit_msg(rota_sched *s, rota_dir dir, int peer);
/* The same, one that is handed over. */
void rota_emit_handed(rota_sched *s, rota_dir dir, int peer);
void rota_emit_block(rota_sched *s, rota_dir dir, rota_block block);

/* Messages of a single block. */
void rota_emit_recv(rota_sched *s, int src, rota_block block);
void rota_emit_send(rota_sched *s, int dst, rota_block block);

/* Drop blocks of no bytes, messages without blocks and phases without
 * anything. bytes: [n_blocks], the same on both ends of every message. */
void rota_sched_fold(rota_sched *s, const size_t bytes[]);

/* ---- reading ------------------------------------------------------------ */

static inline rota_region rota_block_region(const rota_sched *s, rota_block b)
{
    const rota_block first_tmp = rota_first_tmp(s);

    if (b < first_tmp)
        return b < (rota_block)s->n_send ? ROTA_SRC : ROTA_DST;
    return s->slot[b - first_tmp] & ROTA_TMP_IN_DST ? ROTA_DST : ROTA_TMP;
}

/* The block's place in its buffer, or slot (temporary blocks in scratch). */
static inline uint32_t rota_block_slot(const rota_sched *s, rota_block b)
{
    const rota_block S = (rota_block)s->n_send, first_tmp = rota_first_tmp(s);

    if (b < first_tmp)
        return b < S ? b : b - S;
    return s->slot[b - first_tmp] & ~ROTA_TMP_MARKS;
}

/* Is it one that the caller is to have? */
static inline bool rota_block_arrives(const rota_sched *s, rota_block b)
{
    return b >= (rota_block)s->n_send && b < rota_first_tmp(s);
}

/* A number for the slot of a block that another block may take: slots of
 * scratch come first, then the blocks of the receive buffer. Not for send
 * blocks. There are rota_sched_places(s) of them. */
static inline uint32_t rota_block_place(const rota_sched *s, rota_block b)
{
    const uint32_t slot = rota_block_slot(s, b);

    return rota_block_region(s, b) == ROTA_TMP ? slot : s->n_slots + slot;
}

static inline uint32_t rota_sched_places(const rota_sched *s)
{
    return s->n_slots + (uint32_t)s->n_recv;
}

static inline bool rota_block_is_padded(const rota_sched *s, rota_block b)
{
    const rota_block first_tmp = rota_first_tmp(s);

    return b >= first_tmp && s->slot[b - first_tmp] & ROTA_TMP_PADDED;
}

static inline bool rota_block_is_shared(const rota_sched *s, rota_block b)
{
    const rota_block first_tmp = rota_first_tmp(s);

    return b >= first_tmp && s->slot[b - first_tmp] & ROTA_TMP_SHARED;
}

/* Of a message that is handed over: are the shared blocks this rank's? */
static inline bool rota_msg_lends(const rota_sched *s, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &s->msgs[dir];

    return rota_block_is_shared(s, l->item[l->msg[m].first]);
}

/* Has the rank any shared blocks? */
bool rota_sched_shares(const rota_sched *s);

/* Bytes that a copy moves: padding is left behind. */
static inline size_t rota_copy_bytes(const rota_sched *s, const rota_copy *k,
                                     const size_t bytes[])
{
    return bytes[rota_block_is_padded(s, k->from) ? k->to : k->from];
}

/* Give padded blocks their size. bytes: [n_blocks]. */
void rota_sched_pad(const rota_sched *s, size_t largest, size_t bytes[]);

/* True if message m is one block that travels straight from the send buffer of
 * its source to the receive buffer of its destination: both ends know its size
 * whenever counts are known. */
bool rota_msg_is_direct(const rota_sched *s, rota_dir dir, uint32_t m);

/* Copies of a phase through which data flow, in a row, of the same message. */
typedef struct rota_group {
    uint32_t first, end;
    rota_dir dir; /* SEND: the message takes them along; RECV: brings them */
    uint32_t m;   /* ROTA_NO_MSG: no message of the phase does */
} rota_group;

#define ROTA_NO_MSG UINT32_MAX

/* Group n copies, the number of groups being returned. message[dir]: [n_blocks] of
 * each block 1 + the message of the phase that has it, or 0. */
uint32_t rota_flow_groups(const rota_copy copy[], uint32_t n,
                          uint32_t *const message[ROTA_N_DIRS],
                          rota_group group[]);

/* Is there a phase whose partners are found by consensus? */
static inline bool rota_sched_is_sparse(const rota_sched *s)
{
    for (uint32_t p = 0; p < s->n_phases; p++)
        if (s->phase[p].sparse)
            return true;
    return false;
}

/* Is there a phase through which data flow? */
static inline bool rota_sched_flows(const rota_sched *s)
{
    for (uint32_t p = 0; p < s->n_phases; p++)
        if (s->phase[p].flow)
            return true;
    return false;
}

typedef struct rota_scratch {
    size_t bytes;
    size_t slots; /* temporary blocks with bytes in it at once, at most */
} rota_scratch;

/* Place temporary blocks in scratch, each where no other is from the phase that
 * writes it to the last that reads it; the builder's slots do not matter here.
 * Where all have one size, scratch is no larger than what is alive at once.
 * by_datatype: messages may be gathered by MPI, so that no temporary block
 * takes the place of one that is sent in the same phase. bytes, offset:
 * [n_blocks]; offset is written for temporary blocks only. Temporary blocks of
 * MPI's alltoall keep their places throughout, end to end in order of their
 * numbers. */
int rota_sched_place(const rota_sched *s, bool by_datatype,
                     const size_t bytes[], ptrdiff_t offset[],
                     rota_scratch *scratch);

typedef struct rota_counts {
    size_t rounds;   /* phases that wait for a message */
    size_t messages; /* sent by this rank, but for those handed over */
    size_t handed;   /* over, from this rank */
    size_t bytes;    /* sent by this rank to others */
    size_t copied;   /* bytes of copies that this rank makes: its own, and of
                        what is handed over to others and from them */
} rota_counts;

/* bytes as for rota_sched_fold; NULL counts messages only. */
void rota_sched_count(const rota_sched *s, const size_t bytes[],
                      rota_counts *counts);

/* Memory held by the schedule itself. */
size_t rota_sched_memory(const rota_sched *s);

void rota_sched_print(const rota_sched *s, const size_t bytes[], FILE *out);

/* ---- checking ----------------------------------------------------------- */

/* Prove that the schedules of all P ranks together are an all-to-all, or an
 * exchange among the neighbours that they have: every block is delivered once, from the right place to the right place; nothing is
 * read after its slot was taken or while it is being written; messages match
 * in number, order and size per ordered pair; none waits for ever, even if
 * no message is buffered. set: [P]. bytes: [P][n_blocks] sizes of folded
 * schedules (blocks of no bytes need no delivery), or NULL.
 * Fails with MPI_ERR_INTERN and a text that says what is wrong where. */
int rota_sched_check(const rota_sched *const set[], int P,
                     const size_t *const bytes[]);

/* May messages of this schedule tell the sizes of their blocks? Those that do
 * are posted otherwise than direct ones, which do not, and later than their
 * turn. So within a phase an ordered pair of ranks has several messages only
 * without a window, and then the direct ones first. */
int rota_sched_check_varlen(const rota_sched *s);

#endif /* ROTA_SCHEDULE_H */
