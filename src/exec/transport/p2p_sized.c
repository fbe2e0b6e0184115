/* p2p_sized.c - see p2p_sized.h. */
#include "exec/transport/p2p_sized.h"
#include "exec/payload/sized.h"
#include "exec/transport/p2p_calls.h"

#include <stdlib.h>

/* What a receive waits for. */
enum { AWAIT_PROBE, AWAIT_HEAD, AWAIT_ROOM, AWAIT_DATA };

rota_p2p_sized *rota_p2p_sized_make(const rota_msgs *l, int P)
{
    rota_p2p_sized *t = calloc((size_t)l->n + 1, sizeof *t);
    uint32_t *const numbers = malloc(((size_t)P + l->n) * sizeof *numbers);

    if (!t || !numbers) {
        free(numbers);
        free(t);
        return NULL;
    }
    uint32_t *const before = numbers + P;
    rota_msgs_before(l->msg, l->n, P, numbers, before);
    for (uint32_t m = 0; m < l->n; m++) {
        t[m].head = t[m].data = MPI_REQUEST_NULL;
        t[m].message = MPI_MESSAGE_NULL;
        t[m].await = AWAIT_DATA;
        t[m].back = before[m] == ROTA_NO_MSG ? 0 : m - before[m];
    }
    free(numbers);
    return t;
}

/* A request is left over by a failed run. */
static void free_request(MPI_Request *request, rota_dir dir)
{
    if (*request == MPI_REQUEST_NULL)
        return;
    if (dir == ROTA_RECV)
        MPI_Cancel(request);
    MPI_Request_free(request);
}

void rota_p2p_sized_free(rota_p2p_sized *t, rota_dir dir, size_t n)
{
    for (size_t m = 0; t && m < n; m++) {
        free_request(&t[m].head, dir);
        free_request(&t[m].data, dir);
    }
    free(t);
}

static int post_bytes(const rota_exec *x, rota_p2p_sized *t, rota_dir dir,
                      uint32_t m, void *data, size_t bytes)
{
    const rota_mpi_buffer b = {data, bytes, MPI_BYTE};

    return rota_p2p_post(&b, dir, x->blocks.s->msgs[dir].msg[m].peer, x->tag,
                         x->comm, &t->data);
}

/* What goes before the data has its own tag. */
static int post_head(const rota_exec *x, rota_p2p_sized *t, rota_dir dir,
                     uint32_t m, void *head, size_t bytes)
{
    const rota_mpi_buffer b = {head, bytes, MPI_BYTE};

    return rota_p2p_post(&b, dir, x->blocks.s->msgs[dir].msg[m].peer,
                         x->tag + 1, x->comm, &t->head);
}

/* ---- sending ------------------------------------------------------------- */

static int post_two_phase(rota_exec *x, rota_p2p_sized *t, uint32_t m)
{
    const rota_op *const op = &x->program.op[ROTA_SEND][m];
    rota_data d = {0};

    ROTA_TRY(op->payload->begin(x, ROTA_SEND, m, &d));
    ROTA_TRY(post_head(x, t, ROTA_SEND, m, op->memory, d.head_bytes));
    return d.bytes == d.head_bytes
               ? MPI_SUCCESS
               : post_bytes(x, t, ROTA_SEND, m, d.body, d.bytes - d.head_bytes);
}

static int post_send(rota_exec *x, rota_p2p_sized *t, uint32_t m)
{
    size_t total;
    char *data;

    if (x->sizing->metadata == ROTA_META_TWO_PHASE)
        return post_two_phase(x, t, m);
    ROTA_TRY(x->program.op[ROTA_SEND][m].payload->pack(x, m, &data, &total));
    if (x->sizing->metadata == ROTA_META_COMBINED) {
        t->length = total;
        ROTA_TRY(post_head(x, t, ROTA_SEND, m, &t->length, sizeof t->length));
    }
    return post_bytes(x, t, ROTA_SEND, m, data, total);
}

static int test_request(MPI_Request *request, bool *done)
{
    int flag;

    ROTA_TRY(rota_polling_test(request, &flag, MPI_STATUS_IGNORE));
    *done = flag;
    return MPI_SUCCESS;
}

static int test_send(rota_p2p_sized *t, bool *done)
{
    bool gone;

    ROTA_TRY(test_request(&t->head, &gone));
    return gone ? test_request(&t->data, done) : MPI_SUCCESS;
}

/* ---- receiving ----------------------------------------------------------- */

/* Room for a message of these bytes, or for its header, in op->memory. */
static int expect(rota_exec *x, uint32_t m, size_t bytes, rota_coming how)
{
    rota_data d = {.bytes = bytes};

    return x->program.op[ROTA_RECV][m].payload->expect(x, m, &d, how);
}

