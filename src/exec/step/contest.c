/* contest.c - the last step of plans that find out which way is faster
 * (exec/move/contest.h). No other rank waits for it. */
#include "exec/move/contest.h"
#include "exec/move/clock.h"
#include "exec/step/steps.h"

static int enter(rota_exec *x, rota_step *step)
{
    (void)step;
    rota_contest_end(x->contest, rota_now_ns());
    return MPI_SUCCESS;
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    (void)x;
    (void)step;
    *done = true;
    return MPI_SUCCESS;
}

const rota_step_kind rota_step_contest = {.enter = enter, .poll = poll};
