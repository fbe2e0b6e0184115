/* payload.h - for the files that each have a payload: see rota_payload. */
#ifndef ROTA_PAYLOAD_H
#define ROTA_PAYLOAD_H

#include "exec/exec.h"
#include "exec/move/blocks.h"

#include <stdlib.h>

#define ROTA_PAYLOAD(name, source)                                             \
    extern const rota_payload rota_payload_##name;
#include "exec/payloads.h"

/* The first block of a message. */
static inline rota_block rota_payload_first(const rota_exec *x, rota_dir dir,
                                            uint32_t m)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];

    return l->item[l->msg[m].first];
}

/* What several payloads do. The put of a send that lies at body: */
static inline int rota_payload_put(rota_exec *x, uint32_t m, const rota_data *d,
                                   size_t begin, size_t end, bool streams,
                                   char *to)
{
    (void)x;
    (void)m;
    rota_copy_bulk(to, d->body + begin, end - begin, streams);
    return MPI_SUCCESS;
}

/* The take of a receive that stays in memory that is kept: */
static inline int rota_payload_take(rota_exec *x, uint32_t m,
                                    const rota_data *d, size_t begin,
                                    size_t end, const char *from)
{
    (void)d;
    rota_copy_fast(x->program.op[ROTA_RECV][m].memory + begin, from,
                   end - begin);
    return MPI_SUCCESS;
}

static inline void rota_payload_unbind(rota_exec *x, rota_dir dir, uint32_t m)
{
    free(x->program.op[dir][m].memory);
}

/* ---- one block without a header ------------------------------------------ */

static inline bool rota_payload_is_bytes(const rota_exec *x, rota_dir dir,
                                         uint32_t m)
{
    return rota_type_is_bytes(
        rota_block_type(&x->blocks, rota_payload_first(x, dir, m)));
}

static inline int rota_payload_make_room(rota_exec *x, rota_dir dir, uint32_t m,
                                         size_t bytes)
{
    rota_op *const op = &x->program.op[dir][m];

    return rota_grow(&op->memory, &op->room, bytes, "a block");
}

/* The take of a receive that goes to body: */
static inline int rota_payload_take_body(rota_exec *x, uint32_t m,
                                         const rota_data *d, size_t begin,
                                         size_t end, const char *from)
{
    (void)x;
    (void)m;
    rota_copy_fast(d->body + begin, from, end - begin);
    return MPI_SUCCESS;
}

static inline size_t rota_payload_no_header(const rota_exec *x, uint32_t m)
{
    (void)x;
    (void)m;
    return 0;
}

static inline int rota_payload_rest_body(rota_exec *x, uint32_t m,
                                         const rota_data *d, char **to)
{
    (void)x;
    (void)m;
    *to = d->body;
    return MPI_SUCCESS;
}

#endif /* ROTA_PAYLOAD_H */
