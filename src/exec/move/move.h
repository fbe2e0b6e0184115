/* move.h - moving blocks within a rank, and messages of any size by MPI. */
#ifndef ROTA_MOVE_H
#define ROTA_MOVE_H

#include "exec/exec.h"
#include "exec/move/copy.h"

#include <stdint.h>
#include <string.h>

/* The first byte of a block's data or, where its region has a datatype, the
 * origin that MPI expects. */
static inline char *rota_block_at(const rota_exec *x, rota_block b)
{
    if (x->arrivals && x->arrivals->place[b])
        return x->arrivals->place[b];
    return x->base[rota_block_region(x->s, b)] + x->offset[b];
}

static inline const rota_type *rota_block_type(const rota_exec *x, rota_block b)
{
    const rota_types *const t = &x->types[rota_block_region(x->s, b)];

    return t->of ? &t->type[t->of[rota_block_slot(x->s, b)]] : t->type;
}

/* Copy any number of bytes between data of a datatype and plain bytes. comm
 * only tells MPI the data representation. */
int rota_type_pack(const rota_type *t, const char *data, size_t bytes,
                   char *packed, MPI_Comm comm);
int rota_type_unpack(const rota_type *t, const char *packed, size_t bytes,
                     char *data, MPI_Comm comm);

/* Copy a block to bytes, bytes to a block, a block to a block. */
int rota_block_pack(const rota_exec *x, rota_block b, char *packed);
int rota_block_unpack(const rota_exec *x, const char *packed, rota_block b);
int rota_block_copy(const rota_exec *x, const rota_copy *copy);

/* The blocks of a message: count their bytes, copy them to bytes, or from
 * bytes. */
size_t rota_message_bytes(const rota_exec *x, rota_dir dir, uint32_t m);
int rota_message_pack(const rota_exec *x, uint32_t m, char *packed);
int rota_message_unpack(const rota_exec *x, uint32_t m, const char *packed);

/* Pack or unpack bytes begin to end of a message whose layouts are known.
 * streams: write past the caches. */
void rota_message_pack_part(const rota_exec *x, uint32_t m, size_t begin,
                            size_t end, bool streams, char *packed);
void rota_message_unpack_part(const rota_exec *x, uint32_t m, size_t begin,
                              size_t end, bool streams, const char *packed);

/* Make room for bytes in memory that is kept from run to run. It grows by at
 * least half, so that a run like an earlier one allocates nothing. Contents are
 * kept. what: named in the error. */
int rota_grow(char **memory, size_t *room, size_t bytes, const char *what);

/* Bytes of staging memory that a copy between two datatypes needs: a whole
 * number of elements of both. */
size_t rota_copy_step(const rota_type *a, const rota_type *b);

/* Make and commit a datatype that gathers n blocks, relative to MPI_BOTTOM. */
int rota_gather_type(const rota_exec *x, const rota_block item[], uint32_t n,
                     MPI_Datatype *type);

/* The arguments of an MPI call for one message. */
typedef struct rota_payload {
    void *data;
    size_t count; /* elements of type */
    MPI_Datatype type;
} rota_payload;

rota_payload rota_payload_of(const rota_exec *x, rota_dir dir, uint32_t m);

int rota_payload_init(const rota_payload *p, rota_dir dir, int peer, int tag,
                      MPI_Comm comm, MPI_Request *request);
int rota_payload_post(const rota_payload *p, rota_dir dir, int peer, int tag,
                      MPI_Comm comm, MPI_Request *request);

/* A send that completes only when it is matched. */
int rota_synchronous_post(void *data, size_t bytes, int peer, int tag,
                          MPI_Comm comm, MPI_Request *request);

/* Receive a message found by MPI_Improbe. */
int rota_matched_post(void *data, size_t bytes, MPI_Message *message,
                      MPI_Request *request);

#endif /* ROTA_MOVE_H */
