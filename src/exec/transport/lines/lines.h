/* lines.h - the path between ranks of one node, without MPI.
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
 *   by attaching     the same, but the kernel copies it for the receiver from
 *                    the sender's private memory (attach.h)
 *   by fetching      an entry describes memory that the host does not touch;
 *                    the receiver has it copied (gate.h).
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

extern const rota_path rota_path_lines;

/* What tests call by itself: see rota_path. */
int rota_lines_count(rota_exec *x);
void rota_lines_await(rota_exec *x);
void rota_lines_call(rota_exec *x);

#endif /* ROTA_LINES_H */
