/* collected.c - one block of an exchange, whose size its receiver learns from the
 * length of the message: see collected.h.
 *
 * A block above the plan's bound is left out: its message has no bytes, and tells
 * the block's length all the same.
 */
#include "exec/payload/collected.h"
#include "exec/payload/payload.h"
#include "exec/payload/sized.h"

/* ---- places -------------------------------------------------------------- */

/* Find the offset of receive block i in the buffer, if the sizes of all blocks
 * before it are known. Offsets found are kept for later calls. */
static inline bool find_offset(const rota_exec *x, int i, size_t *at)
{
    rota_sizing *const c = x->sizing;
    const size_t *const bytes = x->blocks.bytes + x->blocks.s->n_send;

    for (; c->known < i; c->known++) {
        if (bytes[c->known] == ROTA_NOT_COME)
            return false;
        c->begin[c->known + 1] = c->begin[c->known] + bytes[c->known];
    }
    *at = c->begin[i];
    return true;
}

/* Bytes of the rank's own blocks that lie behind receive block i. */
static size_t own_behind(const rota_exec *x, int i)
{
    size_t bytes = 0;

    for (int k = 0; k < rota_n_own(x->blocks.s); k++) {
        const int own = rota_own_block(x->blocks.s, k).recv;
        bytes += own > i ? x->blocks.bytes[rota_dst(x->blocks.s, own)] : 0;
    }
    return bytes;
}

char *rota_collected_place(rota_exec *x, rota_block b, size_t bytes)
{
    const int i = (int)rota_block_slot(x->blocks.s, b);
    rota_sizing *const c = x->sizing;
    size_t at;

    if (!c->early || !find_offset(x, i, &at))
        return NULL;
    if (at + bytes > c->room && !c->used &&
        rota_grow(&c->out, &c->room, at + bytes + own_behind(x, i),
                  "what an exchange receives") != MPI_SUCCESS)
        rota_fail_clear(); /* the block will be collected later */
    if (at + bytes > c->room)
        return NULL;
    c->used = true;
    return c->out + at;
}

/* ---- the payload --------------------------------------------------------- */

static bool takes(const rota_exec *x, const rota_makeup *k)
{
    return x->sizing && x->counts_unknown && k->via->tells && !k->handed &&
           rota_msg_is_direct(x->blocks.s, k->dir, k->m);
}

static bool is_bytes(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return rota_type_is_bytes(
        rota_block_type(&x->blocks, rota_payload_first(x, dir, m)));
}

static void unbind(rota_exec *x, rota_dir dir, uint32_t m)
{
    free(x->program.op[dir][m].memory);
}

static int make_room(rota_exec *x, rota_dir dir, uint32_t m, size_t bytes)
{
    rota_op *const op = &x->program.op[dir][m];

    return rota_grow(&op->memory, &op->room, bytes, "a block");
}

/* Elements of a datatype are packed. */
static int room(rota_exec *x, uint32_t m)
{
    return is_bytes(x, ROTA_SEND, m)
               ? MPI_SUCCESS
               : make_room(x, ROTA_SEND, m,
                           rota_message_bytes(&x->blocks, ROTA_SEND, m));
}

static int begin_send(rota_exec *x, uint32_t m, rota_data *d)
{
    const rota_block b = rota_payload_first(x, ROTA_SEND, m);
    const size_t cell = x->blocks.bytes[b];

    d->bytes = rota_cell_bytes(cell);
    d->head_bytes = d->bytes > 0 ? 0 : cell & ~ROTA_LEFT_OUT;
    d->body = rota_block_at(&x->blocks, b);
    if (d->bytes == 0 || is_bytes(x, ROTA_SEND, m))
        return MPI_SUCCESS;
    ROTA_TRY(make_room(x, ROTA_SEND, m, d->bytes));
    d->body = x->program.op[ROTA_SEND][m].memory;
    return rota_block_pack(&x->blocks, b, d->body);
}

/* At least its length comes. */
static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    if (dir == ROTA_SEND)
        return begin_send(x, m, d);
    d->bytes = 1;
    return MPI_SUCCESS;
}

static bool land(rota_exec *x, uint32_t m, size_t bytes, char **to)
{
    const rota_block b = rota_payload_first(x, ROTA_RECV, m);
    size_t at;

    if (bytes > x->max_block) {
        *to = NULL;
        return true;
    }
    if (x->blocks.bytes[b] == ROTA_NOT_COME) {
        x->blocks.bytes[b] = bytes;
        x->moved = true;
    }
    *to = x->blocks.place[b] = rota_collected_place(x, b, bytes);
    return *to || !x->sizing->early ||
           find_offset(x, (int)rota_block_slot(x->blocks.s, b), &at);
}

static int expect(rota_exec *x, uint32_t m, rota_data *d, rota_coming how)
{
    const rota_block b = rota_payload_first(x, ROTA_RECV, m);

    (void)how;
    if (d->bytes > x->max_block) {
        rota_status_note(&x->status, ROTA_ABOVE_BOUND,
                         x->blocks.s->msgs[ROTA_RECV].msg[m].peer, d->bytes, 0);
        d->bytes = 0;
    }
    d->body = rota_collected_place(x, b, d->bytes);
    if (!d->body) {
        ROTA_TRY(make_room(x, ROTA_RECV, m, d->bytes));
        d->body = x->program.op[ROTA_RECV][m].memory;
    }
    x->blocks.bytes[b] = d->bytes;
    return MPI_SUCCESS;
}

static int take(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
                size_t end, const char *from)
{
    (void)x;
    (void)m;
    rota_copy_fast(d->body + begin, from, end - begin);
    return MPI_SUCCESS;
}

static size_t header(const rota_exec *x, uint32_t m)
{
    (void)x;
    (void)m;
    return 0;
}

static int rest(rota_exec *x, uint32_t m, const rota_data *d, char **to)
{
    (void)x;
    (void)m;
    *to = d->body;
    return MPI_SUCCESS;
}

static int finish(rota_exec *x, uint32_t m, rota_data *d)
{
    x->blocks.place[rota_payload_first(x, ROTA_RECV, m)] = d->body;
    return MPI_SUCCESS;
}

const rota_payload rota_payload_collected = {.flat = true,
                                             .tells = true,
                                             .takes = takes,
                                             .unbind = unbind,
                                             .room = room,
                                             .begin = begin,
                                             .put = rota_payload_put,
                                             .expect = expect,
                                             .land = land,
                                             .take = take,
                                             .header = header,
                                             .rest = rest,
                                             .finish = finish};