static int post_recv(rota_exec *x, rota_p2p_sized *t, uint32_t m)
{
    const rota_op *const op = &x->program.op[ROTA_RECV][m];

    switch (x->sizing->metadata) {
    case ROTA_META_TWO_PHASE:
        t->await = AWAIT_HEAD;
        return post_head(x, t, ROTA_RECV, m, op->memory,
                         op->payload->header(x, m));
    case ROTA_META_COMBINED:
        t->await = AWAIT_HEAD;
        return post_head(x, t, ROTA_RECV, m, &t->length, sizeof t->length);
    default:
        if (x->max_block == SIZE_MAX) {
            t->await = AWAIT_PROBE;
            return MPI_SUCCESS;
        }
        t->await = AWAIT_DATA;
        return post_bytes(x, t, ROTA_RECV, m, op->memory, op->room);
    }
}

static int receive(rota_exec *x, rota_p2p_sized *t, uint32_t m)
{
    MPI_Count bytes;

    ROTA_TRY(rota_p2p_bytes(&t->status, &bytes));
    ROTA_TRY(expect(x, m, (size_t)bytes, ROTA_COMES_WHOLE));
    return rota_p2p_matched(x->program.op[ROTA_RECV][m].memory, (size_t)bytes,
                            &t->message, &t->data);
}

/* Without a bound, only a probe tells how long a message is. */
static int probe(rota_exec *x, rota_p2p_sized *t, uint32_t m)
{
    int flag = 1;

    if (t->message == MPI_MESSAGE_NULL)
        ROTA_TRY(rota_polling_improbe(x->blocks.s->msgs[ROTA_RECV].msg[m].peer,
                                      x->tag, x->comm, &flag, &t->message,
                                      &t->status));
    if (!flag)
        return MPI_SUCCESS;
    int err = receive(x, t, m);
    if (!rota_status_postpone(&x->status, &err))
        t->await = AWAIT_DATA;
    return err;
}

/* Make room for what follows the head, which tells its length. */
static int room_after_head(rota_exec *x, const rota_p2p_sized *t, uint32_t m,
                           char **to, size_t *following)
{
    const rota_op *const op = &x->program.op[ROTA_RECV][m];

    if (x->sizing->metadata == ROTA_META_COMBINED) {
        *following = t->length;
        ROTA_TRY(expect(x, m, t->length, ROTA_COMES_WHOLE));
        *to = op->memory;
        return MPI_SUCCESS;
    }
    *following = op->payload->following(x, m);
    const rota_data d = {.bytes = op->payload->header(x, m) + *following};
    return op->payload->rest(x, m, &d, to);
}

/* After the head has arrived: post the receive of what follows. */
static int after_head(rota_exec *x, rota_p2p_sized *t, uint32_t m)
{
    size_t following = 0;
    char *to;
    int err = room_after_head(x, t, m, &to, &following);

    if (rota_status_postpone(&x->status, &err) || err != MPI_SUCCESS)
        return err;
    t->await = AWAIT_DATA;
    return following == 0 ? MPI_SUCCESS
                          : post_bytes(x, t, ROTA_RECV, m, to, following);
}

/* MPI matches in order: the data of several messages from one rank are asked for in
 * the order of the messages, though a later one's length may be seen first. */
static bool is_turn(const rota_p2p_sized *t)
{
    return t->back == 0 || t[-(ptrdiff_t)t->back].await == AWAIT_DATA;
}

static int test_recv(rota_exec *x, rota_p2p_sized *t, uint32_t m, bool *done)
{
    bool here = false;

    if (!is_turn(t))
        return MPI_SUCCESS;
    if (t->await == AWAIT_PROBE)
        ROTA_TRY(probe(x, t, m));
    if (t->await == AWAIT_HEAD) {
        ROTA_TRY(test_request(&t->head, &here));
        t->await = here ? AWAIT_ROOM : AWAIT_HEAD;
    }
    if (t->await == AWAIT_ROOM)
        ROTA_TRY(after_head(x, t, m));
    if (t->await != AWAIT_DATA)
        return MPI_SUCCESS;
    ROTA_TRY(test_request(&t->data, done));
    rota_data d = {0};
    return *done ? x->program.op[ROTA_RECV][m].payload->finish(x, m, &d)
                 : MPI_SUCCESS;
}

int rota_p2p_sized_post(rota_exec *x, rota_p2p_sized *t, rota_dir dir,
                        uint32_t m)
{
    return dir == ROTA_SEND ? post_send(x, t, m) : post_recv(x, t, m);
}

int rota_p2p_sized_test(rota_exec *x, rota_p2p_sized *t, rota_dir dir,
                        uint32_t m, bool *done)
{
    return dir == ROTA_SEND ? test_send(t, done) : test_recv(x, t, m, done);
}
