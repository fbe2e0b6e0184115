/* varlen.c - see varlen.h. */
#include "exec/payload/varlen.h"
#include "exec/transport/p2p_calls.h"

#include "exec/move/blocks.h"
#include "exec/payload/parcels.h"
#include "exec/run/program.h"

#include <stdlib.h>

/* The state of a message. */
enum { AWAIT_PROBE, AWAIT_HEAD, AWAIT_ROOM, AWAIT_DATA };

struct rota_varlen {
    uint32_t cells;      /* number of cells in the header */
    char *data;          /* header and blocks */
    size_t room;         /* bytes of data */
    char *body;          /* where a receive's blocks are, if not in data */
    rota_area *area;     /* of parcels, in which data lies; or NULL */
    uint64_t length;     /* ROTA_META_COMBINED: length of the next message */
    MPI_Request head;    /* request of what goes before the data */
    MPI_Message message; /* found by a probe, waits for memory */
    MPI_Status status;   /* status of that message */
    int await;
};

/* Has message m a header? Messages that are not direct have one, and so have
 * direct ones if receivers do not know the counts. Both ends find the same. */
static bool needs_header(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->counts_unknown || !rota_msg_is_direct(x->blocks.s, dir, m);
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
    return x->landing[dir]
               ? x->landing[dir][x->blocks.s->msgs[dir].msg[m].first + i]
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

/* ---- memory -------------------------------------------------------------- */

static int make_room(struct rota_varlen *l, size_t bytes)
{
    return rota_grow(&l->data, &l->room, bytes, "a message of blocks");
}

/* A message of parcels is sent from its area, or received into it. */
static void use_area(rota_exec *x, rota_dir dir, uint32_t m)
{
    struct rota_varlen *const l = x->program.op[dir][m].varlen;

    l->area = rota_parcels_area(x, dir, m);
    l->data = rota_area_data(l->area);
    l->room = (size_t)l->area->room;
    l->cells = 0;
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

static int bind_message(rota_exec *x, const rota_phase *phase, rota_dir dir,
                        uint32_t m)
{
    struct rota_varlen *const l = calloc(1, sizeof *l);
    size_t room = sizeof(size_t);

    x->program.op[dir][m].varlen = l;
    if (!l)
        return rota_fail_mem("a message of blocks");
    l->head = MPI_REQUEST_NULL;
    l->message = MPI_MESSAGE_NULL;
    l->cells = n_cells(x, dir, m);
    if (rota_msg_is_parcels(x, dir, m)) {
        use_area(x, dir, m);
        return MPI_SUCCESS;
    }
    if (!phase->sparse && /* a sparse phase uses few of them */
        !rota_message_is_handed(x, dir, m))
        ROTA_TRY(first_room(x, rota_msg_blocks(&x->blocks.s->msgs[dir].msg[m]),
                            &room));
    return make_room(l, room);
}

static int bind_phase(rota_exec *x, const rota_phase *phase)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++)
            if (needs_header(x, (rota_dir)dir, m))
                ROTA_TRY(bind_message(x, phase, (rota_dir)dir, m));
    return MPI_SUCCESS;
}

static int make_arrivals(rota_exec *x)
{
    rota_arrivals *const a = x->arrivals = calloc(1, sizeof *a);

    if (!a)
        return rota_fail_mem("places of blocks");
    x->blocks.place = calloc(x->blocks.s->n_blocks, sizeof *x->blocks.place);
    a->begin = calloc((size_t)x->blocks.s->n_recv + 1, sizeof *a->begin);
    return x->blocks.place && a->begin ? MPI_SUCCESS
                                       : rota_fail_mem("places of blocks");
}

int rota_varlen_bind(rota_exec *x)
{
    ROTA_TRY(make_arrivals(x));
    for (uint32_t p = 0; p < x->blocks.s->n_phases; p++)
        ROTA_TRY(bind_phase(x, &x->blocks.s->phase[p]));
    return MPI_SUCCESS;
}

