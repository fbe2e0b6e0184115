/* validate.c - turns an MPI argument list into a problem in bytes. */
#include "plan/args/validate.h"
#include "plan/args/overlap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

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

static bool is_missing(const rota_vector *v, int n)
{
    return n > 0 && !v->array && v->form != ROTA_SAME &&
           v->form != ROTA_MULTIPLES;
}

/* How many elements of size bytes, or at that distance, fit the address
 * space. */
static MPI_Count most(ptrdiff_t size)
{
    const MPI_Count limit = PTRDIFF_MAX / 4;

    return size == 0 ? limit : limit / (size > 0 ? size : -size);
}

static int negative(const rota_side_args *a, int i, MPI_Count n)
{
    if (a->counts.form == ROTA_SAME)
        return rota_fail(MPI_ERR_COUNT, "%scount = %lld is negative", a->name,
                         (long long)n);
    return rota_fail(MPI_ERR_COUNT, "%scounts[%d] = %lld is negative", a->name,
                     i, (long long)n);
}

static int beyond(const rota_side_args *a, int i, MPI_Count n, MPI_Count d)
{
    if (a->counts.form == ROTA_SAME)
        return rota_fail(MPI_ERR_COUNT,
                         "%scount = %lld for each rank is beyond the address "
                         "space",
                         a->name, (long long)n);
    return rota_fail(MPI_ERR_COUNT,
                     "%scounts[%d] = %lld at %cdispls[%d] = %lld is beyond the "
                     "address space",
                     a->name, i, (long long)n, a->name[0], i, (long long)d);
}

/* Fill in a block that has elements. Returns false if it exceeds the address
 * space. */
static bool fill_block(const rota_unit *unit, MPI_Count n, MPI_Count d,
                       size_t *bytes, ptrdiff_t *offset)
{
    const MPI_Count most_elements = most((ptrdiff_t)unit->element);
    const MPI_Count most_apart = most(unit->displ);

    if (n > most_elements || n > most(unit->spacing) || d > most_apart ||
        d < -most_apart)
        return false;
    *bytes = (size_t)n * unit->element;
    *offset = (ptrdiff_t)d * unit->displ + unit->true_lb;
    return true;
}

/* Must the buffer be an address? It may be MPI_BOTTOM if the type, or the
 * displacement in bytes, has the address. */
static bool needs_base(const rota_side_args *a, int i, size_t bytes)
{
    return bytes > 0 && !a->unit[a->of ? a->of[i] : 0].null_ok &&
           (!a->of || entry(&a->displs, i) == 0);
}

static int check_arrays(const rota_side_args *a)
{
    if (is_missing(&a->counts, a->n))
        return rota_fail(MPI_ERR_ARG, "%scounts is NULL", a->name);
    if (is_missing(&a->displs, a->n))
        return rota_fail(MPI_ERR_ARG, "%cdispls is NULL", a->name[0]);
    return MPI_SUCCESS;
}

int rota_side_fill(const rota_side_args *a, size_t bytes[], ptrdiff_t offset[])
{
    bool no_base = false;

    ROTA_TRY(check_arrays(a));
    if (a->displs.form == ROTA_MULTIPLES && a->n > 0 &&
        a->displs.each > most(a->unit->displ) / a->n)
        return beyond(a, a->n - 1, a->displs.each, a->displs.each);
    for (int i = 0; i < a->n; i++) {
        const rota_unit *const unit = &a->unit[a->of ? a->of[i] : 0];
        const MPI_Count n = entry(&a->counts, i), d = entry(&a->displs, i);
        bytes[i] = 0;
        offset[i] = 0; /* an empty block is nowhere */
        if (n < 0)
            return negative(a, i, n);
        if (n > 0 && !fill_block(unit, n, d, &bytes[i], &offset[i]))
            return beyond(a, i, n, d);
        no_base = no_base || (!a->base && needs_base(a, i, bytes[i]));
    }
    return no_base ? rota_fail(MPI_ERR_BUFFER, "%sbuf is NULL", a->name)
                   : MPI_SUCCESS;
}

/* ---- problems ------------------------------------------------------------ */

static int fill(rota_side *side, const rota_side_args *a)
{
    const size_t n = (size_t)a->n + 1;

    side->base = (char *)a->base; /* MPI's const: it is not written */
    side->n = a->n;
    side->bytes = calloc(n, sizeof *side->bytes);
    side->offset = malloc(n * sizeof *side->offset);
    if (!side->bytes || !side->offset)
        return rota_fail_mem("counts and displacements");
    return rota_side_fill(a, side->bytes, side->offset);
}

