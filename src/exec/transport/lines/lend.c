/* lend.c - steps of ranks that lend scratch to others: see loan.h. */
#include "exec/payload/parcels.h"
#include "exec/step/steps.h"
#include "exec/transport/lines/channel.h"

static int enter(rota_exec *x, rota_step *step)
{
    (void)x;
    (void)step;
    return MPI_SUCCESS;
}

static int poll_taken(rota_exec *x, rota_step *step, bool *done)
{
    (void)step;
    *done = rota_lines_are_taken(x);
    return MPI_SUCCESS;
}

/* Any rank of the node may be waited for. */
const rota_step_kind rota_lines_reclaim = {
    .one_by_one = true, .enter = enter, .poll = poll_taken};

static int enter_finish(rota_exec *x, rota_step *step)
{
    (void)step;
    if (rota_has_parcels(x))
        rota_parcels_empty(x);
    rota_lines_finish(x);
    return MPI_SUCCESS;
}

static int poll_finish(rota_exec *x, rota_step *step, bool *done)
{
    (void)x;
    (void)step;
    *done = true;
    return MPI_SUCCESS;
}

const rota_step_kind rota_lines_finish_run = {.enter = enter_finish,
                                              .poll = poll_finish};
