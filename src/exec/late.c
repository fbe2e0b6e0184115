/* late.c - see late.h. */
#include "exec/late.h"

#include "exec/move.h"

#include <stdlib.h>

/* Where the message stands. */
enum { AWAIT_PROBE, AWAIT_HEAD, AWAIT_DATA };

struct rota_late {
    char *data;       /* header and blocks */
    size_t room;      /* bytes of data */
    char *body;       /* of a receive: blocks that are not in data, or NULL */
    uint64_t length;  /* ROTA_META_COMBINED: of the message that follows */
    MPI_Request head; /* of what goes before the data */
    int await;
};

/* Both ends agree on which messages have headers: those that are not direct,
 * and those that are if receivers do not know their counts. */
static bool needs_header(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->collect || !rota_msg_is_direct(x->s, dir, m);
}

static uint32_t n_items(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msg *const msg = &x->s->msgs[dir].msg[m];

    return msg[1].first - msg[0].first;
}

static const rota_block *items(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->s->msgs[dir].item + x->s->msgs[dir].msg[m].first;
}

/* ---- memory ---------------------------------------------------------------- */

static int make_room(struct rota_late *l, size_t bytes)
{
    return rota_grow(&l->data, &l->room, bytes, "a message of blocks");
}

/* The header's room and, where blocks are bounded, theirs. */
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
    struct rota_late *const l = calloc(1, sizeof *l);
    size_t room = sizeof(size_t);

    x->op[dir][m].late = l;
    if (!l)
        return rota_fail_mem("a message of blocks");
    l->head = MPI_REQUEST_NULL;
    if (!phase->sparse) /* there, few of them will ever be used */
        ROTA_TRY(first_room(x, n_items(x, dir, m), &room));
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

static int make_collected(rota_exec *x)
{
    x->collected = calloc(1, sizeof *x->collected);
    if (x->collected)
        x->collected->begin =
            calloc((size_t)x->s->P + 1, sizeof *x->collected->begin);
    return x->collected && x->collected->begin
               ? MPI_SUCCESS
               : rota_fail_mem("what an exchange receives");
}

int rota_late_bind(rota_exec *x)
{
    x->place = calloc(x->s->n_blocks, sizeof *x->place);
    if (!x->place)
        return rota_fail_mem("places of blocks");
    for (uint32_t p = 0; p < x->s->n_phases; p++)
        ROTA_TRY(bind_phase(x, &x->s->phase[p]));
    return x->collect ? make_collected(x) : MPI_SUCCESS;
}

void rota_late_unbind(rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; x->op[dir] && m < x->s->msgs[dir].n; m++) {
            struct rota_late *const l = x->op[dir][m].late;
            if (!l)
                continue;
            if (l->head != MPI_REQUEST_NULL) { /* a run that failed */
                if (dir == ROTA_RECV)
                    MPI_Cancel(&l->head);
                MPI_Request_free(&l->head);
            }
            free(l->data);
            free(l);
        }
    free(x->place);
    x->place = NULL;
    if (x->collected) {
        free(x->collected->out);
        free(x->collected->begin);
        free(x->collected);
    }
    x->collected = NULL;
}

/* ---- sending ---------------------------------------------------------------- */

static int post_bytes(const rota_exec *x, rota_dir dir, uint32_t m, void *data,
                      size_t bytes, MPI_Request *request)
{
    const rota_payload p = {data, bytes, MPI_BYTE};

    return rota_payload_post(&p, dir, x->s->msgs[dir].msg[m].peer, x->tag,
                             x->comm, request);
}

/* What goes before the data has a tag of its own. */
static int post_head(const rota_exec *x, rota_dir dir, uint32_t m, void *head,
                     size_t bytes)
{
    const rota_payload p = {head, bytes, MPI_BYTE};

    return rota_payload_post(&p, dir, x->s->msgs[dir].msg[m].peer, x->tag + 1,
                             x->comm, &x->op[dir][m].late->head);
}

int rota_late_pack(rota_exec *x, uint32_t m, char **data, size_t *bytes)
{
    struct rota_late *const l = x->op[ROTA_SEND][m].late;
    const rota_block *const item = items(x, ROTA_SEND, m);
    const uint32_t n = n_items(x, ROTA_SEND, m);
    size_t total = n * sizeof(size_t);

    for (uint32_t i = 0; i < n; i++)
        total += rota_late_bytes(x->bytes[item[i]]);
    ROTA_TRY(make_room(l, total));
    size_t *const cell = (size_t *)(void *)l->data;
    char *to = l->data + n * sizeof *cell;
    for (uint32_t i = 0; i < n; i++) {
        cell[i] = x->bytes[item[i]];
        if (rota_late_bytes(cell[i]) > 0)
            ROTA_TRY(rota_block_pack(x, item[i], to));
        to += rota_late_bytes(cell[i]);
    }
    *data = l->data;
    *bytes = total;
    return MPI_SUCCESS;
}