/* One type for all blocks. */
static int make_alike(rota_side *side, const rota_comm *c, rota_side_args *a,
                      MPI_Datatype type)
{
    char name[16];
    rota_unit unit;

    snprintf(name, sizeof name, "%stype", a->name);
    ROTA_TRY(rota_types_make(type, name, c->dup, &side->types, &unit));
    side->null_ok = unit.null_ok;
    a->unit = &unit;
    return fill(side, a);
}

/* Find the types of the blocks that have elements. of: [n] */
static int collect_types(const rota_comm *c, const rota_side_args *a,
                         const MPI_Datatype types[], rota_type_set *set,
                         uint32_t of[])
{
    char name[32];

    for (int i = 0; i < a->n; i++) {
        of[i] = 0;
        if (entry(&a->counts, i) <= 0)
            continue;
        snprintf(name, sizeof name, "%stypes[%d]", a->name, i);
        ROTA_TRY(rota_type_set_add(set, types[i], name, c->dup, &of[i]));
        set->unit[of[i]].displ = 1;
    }
    return MPI_SUCCESS;
}

static int make_apart_from(rota_side *side, const rota_comm *c,
                           rota_side_args *a, rota_type_set *set,
                           const MPI_Datatype types[], uint32_t of[])
{
    static const rota_unit unused = {0};

    ROTA_TRY(check_arrays(a));
    if (!types && a->n > 0)
        return rota_fail(MPI_ERR_ARG, "%stypes is NULL", a->name);
    ROTA_TRY(collect_types(c, a, types, set, of));
    a->unit = set->n > 0 ? set->unit : &unused;
    a->of = of;
    ROTA_TRY(fill(side, a));
    side->null_ok = true;
    for (int i = 0; i < a->n; i++)
        side->null_ok = side->null_ok && !needs_base(a, i, side->bytes[i]);
    return rota_type_set_give(set, of, (size_t)a->n, &side->types);
}

/* A type for each block. */
static int make_apart(rota_side *side, const rota_comm *c, rota_side_args *a,
                      const MPI_Datatype types[])
{
    uint32_t *const of = malloc(((size_t)a->n + 1) * sizeof *of);
    rota_type_set set = {0};

    const int err = of ? make_apart_from(side, c, a, &set, types, of)
                       : rota_fail_mem("datatypes of blocks");
    rota_type_set_free(&set);
    free(of);
    return err;
}

static int make_recv(const rota_args *args, const rota_comm *c,
                     rota_problem *problem)
{
    const rota_neighbors *const n = problem->neighbors;
    rota_side_args a = {.name = "recv",
                        .n = n ? n->n_recv : c->P,
                        .base = args->recvbuf,
                        .counts = args->recvcounts,
                        .displs = args->rdispls};

    return args->own_types ? make_apart(&problem->recv, c, &a, args->recvtypes)
                           : make_alike(&problem->recv, c, &a, args->recvtype);
}

static int make_send(const rota_args *args, const rota_comm *c,
                     rota_problem *problem)
{
    const rota_neighbors *const n = problem->neighbors;
    rota_side_args a = {.name = "send",
                        .n = n ? n->n_send : c->P,
                        .base = args->sendbuf,
                        .counts = args->sendcounts,
                        .displs = args->sdispls};

    return args->own_types ? make_apart(&problem->send, c, &a, args->sendtypes)
                           : make_alike(&problem->send, c, &a, args->sendtype);
}

int rota_problem_make(const rota_args *args, const rota_comm *c,
                      const rota_neighbors *neighbors, bool check,
                      rota_problem *problem)
{
    *problem = (rota_problem){.neighbors = neighbors,
                              .in_place = args->sendbuf == MPI_IN_PLACE,
                              .own_types = args->own_types};
    if (args->recvbuf == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE");
    if (problem->in_place && neighbors)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE, which is "
                                         "not for neighbours");
    ROTA_TRY(make_recv(args, c, problem));
    if (!problem->in_place)
        ROTA_TRY(make_send(args, c, problem));
    if (neighbors) {
        rota_neighbors_drop(problem->send.n, neighbors->to,
                            problem->send.bytes);
        rota_neighbors_drop(problem->recv.n, neighbors->from,
                            problem->recv.bytes);
    }
    return check ? rota_check_overlap(problem, true) : MPI_SUCCESS;
}

static void free_side(rota_side *side)
{
    rota_types_free(&side->types);
    free(side->bytes);
    free(side->offset);
    *side = (rota_side){0};
}

void rota_problem_free(rota_problem *problem)
{
    free_side(&problem->send);
    free_side(&problem->recv);
}

int rota_fail_mismatch(int src, int dst, size_t sent, size_t expected)
{
    return rota_fail(MPI_ERR_COUNT,
                     "rank %d sends %zu bytes to rank %d, which expects %zu",
                     src, sent, dst, expected);
}
