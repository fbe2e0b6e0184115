/* staged.c - steps of plans with blocks on a device: messages wait until what
 * they send has been copied to the host. */
#include "device/staging.h"
#include "exec/run/program.h"
#include "exec/step/steps.h"

#include <stdlib.h>

/* ---- all at once, as far as what is sent is here ------------------------- */

/* Post messages in list order, as far as their blocks are here. */
static int post_some(rota_exec *x, rota_batch *b)
{
    while (b->n_posted < b->n) {
        const uint32_t m = b->message[b->n_posted];
        bool may = true;
        if (b->dir == ROTA_SEND)
            ROTA_TRY(rota_message_may_go(x, m, &may));
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

static const rota_step_kind staged_bulk = {.one_by_one = true,
                                           .enter = enter_bulk,
                                           .poll = poll_bulk,
                                           .whom = rota_step_whom};

/* ---- around a step ------------------------------------------------------- */

/* A step's kind while the step is staged. */
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

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    around *const a = around_of(step);

    if (!a->entered) {
        ROTA_TRY(rota_staging_may_enter(x, &a->entered));
        if (!a->entered)
            return MPI_SUCCESS;
        ROTA_TRY(a->inner->enter(x, step));
    }
    ROTA_TRY(a->inner->poll(x, step, done));
    return *done ? rota_staging_leave(x) : MPI_SUCCESS;
}

static void whom(const rota_exec *x, const rota_step *step, bool awaited[])
{
    const around *const a = around_of(step);

    if (a->entered)
        a->inner->whom(x, step, awaited);
}

static void unbind(rota_exec *x, rota_step *step)
{
    around *const a = around_of(step);

    if (a->inner->unbind)
        a->inner->unbind(x, step);
    free(a);
}

static int wrap(rota_step *step)
{
    around *const a = malloc(sizeof *a);

    if (!a)
        return rota_fail_mem("staging");
    *a = (around){
        .kind = {.one_by_one = true,
                 .unbind = unbind,
                 .enter = enter,
                 .poll = poll,
                 .whom = whom},
        .inner = step->kind == &rota_step_bulk ? &staged_bulk : step->kind,
    };
    step->kind = &a->kind;
    step->can_wait = false;
    step->move = NULL; /* the device may make the copies */
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
    return rota_staging_end(x, done);
}

static const rota_step_kind staged_end = {
    .one_by_one = true, .enter = begin_end, .poll = poll_end};

/* ---- making -------------------------------------------------------------- */

/* A program has at most one step more than phases. */
static int bound(rota_exec *x)
{
    rota_program *const p = &x->program;

    for (rota_step *step = p->step; step < p->end; step++)
        ROTA_TRY(wrap(step));
    *p->end++ = (rota_step){.kind = &staged_end};
    x->program.prepare = rota_program_prepare;
    return MPI_SUCCESS;
}

int rota_staging_make(rota_exec *x, const rota_device *device,
                      rota_queue *queue, bool straight)
{
    static const rota_hooks hooks = {.bound = bound,
                                     .begin = rota_staging_begin,
                                     .may_send = rota_staging_may_send,
                                     .arrived = rota_staging_arrived,
                                     .copy = rota_staging_copy,
                                     .release = rota_staging_free};

    ROTA_TRY(rota_staging_open(x, device, queue, straight, &hooks));
    const int err = x->program.step ? bound(x) : MPI_SUCCESS;
    x->status.broken = x->status.broken || err != MPI_SUCCESS;
    return err;
}
