/* staged.c - steps of plans whose blocks are on a device. */
#include "device/staging.h"
#include "exec/steps.h"

/* ---- all at once, as far as what is sent is here --------------------------------- */

/* In list order, as far as they may go. */
static int post_some(rota_exec *x, rota_batch *b)
{
    while (b->n_posted < b->n) {
        const uint32_t m = b->message[b->n_posted];
        bool may = true;
        if (b->dir == ROTA_SEND)
            ROTA_TRY(rota_message_may_go(x, m, &may));
        if (!may)
            return MPI_SUCCESS;
        ROTA_TRY(rota_message_post(x, b->dir, m));
        b->open[b->n_open++] = m;
        b->n_posted++;
    }
    return MPI_SUCCESS;
}

static int enter_bulk(rota_exec *x, rota_step *step)
{
    for (uint32_t i = 0; i < step->n_batches; i++) {
        step->batch[i].n_open = step->batch[i].n_posted = 0;
        ROTA_TRY(post_some(x, &step->batch[i]));
    }
    return rota_step_copies(x, step);
}

/* By MPI one test in vain is enough for all. */
static int test_open(rota_exec *x, rota_batch *b)
{
    bool in_vain = false;
    uint32_t left = 0;

    for (uint32_t i = 0; i < b->n_open; i++) {
        bool complete = false;
        if (!in_vain)
            ROTA_TRY(rota_message_test(x, b->dir, b->open[i], &complete));
        in_vain = in_vain || (b->via->needs_mpi && !complete);
        if (!complete)
            b->open[left++] = b->open[i];
    }
    b->n_open = left;
    return MPI_SUCCESS;
}

static int poll_bulk(rota_exec *x, rota_step *step, bool *done)
{
    bool all = true;

    for (uint32_t i = 0; i < step->n_batches; i++) {
        rota_batch *const b = &step->batch[i];
        ROTA_TRY(post_some(x, b));
        ROTA_TRY(test_open(x, b));
        all = all && b->n_posted == b->n && b->n_open == 0;
    }
    *done = all;
    return MPI_SUCCESS;
}

const rota_step_kind rota_step_staged_bulk = {
    .one_by_one = true, .enter = enter_bulk, .poll = poll_bulk};

/* ---- around a step --------------------------------------------------------------- */

static int enter(rota_exec *x, rota_step *step)
{
    (void)x;
    step->entered = false;
    return MPI_SUCCESS;
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    if (!step->entered) {
        ROTA_TRY(rota_staging_may_enter(x, &step->entered, &x->moved));
        if (!step->entered)
            return MPI_SUCCESS;
        ROTA_TRY(step->inner->enter(x, step));
    }
    ROTA_TRY(step->inner->poll(x, step, done));
    return *done ? rota_staging_leave(x) : MPI_SUCCESS;
}

const rota_step_kind rota_step_staged = {
    .one_by_one = true, .enter = enter, .poll = poll};

static int begin_end(rota_exec *x, rota_step *step)
{
    (void)x;
    (void)step;
    return MPI_SUCCESS;
}

static int poll_end(rota_exec *x, rota_step *step, bool *done)
{
    (void)step;
    return rota_staging_end(x, done, &x->moved);
}

const rota_step_kind rota_step_staged_end = {
    .one_by_one = true, .enter = begin_end, .poll = poll_end};
