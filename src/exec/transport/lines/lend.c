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

/* Have the others taken all that this rank handed on? */
static int poll_taken(rota_exec *x, rota_step *step, bool *done)
{
    const struct rota_lines *const lines = rota_lines_of(x);

    (void)step;
    *done = true;
    for (int i = 0; i < lines->n && *done; i++)
        *done = !lines->channel[i].lends[ROTA_SEND] ||
                rota_channel_is_read(&lines->channel[i]);
    return MPI_SUCCESS;
}

/* Any rank of the node may be waited for. */
const rota_step_kind rota_lines_reclaim = {
    .one_by_one = true, .enter = enter, .poll = poll_taken};

/* Others may write to this rank's shared blocks again: tell them. */
static int poll_finish(rota_exec *x, rota_step *step, bool *done)
{
    struct rota_lines *const lines = rota_lines_of(x);

    (void)step;
    if (rota_has_parcels(x))
        rota_parcels_empty(x);
    atomic_store_explicit(
        lines->finished,
        atomic_load_explicit(lines->finished, memory_order_relaxed) + 1,
        memory_order_release);
    for (int i = 0; i < lines->n; i++)
        if (lines->channel[i].lends[ROTA_RECV])
            rota_channel_touch(x, &lines->channel[i]);
    *done = true;
    return MPI_SUCCESS;
}

const rota_step_kind rota_lines_finish_run = {.enter = enter,
                                              .poll = poll_finish};
