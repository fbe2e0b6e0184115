/* scaled.c - plans with fixed counts of a unit that changes between starts.
 *
 * Counts and displacements are in units: so many elements of a type, end to end.
 * A unit changes by a local call, so no rank may rely on what another was told.
 * Sizes are those of a start, as in a plan with varying counts whose counts are
 * all multiplied alike: its ways of choosing and building are taken. Memory is
 * for the largest unit. Both ends of a message know its size as long as all ranks
 * have the same unit; where they do not, the receiver sees another size.
 */
#include "plan/kinds/scaled.h"
#include "exec/move/accumulate.h"
#include "plan/kinds/device.h"
#include "plan/kinds/fixed.h"

#include <stdlib.h>

typedef struct scaled {
    size_t unit; /* bytes that the problem's counts are in now */
} scaled;

static scaled *scaled_of(const rota_task *t)
{
    return t->own;
}

/* ---- units --------------------------------------------------------------- */

/* The bytes of an element, whose data must lie from 0 to its extent. */
static int find_element(MPI_Datatype type, const char *name, MPI_Comm comm,
                        size_t *bytes)
{
    rota_types types = {0};
    rota_unit unit;

    ROTA_TRY(rota_types_make(type, name, comm, &types, &unit));
    const bool plain = rota_types_are_bytes(&types) && unit.true_lb == 0 &&
                       unit.spacing == (ptrdiff_t)unit.element &&
                       unit.element > 0;
    rota_types_free(&types);
    *bytes = unit.element;
    return plain ? MPI_SUCCESS
                 : rota_fail(MPI_ERR_TYPE,
                             "%s is not plain bytes end to end, as the unit of "
                             "a plan with rota_largest_unit must be",
                             name);
}

static int check_unit(const rota_task *t, size_t element, int howmany)
{
    if (howmany < 1)
        return rota_fail(MPI_ERR_COUNT, "howmany = %d is below 1", howmany);
    if (element > t->largest_unit / (size_t)howmany)
        return rota_fail(MPI_ERR_COUNT,
                         "a unit of %d elements of %zu bytes is above "
                         "rota_largest_unit = %zu",
                         howmany, element, t->largest_unit);
    return MPI_SUCCESS;
}

/* Do all blocks stay within the address space, whatever the unit? */
static int check_reach(const rota_side *side, const char *name, size_t unit,
                       size_t largest)
{
    const ptrdiff_t most = PTRDIFF_MAX / 4 / (ptrdiff_t)largest;

    for (int i = 0; i < side->n; i++) {
        const ptrdiff_t n = (ptrdiff_t)(side->bytes[i] / unit);
        const ptrdiff_t at = side->offset[i] / (ptrdiff_t)unit;
        if (n > most || at > most || at < -most)
            return rota_fail(MPI_ERR_COUNT,
                             "%scounts[%d] = %lld at %cdispls[%d] = %lld is "
                             "beyond the address space in units of "
                             "rota_largest_unit = %zu bytes",
                             name, i, (long long)n, name[0], i, (long long)at,
                             largest);
    }
    return MPI_SUCCESS;
}

static void scale_side(rota_side *side, size_t from, size_t to)
{
    for (int i = 0; i < side->n; i++) {
        side->bytes[i] = side->bytes[i] / from * to;
        side->offset[i] = side->offset[i] / (ptrdiff_t)from * (ptrdiff_t)to;
    }
}

/* Staging what is sent in place may need memory. */
static int scale(rota_built *b, size_t unit)
{
    scaled *const own = scaled_of(b->task);

    scale_side(&b->task->problem.recv, own->unit, unit);
    scale_side(&b->task->problem.send, own->unit, unit);
    own->unit = unit;
    return rota_fixed_fill(b);
}

int rota_scaled_set_unit(rota_built *b, MPI_Datatype type, int howmany)
{
    const rota_task *const t = b->task;
    const size_t was = scaled_of(t)->unit;
    rota_operator what = {.type = type};
    size_t element;

    ROTA_TRY(find_element(type, "type", t->comm->dup, &element));
    ROTA_TRY(check_unit(t, element, howmany));
    if (b->exec.accumulation) {
        what.op = b->exec.accumulation->what.op;
        ROTA_TRY(rota_operator_resolve(&what));
    }
    const size_t now = element * (size_t)howmany;
    const int err = now == was ? MPI_SUCCESS : scale(b, now);
    if (err != MPI_SUCCESS)
        scale(b, was); /* for which there is memory */
    else if (b->exec.accumulation)
        b->exec.accumulation->what = what;
    return err;
}

