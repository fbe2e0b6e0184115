/* lines.h - the transport between ranks of one node, without MPI.
 *
 * In the receiver's arena there is a queue of two entries (line.h) for each
 * ordered pair of ranks with messages in the plan's schedule. The sender
 * chooses how a message passes:
 *
 *   in the entry     if it fits: one copy on each side, one synchronisation
 *   by the pool      in pieces of the sender's pool (pool.h), each named by an
 *                    entry; complete for the sender once the last piece is
 *                    written
 *   from the arena   an entry names its place in the sender's arena, from where
 *                    the receiver copies it: one copy, two synchronisations.
 *                    For data that lie end to end in the arena.
 *   by fetching      an entry describes memory that the host does not touch;
 *                    the receiver has it copied (hooks.h).
 *
 * If the pool has no piece left, a message goes through the pair's entries, as
 * much at a time as they hold. So it makes progress whatever others leave
 * unread.
 *
 * Two ranks use lines in one direction if both have mapped the memory that this
 * takes. Otherwise MPI carries the messages of that direction, and both know.
 *
 * A message moves while both ends are in a call of Rota's, or have progress
 * threads. Messages of a pair are received in order, others in any order.
 */
#ifndef ROTA_LINES_H
#define ROTA_LINES_H

#include "exec/exec.h"
#include "exec/memory/node.h"

extern const rota_transport rota_transport_lines;

/* Which ranks share memory, and which messages are copied from where they
 * lie. */
typedef struct rota_reach {
    const rota_node *node;
    /* Bytes from which a message in the sender's arena is copied from there. */
    size_t arena_threshold;
} rota_reach;

/* Make the queues into this rank and describe them in the endpoints. *refused:
 * shared memory has no room, and MPI carries what this rank receives. x has all
 * that rota_exec_bind needs. Local. */
int rota_lines_reserve(rota_exec *x, const rota_reach *reach, bool *refused);

/* Open the queues into other ranks, which all have reserved theirs. Returns
 * false if memory of some rank could not be mapped: then all ranks must know,
 * and begin again without that pair. */
bool rota_lines_attach(rota_exec *x);

/* After all have attached: find out what is handed over. Fails only for want of
 * memory. */
int rota_lines_meet(rota_exec *x);

/* Is this rank a lender? A lender also asks whether others have taken all that
 * it handed on, and tells them, after a run, that they may write to its shared
 * blocks again. */
bool rota_lines_lend(const rota_exec *x);
bool rota_lines_are_taken(rota_exec *x);
void rota_lines_finish(rota_exec *x);

/* As given to rota_lines_reserve; x has lines. */
const rota_reach *rota_lines_reach(const rota_exec *x);

/* The type of the elements of message m, which is received, if its sender told
 * it when the plan was made and it is copied from there; else NULL. */
const rota_type *rota_lines_source(const rota_exec *x, uint32_t m);

/* Bytes of shared memory that the plan holds. */
size_t rota_lines_bytes(const rota_exec *x);

/* Find out which ranks the run waits for, and return how many of their
 * processes must ring before a poll is worth while. Then, with the doorbell
 * armed, set the interest flags. */
int rota_lines_count(rota_exec *x);
void rota_lines_await(rota_exec *x);

/* Call the progress threads of the ranks whose messages are awaited. Where
 * others may have to move first, call those of all ranks of the node. */
void rota_lines_call(rota_exec *x);

/* Wake the ranks for which something was written or taken. */
void rota_lines_flush(rota_exec *x);

#endif /* ROTA_LINES_H */
