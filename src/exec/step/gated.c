/* gated.c - steps of plans with a gate: they wait until it lets them begin, and
 * their messages until it lets those go. */
#include "exec/step/steps.h"

#include <stdlib.h>

/* ---- messages one by one ------------------------------------------------- */

int rota_message_post(rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->program.op[dir][m].via->post(x, dir, m);
}

static int arrived(rota_exec *x, uint32_t m)
{
    return x->gate && x->gate->arrived ? x->gate->arrived(x, m) : MPI_SUCCESS;
}

int rota_message_test(rota_exec *x, rota_dir dir, uint32_t m, bool *done)
{
    ROTA_TRY(x->program.op[dir][m].via->test(x, dir, m, done));
    return *done && dir == ROTA_RECV ? arrived(x, m) : MPI_SUCCESS;
}

int rota_message_may_go(rota_exec *x, rota_dir dir, uint32_t m, bool *may)
{
    *may = true;
    return dir == ROTA_SEND && x->gate && x->gate->may_send
               ? x->gate->may_send(x, m, may)
               : MPI_SUCCESS;
}

/* ---- all at once, as far as messages may go ------------------------------ */

/* Post messages in list order, as far as they may go. */
static int post_some(rota_exec *x, rota_batch *b)
{
    while (b->n_posted < b->n) {
        const uint32_t m = b->message[b->n_posted];
        bool may;
        ROTA_TRY(rota_message_may_go(x, b->dir, m, &may));
        if (!may)
            return MPI_SUCCESS;
        ROTA_TRY(rota_message_post(x, b->dir, m));
        b->open[b->n_open++] = m;
        b->n_posted++;
    }
    return MPI_SUCCESS;
}

static int enter_bulk(rota_exec *x, rota_step *step)
{
    for (uint32_t i = 0; i < step->n_batches; i++) {
        step->batch[i].n_open = step->batch[i].n_posted = 0;
        ROTA_TRY(post_some(x, &step->batch[i]));
    }
    return rota_step_copies(x, step);
}

/* One test in vain is enough for all messages of MPI. */
static int test_open(rota_exec *x, rota_batch *b)
{
    bool in_vain = false;
    uint32_t left = 0;

    for (uint32_t i = 0; i < b->n_open; i++) {
        bool complete = false;
        if (!in_vain)
            ROTA_TRY(rota_message_test(x, b->dir, b->open[i], &complete));
        in_vain = in_vain || (b->via->needs_mpi && !complete);
        if (!complete)
            b->open[left++] = b->open[i];
    }
    b->n_open = left;
    return MPI_SUCCESS;
}

static int poll_bulk(rota_exec *x, rota_step *step, bool *done)
{
    bool all = true;

    for (uint32_t i = 0; i < step->n_batches; i++) {
        rota_batch *const b = &step->batch[i];
        ROTA_TRY(post_some(x, b));
        ROTA_TRY(test_open(x, b));
        all = all && b->n_posted == b->n && b->n_open == 0;
    }
    *done = all;
    return MPI_SUCCESS;
}

static const rota_step_kind gated_bulk = {.one_by_one = true,
                                          .enter = enter_bulk,
                                          .poll = poll_bulk,
                                          .whom = rota_step_whom};

/* ---- around a step ------------------------------------------------------- */

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
         phase->native && m < phase[1].msg[ROTA_RECV]; m++)
        ROTA_TRY(arrived(x, m));
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

int rota_step_gate(rota_step *step)
{
    around *const a = malloc(sizeof *a);

    if (!a)
        return rota_fail_mem("a gate");
    *a = (around){
        .kind = {.one_by_one = true,
                 .unbind = unbind,
                 .enter = enter,
                 .poll = poll,
                 .whom = whom},
        .inner = step->kind == &rota_step_bulk ? &gated_bulk : step->kind,
    };
    step->kind = &a->kind;
    step->can_wait = false;
    step->move = NULL; /* the gate may make the copies */
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