void rota_varlen_unbind(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; x->program.op[dir] && m < x->blocks.s->msgs[dir].n;
             m++) {
            struct rota_varlen *const l = x->program.op[dir][m].varlen;
            if (!l)
                continue;
            if (l->head != MPI_REQUEST_NULL) { /* left over by a failed run */
                if (dir == ROTA_RECV)
                    MPI_Cancel(&l->head);
                MPI_Request_free(&l->head);
            }
            if (!l->area)
                free(l->data);
            free(l);
        }
    if (x->arrivals) {
        free(x->arrivals->out);
        free(x->arrivals->begin);
    }
    free(x->blocks.place);
    x->blocks.place = NULL;
    free(x->arrivals);
    x->arrivals = NULL;
}

/* ---- sending ------------------------------------------------------------- */

static int post_bytes(const rota_exec *x, rota_dir dir, uint32_t m, void *data,
                      size_t bytes, MPI_Request *request)
{
    const rota_p2p_buffer p = {data, bytes, MPI_BYTE};

    return rota_p2p_post(&p, dir, x->blocks.s->msgs[dir].msg[m].peer, x->tag,
                         x->comm, request);
}

/* What goes before the data has its own tag. */
static int post_head(const rota_exec *x, rota_dir dir, uint32_t m, void *head,
                     size_t bytes)
{
    const rota_p2p_buffer p = {head, bytes, MPI_BYTE};

    return rota_p2p_post(&p, dir, x->blocks.s->msgs[dir].msg[m].peer,
                         x->tag + 1, x->comm,
                         &x->program.op[dir][m].varlen->head);
}

/* Bytes of the header and the blocks. */
static size_t total_bytes(const rota_exec *x, uint32_t m)
{
    return x->program.op[ROTA_SEND][m].varlen->cells * sizeof(size_t) +
           rota_message_bytes(&x->blocks, ROTA_SEND, m);
}

size_t rota_varlen_told(const rota_exec *x)
{
    size_t cells = 0;

    for (uint32_t m = 0; m < x->blocks.s->msgs[ROTA_SEND].n; m++)
        if (rota_msg_is_parcels(x, ROTA_SEND, m))
            cells += rota_msg_blocks(&x->blocks.s->msgs[ROTA_SEND].msg[m]);
        else if (x->program.op[ROTA_SEND][m].varlen &&
                 !rota_message_is_handed(x, ROTA_SEND, m))
            cells += x->program.op[ROTA_SEND][m].varlen->cells;
    return cells * sizeof(size_t);
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
           !(by_mpi && x->metadata != ROTA_META_TWO_PHASE);
}

int rota_varlen_reserve_one(rota_exec *x, uint32_t m)
{
    struct rota_varlen *const l = x->program.op[ROTA_SEND][m].varlen;

    return !l || l->area || rota_message_is_handed(x, ROTA_SEND, m) ||
                   may_go_as_it_is(x, m)
               ? MPI_SUCCESS
               : make_room(l, total_bytes(x, m));
}

