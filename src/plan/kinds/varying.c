/* varying.c - starts with counts and buffers of their own. */
#include "plan/kinds/varying.h"
#include "device/staging.h"
#include "exec/move/blocks.h"
#include "exec/payload/sized.h"
#include "plan/args/overlap.h"
#include "plan/kinds/device.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

/* Leave out blocks above the bound. If both ends know the counts, both take
 * such a block for empty; otherwise its size, marked, is sent in its place. */
static void leave_out(rota_plan *p)
{
    const rota_sched *const s = &p->sched;
    const bool told = p->choice.metadata != ROTA_META_ONCE;

    p->exec.status.note = ROTA_NOTHING;
    for (rota_block b = 0; b < rota_first_tmp(s); b++) {
        const bool sent = b < (rota_block)s->n_send;
        const int i = (int)rota_block_slot(s, b);
        const int peer = sent ? rota_to(s, i) : rota_from(s, i);
        if (p->bytes[b] <= p->max_block)
            continue;
        rota_status_note(&p->exec.status, ROTA_ABOVE_BOUND, peer, p->bytes[b],
                         0);
        p->bytes[b] =
            told && sent && peer != s->me ? p->bytes[b] | ROTA_LEFT_OUT : 0;
    }
}

/* In place: the send blocks are those of the receive buffer, to be staged end
 * to end. Returns the room that takes. */
static size_t lay_out_stage(rota_plan *p)
{
    const int P = p->comm->P, me = p->comm->me;
    size_t at = 0;

    for (int d = 0; d < P; d++) {
        const bool stays = d == me && !p->choice.algo->native;
        p->bytes[d] = stays ? 0 : p->bytes[P + d];
        p->offset[d] = (ptrdiff_t)at;
        at += p->bytes[d];
    }
    return at;
}

/* Only for data that are not staged from a device. */
static int grow_stage(rota_plan *p, size_t room)
{
    ROTA_TRY(rota_grow(&p->stage, &p->stage_bytes, room,
                       "staging what is sent in place"));
    p->exec.blocks.base[ROTA_SRC] = p->stage;
    return MPI_SUCCESS;
}

/* In one buffer, blocks must not overlap; two buffers are trusted. */
static int check_one_buffer(const rota_plan *p, char *send, char *recv)
{
    const rota_sched *const s = &p->sched;
    const rota_problem problem = {
        .neighbors = p->problem.neighbors,
        .send = {.base = send,
                 .n = s->n_send,
                 .types = p->problem.recv.types,
                 .bytes = p->bytes,
                 .offset = p->offset},
        .recv = {.base = recv,
                 .n = s->n_recv,
                 .types = p->problem.recv.types,
                 .bytes = p->bytes + s->n_send,
                 .offset = p->offset + s->n_send},
    };

    if (send != recv || !p->checked)
        return MPI_SUCCESS;
    return rota_check_overlap(&problem, false);
}

static int fill_recv(rota_plan *p, const rota_args *args)
{
    const rota_sched *const s = &p->sched;
    const rota_side_args a = {.name = "recv",
                              .base = args->recvbuf,
                              .n = s->n_recv,
                              .counts = args->recvcounts,
                              .displs = args->rdispls,
                              .unit = &p->unit};

    ROTA_TRY(rota_side_fill(&a, p->bytes + s->n_send, p->offset + s->n_send));
    if (s->neighbors)
        rota_neighbors_drop(s->n_recv, s->neighbors->from,
                            p->bytes + s->n_send);
    return MPI_SUCCESS;
}

static int fill_send(rota_plan *p, const rota_args *args)
{
    const rota_sched *const s = &p->sched;
    const rota_side_args a = {.name = "send",
                              .base = args->sendbuf,
                              .n = s->n_send,
                              .counts = args->sendcounts,
                              .displs = args->sdispls,
                              .unit = &p->unit};

    ROTA_TRY(rota_side_fill(&a, p->bytes, p->offset));
    if (s->neighbors)
        rota_neighbors_drop(s->n_send, s->neighbors->to, p->bytes);
    return MPI_SUCCESS;
}

int rota_varying_start(rota_plan *p, const rota_args *args)
{
    const bool in_place = args->sendbuf == MPI_IN_PLACE;
    /* MPI's const: it is not written. */
    char *const send = (char *)args->sendbuf, *const recv = args->recvbuf;
    size_t room = 0;

    if (args->recvbuf == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE");
    if (in_place && p->sched.neighbors)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE, which is "
                                         "not for neighbours");
    ROTA_TRY(fill_recv(p, args));
    if (in_place)
        room = lay_out_stage(p);
    else
        ROTA_TRY(fill_send(p, args));
    if (!in_place) {
        ROTA_TRY(rota_check_own(p));
        ROTA_TRY(check_one_buffer(p, send, recv));
    }
    leave_out(p);
    p->exec.stage_in = in_place;
    p->exec.blocks.types[ROTA_SRC] =
        in_place ? rota_types_bytes : p->problem.recv.types;
    p->exec.blocks.base[ROTA_SRC] = send;
    p->exec.blocks.base[ROTA_DST] = recv;
    p->exec.blocks.types[ROTA_DST] = p->problem.recv.types;
    ROTA_TRY(rota_plan_stage(p, send, recv, in_place));
    if (p->exec.stage_in)
        ROTA_TRY(grow_stage(p, room));
    return rota_exec_start(&p->exec);
}

/* Blocks may be received right into the plan's own buffer, unless the caller
 * has given one, which it may still change. */
