/* p2p.c - see p2p.h. */
#include "exec/transport/p2p.h"
#include "exec/move/trace.h"
#include "exec/payload/varlen.h"
#include "exec/transport/p2p_calls.h"

#include <stdlib.h>
#include <string.h>

/* The arguments of MPI's calls for a message. */
static rota_p2p_buffer buffer_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];
    const rota_op *const w = &x->program.op[dir][m];
    const rota_block first = l->item[l->msg[m].first];
    const rota_type *const t = rota_block_type(&x->blocks, first);
    const size_t bytes = rota_message_bytes(&x->blocks, dir, m);

    if (w->gathered)
        return (rota_p2p_buffer){MPI_BOTTOM, 1, w->type};
    if (w->packed)
        return (rota_p2p_buffer){x->program.area + w->stage, bytes, MPI_BYTE};
    return (rota_p2p_buffer){rota_block_at(&x->blocks, first), bytes / t->size,
                             t->mpi};
}

/* ---- binding ------------------------------------------------------------- */

static int make_request(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];
    rota_op *const op = &x->program.op[dir][m];

    if (op->gathered)
        ROTA_TRY(rota_p2p_gather_type(&x->blocks, l->item + l->msg[m].first,
                                      rota_msg_blocks(&l->msg[m]), &op->type));
    const rota_p2p_buffer p = buffer_of(x, dir, m);
    ROTA_TRY(rota_p2p_init(&p, dir, l->msg[m].peer, x->tag, x->comm,
                           &x->program.request[dir][m]));
    op->persistent = true;
    return MPI_SUCCESS;
}

/* MPI carries every message; other transports come first (program.h). */
static bool carries(const rota_exec *x, rota_dir dir, uint32_t m)
{
    (void)x;
    (void)dir;
    (void)m;
    return true;
}

/* Make persistent requests. */
static int bind(rota_exec *x)
{
    for (int dir = 0; x->fixed && dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->blocks.s->msgs[dir].n; m++)
            if (x->program.op[dir][m].via == &rota_path_p2p)
                ROTA_TRY(make_request(x, (rota_dir)dir, m));
    return MPI_SUCCESS;
}

/* Does the message use memory that has moved? */
static bool is_moved(const rota_exec *x, rota_dir dir, uint32_t m,
                     const bool moved[])
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];

    if (x->program.op[dir][m].packed || !x->program.op[dir][m].persistent)
        return false;
    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        if (moved[rota_block_region(x->blocks.s, l->item[i])])
            return true;
    return false;
}

/* Bind message m again: its requests were bound to memory that has moved. */
static int bind_anew(rota_exec *x, rota_dir dir, uint32_t m)
{
    rota_op *const op = &x->program.op[dir][m];

    op->persistent = false;
    ROTA_TRY(MPI_Request_free(&x->program.request[dir][m]));
    if (!op->gathered)
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
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        for (uint32_t m = 0;
             x->program.request[dir] && m < x->blocks.s->msgs[dir].n; m++)
            free_request(x, (rota_dir)dir, &x->program.request[dir][m]);
        for (uint32_t m = 0; x->program.op[dir] && m < x->blocks.s->msgs[dir].n;
             m++)
            if (x->program.op[dir][m].persistent &&
                x->program.op[dir][m].gathered)
                MPI_Type_free(&x->program.op[dir][m].type);
    }
}

/* ---- messages ------------------------------------------------------------ */

/* A message without bytes is not posted. Its request stays null, which counts
 * as complete. */
static int post(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_op *const op = &x->program.op[dir][m];

    rota_trace_post(x->trace, dir, m);
    if (op->kind == ROTA_OP_VARLEN)
        return rota_varlen_post(x, dir, m);
    if (dir == ROTA_SEND && op->packed)
        ROTA_TRY(rota_message_pack(&x->blocks, m, x->program.area + op->stage));
    if (op->persistent)
        return MPI_Start(&x->program.request[dir][m]);
    const rota_p2p_buffer p = buffer_of(x, dir, m);
    if (p.count == 0)
        return MPI_SUCCESS;
    return rota_p2p_post(&p, dir, x->blocks.s->msgs[dir].msg[m].peer, x->tag,
                         x->comm, &x->program.request[dir][m]);
}

int rota_p2p_finish(rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_op *const op = &x->program.op[dir][m];

    if (x->trace)
        rota_trace_message(x->trace, dir, m);
    return dir == ROTA_RECV && op->packed
               ? rota_message_unpack(&x->blocks, m, x->program.area + op->stage)
               : MPI_SUCCESS;
}

static int test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    const rota_op *const op = &x->program.op[dir][m];
    int flag;

    if (op->kind == ROTA_OP_VARLEN) {
        ROTA_TRY(rota_varlen_test(x, dir, m, done));
        x->moved = x->moved || *done;
        if (*done && x->trace)
            rota_trace_message(x->trace, dir, m);
        return MPI_SUCCESS;
    }
    ROTA_TRY(MPI_Test(&x->program.request[dir][m], &flag, MPI_STATUS_IGNORE));
    *done = flag;
    x->moved = x->moved || flag;
    return flag ? rota_p2p_finish(x, dir, m) : MPI_SUCCESS;
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
    .carries = carries,
    .bind = bind,
    .resolve = resolve,
    .post = post,
    .test = test,
    .rebase = rebase,
    .release = release,
};
