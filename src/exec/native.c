/* native.c - MPI_Ialltoallv on the plan's own communicator.
 *
 * Not the persistent form: an inactive MPI_Alltoallv_init request is not to be
 * trusted in MPICH 4.0 (its test says not done, its wait hangs).
 */
#include "exec/native.h"

#include <limits.h>
#include <stdlib.h>

typedef struct side {
    MPI_Count *count; /* [P] elements */
    MPI_Aint *displ;  /* [P] extents */
    int *small_count; /* [P] the same where they fit an int */
    int *small_displ; /* [P] */
} side;

struct rota_native {
    side side[2]; /* ROTA_SRC, ROTA_DST */
    bool large;   /* something does not fit an int */
};

/* Counts and displacements in elements, as MPI wants them. */
static void fill_side(struct rota_native *n, const rota_exec *x, int region)
{
    const rota_type *const t = &x->type[region];
    const int P = x->s->P;
    side *const to = &n->side[region];

    for (int q = 0; q < P; q++) {
        const rota_block b = (rota_block)(region == ROTA_SRC ? q : P + q);
        to->count[q] = (MPI_Count)(x->bytes[b] / t->size);
        to->displ[q] = t->extent ? x->offset[b] / t->extent : 0;
        to->small_count[q] = (int)to->count[q];
        to->small_displ[q] = (int)to->displ[q];
        n->large = n->large || to->small_count[q] != to->count[q] ||
                   to->small_displ[q] != to->displ[q];
    }
}

static void fill(struct rota_native *n, const rota_exec *x)
{
    n->large = false;
    fill_side(n, x, ROTA_SRC);
    fill_side(n, x, ROTA_DST);
}

int rota_native_bind(rota_exec *x)
{
    const size_t P = (size_t)x->s->P;
    struct rota_native *const n = calloc(1, sizeof *n);

    if (!n)
        return rota_fail_mem("the arguments of MPI's all-to-all");
    x->native_args = n;
    for (int i = 0; i < 2; i++) {
        side *const s = &n->side[i];
        s->count = malloc(P * sizeof *s->count);
        s->displ = malloc(P * sizeof *s->displ);
        s->small_count = malloc(P * sizeof *s->small_count);
        s->small_displ = malloc(P * sizeof *s->small_displ);
        if (!s->count || !s->displ || !s->small_count || !s->small_displ)
            return rota_fail_mem("the arguments of MPI's all-to-all");
    }
    if (x->fixed)
        fill(n, x);
    return MPI_SUCCESS;
}

void rota_native_unbind(rota_exec *x)
{
    for (int i = 0; x->native_args && i < 2; i++) {
        side *const s = &x->native_args->side[i];
        free(s->count);
        free(s->displ);
        free(s->small_count);
        free(s->small_displ);
    }
    free(x->native_args);
    x->native_args = NULL;
}

int rota_native_post(rota_exec *x)
{
    struct rota_native *const n = x->native_args;
    const side *const s = &n->side[ROTA_SRC], *const d = &n->side[ROTA_DST];

    if (!x->fixed)
        fill(n, x);
    if (!n->large)
        return MPI_Ialltoallv(x->base[ROTA_SRC], s->small_count, s->small_displ,
                              x->type[ROTA_SRC].mpi, x->base[ROTA_DST],
                              d->small_count, d->small_displ,
                              x->type[ROTA_DST].mpi, x->native,
                              &x->native_request);
#if MPI_VERSION >= 4
    return MPI_Ialltoallv_c(x->base[ROTA_SRC], s->count, s->displ,
                            x->type[ROTA_SRC].mpi, x->base[ROTA_DST], d->count,
                            d->displ, x->type[ROTA_DST].mpi, x->native,
                            &x->native_request);
#else
    return rota_fail(MPI_ERR_COUNT,
                     "algorithm mpi: counts or displacements beyond 2^31 need "
                     "MPI 4");
#endif
}
