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

int rota_collected_make(rota_exec *x)
{
    enum { FIRST_ROOM = 64 }; /* bytes for each block */
    const rota_sched *const s = x->blocks.s;
    rota_collection *const c = x->collection = calloc(1, sizeof *c);

    if (!c)
        return rota_fail_mem("what an exchange receives");
    c->own = s->neighbors ? UINT32_MAX : rota_dst(s, s->me);
    c->first = rota_dst(s, 0);
    c->behind = rota_first_tmp(s);
    return rota_grow(&c->out, &c->room, (size_t)s->n_recv * FIRST_ROOM,
                     "what an exchange receives");
}

void rota_collected_free(rota_exec *x)
{
    if (x->collection)
        free(x->collection->out);
    free(x->collection);
    x->collection = NULL;
}

void rota_collected_forget_places(rota_exec *x)
{
    for (int q = 0; q < x->blocks.s->n_recv; q++)
        x->blocks.place[rota_dst(x->blocks.s, q)] = NULL;
    x->collection->elsewhere = false;
}

/* Is the next block known without a message: the rank's own, or nobody's? */
static bool is_own(const rota_exec *x)
{
    const rota_sched *const s = x->blocks.s;
    const rota_collection *const c = x->collection;
    const int from = rota_from(s, (int)(c->next - c->first));

    return from == s->me || from == ROTA_NOBODY;
}

/* From now on sizes say which blocks have come. */
static void begin_noting(const rota_exec *x)
{
    rota_collection *const c = x->collection;
    const rota_block next = c->next;

    for (; c->next < c->behind; c->next++)
        if (!is_own(x))
            x->blocks.bytes[c->next] = ROTA_NOT_COME;
    c->next = next;
    c->noting = true;
}

/* Note the size of block b, and find offsets as far as sizes are known. Returns
 * whether that of b is. */
static bool note(const rota_exec *x, rota_block b, size_t bytes)
{
    rota_collection *const c = x->collection;

    while (c->next < b && !c->noting) {
        if (is_own(x))
            rota_collected_pass(x);
        else
            begin_noting(x);
    }
    x->blocks.bytes[b] = bytes;
    while (c->next <= b && x->blocks.bytes[c->next] != ROTA_NOT_COME)
        rota_collected_pass(x);
    return c->next > b;
}

char *rota_collected_land_late(rota_exec *x, rota_block b, size_t bytes)
{
    rota_collection *const c = x->collection;

    return c->early && bytes <= x->max_block && note(x, b, bytes) &&
                   (size_t)x->blocks.offset[b] + bytes <= c->limit
               ? c->to + x->blocks.offset[b]
               : NULL;
}

/* Without memory the block will be collected later. */
char *rota_collected_place(rota_exec *x, rota_block b, size_t bytes)
{
    rota_collection *const c = x->collection;

    if (!c)
        return NULL;
    char *at = rota_collected_land_late(x, b, bytes);
    if (!at && c->early && c->to == c->out && c->n_pinned == 0 && c->next > b) {
        if (rota_grow(&c->out, &c->room, (size_t)x->blocks.offset[b] + bytes,
                      "what an exchange receives") != MPI_SUCCESS)
            rota_fail_clear();
        c->to = c->out;
        c->limit = c->room;
        at = rota_collected_land_late(x, b, bytes);
    }
    c->n_pinned += at != NULL;
    return at;
}

bool rota_collected_waits(const rota_exec *x, rota_block b, size_t bytes)
{
    return x->collection->early && bytes <= x->max_block && !note(x, b, bytes);
}

void rota_collected_lies(rota_exec *x, rota_block b, size_t bytes, char *data)
{
    rota_collection *const c = x->collection;

    /* Beyond the buffer another allocation may be at its very place. */
    if (c->early && note(x, b, bytes) && data &&
        (size_t)x->blocks.offset[b] + bytes <= c->limit &&
        data == c->to + x->blocks.offset[b]) {
        c->n_pinned--;
        return;
    }
    x->blocks.bytes[b] = bytes;
    x->blocks.place[b] = data;
    c->elsewhere = true;
}

/* ---- the payloads: of plain bytes, and of elements, which are packed ------ */

static bool takes(const rota_exec *x, const rota_makeup *k)
{
    return x->sizing && x->counts_unknown && k->via->tells && !k->handed &&
           rota_msg_is_direct(x->blocks.s, k->dir, k->m);
}

static bool takes_bytes(const rota_exec *x, const rota_makeup *k)
{
    return takes(x, k) && rota_payload_is_bytes(x, k->dir, k->m);
}

/* At least its length comes. */
static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    const rota_block b = rota_payload_first(x, dir, m);
    const size_t cell = x->blocks.bytes[b];

    if (dir == ROTA_RECV) {
        d->bytes = 1;
        return MPI_SUCCESS;
    }
    d->bytes = rota_cell_bytes(cell);
    d->head_bytes = d->bytes > 0 ? 0 : cell & ~ROTA_LEFT_OUT;
    d->body = rota_block_at(&x->blocks, b);
    return MPI_SUCCESS;
}

static int room_to_pack(rota_exec *x, uint32_t m)
{
    return rota_payload_make_room(x, ROTA_SEND, m,
                                  rota_message_bytes(&x->blocks, ROTA_SEND, m));
}

static int begin_packed(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    ROTA_TRY(begin(x, dir, m, d));
    if (dir == ROTA_RECV || d->bytes == 0)
        return MPI_SUCCESS;
    ROTA_TRY(room_to_pack(x, m));
    d->body = x->program.op[ROTA_SEND][m].memory;
    return rota_block_pack(&x->blocks, rota_payload_first(x, ROTA_SEND, m),
                           d->body);
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
        ROTA_TRY(rota_payload_make_room(x, ROTA_RECV, m, d->bytes));
        d->body = x->program.op[ROTA_RECV][m].memory;
    }
    return MPI_SUCCESS;
}

static int finish(rota_exec *x, uint32_t m, rota_data *d)
{
    rota_collected_lies(x, rota_payload_first(x, ROTA_RECV, m), d->bytes,
                        d->body);
    return MPI_SUCCESS;
}

const rota_payload rota_payload_collected_packed = {
    .flat = true,
    .tells = true,
    .takes = takes,
    .unbind = rota_payload_unbind,
    .room = room_to_pack,
    .begin = begin_packed,
    .put = rota_payload_put,
    .expect = expect,
    .take = rota_payload_take_body,
    .header = rota_payload_no_header,
    .rest = rota_payload_rest_body,
    .finish = finish};

const rota_payload rota_payload_collected = {.flat = true,
                                             .tells = true,
                                             .lands = true,
                                             .takes = takes_bytes,
                                             .unbind = rota_payload_unbind,
                                             .begin = begin,
                                             .put = rota_payload_put,
                                             .expect = expect,
                                             .take = rota_payload_take_body,
                                             .header = rota_payload_no_header,
                                             .rest = rota_payload_rest_body,
                                             .finish = finish};
