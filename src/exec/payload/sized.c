/* sized.c - see sized.h. */
#include "exec/payload/sized.h"
#include "exec/payload/carried.h"
#include "exec/payload/collected.h"
#include "exec/payload/parcels.h"
#include "exec/payload/payload.h"

/* What is kept of a message; its header and blocks are in the op's memory. */
typedef struct sized {
    uint32_t cells; /* number of cells in the header */
    size_t head;    /* bytes of the header: cells, then values (carried.h) */
    char *body;     /* where a receive's blocks are, if not in memory */
} sized;

static sized *sized_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->program.op[dir][m].own;
}

/* Has message m a header? Messages that are not direct have one, and so have
 * direct ones if receivers do not know the counts, or if MPI brings values with
 * them. Both ends find the same. */
static bool needs_header(const rota_exec *x, const rota_makeup *k)
{
    return x->counts_unknown || (x->carried && k->via->needs_mpi) ||
           !rota_msg_is_direct(x->blocks.s, k->dir, k->m);
}

static const rota_block *items(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->blocks.s->msgs[dir].item + x->blocks.s->msgs[dir].msg[m].first;
}

/* The receive block as which block i of message m lands. The receiver knows its
 * size, so the block has no cell of its own. 0, which is never a receive block:
 * it goes on, or its size is unknown. */
static rota_block lands_as(const rota_exec *x, rota_dir dir, uint32_t m,
                           uint32_t i)
{
    return x->sizing->landing[dir]
               ? x->sizing
                     ->landing[dir][x->blocks.s->msgs[dir].msg[m].first + i]
               : 0;
}

/* One cell for each block that needs its own, and one for all others
 * together. */
static uint32_t n_cells(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const uint32_t n = rota_msg_blocks(&x->blocks.s->msgs[dir].msg[m]);
    uint32_t known = 0;

    for (uint32_t i = 0; i < n; i++)
        known += lands_as(x, dir, m, i) != 0;
    return n - known + (known > 0);
}

static bool takes(const rota_exec *x, const rota_makeup *k)
{
    return x->sizing && needs_header(x, k);
}

/* Bytes of values in message m: those within the node are in tables. */
static size_t value_bytes(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->program.op[dir][m].via->needs_mpi ? rota_carried_bytes(x, dir, m)
                                                : 0;
}

/* ---- memory -------------------------------------------------------------- */

static int make_room(rota_exec *x, rota_dir dir, uint32_t m, size_t bytes)
{
    rota_op *const op = &x->program.op[dir][m];

    return rota_grow(&op->memory, &op->room, bytes, "a message of blocks");
}

/* Room for the header and, if blocks are bounded, for them. */
static int first_room(const rota_exec *x, uint32_t n, size_t *room)
{
    const size_t bound = x->max_block == SIZE_MAX ? 0 : x->max_block;

    if (bound > (SIZE_MAX >> 2) / n - sizeof(size_t))
        return rota_fail_mem("blocks of the size of max_block");
    *room = n * (sizeof(size_t) + bound);
    return MPI_SUCCESS;
}

static int bind(rota_exec *x, rota_dir dir, uint32_t m)
{
    sized *const l = x->program.op[dir][m].own = calloc(1, sizeof *l);
    size_t room = sizeof(size_t);

    if (!l)
        return rota_fail_mem("a message of blocks");
    l->cells = n_cells(x, dir, m);
    l->head = l->cells * sizeof(size_t) + value_bytes(x, dir, m);
    if (!rota_message_is_handed(x, dir, m))
        ROTA_TRY(first_room(x, rota_msg_blocks(&x->blocks.s->msgs[dir].msg[m]),
                            &room));
    return make_room(x, dir, m, room + value_bytes(x, dir, m));
}

static void unbind(rota_exec *x, rota_dir dir, uint32_t m)
{
    free(x->program.op[dir][m].own);
    free(x->program.op[dir][m].memory);
}

