/* varlen.h - messages that tell their receivers the sizes of their blocks.
 *
 * Such a message is a header, with one cell for each block, followed by the
 * blocks, end to end. Where counts are known, a receiver knows the sizes of
 * blocks that it keeps: if a message has several of these, they share one cell,
 * which holds their sum, and come last. The plan's rota_metadata says how
 * headers and blocks travel.
 *
 * Received blocks stay in the message's buffer until the run is over. Those
 * that go on are packed from there, those that have arrived are unpacked from
 * there: no copy is made on the way. A block of an exchange is received right
 * into its place if it travels apart from its header and the offsets before it
 * are known.
 */
#ifndef ROTA_VARLEN_H
#define ROTA_VARLEN_H

#include "exec/exec.h"

/* Make and free the buffers of messages with a header. */
int rota_varlen_bind(rota_exec *x);
void rota_varlen_unbind(rota_exec *x);

/* Bytes of all headers that a run sends. */
size_t rota_varlen_told(const rota_exec *x);

/* Make room, before the run or the send, for what a phase sends, or for send m
 * of a flow phase, whose blocks are here. If there is no memory for a message,
 * it is left alone for a later poll (rota_status_postpone). */
int rota_varlen_reserve(rota_exec *x, const rota_phase *phase);
int rota_varlen_reserve_one(rota_exec *x, uint32_t m);

/* For consensus. Pack the header and blocks of send m, *bytes in all, into its
 * buffer; unpack the buffer of receive m (rota_varlen_room) to its places. */
int rota_varlen_pack(rota_exec *x, uint32_t m, char **data, size_t *bytes);
int rota_varlen_unpack(rota_exec *x, uint32_t m);

/* The same for messages that MPI does not carry: the header and the body of
 * send m, which may be the block itself, *bytes in all; the bytes of a
 * receive's header; a buffer for a receive. */
int rota_varlen_gather(rota_exec *x, uint32_t m, const char **head,
                       size_t *head_bytes, char **body, size_t *bytes);
size_t rota_varlen_header(const rota_exec *x, uint32_t m);
int rota_varlen_room(rota_exec *x, uint32_t m, size_t bytes, char **data);

/* Block b has arrived at its destination, at data, with the size in its cell:
 * unpack it, or note where it is to be collected from. */
int rota_varlen_arrive(rota_exec *x, rota_block b, size_t cell, char *data);

/* Room for the blocks of receive m, `bytes` in all, if its header comes alone.
 */
int rota_varlen_body(rota_exec *x, uint32_t m, size_t bytes, char **body);

/* Post and test message m. done: it is complete and, if received, unpacked. */
int rota_varlen_post(rota_exec *x, rota_dir dir, uint32_t m);
int rota_varlen_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done);

#endif /* ROTA_VARLEN_H */
