/* run.h - steps through a program.
 *
 * What every start and wait takes is inline: it is called from two places, and not
 * by way of each other.
 */
#ifndef ROTA_RUN_H
#define ROTA_RUN_H

#include "exec/payload/carried.h"

/* Take memory that the step's sends will need. Without it x is starved. */
int rota_run_make_room(rota_exec *x, const rota_step *step) ROTA_RARE;

/* Steps of a run that is traced. */
int rota_run_traced(rota_exec *x) ROTA_RARE;

/* Wake the ranks for which something was done. Returns whether the run has
 * failed. */
static inline bool rota_run_conclude(rota_exec *x, int err)
{
    for (; x->rings; x->rings &= x->rings - 1)
        rota_paths[__builtin_ctz(x->rings)]->flush(x);
    if (err != MPI_SUCCESS)
        rota_status_fail(&x->status, err);
    return err != MPI_SUCCESS;
}

/* Enter step *s, unless it is entered. *waits: it is not to be polled yet. */
static inline int rota_run_enter(rota_exec *x, rota_step *step, bool *waits)
{
    *waits = false;
    if (x->entered)
        return MPI_SUCCESS;
    if (x->program.rooms) {
        ROTA_TRY(rota_run_make_room(x, step));
        *waits = x->status.starved;
        if (*waits)
            return MPI_SUCCESS;
    }
    ROTA_TRY(step->kind->enter(x, step));
    x->entered = true;
    *waits = step->can_wait;
    return MPI_SUCCESS;
}

/* Go through the steps, as far as that is possible without waiting. */
static inline int rota_run_steps(rota_exec *x)
{
    rota_step *const end = x->program.end;

    for (rota_step *step = x->step; step < end;) {
        bool waits, complete = false;
        ROTA_TRY(rota_run_enter(x, step, &waits));
        if (waits)
            return MPI_SUCCESS;
        ROTA_TRY(step->kind->poll(x, step, &complete));
        if (!complete)
            return MPI_SUCCESS;
        x->entered = false;
        x->step = ++step;
    }
    return x->carried ? rota_carried_end(x) : MPI_SUCCESS;
}

/* Advance x as far as possible without waiting. Returns whether the run is
 * over; x->status then says how it ended. As a call of its own it would take 5 % of
 * the instructions of a start and wait. */
__attribute__((always_inline)) static inline bool rota_run_advance(rota_exec *x)
{
    x->status.starved = false;
    return rota_run_conclude(x, x->trace ? rota_run_traced(x)
                                         : rota_run_steps(x)) ||
           x->step == x->program.end;
}

/* The same, but only within the current step and without MPI. */
bool rota_run_help(rota_exec *x);

#endif /* ROTA_RUN_H */