int rota_sized_begin(rota_exec *x)
{
    if (!x->sizing)
        return MPI_SUCCESS;
    x->blocks.place = calloc(x->blocks.s->n_blocks, sizeof *x->blocks.place);
    if (!x->blocks.place)
        return rota_fail_mem("places of blocks");
    return x->counts_unknown ? rota_collected_make(x) : MPI_SUCCESS;
}

void rota_sized_end(rota_exec *x)
{
    free(x->blocks.place);
    x->blocks.place = NULL;
    rota_collected_free(x);
}

/* ---- sending ------------------------------------------------------------- */

/* Bytes of the header and the blocks. */
static size_t total_bytes(const rota_exec *x, uint32_t m)
{
    return sized_of(x, ROTA_SEND, m)->head +
           rota_message_bytes(&x->blocks, ROTA_SEND, m);
}

static size_t told(const rota_exec *x, uint32_t m)
{
    return rota_message_is_handed(x, ROTA_SEND, m)
               ? 0
               : sized_of(x, ROTA_SEND, m)->cells * sizeof(size_t);
}

size_t rota_sized_told(const rota_exec *x)
{
    size_t bytes = 0;

    for (uint32_t m = 0; m < x->blocks.s->msgs[ROTA_SEND].n; m++)
        if (x->program.op[ROTA_SEND][m].payload->told)
            bytes += x->program.op[ROTA_SEND][m].payload->told(x, m);
    return bytes;
}

/* Is the message one block that may be sent from where it lies? */
static bool goes_as_it_is(const rota_exec *x, uint32_t m)
{
    return rota_msg_blocks(&x->blocks.s->msgs[ROTA_SEND].msg[m]) == 1 &&
           rota_type_is_bytes(
               rota_block_type(&x->blocks, items(x, ROTA_SEND, m)[0]));
}

static bool may_go_as_it_is(const rota_exec *x, uint32_t m)
{
    const bool by_mpi = x->program.op[ROTA_SEND][m].via->needs_mpi;

    return goes_as_it_is(x, m) &&
           !(by_mpi && x->sizing->metadata != ROTA_META_TWO_PHASE);
}

static int room(rota_exec *x, uint32_t m)
{
    return rota_message_is_handed(x, ROTA_SEND, m) || may_go_as_it_is(x, m)
               ? MPI_SUCCESS
               : make_room(x, ROTA_SEND, m, total_bytes(x, m));
}

/* Write the values of send m behind its cells. */
static void put_values(const rota_exec *x, uint32_t m)
{
    const sized *const l = sized_of(x, ROTA_SEND, m);
    const size_t cells = l->cells * sizeof(size_t);

    if (l->head > cells)
        rota_carried_put(x, m, x->program.op[ROTA_SEND][m].memory + cells);
}

/* Pack either the blocks of message m whose size the receiver knows (land) or
 * all others, end to end, at *to, and advance *to. Each of the others gets a
 * cell; the known ones share one, which holds their sum. */
static int pack_some(rota_exec *x, uint32_t m, bool land, size_t **cell,
                     char **to)
{
    const rota_block *const item = items(x, ROTA_SEND, m);
    const uint32_t n = rota_msg_blocks(&x->blocks.s->msgs[ROTA_SEND].msg[m]);
    const char *const begin = *to;

    for (uint32_t i = 0; i < n; i++) {
        const size_t bytes = rota_cell_bytes(x->blocks.bytes[item[i]]);
        if ((lands_as(x, ROTA_SEND, m, i) != 0) != land)
            continue;
        if (!land)
            *(*cell)++ = x->blocks.bytes[item[i]];
        if (bytes > 0)
            ROTA_TRY(rota_block_pack(&x->blocks, item[i], *to));
        *to += bytes;
    }
    if (land)
        **cell = (size_t)(*to - begin);
    return MPI_SUCCESS;
}

