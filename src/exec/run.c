/* run.c - see run.h. */
#include "exec/run.h"
#include "exec/active.h"
#include "exec/steps.h"
#include "exec/transport/lines.h"

#include <stdio.h>

static void fail_run(rota_exec *x, int err)
{
    x->err_text[0] = '\0';
    if (rota_fail_text()) {
        snprintf(x->err_text, sizeof x->err_text, "%s", rota_fail_text());
        rota_fail_clear(); /* it may be another plan's call */
    }
    x->err = err;
    x->broken = true;
}

/* The result of a run that is over. */
static int result(const rota_exec *x)
{
    return x->err != MPI_SUCCESS && x->err_text[0]
               ? rota_fail(x->err, "%s", x->err_text)
               : x->err;
}

static int go_on(rota_exec *x, bool *done)
{
    for (; x->at < x->program.n_steps; x->at++) {
        rota_step *const step = &x->program.step[x->at];
        bool complete = false;
        if (!x->entered) {
            ROTA_TRY(step->kind->enter(x, step));
            x->entered = true;
            if (step->can_wait)
                return MPI_SUCCESS;
        }
        ROTA_TRY(step->kind->poll(x, step, &complete));
        if (!complete)
            return MPI_SUCCESS;
        x->entered = false;
    }
    *done = true;
    return MPI_SUCCESS;
}

/* Wake those for whom something was done. Returns whether the run has failed. */
static bool settle(rota_exec *x, int err)
{
    if (x->rings)
        rota_lines_flush(x);
    if (err != MPI_SUCCESS)
        fail_run(x, err);
    return err != MPI_SUCCESS;
}

bool rota_run_advance(rota_exec *x)
{
    bool done = false;

    return settle(x, go_on(x, &done)) || done;
}

bool rota_run_help(rota_exec *x)
{
    rota_step *const step = &x->program.step[x->at];

    if (!x->entered || step->kind->one_by_one)
        return false;
    return settle(x, rota_step_help(x, step));
}

void rota_exec_note(rota_exec *x, rota_note note, int peer, size_t sent,
                    size_t expected)
{
    if (x->note != ROTA_NOTHING &&
        (x->note != note || note != ROTA_ABOVE_BOUND || sent <= x->note_sent))
        return;
    x->note = note;
    x->note_peer = peer;
    x->note_sent = sent;
    x->note_expected = expected;
}

int rota_exec_start(rota_exec *x)
{
    if (x->broken)
        return rota_fail(MPI_ERR_OTHER, "a message of an earlier run failed; "
                                        "the plan can only be freed");
    if (x->prepare)
        ROTA_TRY(x->prepare(x));
    x->at = 0; /* not entered, as the last run ended */
    x->err = MPI_SUCCESS;
    return rota_active_start(x) ? MPI_SUCCESS : result(x);
}

int rota_exec_test(rota_exec *x, bool *done)
{
    *done = rota_active_test(x);
    return *done ? result(x) : MPI_SUCCESS;
}

int rota_exec_wait(rota_exec *x)
{
    ROTA_TRY(rota_active_wait(x));
    return result(x);
}
