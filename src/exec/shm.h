/* shm.h - messages between ranks of one node, without MPI.
 *
 * Every ordered pair of ranks that has messages in a plan's schedule has a ring
 * of entries (ring.h) in the sender's arena, through which they go one after
 * the other, each in one of four ways, of which the sender chooses:
 *
 *   through the ring  cut into as many entries as it takes. Complete for the
 *                     sender as soon as the last entry is written: one copy on
 *                     each side, one synchronisation.
 *   from the arena    an entry says where in the sender's arena it lies, and
 *                     the receiver copies it from there: one copy, two
 *                     synchronisations. For data end to end in the arena.
 *   by cross-memory   likewise, but the receiver has the kernel copy it from
 *   attach            the sender's private memory.
 *   by IPC            an entry says where in the sender's memory of a device it
 *                     lies, and the receiver has its device copy it (ipc.h).
 *
 * A message moves when both its ends are in a call of Rota's or have it moved by
 * their progress threads.
 *
 * A message that is packed is packed into the ring or, if it is longer than an
 * entry, into the packing area, which lies in the arena. Messages are received
 * in whatever order they come, but for those of one pair.
 */
#ifndef ROTA_SHM_H
#define ROTA_SHM_H

#include "exec/exec.h"

/* Rings for the messages to the ranks of x->node, told to them by their boards.
 * Local; x has everything that rota_exec_bind needs. *refused: there is no
 * room in shared memory, and x is as before. */
int rota_shm_reserve(rota_exec *x, bool *refused);

/* Open the rings of the others, all of which have reserved theirs since. */
void rota_shm_attach(rota_exec *x);
void rota_shm_unbind(rota_exec *x);

/* How far message m has got, if it goes this way; else NULL. */
rota_parcel *rota_shm_parcel(const rota_exec *x, rota_dir dir, uint32_t m);

/* Bytes of the rings. */
size_t rota_shm_bytes(const rota_exec *x);

/* Has the plan messages longer than an entry, which gain by lying in the
 * arena? */
bool rota_shm_wants_arena(const rota_exec *x);

/* Before a run. */
void rota_shm_begin(rota_exec *x);

/* Post message m; in a phase without a window or flow rota_shm_serve does the
 * rest. */
int rota_shm_post(rota_exec *x, rota_dir dir, uint32_t m);
int rota_shm_test(rota_exec *x, rota_dir dir, uint32_t m, bool *moved,
                  bool *done);

/* Advance all messages posted in the phase; done is set when none is left.
 * *moved is set if any has got on. */
int rota_shm_serve(rota_exec *x, bool *moved, bool *done);

/* Find whom the run waits for. Returns how often the bell has to be rung before
 * it is of use to look again; *takes is set if by what others take, too. */
int rota_shm_await(rota_exec *x, bool *takes);

/* Set the marks, when the bell has been armed. */
void rota_shm_mark(rota_exec *x);

/* Call the progress threads of those whom the messages posted wait for or, where
 * others may have to go on first, of all ranks of the node. */
void rota_shm_call(rota_exec *x);

/* Wake those for whom something was written. */
void rota_shm_flush(rota_exec *x);

#endif /* ROTA_SHM_H */
