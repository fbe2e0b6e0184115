/* accumulate.c - see accumulate.h. */
#include "plan/kinds/accumulate.h"
#include "exec/move/accumulate.h"
#include "plan/args/overlap.h"

#include <string.h>

/* Does op combine nothing, so that blocks overwrite what is there? */
static bool overwrites(MPI_Op op)
{
    return op == MPI_OP_NULL || op == MPI_REPLACE;
}

int rota_accumulate_check_buffer(const rota_task *t, const char *recvbuf)
{
    const rota_side *const recv = &t->problem.recv;
    int i = 0;

    while (i < recv->n && recv->bytes[i] == 0)
        i++;
    if (!t->use.device || i == recv->n)
        return MPI_SUCCESS;
    return t->use.device->holds(recvbuf + recv->offset[i] +
                                rota_types_at(&recv->types, (size_t)i)->lb)
               ? rota_fail(MPI_ERR_BUFFER,
                           "recvbuf is memory of a device, where op combines "
                           "nothing")
               : MPI_SUCCESS;
}

static int check_blocks(const rota_side *recv, size_t element)
{
    for (int i = 0; i < recv->n; i++)
        if (recv->bytes[i] % element != 0)
            return rota_fail(MPI_ERR_TYPE,
                             "receive block %d has %zu bytes, which are no "
                             "whole number of elements of type, of %zu bytes",
                             i, recv->bytes[i], element);
    return MPI_SUCCESS;
}

int rota_accumulate_prepare(rota_task *t, MPI_Datatype type, MPI_Op op)
{
    rota_operator what = {.type = type, .op = op};

    if (overwrites(op))
        return MPI_SUCCESS;
    if (type == MPI_DATATYPE_NULL)
        return rota_fail(MPI_ERR_TYPE, "type is MPI_DATATYPE_NULL");
    ROTA_TRY(rota_operator_resolve(&what));
    ROTA_TRY(check_blocks(&t->problem.recv, what.size));
    ROTA_TRY(rota_accumulate_check_buffer(t, t->problem.recv.base));
    t->accumulate = what;
    return MPI_SUCCESS;
}

/* Do the blocks that are combined share no bytes? */
static bool are_apart(const rota_problem *problem)
{
    rota_problem received = *problem;

    received.in_place = true; /* what is sent does not matter */
    const bool apart = rota_overlap_check(&received, true) == MPI_SUCCESS;
    if (!apart)
        rota_fail_clear();
    return apart;
}

int rota_accumulate_make(rota_built *b)
{
    const rota_task *const t = b->task;
    rota_exec *const x = &b->exec;

    ROTA_TRY(rota_accumulation_make(t->problem.recv.n, &x->accumulation));
    x->accumulation->what = t->accumulate;
    x->accumulation->into = t->problem.recv.base;
    x->accumulation->types = &t->problem.recv.types;
    x->accumulation->straight = !t->use.device;
    x->accumulation->apart = !t->use.device && are_apart(&t->problem);
    x->blocks.types[ROTA_DST] = rota_types_bytes;
    return MPI_SUCCESS;
}

int rota_accumulate_fill(rota_built *b)
{
    const rota_side *const recv = &b->task->problem.recv;
    rota_accumulation *const a = b->exec.accumulation;
    rota_blocks *const to = &b->exec.blocks;

    memcpy(a->offset, recv->offset, (size_t)recv->n * sizeof *a->offset);
    ROTA_TRY(rota_accumulation_land(a, recv->n, recv->bytes,
                                    to->offset + b->sched.n_send));
    to->base[ROTA_DST] = a->landing;
    return MPI_SUCCESS;
}
