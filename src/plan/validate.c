/* validate.c - from an MPI argument list to a problem in bytes. */
#include "exec/move.h"
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

/* ---- overlapping receive blocks -------------------------------------------- */

typedef struct span {
    ptrdiff_t begin, end; /* bounds of a block's bytes, from base */
    int rank;
} span;

static int compare_spans(const void *a, const void *b)
{
    const span *const x = a, *const y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->rank - y->rank;
}

static int measure_spans(const rota_side *side, int P, span spans[], int *n)
{
    MPI_Aint true_lb, true_extent;

    ROTA_TRY(MPI_Type_get_true_extent(side->type.mpi, &true_lb, &true_extent));
    *n = 0;
    for (int q = 0; q < P; q++) {
        if (side->bytes[q] == 0)
            continue;
        const ptrdiff_t last =
            (ptrdiff_t)(side->bytes[q] / side->type.size - 1) *
            side->type.extent;
        span *const s = &spans[(*n)++];
        s->rank = q;
        s->begin = side->offset[q] + true_lb + (last < 0 ? last : 0);
        s->end =
            side->offset[q] + true_lb + (last < 0 ? 0 : last) + true_extent;
    }
    qsort(spans, (size_t)*n, sizeof *spans, compare_spans);
    return MPI_SUCCESS;
}

static int overlap(int a, int b)
{
    return rota_fail(MPI_ERR_ARG, "receive blocks from ranks %d and %d overlap",
                     a < b ? a : b, a < b ? b : a);
}

/* Bounds that overlap prove nothing for types with holes: columns may be
 * interleaved. So every block's bytes are marked in an image of the buffer. */
typedef struct image {
    unsigned char *byte; /* one for every byte between the outermost bounds */
    unsigned char *data; /* a packed block */
    ptrdiff_t begin;
} image;

static int mark_block(const image *m, const rota_side *side, int q,
                      MPI_Comm comm, bool *clash)
{
    char *const origin = (char *)m->byte + (side->offset[q] - m->begin);
    const size_t n = side->bytes[q];

    ROTA_TRY(rota_type_pack(&side->type, origin, n, (char *)m->data, comm));
    for (size_t i = 0; i < n && !*clash; i++)
        *clash = m->data[i] != 0;
    memset(m->data, 1, n);
    return rota_type_unpack(&side->type, (const char *)m->data, n, origin,
                            comm);
}

/* Which of the blocks before the i-th shares bytes with it? */
static int name_clash(const image *m, size_t bytes, const rota_side *side,
                      const span spans[], int i, MPI_Comm comm)
{
    bool clash = false;

    for (int j = 0; j < i; j++) {
        memset(m->byte, 0, bytes);
        ROTA_TRY(mark_block(m, side, spans[j].rank, comm, &clash));
        ROTA_TRY(mark_block(m, side, spans[i].rank, comm, &clash));
        if (clash)
            return overlap(spans[j].rank, spans[i].rank);
    }
    return overlap(spans[i].rank, spans[i].rank);
}

static int check_image(const rota_side *side, const span spans[], int n,
                       MPI_Comm comm)
{
    ptrdiff_t end = spans[0].end;
    size_t largest = 0;
    int err = MPI_SUCCESS;

    for (int i = 0; i < n; i++) {
        const size_t bytes = side->bytes[spans[i].rank];
        end = spans[i].end > end ? spans[i].end : end;
        largest = bytes > largest ? bytes : largest;
    }
    const size_t bytes = (size_t)(end - spans[0].begin);
    const image m = {.byte = calloc(bytes, 1),
                     .data = malloc(largest),
                     .begin = spans[0].begin};
    if (!m.byte || !m.data)
        err = rota_fail_mem("looking for overlaps (rota_check = off skips it)");
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        bool clash = false;
        err = mark_block(&m, side, spans[i].rank, comm, &clash);
        if (err == MPI_SUCCESS && clash)
            err = name_clash(&m, bytes, side, spans, i, comm);
    }
    free(m.byte);
    free(m.data);
    return err;
}

static int check_overlap(const rota_side *side, int P, MPI_Comm comm)
{
    span *const spans = malloc((size_t)P * sizeof *spans);
    int n = 0, err, with = -1, at = -1;

    if (!spans)
        return rota_fail_mem("looking for overlaps");
    err = measure_spans(side, P, spans, &n);
    for (int i = 1, widest = 0; i < n && with < 0; i++) {
        if (spans[i].begin < spans[widest].end) {
            with = widest;
            at = i;
        }
        widest = spans[i].end > spans[widest].end ? i : widest;
    }
    if (err == MPI_SUCCESS && with >= 0)
        err = rota_type_is_bytes(&side->type)
                  ? overlap(spans[with].rank, spans[at].rank)
                  : check_image(side, spans, n, comm);
    free(spans);
    return err;
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
    return check ? check_overlap(&problem->recv, c->P, c->dup) : MPI_SUCCESS;
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
