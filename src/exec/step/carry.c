/* carry.c - the program's own steps of plans whose messages carry values
 * (carried.h): copies from tables of others.
 */
#include "exec/payload/carried.h"
#include "exec/step/steps.h"

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    (void)x;
    (void)step;
    *done = true;
    return MPI_SUCCESS;
}

/* The messages of the phase before have come. */
static int take(rota_exec *x, rota_step *step)
{
    const rota_phase *const phase = step[-1].phase;

    for (uint32_t m = phase->msg[ROTA_RECV]; m < phase[1].msg[ROTA_RECV]; m++)
        rota_carried_take(x, m);
    return MPI_SUCCESS;
}

const rota_step_kind rota_step_take = {.enter = take, .poll = poll};
