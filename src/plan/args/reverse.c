/* reverse.c - see reverse.h. */
#include "plan/args/reverse.h"

#include <stdlib.h>
#include <string.h>

static bool has_bytes(const rota_side *side)
{
    for (int i = 0; i < side->n; i++)
        if (side->bytes[i] > 0)
            return true;
    return false;
}

/* What was one side becomes the other, in another buffer. */
static int copy_side(const rota_side *side, const char *name, const void *base,
                     rota_side *copy)
{
    const size_t n = (size_t)side->n;

    copy->base = (char *)base; /* MPI's const: it is not written */
    copy->n = side->n;
    copy->null_ok = side->null_ok;
    copy->bytes = malloc((n + 1) * sizeof *copy->bytes);
    copy->offset = malloc((n + 1) * sizeof *copy->offset);
    if (!copy->bytes || !copy->offset)
        return rota_fail_mem("counts and displacements");
    memcpy(copy->bytes, side->bytes, n * sizeof *copy->bytes);
    memcpy(copy->offset, side->offset, n * sizeof *copy->offset);
    if (!base && !side->null_ok && has_bytes(side))
        return rota_fail(MPI_ERR_BUFFER, "%sbuf is NULL", name);
    return rota_types_copy(&side->types, n, &copy->types);
}

int rota_problem_reverse(const rota_args *args, const rota_neighbors *neighbors,
                         rota_problem *problem)
{
    const rota_problem *const forward = args->back->forward;

    *problem =
        (rota_problem){.neighbors = neighbors, .own_types = forward->own_types};
    if (forward->in_place)
        return rota_fail(MPI_ERR_REQUEST,
                         "the plan is in place: it has one buffer");
    if (args->send.base == MPI_IN_PLACE || args->recv.base == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE",
                         args->send.base == MPI_IN_PLACE ? "sendbuf"
                                                         : "recvbuf");
    ROTA_TRY(
        copy_side(&forward->send, "recv", args->recv.base, &problem->recv));
    return copy_side(&forward->recv, "send", args->send.base, &problem->send);
}
