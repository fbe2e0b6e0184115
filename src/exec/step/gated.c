/* gated.c - steps of plans with a gate: they wait until it lets them begin, and
 * their messages until it lets those go. */
#include "exec/step/steps.h"

#include <stdlib.h>

/* A step's kind behind a gate. */
typedef struct around {
    rota_step_kind kind; /* first: the step has its address */
    const rota_step_kind *inner;
    bool entered; /* inner has been entered */
} around;

static around *around_of(const rota_step *step)
{
    return (void *)step->kind;
}

static int enter(rota_exec *x, rota_step *step)
{
    (void)x;
    around_of(step)->entered = false;
    return MPI_SUCCESS;
}

/* A native phase posts no messages, and a flow chooses their order: all of them
 * must be free to go. */
static int may_enter(rota_exec *x, const rota_phase *phase, bool *may)
{
    *may = true;
    if (x->gate->may_enter)
        ROTA_TRY(x->gate->may_enter(x, phase, may));
    if (!phase->native && !phase->flow)
        return MPI_SUCCESS;
    for (uint32_t m = phase->msg[ROTA_SEND];
         *may && m < phase[1].msg[ROTA_SEND]; m++)
        ROTA_TRY(rota_message_may_go(x, ROTA_SEND, m, may));
    return MPI_SUCCESS;
}

static int leave(rota_exec *x, const rota_phase *phase)
{
    for (uint32_t m = phase->msg[ROTA_RECV];
         phase->native && x->gate->arrived && m < phase[1].msg[ROTA_RECV]; m++)
        ROTA_TRY(x->gate->arrived(x, m));
    return x->gate->leave ? x->gate->leave(x, phase) : MPI_SUCCESS;
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    around *const a = around_of(step);

    if (!a->entered) {
        ROTA_TRY(may_enter(x, step->phase, &a->entered));
        if (!a->entered)
            return MPI_SUCCESS;
        ROTA_TRY(a->inner->enter(x, step));
    }
    ROTA_TRY(a->inner->poll(x, step, done));
    return *done ? leave(x, step->phase) : MPI_SUCCESS;
}

static void whom(const rota_exec *x, const rota_step *step, bool awaited[])
{
    const around *const a = around_of(step);

    if (a->entered && a->inner->whom)
        a->inner->whom(x, step, awaited);
}

static void unbind(rota_exec *x, rota_step *step)
{
    around *const a = around_of(step);

    if (a->inner->unbind)
        a->inner->unbind(x, step);
    free(a);
}

/* Messages that were posted all at once go one by one. */
int rota_step_gate(rota_exec *x, rota_step *step)
{
    if (step->kind == &rota_step_bulk) {
        step->kind = &rota_step_window;
        ROTA_TRY(step->kind->bind(x, step));
    }
    if (x->gate->any_order && step->kind == &rota_step_window)
        ROTA_TRY(rota_window_any_order(x, step));
    around *const a = malloc(sizeof *a);
    if (!a)
        return rota_fail_mem("a gate");
    *a = (around){
        .kind = {.one_by_one = true,
                 .unbind = unbind,
                 .enter = enter,
                 .poll = poll,
                 .whom = whom},
        .inner = step->kind,
    };
    step->kind = &a->kind;
    step->can_wait = false;
    step->copying = ROTA_COPIES_ANY; /* the gate may make them */
    return MPI_SUCCESS;
}

/* ---- what comes last ----------------------------------------------------- */

static int begin_end(rota_exec *x, rota_step *step)
{
    (void)x;
    (void)step;
    return MPI_SUCCESS;
}

static int poll_end(rota_exec *x, rota_step *step, bool *done)
{
    (void)step;
    *done = true;
    return x->gate->end ? x->gate->end(x, done) : MPI_SUCCESS;
}

const rota_step_kind rota_step_gate_end = {
    .one_by_one = true, .enter = begin_end, .poll = poll_end};
