/* varlen.h - messages whose receiver learns the sizes of their blocks from
 * them.
 *
 * Such a message is a header, a cell for every block, and the blocks packed end
 * to end behind it. Where counts are known, blocks that the receiver keeps for
 * itself need none: if a message has several of them, they share one cell,
 * which has their sum, and come last. How header and blocks travel is the
 * plan's rota_metadata. What comes in stays where it was received until the run
 * is over, so blocks that go on to another rank are packed from there and those
 * that have arrived are unpacked from there: nothing is copied on the way. A
 * block that is to be collected comes to its place at once if it goes apart
 * from its header and those before it are known: the last ones need not wait.
 */
#ifndef ROTA_VARLEN_H
#define ROTA_VARLEN_H

#include "exec/exec.h"

/* Set in the cell of a block that its sender left out because it is above the
 * plan's bound; the other bits are its size. */
#define ROTA_LEFT_OUT ((size_t)1 << (sizeof(size_t) * 8 - 1))

/* Bytes of a block that travel. */
static inline size_t rota_varlen_bytes(size_t cell)
{
    return cell & ROTA_LEFT_OUT ? 0 : cell;
}

/* Buffers for the messages that need a header. */
int rota_varlen_bind(rota_exec *x);
void rota_varlen_unbind(rota_exec *x);

/* Bytes of all headers that a run sends. */
size_t rota_varlen_told(const rota_exec *x);

/* Where there is no memory for a message, it is left as it is, for a later poll
 * (rota_exec_postpone). Room beforehand for what the phase sends, or the flow's
 * send m, whose blocks are here. */
int rota_varlen_reserve(rota_exec *x, const rota_phase *phase);
int rota_varlen_reserve_one(rota_exec *x, uint32_t m);

/* The parts of it, for consensus. Header and blocks into the buffer of send m,
 * *bytes in all; what is in the buffer of receive m (rota_varlen_room) to its
 * places. */
int rota_varlen_pack(rota_exec *x, uint32_t m, char **data, size_t *bytes);
int rota_varlen_unpack(rota_exec *x, uint32_t m);

/* The same for messages that do not go by MPI. The header and a body that may
 * be the block itself, *bytes in all; the bytes of a header; room for a message
 * that comes in. */
int rota_varlen_gather(rota_exec *x, uint32_t m, const char **head,
                       size_t *head_bytes, char **body, size_t *bytes);
size_t rota_varlen_header(const rota_exec *x, uint32_t m);
int rota_varlen_room(rota_exec *x, uint32_t m, size_t bytes, char **data);

/* Room for the blocks of receive m, bytes in all, whose header has come alone.
 */
int rota_varlen_body(rota_exec *x, uint32_t m, size_t bytes, char **body);

/* As an ordinary post and test of message m; done is set when it is complete
 * and, if received, unpacked. */
int rota_varlen_post(rota_exec *x, rota_dir dir, uint32_t m);
int rota_varlen_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done);

#endif /* ROTA_VARLEN_H */