static int pack(rota_exec *x, uint32_t m, char **data, size_t *bytes)
{
    const rota_op *const op = &x->program.op[ROTA_SEND][m];
    const size_t total = total_bytes(x, m);

    ROTA_TRY(make_room(x, ROTA_SEND, m, total));
    size_t *cell = (size_t *)(void *)op->memory;
    const size_t *const end = cell + sized_of(x, ROTA_SEND, m)->cells;
    char *to = op->memory + sized_of(x, ROTA_SEND, m)->head;
    put_values(x, m);
    ROTA_TRY(pack_some(x, m, false, &cell, &to));
    if (cell < end)
        ROTA_TRY(pack_some(x, m, true, &cell, &to));
    *data = op->memory;
    *bytes = total;
    return MPI_SUCCESS;
}

/* A single block of plain bytes is sent from where it lies; anything else is
 * packed. */
static int begin_send(rota_exec *x, uint32_t m, rota_data *d)
{
    const rota_block first = rota_payload_first(x, ROTA_SEND, m);
    const size_t cell = x->blocks.bytes[first];

    d->head_bytes = sized_of(x, ROTA_SEND, m)->head;
    if (!goes_as_it_is(x, m)) {
        ROTA_TRY(pack(x, m, &d->body, &d->bytes));
        d->body += d->head_bytes;
        return MPI_SUCCESS;
    }
    *(size_t *)(void *)x->program.op[ROTA_SEND][m].memory = cell;
    put_values(x, m);
    d->body = rota_block_at(&x->blocks, first);
    d->bytes = d->head_bytes + rota_cell_bytes(cell);
    return MPI_SUCCESS;
}

/* At least a header comes. */
static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    if (dir == ROTA_SEND)
        return begin_send(x, m, d);
    d->bytes = 1;
    return MPI_SUCCESS;
}

static int put(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
               size_t end, bool streams, char *to)
{
    if (begin < d->head_bytes) {
        const size_t stop = rota_smaller(end, d->head_bytes);
        memcpy(to, x->program.op[ROTA_SEND][m].memory + begin, stop - begin);
        to += stop - begin;
        begin = stop;
    }
    if (end > begin)
        rota_copy_bulk(to, d->body + (begin - d->head_bytes), end - begin,
                       streams);
    return MPI_SUCCESS;
}

/* ---- receiving ----------------------------------------------------------- */

static size_t header(const rota_exec *x, uint32_t m)
{
    return sized_of(x, ROTA_RECV, m)->head;
}

static int expect(rota_exec *x, uint32_t m, rota_data *d, rota_coming how)
{
    return make_room(x, ROTA_RECV, m,
                     how == ROTA_COMES_APART ? header(x, m) : d->bytes);
}

static int rest(rota_exec *x, uint32_t m, const rota_data *d, char **to)
{
    const size_t head = header(x, m);
    const rota_block first = rota_payload_first(x, ROTA_RECV, m);
    sized *const l = sized_of(x, ROTA_RECV, m);

    if (rota_msg_blocks(&x->blocks.s->msgs[ROTA_RECV].msg[m]) == 1 &&
        rota_block_region(x->blocks.s, first) == ROTA_DST)
        l->body = rota_collected_place(x, first, d->bytes - head);
    if (!l->body)
        ROTA_TRY(make_room(x, ROTA_RECV, m, d->bytes));
    *to = l->body ? l->body : x->program.op[ROTA_RECV][m].memory + head;
    return MPI_SUCCESS;
}

static size_t following(const rota_exec *x, uint32_t m)
{
    const size_t *const cell =
        (const size_t *)(const void *)x->program.op[ROTA_RECV][m].memory;
    size_t bytes = 0;

    for (uint32_t i = 0; i < sized_of(x, ROTA_RECV, m)->cells; i++)
        bytes += rota_cell_bytes(cell[i]);
    return bytes;
}

/* Block b has arrived at its destination. If the receiver stated its size and
 * the two ends agree, unpack it. */
