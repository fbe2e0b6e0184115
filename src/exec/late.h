/* late.h - messages whose receiver learns the sizes of their blocks from them.
 *
 * Such a message is a header, a cell for every block, and the blocks packed end
 * to end behind it. How the two travel is the plan's rota_metadata. What comes
 * in stays where it was received until the run is over, so blocks that go on
 * to another rank are packed from there and those that have arrived are
 * unpacked from there: nothing is copied on the way. A block that is to be
 * collected comes to its place at once if it goes apart from its header and
 * those of lower ranks are known: those of the last ones need not wait.
 */
#ifndef ROTA_LATE_H
#define ROTA_LATE_H

#include "exec/exec.h"

/* Set in the cell of a block that its sender left out because it is above the
 * plan's bound; the other bits are its size. */
#define ROTA_LEFT_OUT ((size_t)1 << (sizeof(size_t) * 8 - 1))

/* Bytes of a block that travel. */
static inline size_t rota_late_bytes(size_t cell)
{
    return cell & ROTA_LEFT_OUT ? 0 : cell;
}

/* Where an exchange collects blocks. */
struct rota_collected {
    char *out; /* in rank order, end to end; grows */
    size_t room;
    bool early;    /* blocks may come there while the run lasts */
    bool used;     /* one has, in this run */
    size_t *begin; /* [P+1] of the blocks of ranks up to known */
    int known;
};

/* Buffers for the messages that need a header. */
int rota_late_bind(rota_exec *x);
void rota_late_unbind(rota_exec *x);

/* The parts of it, for consensus. Header and blocks into the buffer of send m,
 * *bytes in all; a message that was matched into the buffer of receive m; what
 * is in it to its places. */
int rota_late_pack(rota_exec *x, uint32_t m, char **data, size_t *bytes);
int rota_late_receive(rota_exec *x, uint32_t m, MPI_Message *message,
                      const MPI_Status *status);
int rota_late_unpack(rota_exec *x, uint32_t m);

/* The same for messages that do not go by MPI. The header and a body that may
 * be the block itself, *bytes in all; the bytes of a header; room for a message
 * that comes in. */
int rota_late_gather(rota_exec *x, uint32_t m, const char **head,
                     size_t *head_bytes, char **body, size_t *bytes);
size_t rota_late_header(const rota_exec *x, uint32_t m);
int rota_late_room(rota_exec *x, uint32_t m, size_t bytes, char **data);

/* Room for the blocks of receive m, bytes in all, whose header has come alone.
 */
int rota_late_body(rota_exec *x, uint32_t m, size_t bytes, char **body);

/* As an ordinary post and test of message m; done is set when it is complete
 * and, if received, unpacked. */
int rota_late_post(rota_exec *x, rota_dir dir, uint32_t m);
int rota_late_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done);

#endif /* ROTA_LATE_H */
