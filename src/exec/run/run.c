/* run.c - see run.h. */
#include "exec/run/run.h"
#include "exec/move/trace.h"
#include "exec/step/steps.h"

static void end_run(rota_exec *x)
{
    rota_trace_note(x->trace, ROTA_TRACE_RUN, x->trace->run, -1, 0);
    x->trace->runs++;
}

/* Take memory that the step's sends will need. Without it x is starved. */
ROTA_RARE static int make_room(rota_exec *x, const rota_step *step)
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

/* trace: x->trace, or a constant NULL, with which the compiler drops all
 * tracing. */
static inline int go_on(rota_exec *x, struct rota_trace *trace)
{
    rota_step *const end = x->program.end;

    for (rota_step *step = x->step; step < end;) {
        bool complete = false;
        if (!x->entered) {
            if (x->program.rooms) {
                ROTA_TRY(make_room(x, step));
                if (x->status.starved)
                    return MPI_SUCCESS;
            }
            if (trace)
                trace->step = rota_trace_now(x->trace);
            ROTA_TRY(step->kind->enter(x, step));
            x->entered = true;
            if (step->can_wait)
                return MPI_SUCCESS;
        }
        ROTA_TRY(step->kind->poll(x, step, &complete));
        if (!complete)
            return MPI_SUCCESS;
        x->entered = false;
        x->step = ++step;
        if (trace)
            rota_trace_note(x->trace, ROTA_TRACE_STEP, trace->step, -1, 0);
    }
    if (trace)
        end_run(x);
    return MPI_SUCCESS;
}

ROTA_RARE static int go_on_traced(rota_exec *x)
{
    if (x->step == x->program.step && !x->entered)
        x->trace->run = rota_trace_now(x->trace);
    return go_on(x, x->trace);
}

/* Wake the ranks for which something was done. Returns whether the run has
 * failed. */
static inline bool conclude(rota_exec *x, int err)
{
    for (; x->rings; x->rings &= x->rings - 1)
        rota_paths[__builtin_ctz(x->rings)]->flush(x);
    if (err != MPI_SUCCESS)
        rota_status_fail(&x->status, err);
    return err != MPI_SUCCESS;
}

bool rota_run_advance(rota_exec *x)
{
    x->status.starved = false;
    return conclude(x, x->trace ? go_on_traced(x) : go_on(x, NULL)) ||
           x->step == x->program.end;
}

bool rota_run_help(rota_exec *x)
{
    if (!x->entered || x->step->kind->one_by_one)
        return false;
    return conclude(x, rota_step_help(x, x->step));
}
