/* p2p.c - messages by MPI's point-to-point calls: persistent ones in plans whose
 * data stay where they are, else ordinary ones.
 */
#include "exec/exec.h"
#include "exec/move/polling.h"
#include "exec/move/trace.h"
#include "exec/payload/carried.h"
#include "exec/payload/sized.h"
#include "exec/transport/p2p_calls.h"
#include "exec/transport/p2p_sized.h"

#include <stdlib.h>

const rota_path rota_path_p2p;

/* What is kept of a message. */
typedef struct p2p_op {
    MPI_Request request;
    bool persistent; /* the request is */
    MPI_Datatype
        type; /* if its payload has no as_mpi: relative to MPI_BOTTOM */
} p2p_op;

typedef struct p2p {
    p2p_op *op[ROTA_N_DIRS]; /* [n messages] */
    rota_p2p_sized
        *sized[ROTA_N_DIRS]; /* [n messages]; NULL: none tells its length */
} p2p;

static p2p *p2p_of(const rota_exec *x)
{
    return x->path[ROTA_BY_p2p];
}

/* ---- binding ------------------------------------------------------------- */

static rota_mpi_buffer buffer_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_payload *const payload = x->program.op[dir][m].payload;

    return payload->as_mpi
               ? payload->as_mpi(x, dir, m)
               : (rota_mpi_buffer){MPI_BOTTOM, 1, p2p_of(x)->op[dir][m].type};
}

static int make_request(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];
    p2p_op *const op = &p2p_of(x)->op[dir][m];

    if (!x->program.op[dir][m].payload->as_mpi)
        ROTA_TRY(rota_p2p_gather_type(&x->blocks, l->item + l->msg[m].first,
                                      rota_msg_blocks(&l->msg[m]), &op->type));
    const rota_mpi_buffer b = buffer_of(x, dir, m);
    ROTA_TRY(
        rota_p2p_init(&b, dir, l->msg[m].peer, x->tag, x->comm, &op->request));
    op->persistent = true;
    return MPI_SUCCESS;
}

/* MPI carries every message; later paths in paths.h are asked first. */
static bool carries(const rota_exec *x, rota_dir dir, uint32_t m)
{
    (void)x;
    (void)dir;
    (void)m;
    return true;
}

static bool is_mine(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->program.op[dir][m].via == &rota_path_p2p;
}

/* Make what is kept of messages, and persistent requests. */
static int bind(rota_exec *x)
{
    if (!x->program.by_mpi)
        return MPI_SUCCESS;
    p2p *const p = x->path[ROTA_BY_p2p] = calloc(1, sizeof *p);
    if (!p)
        return rota_fail_mem("messages by MPI");
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const uint32_t n = x->blocks.s->msgs[dir].n;
        p->op[dir] = calloc((size_t)n + 1, sizeof *p->op[dir]);
        if (x->sizing)
            p->sized[dir] =
                rota_p2p_sized_make(&x->blocks.s->msgs[dir], x->blocks.s->P);
        if (!p->op[dir] || (x->sizing && !p->sized[dir]))
            return rota_fail_mem("messages by MPI");
        for (uint32_t m = 0; m < n; m++)
            p->op[dir][m].request = MPI_REQUEST_NULL;
        for (uint32_t m = 0; x->fixed && m < n; m++)
            if (is_mine(x, (rota_dir)dir, m))
                ROTA_TRY(make_request(x, (rota_dir)dir, m));
    }
    return MPI_SUCCESS;
}

/* Does the message use memory that has moved? */
static bool is_moved(const rota_exec *x, rota_dir dir, uint32_t m,
                     const bool moved[])
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];

    if (x->program.op[dir][m].stage != ROTA_NO_STAGE ||
        !p2p_of(x)->op[dir][m].persistent)
        return false;
    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        if (moved[rota_block_region(x->blocks.s, l->item[i])])
            return true;
    return false;
}

/* Bind message m again: its requests were bound to memory that has moved. */
static int bind_anew(rota_exec *x, rota_dir dir, uint32_t m)
{
    p2p_op *const op = &p2p_of(x)->op[dir][m];

    op->persistent = false;
    ROTA_TRY(MPI_Request_free(&op->request));
    if (x->program.op[dir][m].payload->as_mpi)
        return MPI_SUCCESS;
    ROTA_TRY(MPI_Type_free(&op->type));
    return make_request(x, dir, m);
}

static int rebase(rota_exec *x, const bool moved[])
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->blocks.s->msgs[dir].n; m++)
            if (is_moved(x, (rota_dir)dir, m, moved))
                ROTA_TRY(bind_anew(x, (rota_dir)dir, m));
    return MPI_SUCCESS;
}

/* Free a request. After a failed run it may be active; then a receive is
 * cancelled, so that nothing writes to memory that is freed. An inactive one
 * must not be cancelled: that error belongs to no communicator, and would end
 * the program. */
static void free_request(const rota_exec *x, rota_dir dir, MPI_Request *request)
{
    int idle = true;

    if (*request == MPI_REQUEST_NULL)
        return;
    if (x->status.broken && dir == ROTA_RECV)
        MPI_Request_get_status(*request, &idle, MPI_STATUS_IGNORE);
    if (!idle)
        MPI_Cancel(request);
    MPI_Request_free(request);
}

