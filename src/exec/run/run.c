/* run.c - see run.h. */
#include "exec/run/run.h"
#include "exec/move/trace.h"
#include "exec/step/steps.h"

int rota_run_make_room(rota_exec *x, const rota_step *step)
{
    const rota_phase *const phase = step->phase;
    int err = MPI_SUCCESS;

    for (uint32_t m = phase ? phase->msg[ROTA_SEND] : 0;
         phase && !phase->flow && m < phase[1].msg[ROTA_SEND] &&
         err == MPI_SUCCESS;
         m++)
        if (x->program.op[ROTA_SEND][m].payload->room)
            err = x->program.op[ROTA_SEND][m].payload->room(x, m);
    rota_status_postpone(&x->status, &err);
    return err;
}

/* As rota_run_steps. */
int rota_run_traced(rota_exec *x)
{
    struct rota_trace *const trace = x->trace;

    if (x->step == x->program.step && !x->entered)
        trace->run = rota_trace_now(trace);
    while (x->step < x->program.end) {
        rota_step *const step = x->step;
        bool waits, complete = false;
        if (!x->entered)
            trace->step = rota_trace_now(trace);
        ROTA_TRY(rota_run_enter(x, step, &waits));
        if (waits)
            return MPI_SUCCESS;
        ROTA_TRY(step->kind->poll(x, step, &complete));
        if (!complete)
            return MPI_SUCCESS;
        x->entered = false;
        x->step = step + 1;
        rota_trace_note(trace, ROTA_TRACE_STEP, trace->step, -1, 0);
    }
    rota_trace_note(trace, ROTA_TRACE_RUN, trace->run, -1, 0);
    trace->runs++;
    return x->carried ? rota_carried_end(x) : MPI_SUCCESS;
}

bool rota_run_help(rota_exec *x)
{
    if (!x->entered || x->step->kind->one_by_one)
        return false;
    return rota_run_conclude(x, rota_step_help(x, x->step));
}
