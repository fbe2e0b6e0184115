/* schedule.h - what one rank does in an exchange of blocks, as data.
 *
 * A schedule moves blocks. Every block has a number: the S blocks of the send
 * buffer, the R blocks of the receive buffer and every temporary block. The
 * number names both the block's place and its size cell:
 *
 *     0 .. S-1      send block i       (region ROTA_SRC, slot i)
 *     S .. S+R-1    receive block i    (region ROTA_DST, slot i)
 *     S+R ..        a temporary block  (region ROTA_TMP, slot t; or ROTA_DST,
 *                                       where receive block i will lie)
 *
 * In an all-to-all of P ranks, S = R = P, and block i goes to, or comes from,
 * rank i. In a neighbourhood, rota_neighbors lists the peer of each block.
 *
 * Each number is written once. A slot of scratch may hold many blocks, one
 * after the other, each under its own number. So the same schedule, run on
 * 8-byte cells (one per number) instead of blocks, tells the rank all sizes.
 * The builder assigns slots; once sizes are known, rota_sched_place packs
 * blocks more tightly. A padded block has the size of the largest block of all
 * ranks, whatever it holds; its size is never learnt.
 *
 * A message is a list of blocks; sender and receiver list them in the same
 * order. If they do not lie end to end, the executor packs and unpacks them.
 *
 * A temporary block may be shared: all ranks of the node can reach its memory.
 * A message within a node may be handed over if all its blocks are shared at
 * one end and none at the other. If the two ranks do share memory, the rank
 * without the shared blocks copies, straight into them when it sends, or out of
 * them when it receives, and only a flag passes between the two. Elsewhere the
 * message is an ordinary one. No other block ever takes the place of a shared
 * block, and a shared block that was handed in is not handed on.
 *
 * A schedule is a list of phases, run one after the other:
 *
 *     phase:    receives, sends, copies, a window
 *     window 0: posts all receives, then all sends, makes the copies, and waits
 *               for the messages in list order. One block may leave a slot, or
 *               any bytes of scratch, and another take it in the same phase:
 *               what leaves is packed before what arrives is unpacked.
 *     window w: the same, but with at most w receives and w sends in flight;
 *               when any completes, the next of its direction is posted. No
 *               slot may be both read and written.
 *     native:   the messages are one collective of the MPI library: one block
 *               from and to every rank, in order of rank; no copies. All ranks
 *               have this phase at the same place.
 *     sparse:   has no messages: each run says what is sent, and the ranks agree
 *               when all has arrived.
 *     flow:     posts all receives. A send is posted once the phase has
 *               received, or copied, the blocks in it that it provides, and
 *               once all earlier sends to the same peer are posted. A copy of a
 *               block that the phase receives waits for it. Block numbers say
 *               who waits for whom: the number that one writes and the other
 *               reads. No copy both waits for a receive and provides for a
 *               send. Messages with different peers complete in any order. No
 *               slot may pass from one block to another.
 *
 * A batch that must complete before the next one starts is a phase of its own.
 * Each ordered pair of ranks sends and receives its messages in one order, so
 * one tag does for a plan. Where messages carry sizes, direct messages may go
 * without: see bench/check/check.h.
 *
 * A builder writes a schedule through the emitters, which latch the first
 * error. After folding, which drops empty blocks, messages and phases, the
 * schedule is only read.
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

/* How a receiver learns the sizes of the blocks in a message. */
typedef enum rota_metadata {
    ROTA_META_ONCE,      /* known before the start */
    ROTA_META_FUSED,     /* from a header in front of the blocks */
    ROTA_META_TWO_PHASE, /* from a message of sizes before the blocks */
    ROTA_META_COMBINED,  /* from a header, whose length comes before it */
    ROTA_N_METADATA
} rota_metadata;

typedef uint32_t rota_block; /* a block's number */

typedef enum rota_dir { ROTA_RECV, ROTA_SEND, ROTA_N_DIRS } rota_dir;

typedef struct rota_msg {
    int peer;
    uint32_t first; /* its blocks: item[first] up to the next message's first */
    bool handed;    /* handed over, if the two ranks share memory */
} rota_msg;

/* The number of blocks in a message of a list. */
static inline uint32_t rota_msg_blocks(const rota_msg *m)
{
    return m[1].first - m[0].first;
}

/* All messages of one direction, in the order in which they are posted. */
typedef struct rota_msgs {
    rota_msg *msg;    /* [n+1]; the last only ends the items of message n-1 */
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
    ROTA_NATIVE_ALLTOALL, /* padded blocks, end to end in rank order */
} rota_native_kind;

typedef struct rota_phase {
    uint32_t msg[ROTA_N_DIRS]; /* first message; the next phase's is the end */
    uint32_t copy;             /* first copy, likewise */
    int window;                /* 0: unlimited, completed in list order */
    rota_native_kind native;
    bool sparse; /* each run says what is sent */
    bool flow;   /* sends wait for those of their blocks that it provides */
} rota_phase;