static void expect_nothing(rota_plan *p)
{
    for (int i = 0; i < p->sched.n_recv; i++)
        p->exec.blocks.place[rota_dst(&p->sched, i)] = NULL;
    p->exec.arrivals->used = false;
    p->exec.arrivals->known = 0;
    p->exec.arrivals->early =
        !p->user_out && rota_types_are_bytes(&p->problem.recv.types);
}

int rota_exchange_begin(rota_plan *p, const rota_args *args)
{
    const rota_sched *const s = &p->sched;

    if (args->sendbuf == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE");
    ROTA_TRY(fill_send(p, args));
    for (int i = 0; i < s->n_recv; i++)
        p->bytes[rota_dst(s, i)] = 0;
    leave_out(p);
    for (int k = 0; k < rota_n_own(s); k++) {
        const rota_own own = rota_own_block(s, k);
        p->bytes[rota_dst(s, own.recv)] = p->bytes[rota_src(s, own.send)];
    }
    expect_nothing(p);
    /* MPI's const: it is not written. */
    p->exec.blocks.base[ROTA_SRC] = (char *)args->sendbuf;
    p->exec.blocks.types[ROTA_SRC] = p->problem.recv.types;
    ROTA_TRY(rota_plan_stage(p, (char *)args->sendbuf, NULL, false));
    return rota_exec_start(&p->exec);
}

/* ---- collecting ---------------------------------------------------------- */

static size_t elements(const rota_plan *p, rota_block b)
{
    return p->unit.element ? rota_cell_bytes(p->bytes[b]) / p->unit.element : 0;
}

/* Fill in counts and displacements, in elements; *total: their sum. */
static int tell_counts(const rota_plan *p, const rota_found *found,
                       size_t *total)
{
    size_t at = 0;
    bool fit = true;

    for (int q = 0; q < p->sched.n_recv; q++) {
        const size_t n = elements(p, rota_dst(&p->sched, q));
        if (found->counts)
            found->counts[q] = (int)n;
        if (found->displs)
            found->displs[q] = (int)at;
        if (found->counts_c)
            found->counts_c[q] = (MPI_Count)n;
        if (found->displs_c)
            found->displs_c[q] = (MPI_Aint)at;
        fit = fit && (!found->counts || n <= INT_MAX) &&
              (!found->displs || at <= INT_MAX);
        at += n;
    }
    *total = at;
    return fit ? MPI_SUCCESS
               : rota_fail(MPI_ERR_COUNT,
                           "counts or displacements do not fit an int; call "
                           "rota_exchange_wait_c");
}

static void find_offsets(rota_plan *p)
{
    size_t at = 0;

    for (int q = 0; q < p->sched.n_recv; q++) {
        const rota_block b = rota_dst(&p->sched, q);
        p->offset[b] = (ptrdiff_t)at * p->unit.spacing + p->unit.true_lb;
        at += elements(p, b);
    }
}

/* Grow the buffer. Blocks that are in it move along; others lie elsewhere. */
static int grow_out(rota_plan *p, size_t bytes)
{
    rota_exec *const x = &p->exec;
    rota_arrivals *const c = x->arrivals;
    const uintptr_t was = (uintptr_t)c->out;
    const size_t had = c->room;

    ROTA_TRY(rota_grow(&c->out, &c->room, bytes, "what an exchange receives"));
    for (int q = 0; q < p->sched.n_recv; q++) {
        const rota_block b = rota_dst(&p->sched, q);
        const uintptr_t at = (uintptr_t)x->blocks.place[b] - was;
        if (at < had)
            x->blocks.place[b] = c->out + at;
    }
    return MPI_SUCCESS;
}

static int choose_buffer(rota_plan *p, size_t bytes, char **buffer)
{
    *buffer = p->user_out;
    if (p->user_out && bytes > p->user_room)
        return rota_fail(MPI_ERR_BUFFER,
                         "blocks of %zu bytes in all do not fit the buffer of "
                         "%zu",
                         bytes, p->user_room);
    if (p->user_out)
        return MPI_SUCCESS;
    ROTA_TRY(grow_out(p, bytes));
    *buffer = p->exec.arrivals->out;
    return MPI_SUCCESS;
}

static int put_in_place(rota_plan *p, rota_block b)
{
    rota_exec *const x = &p->exec;
    char *const to = x->blocks.base[ROTA_DST] + p->offset[b];

    if (elements(p, b) == 0 || !x->blocks.place[b] || x->blocks.place[b] == to)
        return MPI_SUCCESS;
    return rota_type_unpack(x->blocks.types[ROTA_DST].type, x->blocks.place[b],
                            p->bytes[b], to, x->comm);
}

static int copy_own(rota_plan *p, rota_block from, rota_block to)
{
    return elements(p, to) == 0
               ? MPI_SUCCESS
               : rota_block_copy(&p->exec.blocks,
                                 &(rota_copy){.from = from, .to = to});
}

int rota_exchange_collect(rota_plan *p, rota_found *found)
{
    const rota_sched *const s = &p->sched;
    size_t total;
    char *buffer;

    ROTA_TRY(tell_counts(p, found, &total));
    find_offsets(p);
    ROTA_TRY(choose_buffer(p, total * (size_t)p->unit.spacing, &buffer));
    ROTA_TRY(rota_plan_stage_found(p, buffer));
    for (int i = 0; i < s->n_recv; i++)
        ROTA_TRY(put_in_place(p, rota_dst(s, i)));
    for (int k = 0; k < rota_n_own(s); k++) {
        const rota_own own = rota_own_block(s, k);
        ROTA_TRY(copy_own(p, rota_src(s, own.send), rota_dst(s, own.recv)));
    }
    if (rota_staging_bounces(&p->exec, ROTA_DST))
        ROTA_TRY(rota_staging_deliver(&p->exec));
    found->buffer = buffer;
    return MPI_SUCCESS;
}
