/* validate.c - turns an MPI argument list into a problem in bytes. */
#include "plan/args/validate.h"

#include <stdio.h>
#include <stdlib.h>

static MPI_Count count_of(const rota_side_args *a, int i)
{
    return a->form == ROTA_SAME     ? a->each
           : a->form == ROTA_COUNTS ? ((const MPI_Count *)a->counts)[i]
                                    : ((const int *)a->counts)[i];
}

static MPI_Count displ_of(const rota_side_args *a, int i)
{
    return a->form == ROTA_SAME   ? i * a->each
           : a->form == ROTA_INTS ? ((const int *)a->displs)[i]
                                  : ((const MPI_Aint *)a->displs)[i];
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
    if (a->form == ROTA_SAME)
        return rota_fail(MPI_ERR_COUNT, "%scount = %lld is negative", a->name,
                         (long long)n);
    return rota_fail(MPI_ERR_COUNT, "%scounts[%d] = %lld is negative", a->name,
                     i, (long long)n);
}

static int beyond(const rota_side_args *a, int i, MPI_Count n, MPI_Count d)
{
    if (a->form == ROTA_SAME)
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
           (!a->of || displ_of(a, i) == 0);
}

static int check_arrays(const rota_side_args *a)
{
    const bool listed = a->n > 0 && a->form != ROTA_SAME;

    if (listed && !a->counts)
        return rota_fail(MPI_ERR_ARG, "%scounts is NULL", a->name);
    if (listed && !a->displs)
        return rota_fail(MPI_ERR_ARG, "%cdispls is NULL", a->name[0]);
    return MPI_SUCCESS;
}

int rota_side_fill(const rota_side_args *a, size_t bytes[], ptrdiff_t offset[])
{
    bool no_base = false;

    ROTA_TRY(check_arrays(a));
    if (a->form == ROTA_SAME && a->n > 0 &&
        a->each > most(a->unit->displ) / a->n)
        return beyond(a, a->n - 1, a->each, a->each);
    for (int i = 0; i < a->n; i++) {
        const rota_unit *const unit = &a->unit[a->of ? a->of[i] : 0];
        const MPI_Count n = count_of(a, i), d = displ_of(a, i);
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

/* Find the types of the blocks that have elements. of: [n] */
static int collect_types(const rota_comm *c, const rota_side_args *a,
                         rota_type_set *set, uint32_t of[])
{
    char name[32];

    ROTA_TRY(check_arrays(a));
    if (!a->types && a->n > 0)
        return rota_fail(MPI_ERR_ARG, "%stypes is NULL", a->name);
    for (int i = 0; i < a->n; i++) {
        of[i] = 0;
        if (count_of(a, i) <= 0)
            continue;
        snprintf(name, sizeof name, "%stypes[%d]", a->name, i);
        ROTA_TRY(rota_type_set_add(set, a->types[i], name, c->dup, &of[i]));
        set->unit[of[i]].displ = 1;
    }
    return MPI_SUCCESS;
}

/* One type for all blocks. */
static int find_type(const rota_comm *c, const rota_side_args *a,
                     rota_type_set *set)
{
    char name[16];
    uint32_t unused;

    snprintf(name, sizeof name, "%stype", a->name);
    return rota_type_set_add(set, a->type, name, c->dup, &unused);
}

/* of: [n], if blocks have types of their own. */
static int make_from(rota_side *side, const rota_comm *c, rota_side_args *a,
                     rota_type_set *set, uint32_t of[])
{
    static const rota_unit unused = {0};

    ROTA_TRY(of ? collect_types(c, a, set, of) : find_type(c, a, set));
    a->unit = set->n > 0 ? set->unit : &unused;
    a->of = of;
    side->element = of ? 0 : a->unit->element;
    ROTA_TRY(fill(side, a));
    side->null_ok = true;
    for (int i = 0; i < a->n; i++)
        side->null_ok = side->null_ok && !needs_base(a, i, side->bytes[i]);
    return rota_type_set_give(set, of, (size_t)a->n, &side->types);
}

static int make_side(rota_side *side, const rota_comm *c, rota_side_args a,
                     const char *name, int n, bool own_types)
{
    uint32_t *const of =
        own_types ? malloc(((size_t)n + 1) * sizeof *of) : NULL;
    rota_type_set set = {0};

    a.name = name;
    a.n = n;
    const int err = of || !own_types ? make_from(side, c, &a, &set, of)
                                     : rota_fail_mem("datatypes of blocks");
    rota_type_set_free(&set);
    free(of);
    return err;
}

int rota_args_check_in_place(const void *sendbuf, const void *recvbuf,
                             bool neighbors)
{
    if (recvbuf == MPI_IN_PLACE)
        return rota_fail(MPI_ERR_BUFFER, "recvbuf is MPI_IN_PLACE");
    if (sendbuf == MPI_IN_PLACE && neighbors)
        return rota_fail(MPI_ERR_BUFFER, "sendbuf is MPI_IN_PLACE, which is "
                                         "not for neighbours");
    return MPI_SUCCESS;
}

int rota_problem_make(const rota_args *args, const rota_comm *c,
                      const rota_neighbors *neighbors, rota_problem *problem)
{
    *problem = (rota_problem){.neighbors = neighbors,
                              .in_place = args->send.base == MPI_IN_PLACE,
                              .own_types = args->own_types};
    ROTA_TRY(rota_args_check_in_place(args->send.base, args->recv.base,
                                      neighbors != NULL));
    ROTA_TRY(make_side(&problem->recv, c, args->recv, "recv",
                       neighbors ? neighbors->n_recv : c->P, args->own_types));
    if (!problem->in_place)
        ROTA_TRY(make_side(&problem->send, c, args->send, "send",
                           neighbors ? neighbors->n_send : c->P,
                           args->own_types));
    if (neighbors) {
        rota_neighbors_drop(problem->send.n, neighbors->to,
                            problem->send.bytes);
        rota_neighbors_drop(problem->recv.n, neighbors->from,
                            problem->recv.bytes);
    }
    return MPI_SUCCESS;
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
