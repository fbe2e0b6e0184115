/* lines.h - the transport between ranks of one node, without MPI.
 *
 * Each ordered pair of ranks that has messages in a plan's schedule has a queue
 * of two entries (line.h) in the receiver's arena. A message passes in one of
 * these ways, of which the sender chooses:
 *
 *   in the entry    if it fits: one copy on each side, one synchronisation
 *   by the pool     in pieces of the sender's pool (pool.h), each of which an
 *                   entry names; complete for the sender as soon as the last
 *                   piece is written
 *   from the arena  an entry says where in the sender's arena it lies, and the
 *                   receiver copies it from there: one copy, two
 *                   synchronisations. For data end to end in the arena.
 *   by cross-memory likewise, but the receiver has the kernel copy it from the
 *   attach          sender's private memory. If the kernel refuses that, though
 *                   it did not before, the receiver says so in the entry, and
 *                   the sender puts one part after the other there.
 *   by handover     an entry says where it lies in memory that the host does
 *                   not touch, and the receiver has it copied (hooks.h).
 *
 * Where the pool has no piece left, a message goes through the pair's entries,
 * as much at a time as they hold: whatever others leave unread, it gets on.
 *
 * Two ranks use lines in one direction if both have mapped what that takes;
 * otherwise MPI carries the messages of that direction, and both know.
 *
 * A message moves when both its ends are in a call of Rota's or have it moved by
 * their progress threads. Messages of a pair are received in their order, others
 * in any order.
 */
#ifndef ROTA_LINES_H
#define ROTA_LINES_H

#include "exec/exec.h"
#include "exec/transport/node.h"

extern const rota_transport rota_transport_lines;

/* Whose memory carries messages, and which are copied from where they lie. */
typedef struct rota_reach {
    const rota_node *node;
    size_t
        arena_threshold; /* bytes from which a message in the sender's arena is
                          copied from there */
    size_t
        cma_threshold; /* likewise from its private memory; SIZE_MAX: never */
} rota_reach;

/* Make the queues in which ranks of the node write to this one, and tell them
 * by their endpoints. *refused: there is no room in shared memory, and MPI
 * carries what this rank receives. Local; x has everything that rota_exec_bind
 * needs. */
int rota_lines_reserve(rota_exec *x, const rota_reach *reach, bool *refused);

/* Open those of the others, all of which have reserved theirs since. Returns
 * false if memory of some rank could not be mapped: then all ranks must know,
 * and begin anew without that pair. */
bool rota_lines_attach(rota_exec *x);

/* When all have attached: find out what is handed over. Fails for want of memory
 * only. */
int rota_lines_meet(rota_exec *x);

/* Is this rank a lender? Of one: has all been taken that was handed on to
 * others? The run is over: others may write to shared blocks again. */
bool rota_lines_lend(const rota_exec *x);
bool rota_lines_are_taken(rota_exec *x);
void rota_lines_finish(rota_exec *x);

/* As given; there are lines. */
const rota_reach *rota_lines_reach(const rota_exec *x);

/* Bytes of shared memory that the plan keeps. */
size_t rota_lines_bytes(const rota_exec *x);

/* Find whom the run waits for. Returns how many processes have to ring before it
 * is of use to look again. Then, when the doorbell has been armed, set the
 * interest flags. */
int rota_lines_count(rota_exec *x);
void rota_lines_await(rota_exec *x);

/* Call the progress threads of those whom the messages posted wait for or, where
 * others may have to go on first, of all ranks of the node. */
void rota_lines_call(rota_exec *x);

/* Wake those for whom something was written or taken. */
void rota_lines_flush(rota_exec *x);

#endif /* ROTA_LINES_H */