int rota_late_receive(rota_exec *x, uint32_t m, MPI_Message *message,
                      const MPI_Status *status)
{
    struct rota_late *const l = x->op[ROTA_RECV][m].late;
    MPI_Count bytes;

    ROTA_TRY(MPI_Get_elements_x(status, MPI_BYTE, &bytes));
    ROTA_TRY(make_room(l, (size_t)bytes));
    return rota_matched_post(l->data, (size_t)bytes, message,
                             &x->request[ROTA_RECV][m]);
}

/* A single block of plain bytes can be sent from where it lies. */
int rota_late_gather(rota_exec *x, uint32_t m, const char **head,
                     size_t *head_bytes, char **body, size_t *bytes)
{
    struct rota_late *const l = x->op[ROTA_SEND][m].late;
    const rota_block *const item = items(x, ROTA_SEND, m);
    const uint32_t n = n_items(x, ROTA_SEND, m);

    *head_bytes = n * sizeof(size_t);
    if (n > 1 || !rota_type_is_bytes(rota_block_type(x, item[0]))) {
        ROTA_TRY(rota_late_pack(x, m, body, bytes));
        *head = *body;
        *body += *head_bytes;
        return MPI_SUCCESS;
    }
    *(size_t *)(void *)l->data = x->bytes[item[0]];
    *head = l->data;
    *body = rota_block_at(x, item[0]);
    *bytes = *head_bytes + rota_late_bytes(x->bytes[item[0]]);
    return MPI_SUCCESS;
}

size_t rota_late_header(const rota_exec *x, uint32_t m)
{
    return n_items(x, ROTA_RECV, m) * sizeof(size_t);
}

int rota_late_room(rota_exec *x, uint32_t m, size_t bytes, char **data)
{
    struct rota_late *const l = x->op[ROTA_RECV][m].late;

    ROTA_TRY(make_room(l, bytes));
    *data = l->data;
    return MPI_SUCCESS;
}

/* Bytes of the blocks of ranks below src, if they are known by now. What is known
 * of one rank after the other is kept for the next question. */
static bool find_offset(const rota_exec *x, int src, size_t *at)
{
    struct rota_collected *const c = x->collected;

    for (; c->known < src; c->known++) {
        const bool own = c->known == x->s->me;
        const rota_block b =
            own ? rota_src(x->s, c->known) : rota_dst(x->s, c->known);
        if (!own && !x->place[b])
            return false;
        c->begin[c->known + 1] = c->begin[c->known] + x->bytes[b];
    }
    *at = c->begin[src];
    return true;
}

/* Where block b is collected, or NULL if it cannot come there yet. As long as
 * there is nothing in it the buffer may grow, for what is known to come. */
static int find_place(rota_exec *x, rota_block b, size_t bytes, char **place)
{
    const int src = (int)rota_block_slot(x->s, b), me = x->s->me;
    const size_t own = me > src ? x->bytes[rota_src(x->s, me)] : 0;
    struct rota_collected *const c = x->collected;
    size_t at;

    *place = NULL;
    if (!c || !c->early || !find_offset(x, src, &at))
        return MPI_SUCCESS;
    if (!c->used)
        ROTA_TRY(rota_grow(&c->out, &c->room, at + bytes + own,
                           "what an exchange receives"));
    if (at + bytes > c->room)
        return MPI_SUCCESS;
    c->used = true;
    *place = c->out + at;
    return MPI_SUCCESS;
}

int rota_late_body(rota_exec *x, uint32_t m, size_t bytes, char **body)
{
    struct rota_late *const l = x->op[ROTA_RECV][m].late;
    const rota_block *const item = items(x, ROTA_RECV, m);
    const size_t head = rota_late_header(x, m);

    if (n_items(x, ROTA_RECV, m) == 1 &&
        rota_block_region(x->s, item[0]) == ROTA_DST)
        ROTA_TRY(find_place(x, item[0], bytes, &l->body));
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

    ROTA_TRY(rota_late_gather(x, m, &head, &head_bytes, &body, &total));
    ROTA_TRY(
        post_head(x, ROTA_SEND, m, x->op[ROTA_SEND][m].late->data, head_bytes));
    return total == head_bytes
               ? MPI_SUCCESS
               : post_bytes(x, ROTA_SEND, m, body, total - head_bytes,
                            &x->request[ROTA_SEND][m]);
}

static int post_send(rota_exec *x, uint32_t m)
{
    struct rota_late *const l = x->op[ROTA_SEND][m].late;
    size_t total;
    char *data;

    if (x->metadata == ROTA_META_TWO_PHASE)
        return post_two_phase(x, m);
    ROTA_TRY(rota_late_pack(x, m, &data, &total));
    if (x->metadata == ROTA_META_COMBINED) {
        l->length = total;
        ROTA_TRY(post_head(x, ROTA_SEND, m, &l->length, sizeof l->length));
    }
    return post_bytes(x, ROTA_SEND, m, data, total, &x->request[ROTA_SEND][m]);
}

