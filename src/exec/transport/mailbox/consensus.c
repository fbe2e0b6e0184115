/* consensus.c - the sparse phase of a schedule: the ranks find out together who
 * sends to whom (sparse.h). Each block travels with its size in front.
 */
#include "exec/step/steps.h"
#include "exec/transport/mailbox/mailbox.h"

#include <string.h>

/* Make room for as many blocks as there may be. */
static int bind(rota_exec *x, rota_step *step)
{
    rota_sparse_block *block;

    (void)step;
    return rota_sparse_blocks(x, (size_t)x->blocks.s->P, &block);
}

static int enter(rota_exec *x, rota_step *step)
{
    const rota_phase *const phase = step->phase;
    const rota_msgs *const l = &x->blocks.s->msgs[ROTA_SEND];
    rota_sparse_block *block;
    size_t n = 0;

    ROTA_TRY(rota_sparse_blocks(x, (size_t)x->blocks.s->P, &block));
    for (uint32_t m = phase->msg[ROTA_SEND]; m < phase[1].msg[ROTA_SEND]; m++) {
        if (x->blocks.bytes[l->item[l->msg[m].first]] == 0)
            continue;
        block[n].rank = l->msg[m].peer;
        ROTA_TRY(x->program.op[ROTA_SEND][m].payload->pack(x, m, &block[n].data,
                                                           &block[n].bytes));
        n++;
    }
    ROTA_TRY(rota_sparse_blocks(x, n, &block)); /* their final number */
    return rota_step_sparse.enter(x, step);
}

/* The message from a rank: step i of the schedule receives from me - i. */
static uint32_t message_from(const rota_exec *x, const rota_phase *phase,
                             int rank)
{
    const int P = x->blocks.s->P;
    const uint32_t m = phase->msg[ROTA_RECV] +
                       (uint32_t)((x->blocks.s->me + P - rank) % P) - 1;

    ROTA_ASSERT(x->blocks.s->msgs[ROTA_RECV].msg[m].peer == rank);
    return m;
}

static int take_blocks(rota_exec *x, const rota_phase *phase)
{
    const rota_sparse_block *found;
    size_t n;

    ROTA_TRY(rota_sparse_found(x, &found, &n));
    for (size_t i = 0; i < n; i++) {
        const uint32_t m = message_from(x, phase, found[i].rank);
        const rota_payload *const has = x->program.op[ROTA_RECV][m].payload;
        rota_data d = {.bytes = found[i].bytes};
        ROTA_TRY(has->expect(x, m, &d, ROTA_COMES_WHOLE));
        ROTA_TRY(has->take(x, m, &d, 0, d.bytes, found[i].data));
        ROTA_TRY(has->finish(x, m, &d));
    }
    return MPI_SUCCESS;
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    ROTA_TRY(rota_step_sparse.poll(x, step, done));
    if (!*done)
        return MPI_SUCCESS;
    int err = take_blocks(x, step->phase);
    *done = !rota_status_postpone(&x->status, &err);
    if (*done && err == MPI_SUCCESS)
        rota_sparse_finish(x);
    return err;
}

static void whom(const rota_exec *x, const rota_step *step, bool awaited[])
{
    rota_step_sparse.whom(x, step, awaited);
}

const rota_step_kind rota_step_consensus = {
    .bind = bind, .enter = enter, .poll = poll, .whom = whom};
