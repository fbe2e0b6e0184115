/* bulk.c - steps that post all their messages at once. */
#include "device/staging.h"
#include "exec/move.h"
#include "exec/steps.h"

static void move_all(const rota_step *step)
{
    const rota_move *const end = step->move + step->n_copies;

    for (const rota_move *m = step->move; m < end; m++)
        rota_copy_short(m->to, m->from, m->bytes);
}

static int copy_all(rota_exec *x, const rota_step *step)
{
    for (uint32_t i = 0; i < step->n_copies; i++) {
        bool taken = false;
        if (x->staging)
            ROTA_TRY(rota_staging_copy(x, &step->copy[i], &taken));
        if (!taken)
            ROTA_TRY(rota_block_copy(x, &step->copy[i]));
    }
    return MPI_SUCCESS;
}

int rota_step_copies(rota_exec *x, const rota_step *step)
{
    if (!step->move)
        return copy_all(x, step);
    move_all(step);
    return MPI_SUCCESS;
}

static int enter(rota_exec *x, rota_step *step)
{
    for (uint32_t i = 0; i < step->n_batches; i++) {
        rota_batch *const b = &step->batch[i];
        b->n_open = b->n;
        if (b->begin)
            ROTA_TRY(b->begin(x, b));
    }
    return rota_step_copies(x, step);
}

/* One call of MPI makes progress on all its messages: no second one where the
 * first was in vain. */
static int poll(rota_exec *x, rota_step *step, bool *done)
{
    rota_batch *const end = step->batch + step->n_batches;
    bool all = true, mpi_waits = false;

    for (rota_batch *b = step->batch; b < end; b++) {
        if (b->n_open == 0)
            continue;
        if (!mpi_waits || !b->via->needs_mpi)
            ROTA_TRY(b->advance(x, b));
        if (b->n_open == 0)
            continue;
        all = false;
        mpi_waits = mpi_waits || b->via->needs_mpi;
    }
    *done = all;
    return MPI_SUCCESS;
}

int rota_step_help(rota_exec *x, rota_step *step)
{
    for (uint32_t i = 0; i < step->n_batches; i++) {
        rota_batch *const b = &step->batch[i];
        if (b->n_open > 0 && !b->via->needs_mpi)
            ROTA_TRY(b->advance(x, b));
    }
    return MPI_SUCCESS;
}

const rota_step_kind rota_step_bulk = {.enter = enter, .poll = poll};