size_t rota_scaled_unit(const rota_task *t)
{
    return scaled_of(t)->unit;
}

/* ---- what is asked for --------------------------------------------------- */

/* With MPI_IN_PLACE the send type means nothing. */
static int find_unit(rota_task *t, const rota_args *args, size_t *unit)
{
    size_t other;

    if (args->back) {
        *unit = args->back->unit;
        return MPI_SUCCESS;
    }
    if (args->own_types)
        return rota_fail(MPI_ERR_ARG, "rota_largest_unit is not for plans with "
                                      "a type for each block: counts of "
                                      "rota_alltoallv_init are in units");
    ROTA_TRY(find_element(args->recv.type, "recvtype", t->comm->dup, unit));
    if (args->send.base == MPI_IN_PLACE)
        return check_unit(t, *unit, 1);
    ROTA_TRY(find_element(args->send.type, "sendtype", t->comm->dup, &other));
    if (other != *unit)
        return rota_fail(MPI_ERR_TYPE,
                         "sendtype has %zu bytes and recvtype %zu, but there "
                         "is one unit",
                         other, *unit);
    return check_unit(t, *unit, 1);
}

static int prepare(rota_task *t, const rota_args *args)
{
    scaled *const own = t->own = calloc(1, sizeof *own);

    if (!own)
        return rota_fail_mem("a plan");
    ROTA_TRY(find_unit(t, args, &own->unit));
    ROTA_TRY(rota_fixed_prepare(t, args));
    ROTA_TRY(check_reach(&t->problem.recv, "recv", own->unit, t->largest_unit));
    return check_reach(&t->problem.send, "send", own->unit, t->largest_unit);
}

static void vote(const rota_task *t, rota_alike *alike, rota_vote *v)
{
    rota_fixed_vote(t, alike, v);
    rota_alike_add(alike, "unit", t->own ? scaled_of(t)->unit : 0);
}

/* All ranks have the same unit; largest is a multiple of it. */
static size_t bound(const rota_task *t, size_t largest)
{
    return largest / scaled_of(t)->unit * t->largest_unit;
}

static void forget(rota_task *t)
{
    free(t->own);
    t->own = NULL;
}

/* ---- building ------------------------------------------------------------ */

static int build(rota_built *b)
{
    ROTA_TRY(rota_built_schedule(b));
    return rota_fixed_fill(b);
}

/* What lands of the messages that come with sizes. */
static int learn(rota_built *b, int *status)
{
    return rota_kind_varying.learn(b, status);
}

/* ---- starting ------------------------------------------------------------ */

static int start(rota_built *b, const rota_start_args *args)
{
    const rota_problem *const problem = &b->task->problem;
    rota_exec *const x = &b->exec;

    (void)args;
    x->status.note = ROTA_NOTHING;
    rota_exec_stage_in(x, problem->in_place);
    x->blocks.base[ROTA_SRC] = problem->send.base;
    x->blocks.base[ROTA_DST] =
        x->accumulation ? x->accumulation->landing : problem->recv.base;
    x->blocks.types[ROTA_SRC] = x->blocks.types[ROTA_DST] = rota_types_bytes;
    if (b->task->use.device)
        ROTA_TRY(rota_built_stage(b, problem->send.base,
                                  x->blocks.base[ROTA_DST], problem->in_place));
    if (x->stage_in)
        x->blocks.base[ROTA_SRC] = b->stage;
    ROTA_TRY(rota_exec_start(x));
    if (b->task->record)
        rota_built_record(b, rota_problem_sent(problem));
    return MPI_SUCCESS;
}

static int rebase(rota_built *b, const void *sendbuf, void *recvbuf)
{
    ROTA_TRY(rota_fixed_check_buffers(b, sendbuf, recvbuf));
    b->task->problem.send.base = (char *)sendbuf; /* it is not written */
    b->task->problem.recv.base = recvbuf;
    if (b->exec.accumulation)
        b->exec.accumulation->into = recvbuf;
    return MPI_SUCCESS;
}

const rota_kind_table rota_kind_scaled = {
    .kind = ROTA_VARYING,
    .title = "a plan with fixed counts of a unit",
    .is = "a fixed one",
    .fixed = true,
    .parts = true,
    .own_bytes = sizeof(scaled),
    .bound = bound,
    .prepare = prepare,
    .vote = vote,
    .forget = forget,
    .build = build,
    .learn = learn,
    .start = start,
    .rebase = rebase,
};
