/* validate.c - from an MPI argument list to a problem in bytes. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

static MPI_Count entry(const rota_vector *v, int i)
{
    switch (v->form) {
    case ROTA_INTS:
        return ((const int *)v->array)[i];
    case ROTA_COUNTS:
        return ((const MPI_Count *)v->array)[i];
    case ROTA_AINTS:
        return ((const MPI_Aint *)v->array)[i];
    case ROTA_SAME:
        return v->each;
    case ROTA_MULTIPLES:
        return i * v->each;
    }
    return 0;
}

static bool is_missing(const rota_vector *v)
{
    return !v->array && v->form != ROTA_SAME && v->form != ROTA_MULTIPLES;
}

/* How many elements, of size bytes or as far apart, stay within the address
 * space. */
static MPI_Count most(ptrdiff_t size)
{
    const MPI_Count limit = PTRDIFF_MAX / 4;

    return size == 0 ? limit : limit / (size > 0 ? size : -size);
}

static int negative(const char *name, const rota_vector *counts, int i,
                    MPI_Count n)
{
    if (counts->form == ROTA_SAME)
        return rota_fail(MPI_ERR_COUNT, "%scount = %lld is negative", name,
                         (long long)n);
    return rota_fail(MPI_ERR_COUNT, "%scounts[%d] = %lld is negative", name, i,
                     (long long)n);
}

static int beyond(const char *name, const rota_vector *counts, int i,
                  MPI_Count n, MPI_Count d)
{
    if (counts->form == ROTA_SAME)
        return rota_fail(MPI_ERR_COUNT,
                         "%scount = %lld for each rank is beyond the address "
                         "space",
                         name, (long long)n);
    return rota_fail(MPI_ERR_COUNT,
                     "%scounts[%d] = %lld at %cdispls[%d] = %lld is beyond the "
                     "address space",
                     name, i, (long long)n, name[0], i, (long long)d);
}

int rota_side_fill(const char *name, int P, const void *base,
                   const rota_vector *counts, const rota_vector *displs,
                   const rota_unit *unit, size_t bytes[], ptrdiff_t offset[])
{
    const MPI_Count most_apart = most(unit->spacing);
    const MPI_Count most_elements = most((ptrdiff_t)unit->element);
    bool any = false;

    if (is_missing(counts))
        return rota_fail(MPI_ERR_ARG, "%scounts is NULL", name);
    if (is_missing(displs))
        return rota_fail(MPI_ERR_ARG, "%cdispls is NULL", name[0]);
    if (displs->form == ROTA_MULTIPLES && displs->each > most_apart / P)
        return beyond(name, counts, P - 1, displs->each, displs->each);
    for (int i = 0; i < P; i++) {
        const MPI_Count n = entry(counts, i), d = entry(displs, i);
        if (n < 0)
            return negative(name, counts, i, n);
        bytes[i] = 0;
        offset[i] = 0; /* an empty block is nowhere */
        if (n == 0)
            continue;
        if (n > most_elements || n > most_apart || d > most_apart ||
            d < -most_apart)
            return beyond(name, counts, i, n, d);
        bytes[i] = (size_t)n * unit->element;
        offset[i] = (ptrdiff_t)d * unit->spacing + unit->true_lb;
        any = any || n > 0;
    }
    if (!base && any && unit->element > 0 && !unit->null_ok)
        return rota_fail(MPI_ERR_BUFFER, "%sbuf is NULL", name);
    return MPI_SUCCESS;
}

/* ---- problems --------------------------------------------------------------- */

static int make_side(rota_side *side, const char *name, const rota_comm *c,
                     void *base, const rota_vector *counts,
                     const rota_vector *displs, MPI_Datatype type)
{
    char type_name[16];
    rota_unit unit;

    strcpy(type_name, name);
    strcat(type_name, "type");
    side->base = base;
    side->bytes = malloc((size_t)c->P * sizeof *side->bytes);
    side->offset = malloc((size_t)c->P * sizeof *side->offset);
    if (!side->bytes || !side->offset)
        return rota_fail_mem("counts and displacements");
    ROTA_TRY(rota_type_from_mpi(type, type_name, c->dup, &side->type, &unit));
    side->null_ok = unit.null_ok;
    return rota_side_fill(name, c->P, base, counts, displs, &unit, side->bytes,
                          side->offset);
}

int rota_problem_make(const rota_args *args, const rota_comm *c, bool check,
                      rota_problem *problem)
{
    *problem = (rota_problem){
        .P = c->P, .me = c->me, .in_place = args->sendbuf == MPI_IN_PLACE};
    if (args->recvbuf == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE");
    ROTA_TRY(make_side(&problem->recv, "recv", c, args->recvbuf,
                       &args->recvcounts, &args->rdispls, args->recvtype));
    /* What MPI takes as const it does not write. */
    if (!problem->in_place)
        ROTA_TRY(make_side(&problem->send, "send", c, (void *)args->sendbuf,
                           &args->sendcounts, &args->sdispls, args->sendtype));
    return check ? rota_check_overlap(c->P,
                                      problem->in_place ? NULL : &problem->send,
                                      &problem->recv, true, c->dup)
                 : MPI_SUCCESS;
}

static void free_side(rota_side *side)
{
    rota_type_free(&side->type);
    free(side->bytes);
    free(side->offset);
    *side = (rota_side){0};
}

void rota_problem_free(rota_problem *problem)
{
    free_side(&problem->send);
    free_side(&problem->recv);
}