/* A sparse phase does not send empty blocks. */
int rota_varlen_reserve(rota_exec *x, const rota_phase *phase)
{
    for (uint32_t m = phase->msg[ROTA_SEND]; m < phase[1].msg[ROTA_SEND]; m++)
        if (!phase->sparse || x->blocks.bytes[items(x, ROTA_SEND, m)[0]] > 0)
            ROTA_TRY(rota_varlen_reserve_one(x, m));
    return MPI_SUCCESS;
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

int rota_varlen_pack(rota_exec *x, uint32_t m, char **data, size_t *bytes)
{
    struct rota_varlen *const l = x->program.op[ROTA_SEND][m].varlen;
    const size_t total = l->area ? (size_t)l->area->used : total_bytes(x, m);

    *data = l->data;
    *bytes = total;
    if (l->area)
        return MPI_SUCCESS;
    ROTA_TRY(make_room(l, total));
    size_t *cell = (size_t *)(void *)l->data;
    char *to = l->data + l->cells * sizeof *cell;
    const size_t *const end = cell + l->cells;
    ROTA_TRY(pack_some(x, m, false, &cell, &to));
    if (cell < end)
        ROTA_TRY(pack_some(x, m, true, &cell, &to));
    *data = l->data;
    return MPI_SUCCESS;
}

static int receive(rota_exec *x, uint32_t m, MPI_Message *message,
                   const MPI_Status *status)
{
    struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;
    MPI_Count bytes;

    ROTA_TRY(MPI_Get_elements_x(status, MPI_BYTE, &bytes));
    ROTA_TRY(make_room(l, (size_t)bytes));
    return rota_p2p_matched(l->data, (size_t)bytes, message,
                            &x->program.request[ROTA_RECV][m]);
}

/* A single block of plain bytes is sent from where it lies; anything else is
 * packed. */
int rota_varlen_gather(rota_exec *x, uint32_t m, const char **head,
                       size_t *head_bytes, char **body, size_t *bytes)
{
    struct rota_varlen *const l = x->program.op[ROTA_SEND][m].varlen;
    const rota_block *const item = items(x, ROTA_SEND, m);

    *head_bytes = l->cells * sizeof(size_t);
    if (l->area || !goes_as_it_is(x, m)) {
        ROTA_TRY(rota_varlen_pack(x, m, body, bytes));
        *head = *body;
        *body += *head_bytes;
        return MPI_SUCCESS;
    }
    *(size_t *)(void *)l->data = x->blocks.bytes[item[0]];
    *head = l->data;
    *body = rota_block_at(&x->blocks, item[0]);
    *bytes = *head_bytes + rota_cell_bytes(x->blocks.bytes[item[0]]);
    return MPI_SUCCESS;
}

size_t rota_varlen_header(const rota_exec *x, uint32_t m)
{
    return x->program.op[ROTA_RECV][m].varlen->cells * sizeof(size_t);
}

int rota_varlen_room(rota_exec *x, uint32_t m, size_t bytes, char **data)
{
    struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;

    ROTA_TRY(make_room(l, bytes));
    *data = l->data;
    return MPI_SUCCESS;
}

/* Is receive block i there without a message? */
static bool is_here(const rota_exec *x, int i)
{
    const int from = rota_from(x->blocks.s, i);

    return from == x->blocks.s->me || from == ROTA_NOBODY;
}

/* Find the offset of receive block i in out, if the sizes of all blocks before
 * it are known. Offsets found are kept for later calls. */
static bool find_offset(const rota_exec *x, int i, size_t *at)
{
    rota_arrivals *const c = x->arrivals;

    for (; c->known < i; c->known++) {
        const rota_block b = rota_dst(x->blocks.s, c->known);
        if (!is_here(x, c->known) && !x->blocks.place[b])
            return false;
        c->begin[c->known + 1] = c->begin[c->known] + x->blocks.bytes[b];
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

/* Where block b will be collected, or NULL if it cannot be received there yet.
 * The buffer may grow only while it is empty. */
static char *find_place(rota_exec *x, rota_block b, size_t bytes)
{
    const int i = (int)rota_block_slot(x->blocks.s, b);
    rota_arrivals *const c = x->arrivals;
    size_t at;

    if (!c->early || !find_offset(x, i, &at))
        return NULL;
    if (!c->used && rota_grow(&c->out, &c->room, at + bytes + own_behind(x, i),
                              "what an exchange receives") != MPI_SUCCESS)
        rota_fail_clear(); /* the block will be collected later */
    if (at + bytes > c->room)
        return NULL;
    c->used = true;
    return c->out + at;
}

int rota_varlen_body(rota_exec *x, uint32_t m, size_t bytes, char **body)
{
    struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;
    const rota_block *const item = items(x, ROTA_RECV, m);
    const size_t head = rota_varlen_header(x, m);

    if (rota_msg_blocks(&x->blocks.s->msgs[ROTA_RECV].msg[m]) == 1 &&
        rota_block_region(x->blocks.s, item[0]) == ROTA_DST)
        l->body = find_place(x, item[0], bytes);
    if (!l->body)
        ROTA_TRY(make_room(l, head + bytes));
    *body = l->body ? l->body : l->data + head;
    return MPI_SUCCESS;
}

static int post_two_phase(rota_exec *x, uint32_t m)
{
    size_t head_bytes, total;
    const char *head;
    char *body;

    ROTA_TRY(rota_varlen_gather(x, m, &head, &head_bytes, &body, &total));
    ROTA_TRY(post_head(x, ROTA_SEND, m,
                       x->program.op[ROTA_SEND][m].varlen->data, head_bytes));
    return total == head_bytes
               ? MPI_SUCCESS
               : post_bytes(x, ROTA_SEND, m, body, total - head_bytes,
                            &x->program.request[ROTA_SEND][m]);
}

static int post_send(rota_exec *x, uint32_t m)
{
    struct rota_varlen *const l = x->program.op[ROTA_SEND][m].varlen;
    size_t total;
    char *data;

    if (x->metadata == ROTA_META_TWO_PHASE)
        return post_two_phase(x, m);
    ROTA_TRY(rota_varlen_pack(x, m, &data, &total));
    if (x->metadata == ROTA_META_COMBINED) {
        l->length = total;
        ROTA_TRY(post_head(x, ROTA_SEND, m, &l->length, sizeof l->length));
    }
    return post_bytes(x, ROTA_SEND, m, data, total,
                      &x->program.request[ROTA_SEND][m]);
}

static int test_send(rota_exec *x, uint32_t m, bool *done)
{
    int flag;

    ROTA_TRY(MPI_Test(&x->program.op[ROTA_SEND][m].varlen->head, &flag,
                      MPI_STATUS_IGNORE));
    if (!flag)
        return MPI_SUCCESS;
    ROTA_TRY(
        MPI_Test(&x->program.request[ROTA_SEND][m], &flag, MPI_STATUS_IGNORE));
    *done = flag;
    return MPI_SUCCESS;
}

/* ---- receiving ----------------------------------------------------------- */

static int post_recv(rota_exec *x, uint32_t m)
{
    struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;
    const size_t head = rota_varlen_header(x, m);

    switch (x->metadata) {
    case ROTA_META_TWO_PHASE:
        l->await = AWAIT_HEAD;
        return post_head(x, ROTA_RECV, m, l->data, head);
    case ROTA_META_COMBINED:
        l->await = AWAIT_HEAD;
        return post_head(x, ROTA_RECV, m, &l->length, sizeof l->length);
    default:
        if (x->max_block == SIZE_MAX) {
            l->await = AWAIT_PROBE;
            return MPI_SUCCESS;
        }
        l->await = AWAIT_DATA;
        return post_bytes(x, ROTA_RECV, m, l->data, l->room,
                          &x->program.request[ROTA_RECV][m]);
    }
}

/* Without a bound, only a probe tells how long a message is. */
static int probe(rota_exec *x, uint32_t m)
{
    struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;
    int flag = 1;

    if (l->message == MPI_MESSAGE_NULL)
        ROTA_TRY(MPI_Improbe(x->blocks.s->msgs[ROTA_RECV].msg[m].peer, x->tag,
                             x->comm, &flag, &l->message, &l->status));
    if (!flag)
        return MPI_SUCCESS;
    int err = receive(x, m, &l->message, &l->status);
    if (!rota_status_postpone(&x->status, &err))
        l->await = AWAIT_DATA;
    return err;
}

/* Make room for what follows the head, which tells its length. */
static int room_after_head(rota_exec *x, uint32_t m, char **to,
                           size_t *following)
{
    struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;

    *following = 0;
    if (x->metadata == ROTA_META_COMBINED)
        return rota_varlen_room(x, m, *following = l->length, to);
    for (uint32_t i = 0; i < l->cells; i++)
        *following +=
            rota_cell_bytes(((const size_t *)(const void *)l->data)[i]);
    return rota_varlen_body(x, m, *following, to);
}

/* After the head has arrived: post the receive of what follows. */
static int after_head(rota_exec *x, uint32_t m)
{
    struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;
    size_t following;
    char *to;
    int err = room_after_head(x, m, &to, &following);

    if (rota_status_postpone(&x->status, &err) || err != MPI_SUCCESS)
        return err;
    l->await = AWAIT_DATA;
    return following == 0 ? MPI_SUCCESS
                          : post_bytes(x, ROTA_RECV, m, to, following,
                                       &x->program.request[ROTA_RECV][m]);
}

/* Block b has arrived at its destination. If the receiver stated its size and
 * the two ends agree, unpack it. */
int rota_varlen_arrive(rota_exec *x, rota_block b, size_t cell, char *data)
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
    x->blocks.bytes[b] = cell;
    x->blocks.place[b] = data;
    return MPI_SUCCESS;
}

static int unpack_one(rota_exec *x, rota_block b, size_t cell, char **from)
{
    char *const at = *from;

    *from += rota_cell_bytes(cell);
    if (rota_block_region(x->blocks.s, b) == ROTA_DST)
        return rota_varlen_arrive(x, b, cell, at);
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
    const struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;

    rota_parcels_forward(x, items(x, ROTA_RECV, m),
                         (const size_t *)(const void *)l->data,
                         rota_msg_blocks(&x->blocks.s->msgs[ROTA_RECV].msg[m]),
                         l->data + rota_varlen_header(x, m));
}

int rota_varlen_unpack(rota_exec *x, uint32_t m)
{
    struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;
    const rota_block *const item = items(x, ROTA_RECV, m);
    const uint32_t n = rota_msg_blocks(&x->blocks.s->msgs[ROTA_RECV].msg[m]);
    const size_t *cell = (const size_t *)(const void *)l->data;

    if (l->area) {
        rota_parcels_open(x, m);
        return MPI_SUCCESS;
    }
    if (x->parcels && rota_block_is_shared(x->blocks.s, item[0])) {
        pass_on(x, m);
        return MPI_SUCCESS;
    }
    const size_t *const end = cell + l->cells;
    char *from = l->body ? l->body : l->data + rota_varlen_header(x, m);

    l->body = NULL;
    for (uint32_t i = 0; i < n; i++)
        if (!lands_as(x, ROTA_RECV, m, i))
            ROTA_TRY(unpack_one(x, item[i], *cell++, &from));
    return cell < end ? unpack_landing(x, m, *cell, from) : MPI_SUCCESS;
}

static int test_recv(rota_exec *x, uint32_t m, bool *done)
{
    struct rota_varlen *const l = x->program.op[ROTA_RECV][m].varlen;
    int flag = 0;

    if (l->await == AWAIT_PROBE)
        ROTA_TRY(probe(x, m));
    if (l->await == AWAIT_HEAD) {
        ROTA_TRY(MPI_Test(&l->head, &flag, MPI_STATUS_IGNORE));
        l->await = flag ? AWAIT_ROOM : AWAIT_HEAD;
    }
    if (l->await == AWAIT_ROOM)
        ROTA_TRY(after_head(x, m));
    if (l->await != AWAIT_DATA)
        return MPI_SUCCESS;
    ROTA_TRY(
        MPI_Test(&x->program.request[ROTA_RECV][m], &flag, MPI_STATUS_IGNORE));
    *done = flag;
    return flag ? rota_varlen_unpack(x, m) : MPI_SUCCESS;
}

int rota_varlen_post(rota_exec *x, rota_dir dir, uint32_t m)
{
    return dir == ROTA_SEND ? post_send(x, m) : post_recv(x, m);
}

int rota_varlen_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    return dir == ROTA_SEND ? test_send(x, m, done) : test_recv(x, m, done);
}