int rota_sized_arrive(rota_exec *x, rota_block b, size_t cell, char *data)
{
    const int src =
        rota_from(x->blocks.s, (int)rota_block_slot(x->blocks.s, b));

    if (cell & ROTA_LEFT_OUT) {
        rota_status_note(&x->status, ROTA_ABOVE_BOUND, src,
                         cell & ~ROTA_LEFT_OUT, 0);
        cell = 0;
    } else if (!x->counts_unknown && cell != x->blocks.bytes[b]) {
        rota_status_note(&x->status, ROTA_MISMATCH, src, cell,
                         x->blocks.bytes[b]);
        return MPI_SUCCESS;
    }
    if (!x->counts_unknown)
        return cell > 0 ? rota_block_unpack(&x->blocks, data, b) : MPI_SUCCESS;
    rota_collected_lies(x, b, cell, data);
    return MPI_SUCCESS;
}

static int unpack_one(rota_exec *x, rota_block b, size_t cell, char **from)
{
    char *const at = *from;

    *from += rota_cell_bytes(cell);
    if (rota_block_region(x->blocks.s, b) == ROTA_DST)
        return rota_sized_arrive(x, b, cell, at);
    x->blocks.bytes[b] = cell;
    x->blocks.place[b] = at;
    return MPI_SUCCESS;
}

/* Unpack the blocks that share a cell, total bytes together. If the receiver
 * expects another sum, it cannot tell where each block begins, and drops
 * them. */
static int unpack_landing(rota_exec *x, uint32_t m, size_t total, char *from)
{
    const rota_block *const item = items(x, ROTA_RECV, m);
    const uint32_t n = rota_msg_blocks(&x->blocks.s->msgs[ROTA_RECV].msg[m]);
    size_t expected = 0;

    for (uint32_t i = 0; i < n; i++)
        if (lands_as(x, ROTA_RECV, m, i))
            expected += x->blocks.bytes[lands_as(x, ROTA_RECV, m, i)];
    if (total != expected)
        rota_status_note(&x->status, ROTA_MISMATCH,
                         x->blocks.s->msgs[ROTA_RECV].msg[m].peer, total,
                         expected);
    for (uint32_t i = 0; i < n; i++) {
        const rota_block as = lands_as(x, ROTA_RECV, m, i);
        if (as && total == expected)
            ROTA_TRY(unpack_one(x, item[i], x->blocks.bytes[as], &from));
    }
    return MPI_SUCCESS;
}

/* Pass on what came from a rank of the node that shares no memory with this
 * one. */
static void pass_on(const rota_exec *x, uint32_t m)
{
    const char *const data = x->program.op[ROTA_RECV][m].memory;

    rota_parcels_forward(x, items(x, ROTA_RECV, m),
                         (const size_t *)(const void *)data,
                         rota_msg_blocks(&x->blocks.s->msgs[ROTA_RECV].msg[m]),
                         data + header(x, m));
}

static int finish(rota_exec *x, uint32_t m, rota_data *d)
{
    sized *const l = sized_of(x, ROTA_RECV, m);
    const rota_block *const item = items(x, ROTA_RECV, m);
    const uint32_t n = rota_msg_blocks(&x->blocks.s->msgs[ROTA_RECV].msg[m]);
    char *const data = x->program.op[ROTA_RECV][m].memory;
    const size_t *cell = (const size_t *)(const void *)data;

    (void)d;
    if (l->head > l->cells * sizeof(size_t))
        rota_carried_get(x, m, data + l->cells * sizeof(size_t));
    if (x->sizing->parcels && rota_block_is_shared(x->blocks.s, item[0])) {
        pass_on(x, m);
        return MPI_SUCCESS;
    }
    const size_t *const end = cell + l->cells;
    char *from = l->body ? l->body : data + header(x, m);

    l->body = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!lands_as(x, ROTA_RECV, m, i))
            ROTA_TRY(unpack_one(x, item[i], *cell++, &from));
    return cell < end ? unpack_landing(x, m, *cell, from) : MPI_SUCCESS;
}

const rota_payload rota_payload_sized = {.tells = true,
                                         .takes = takes,
                                         .bind = bind,
                                         .unbind = unbind,
                                         .room = room,
                                         .begin = begin,
                                         .put = put,
                                         .expect = expect,
                                         .take = rota_payload_take,
                                         .header = header,
                                         .following = following,
                                         .rest = rest,
                                         .finish = finish,
                                         .pack = pack,
                                         .told = told};
