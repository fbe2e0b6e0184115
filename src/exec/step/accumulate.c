/* accumulate.c - the last step of plans whose blocks are combined with what is there
 * (exec/move/accumulate.h). */
#include "exec/move/accumulate.h"
#include "exec/step/steps.h"

/* Blocks of other sizes than expected are combined with nothing. */
static int enter(rota_exec *x, rota_step *step)
{
    (void)step;
    return x->status.note == ROTA_NOTHING
               ? rota_accumulate(x->accumulation, &x->blocks)
               : MPI_SUCCESS;
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    (void)x;
    (void)step;
    *done = true;
    return MPI_SUCCESS;
}

const rota_step_kind rota_step_accumulate = {.enter = enter, .poll = poll};