static int test_send(rota_exec *x, uint32_t m, bool *done)
{
    int flag;

    ROTA_TRY(
        MPI_Test(&x->op[ROTA_SEND][m].late->head, &flag, MPI_STATUS_IGNORE));
    if (!flag)
        return MPI_SUCCESS;
    ROTA_TRY(MPI_Test(&x->request[ROTA_SEND][m], &flag, MPI_STATUS_IGNORE));
    *done = flag;
    return MPI_SUCCESS;
}

/* ---- receiving --------------------------------------------------------------- */

static int post_recv(rota_exec *x, uint32_t m)
{
    struct rota_late *const l = x->op[ROTA_RECV][m].late;
    const size_t head = n_items(x, ROTA_RECV, m) * sizeof(size_t);

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
                          &x->request[ROTA_RECV][m]);
    }
}

/* Without a bound the message itself says how long it is. */
static int probe(rota_exec *x, uint32_t m)
{
    MPI_Message message;
    MPI_Status status;
    int flag;

    ROTA_TRY(MPI_Improbe(x->s->msgs[ROTA_RECV].msg[m].peer, x->tag, x->comm,
                         &flag, &message, &status));
    if (!flag)
        return MPI_SUCCESS;
    x->op[ROTA_RECV][m].late->await = AWAIT_DATA;
    return rota_late_receive(x, m, &message, &status);
}

/* The head has come: post what follows, of which it tells the length. */
static int after_head(rota_exec *x, uint32_t m)
{
    struct rota_late *const l = x->op[ROTA_RECV][m].late;
    const uint32_t n = n_items(x, ROTA_RECV, m);
    size_t following = 0;
    char *to;

    l->await = AWAIT_DATA;
    if (x->metadata == ROTA_META_COMBINED) {
        following = l->length;
        ROTA_TRY(make_room(l, following));
        to = l->data;
    } else {
        for (uint32_t i = 0; i < n; i++)
            following +=
                rota_late_bytes(((const size_t *)(const void *)l->data)[i]);
        ROTA_TRY(rota_late_body(x, m, following, &to));
    }
    return following == 0 ? MPI_SUCCESS
                          : post_bytes(x, ROTA_RECV, m, to, following,
                                       &x->request[ROTA_RECV][m]);
}

/* A block that has come to its destination. If the receiver stated its size,
 * it is put in place, provided that the two ends agree. */
static int arrive(rota_exec *x, rota_block b, size_t cell, char *data)
{
    const int src = (int)rota_block_slot(x->s, b);

    if (cell & ROTA_LEFT_OUT) {
        rota_exec_note(x, ROTA_ABOVE_BOUND, src, cell & ~ROTA_LEFT_OUT, 0);
        cell = 0;
    } else if (!x->collect && cell != x->bytes[b]) {
        rota_exec_note(x, ROTA_MISMATCH, src, cell, x->bytes[b]);
        return MPI_SUCCESS;
    }
    if (!x->collect)
        return cell > 0 ? rota_block_unpack(x, data, b) : MPI_SUCCESS;
    x->bytes[b] = cell;
    x->place[b] = data;
    return MPI_SUCCESS;
}

int rota_late_unpack(rota_exec *x, uint32_t m)
{
    struct rota_late *const l = x->op[ROTA_RECV][m].late;
    const rota_block *const item = items(x, ROTA_RECV, m);
    const uint32_t n = n_items(x, ROTA_RECV, m);
    const size_t *const cell = (const size_t *)(const void *)l->data;
    char *from = l->body ? l->body : l->data + n * sizeof *cell;

    l->body = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const rota_block b = item[i];
        if (rota_block_region(x->s, b) == ROTA_DST) {
            ROTA_TRY(arrive(x, b, cell[i], from));
        } else {
            x->bytes[b] = cell[i];
            x->place[b] = from;
        }
        from += rota_late_bytes(cell[i]);
    }
    return MPI_SUCCESS;
}

static int test_recv(rota_exec *x, uint32_t m, bool *done)
{
    struct rota_late *const l = x->op[ROTA_RECV][m].late;
    int flag = 0;

    if (l->await == AWAIT_PROBE)
        ROTA_TRY(probe(x, m));
    if (l->await == AWAIT_HEAD) {
        ROTA_TRY(MPI_Test(&l->head, &flag, MPI_STATUS_IGNORE));
        if (flag)
            ROTA_TRY(after_head(x, m));
    }
    if (l->await != AWAIT_DATA)
        return MPI_SUCCESS;
    ROTA_TRY(MPI_Test(&x->request[ROTA_RECV][m], &flag, MPI_STATUS_IGNORE));
    *done = flag;
    return flag ? rota_late_unpack(x, m) : MPI_SUCCESS;
}

int rota_late_post(rota_exec *x, rota_dir dir, uint32_t m)
{
    return dir == ROTA_SEND ? post_send(x, m) : post_recv(x, m);
}

int rota_late_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    return dir == ROTA_SEND ? test_send(x, m, done) : test_recv(x, m, done);
}