typedef struct rota_sched {
    int P, me;
    int n_send, n_recv;              /* S and R */
    const rota_neighbors *neighbors; /* NULL: all ranks, in order; borrowed */
    const rota_crossing *crossing; /* edges between nodes, or NULL; borrowed */
    const int *same_as; /* [n_send] the first send block with the same memory,
                          which may travel in its stead; NULL: none; borrowed */
    bool
        by_datatype; /* if sizes are known, MPI gathers blocks that it sends from
                         where they lie, so none of them is packed first */
    int status;      /* first error of an emitter */
    uint32_t n_blocks; /* S + R + temporary blocks */
    uint32_t n_slots;  /* slots of scratch */
    uint32_t *slot;    /* [n_blocks-S-R] slot | marks of temporary blocks */
    rota_msgs msgs[ROTA_N_DIRS];
    rota_copy *copy;   /* [n_copies] */
    rota_phase *phase; /* [n_phases+1]; the last only ends phase n_phases-1 */
    uint32_t n_copies, n_phases;
    uint32_t slot_room, copy_room, phase_room;
    rota_block *pad; /* [pad_room] the builder's scratchpad */
    size_t pad_room;
} rota_sched;

/* ---- writing ------------------------------------------------------------- */

/* Start a schedule of an all-to-all, or of an exchange among neighbours (NULL:
 * an all-to-all), which must outlive s. */
int rota_sched_init(rota_sched *s, int P, int me);
int rota_sched_init_among(rota_sched *s, int P, int me,
                          const rota_neighbors *neighbors);
void rota_sched_free(rota_sched *s);

/* Tell the builder of the edges to other nodes; crossing may be NULL. Send
 * blocks with the same memory travel as one only where messages carry no
 * sizes. */
void rota_sched_set_crossing(rota_sched *s, const rota_crossing *crossing,
                             rota_metadata metadata);

/* A builder's last call; returns the status. */
int rota_sched_end(rota_sched *s);

/* The numbers of send block i and of receive block i. */
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

/* The rank that send block i goes to, and that receive block i comes from;
 * ROTA_NOBODY: the block is never sent. */
static inline int rota_to(const rota_sched *s, int i)
{
    return s->neighbors ? s->neighbors->to[i] : i;
}

static inline int rota_from(const rota_sched *s, int i)
{
    return s->neighbors ? s->neighbors->from[i] : i;
}

/* The blocks that the rank sends to itself: their number, and the k-th of
 * them. */
static inline int rota_n_own(const rota_sched *s)
{
    return s->neighbors ? s->neighbors->n_own : 1;
}

static inline rota_own rota_own_block(const rota_sched *s, int k)
{
    return s->neighbors ? s->neighbors->own[k] : (rota_own){s->me, s->me};
}

/* Marks of temporary blocks, kept in rota_sched.slot. */
#define ROTA_TMP_PADDED (1u << 31)
#define ROTA_TMP_IN_DST (1u << 30)
#define ROTA_TMP_SHARED (1u << 29)
#define ROTA_TMP_MARKS (ROTA_TMP_PADDED | ROTA_TMP_IN_DST | ROTA_TMP_SHARED)

/* A new temporary block in a slot of scratch; the block that was there ends.
 * marks: 0 or any of ROTA_TMP_...; with ROTA_TMP_IN_DST, slot is the number of
 * a receive block. */
rota_block rota_tmp_marked(rota_sched *s, uint32_t slot, uint32_t marks);
static inline rota_block rota_tmp(rota_sched *s, uint32_t slot)
{
    return rota_tmp_marked(s, slot, 0);
}

/* Room for n block numbers until rota_sched_end; NULL, with the error latched,
 * if there is no memory. */
rota_block *rota_sched_scratchpad(rota_sched *s, size_t n);

void rota_phase_begin(rota_sched *s, int window);
/* Begin a phase whose messages are one collective of the MPI library. */
void rota_native_begin(rota_sched *s, rota_native_kind kind);
void rota_sparse_begin(rota_sched *s);
/* Begin a phase that may send the blocks it receives. */
void rota_flow_begin(rota_sched *s);
void rota_emit_copy(rota_sched *s, rota_block from, rota_block to);

/* Begin a message of the current phase; rota_emit_block adds its blocks. Each
 * direction has its own open message, so the two may be written in turn. */
void rota_emit_msg(rota_sched *s, rota_dir dir, int peer);
/* The same, for a message that is handed over. */
void rota_emit_handed(rota_sched *s, rota_dir dir, int peer);
void rota_emit_block(rota_sched *s, rota_dir dir, rota_block block);

/* Messages of a single block. */
void rota_emit_recv(rota_sched *s, int src, rota_block block);
void rota_emit_send(rota_sched *s, int dst, rota_block block);

/* Drop blocks without bytes, messages without blocks and empty phases. bytes:
 * [n_blocks], the same at both ends of every message. */
void rota_sched_fold(rota_sched *s, const size_t bytes[]);

/* ---- reading ------------------------------------------------------------- */

static inline rota_region rota_block_region(const rota_sched *s, rota_block b)
{
    const rota_block first_tmp = rota_first_tmp(s);

    if (b < first_tmp)
        return b < (rota_block)s->n_send ? ROTA_SRC : ROTA_DST;
    return s->slot[b - first_tmp] & ROTA_TMP_IN_DST ? ROTA_DST : ROTA_TMP;
}