static void release(rota_exec *x)
{
    p2p *const p = p2p_of(x);

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const uint32_t n = x->blocks.s->msgs[dir].n;
        for (uint32_t m = 0; p->op[dir] && m < n; m++) {
            free_request(x, (rota_dir)dir, &p->op[dir][m].request);
            if (p->op[dir][m].persistent &&
                !x->program.op[dir][m].payload->as_mpi)
                MPI_Type_free(&p->op[dir][m].type);
        }
        rota_p2p_sized_free(p->sized[dir], (rota_dir)dir, n);
        free(p->op[dir]);
    }
    free(p);
    x->path[ROTA_BY_p2p] = NULL;
}

/* ---- messages ------------------------------------------------------------ */

static MPI_Request *request(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return &p2p_of(x)->op[dir][m].request;
}

/* A message without bytes is not posted. Its request stays null, which counts
 * as complete. */
static int post(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_payload *const payload = x->program.op[dir][m].payload;

    rota_trace_post(x->trace, dir, m);
    if (payload->tells)
        return rota_p2p_sized_post(x, &p2p_of(x)->sized[dir][m], dir, m);
    if (dir == ROTA_SEND && payload->hold) {
        rota_data d = {0};
        ROTA_TRY(payload->begin(x, dir, m, &d));
        ROTA_TRY(payload->hold(x, m, &d));
    }
    if (dir == ROTA_RECV && payload->expect &&
        x->program.op[dir][m].stage == ROTA_NO_STAGE) {
        rota_data d = {0};
        ROTA_TRY(payload->begin(x, dir, m, &d));
        ROTA_TRY(payload->expect(x, m, &d, ROTA_COMES_IN_PARTS));
    }
    if (p2p_of(x)->op[dir][m].persistent)
        return MPI_Start(request(x, dir, m));
    const rota_mpi_buffer b = buffer_of(x, dir, m);
    if (b.count == 0)
        return MPI_SUCCESS;
    return rota_p2p_post(&b, dir, x->blocks.s->msgs[dir].msg[m].peer, x->tag,
                         x->comm, request(x, dir, m));
}

static int complete(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_payload *const payload = x->program.op[dir][m].payload;

    if (x->trace)
        rota_trace_message(x->trace, dir, m);
    if (dir == ROTA_SEND || !payload->finish)
        return MPI_SUCCESS;
    rota_data d = {.body = payload->as_mpi(x, dir, m).data};
    return payload->finish(x, m, &d);
}

/* Both ends know how long a message is, but perhaps not the same: MPI reports one
 * that is too long. */
static void check_length(rota_exec *x, uint32_t m, const MPI_Status *status)
{
    const size_t expected = rota_message_bytes(&x->blocks, ROTA_RECV, m);
    MPI_Count bytes = 0;

    rota_p2p_bytes(status, &bytes);
    bytes -= (MPI_Count)rota_carried_bytes(x, ROTA_RECV, m);
    if ((size_t)bytes != expected)
        rota_status_note(&x->status, ROTA_MISMATCH, status->MPI_SOURCE,
                         (size_t)bytes, expected);
}

static int test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    MPI_Request *const r = request(x, dir, m);
    const bool checks = dir == ROTA_RECV && !x->fixed && *r != MPI_REQUEST_NULL;
    MPI_Status status;
    int flag;

    if (x->program.op[dir][m].payload->tells) {
        ROTA_TRY(
            rota_p2p_sized_test(x, &p2p_of(x)->sized[dir][m], dir, m, done));
        x->moved = x->moved || *done;
        if (*done && x->trace)
            rota_trace_message(x->trace, dir, m);
        return MPI_SUCCESS;
    }
    ROTA_TRY(rota_polling_test(r, &flag, checks ? &status : MPI_STATUS_IGNORE));
    *done = flag;
    x->moved = x->moved || flag;
    if (flag && checks)
        check_length(x, m, &status);
    return flag ? complete(x, dir, m) : MPI_SUCCESS;
}

static int begin(rota_exec *x, rota_batch *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        ROTA_TRY(post(x, b->dir, b->message[i]));
    return MPI_SUCCESS;
}

/* Test messages in list order, each until it is complete. That costs one call a
 * poll, however many messages there are, because a call progresses all of
 * them. */
static int advance(rota_exec *x, rota_batch *b)
{
    for (; b->n_open > 0; b->n_open--) {
        bool complete = false;
        ROTA_TRY(test(x, b->dir, b->message[b->n - b->n_open], &complete));
        if (!complete)
            return MPI_SUCCESS;
    }
    return MPI_SUCCESS;
}

static bool resolve(const rota_exec *x, rota_batch *b)
{
    (void)x;
    b->begin = begin;
    b->advance = advance;
    return false;
}

const rota_path rota_path_p2p = {
    .needs_mpi = true,
    .first = ROTA_RECV, /* so that few messages arrive unexpected */
    .release = release,
    .carries = carries,
    .bind = bind,
    .resolve = resolve,
    .post = post,
    .test = test,
    .request = request,
    .complete = complete,
    .rebase = rebase,
};
