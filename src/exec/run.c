/* run.c - see run.h. */
#include "exec/run.h"
#include "exec/late.h"
#include "exec/steps.h"
#include "exec/trace.h"
#include "exec/transport/lines.h"

static void end_run(rota_exec *x)
{
    rota_trace_note(x, ROTA_TRACE_RUN, x->trace->run, -1, 0);
    x->trace->runs++;
}

/* Make room for what the step sends, whose messages tell sizes. Where there is no
 * memory x is starved. */
static int make_room(rota_exec *x, const rota_step *step)
{
    int err = MPI_SUCCESS;

    if (step->phase && !step->phase->flow)
        err = rota_late_reserve(x, step->phase);
    rota_status_postpone(&x->status, &err);
    return err;
}

static int go_on(rota_exec *x)
{
    struct rota_trace *const trace = x->trace;

    for (; x->at < x->program.n_steps; x->at++) {
        rota_step *const step = &x->program.step[x->at];
        bool complete = false;
        if (!x->entered) {
            if (x->arrivals) {
                ROTA_TRY(make_room(x, step));
                if (x->status.starved)
                    return MPI_SUCCESS;
            }
            if (trace)
                trace->step = rota_trace_now(x);
            ROTA_TRY(step->kind->enter(x, step));
            x->entered = true;
            if (step->can_wait)
                return MPI_SUCCESS;
        }
        ROTA_TRY(step->kind->poll(x, step, &complete));
        if (!complete)
            return MPI_SUCCESS;
        x->entered = false;
        if (trace)
            rota_trace_note(x, ROTA_TRACE_STEP, trace->step, -1, 0);
    }
    if (trace)
        end_run(x);
    return MPI_SUCCESS;
}

/* Wake those for whom something was done. Returns whether the run has failed. */
static bool settle(rota_exec *x, int err)
{
    if (x->rings)
        rota_lines_flush(x);
    if (err != MPI_SUCCESS)
        rota_status_fail(&x->status, err);
    return err != MPI_SUCCESS;
}

bool rota_run_advance(rota_exec *x)
{
    x->status.starved = false;
    return settle(x, go_on(x)) || x->at == x->program.n_steps;
}

bool rota_run_help(rota_exec *x)
{
    rota_step *const step = &x->program.step[x->at];

    if (!x->entered || step->kind->one_by_one)
        return false;
    return settle(x, rota_step_help(x, step));
}