/* The block's index in its buffer or, in scratch, its slot. */
static inline uint32_t rota_block_slot(const rota_sched *s, rota_block b)
{
    const rota_block S = (rota_block)s->n_send, first_tmp = rota_first_tmp(s);

    if (b < first_tmp)
        return b < S ? b : b - S;
    return s->slot[b - first_tmp] & ~ROTA_TMP_MARKS;
}

/* Is it a receive block, which the caller gets? */
static inline bool rota_block_arrives(const rota_sched *s, rota_block b)
{
    return b >= (rota_block)s->n_send && b < rota_first_tmp(s);
}

/* A number for the place of a block, 0 .. rota_sched_places(s) - 1: slots of
 * scratch first, then blocks of the receive buffer. Blocks with equal numbers
 * take the same place in turn. Not for send blocks. */
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

/* Do the shared blocks of message m, which is handed over, belong to this
 * rank? */
static inline bool rota_msg_lends(const rota_sched *s, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &s->msgs[dir];

    return rota_block_is_shared(s, l->item[l->msg[m].first]);
}

/* Has the rank any shared blocks? */
bool rota_sched_shares(const rota_sched *s);

/* Bytes that a copy moves: the data without padding. */
static inline size_t rota_copy_bytes(const rota_sched *s, const rota_copy *k,
                                     const size_t bytes[])
{
    return bytes[rota_block_is_padded(s, k->from) ? k->to : k->from];
}

/* Set the sizes of padded blocks. bytes: [n_blocks]. */
void rota_sched_pad(const rota_sched *s, size_t largest, size_t bytes[]);

/* Is message m one block that travels straight from its source's send buffer to
 * its destination's receive buffer? Where counts are known, both ends know its
 * size. */
bool rota_msg_is_direct(const rota_sched *s, rota_dir dir, uint32_t m);

#define ROTA_NO_MSG UINT32_MAX

/* before[m]: of n messages from msg on, the last one before m with its peer, or
 * ROTA_NO_MSG. last: [P] working memory. */
void rota_msgs_before(const rota_msg *msg, uint32_t n, int P, uint32_t last[],
                      uint32_t before[]);

/* next[m]: the first one after m with its peer, or ROTA_NO_MSG; wants[m] is one
 * more where one comes before m. */
void rota_msgs_chain(const rota_msg *msg, uint32_t n, int P, uint32_t last[],
                     uint32_t next[], uint32_t wants[]);

/* In a flow phase so many bytes are copied, about a microsecond's in small blocks,
 * before messages are tested for which others wait. */
enum { ROTA_FLOW_COPIES = 1 << 10 };

/* Consecutive copies of a flow phase that belong to the same message. */
typedef struct rota_group {
    uint32_t first, end;
    rota_dir dir; /* SEND: the message takes the copies along; RECV: it brings
                   * them */
    uint32_t m;   /* the message; ROTA_NO_MSG: none */
} rota_group;

/* Group n copies; returns the number of groups. message[dir]: [n_blocks] for
 * each block, 1 + the message of the phase that has it, or 0. */
uint32_t rota_flow_groups(const rota_copy copy[], uint32_t n,
                          uint32_t *const message[ROTA_N_DIRS],
                          rota_group group[]);

/* Has it a flow phase? */
static inline bool rota_sched_flows(const rota_sched *s)
{
    for (uint32_t p = 0; p < s->n_phases; p++)
        if (s->phase[p].flow)
            return true;
    return false;
}

typedef struct rota_scratch {
    size_t bytes;
    size_t slots; /* most temporary blocks with bytes in scratch at once */
} rota_scratch;

/* Place temporary blocks in scratch. No two overlap between the phase that
 * writes a block and the last phase that reads it. The builder's slots do not
 * matter. If all blocks have one size, scratch is no larger than what is alive
 * at once. If s->by_datatype is set, a temporary block never takes the place of
 * one that is sent in the same phase. bytes, offset: [n_blocks]; offset is written
 * for temporary blocks only. The temporary blocks of a native MPI_Alltoall lie end
 * to end, in order of their numbers, throughout. */
int rota_sched_place(const rota_sched *s, const size_t bytes[],
                     ptrdiff_t offset[], rota_scratch *scratch);

typedef struct rota_counts {
    size_t rounds;   /* phases that wait for a message */
    size_t messages; /* sent by this rank, without those handed over */
    size_t handed;   /* messages that this rank hands over */
    size_t bytes;    /* sent by this rank to others */
    size_t copied;   /* bytes that this rank copies: its copies, and what it
                      * copies in messages handed over, to it or by it */
} rota_counts;

/* bytes: as for rota_sched_fold; NULL counts messages only. */
void rota_sched_count(const rota_sched *s, const size_t bytes[],
                      rota_counts *counts);

/* Bytes of memory that the schedule holds. */
size_t rota_sched_memory(const rota_sched *s);

void rota_sched_print(const rota_sched *s, const size_t bytes[], FILE *out);

#endif /* ROTA_SCHEDULE_H */
